"""`compaction-bench gate`: a comparison answered by its exit code, for continuous integration."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.cli.compare import (
    confirmed_document,
    stored_runs,
    tell_calibration,
    with_note,
)
from bench.cli.comparison import exit_code, question_of, save_baseline, tell
from bench.cli.gate_options import OWN_TRIGGERS
from bench.cli.gate_replays import replayer
from bench.cli.main import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NO_VERDICT
from bench.cli.model_options import checked_models, settings_of
from bench.cli.money_options import dry_run, money_of
from bench.cli.output import note
from bench.cli.progress import Progress, clear_line, progress_line
from bench.cli.wanted import cuts_of, load_wanted
from bench.errors import RunHalted, UsageError
from bench.events import Session
from bench.facts import Fact
from bench.facts_file import facts_beside
from bench.gate.sides import Side, Sides
from bench.gating.comparing import Question, nothing_to_compare
from bench.gating.comparing import compare as compare_sides
from bench.gating.drawing import Filled, Perform, fill, fresh_seeds, ignores_seeds, lacking
from bench.gating.prompts import (
    GIT_PREFIX,
    prompt_at_revision,
    prompt_of,
    read_prompt,
    strategy_for_prompt,
    with_prompt,
)
from bench.gating.reading import read_record
from bench.loading import Loaded
from bench.models import make_model
from bench.plan import parse_window
from bench.registry import make_strategy, prompts_of
from bench.store_schema import SCHEMA_VERSION
from bench.tasks import RunOptions

DEFAULT_STRATEGY = "head_tail"
_DEFAULT_FOLDER = Path(".bench") / "gate"
_RUN_OPTIONS = ("against", "strategy", "model", "seed", "window", "workers", "out", "sample")
_SIDE_OPTIONS = ("baseline", "candidate", "baseline_model", "candidate_model")


def gate(arguments: argparse.Namespace) -> int:
    """Compares and answers: 0 pass, 1 regressed, 2 no match, 3 no verdict."""
    if arguments.prompt is not None:
        return _gate_prompt(arguments)
    for name in _RUN_OPTIONS:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name}: goes with --prompt FILE only; stored runs have theirs")
    return stored_runs(arguments, arguments.fail_on)


@dataclass(frozen=True, slots=True)
class _PromptGate:
    """A gate for two prompts: what is replayed, where to, and what is asked of it."""

    loaded: Loaded
    options: RunOptions
    folder: Path
    question: Question
    perform: Perform

    @property
    def specs(self) -> tuple[str, str]:
        """The baseline's spec and the candidate's."""
        return self.options.specs[0], self.options.specs[-1]

    def filled(self, options: RunOptions) -> Filled:
        """Replays what is missing."""
        found = fill(*self.wanted(options), progress_line, self.perform)
        clear_line()
        return found

    def wanted(
        self, options: RunOptions
    ) -> tuple[Path, Sequence[Session], Mapping[str, tuple[Fact, ...]], RunOptions]:
        """What to replay, as `fill` and `lacking` take it."""
        sessions = self.loaded.sessions
        return self.folder, sessions, facts_beside([one.path for one in sessions]), options

    def sides(self, identities: frozenset[str]) -> Sides:
        """Both sides, of these cells alone: the folder may hold those of other gates."""
        record = read_record(self.folder, lambda cell: cell.identity in identities)
        baseline, candidate = (
            Side(record, spec, tuple(cell for cell in record.cells if cell.spec == spec))
            for spec in self.specs
        )
        return Sides(baseline, candidate)


def _gate_prompt(arguments: argparse.Namespace) -> int:
    for name in _SIDE_OPTIONS:
        if getattr(arguments, name) is not None:
            option = name.replace("_", "-")
            raise UsageError(f"--{option}: goes with stored runs; --prompt is compared --against")
    question = question_of(arguments)
    options = _options(arguments)
    if options is None:
        return _tell_unchanged(arguments, question)
    money = money_of(arguments, options)
    if not arguments.dry_run:
        options = checked_models(options)
    asked = argparse.Namespace(**{**vars(arguments), "sessions": arguments.runs})
    loaded = load_wanted(asked)
    folder = Path(arguments.out) if arguments.out else _default_folder(options)
    job = _PromptGate(loaded, options, folder, question, replayer(arguments))
    if arguments.dry_run:
        tasks = lacking(*job.wanted(options), progress_line)
        dry_run(tasks, money, Progress(), as_json=arguments.json)
        return EXIT_FINE
    try:
        if arguments.aa:
            return _calibrate(arguments, job)
        found = job.filled(options)
        sides = job.sides(found.identities)
        document = compare_sides([sides], question)
        if arguments.confirm and document["verdict"] == "regressed":
            document, sides = _confirmed(arguments, job, document, sides)
    except KeyboardInterrupt:
        clear_line()
        note(f"compaction-bench: interrupted; what was replayed is kept in {folder}")
        return EXIT_INTERRUPTED
    except RunHalted as halt:
        clear_line()
        note(f"compaction-bench: stopped: {halt.reason}; what was replayed is kept in {folder}")
        return EXIT_NO_VERDICT
    total = len(found.identities)
    for warning in found.warnings:
        document = with_note(document, warning)
    document["replayed"] = found.replayed
    document = with_note(
        document, f"{found.replayed} of {total} cells were replayed now, all are kept in {folder}."
    )
    save_baseline(arguments, replace(sides.candidate.record, cells=sides.candidate.cells))
    tell(document, arguments)
    return exit_code(document, arguments.fail_on)


def _default_folder(options: RunOptions) -> Path:
    """Cells of other versions and cuts stand in folders of their own."""
    version = sha256(f"{SCHEMA_VERSION} {options.fact_version}".encode()).hexdigest()[:8]
    return _DEFAULT_FOLDER / version


def _options(arguments: argparse.Namespace) -> RunOptions | None:
    """What to replay; None when both prompts are the same text."""
    text = read_prompt(arguments.prompt, "--prompt")
    other = _other_prompt(arguments)
    fitting = DEFAULT_STRATEGY
    for prompt in (text, other):
        fitting = strategy_for_prompt(prompt or "", fitting)
    named = make_strategy(arguments.strategy or fitting)
    candidate = with_prompt(named, text)
    if text == (prompt_of(named.strategy) if other is None else other):
        return None
    baseline = with_prompt(named, other, "--against")
    cuts = None if arguments.cuts == OWN_TRIGGERS else cuts_of(arguments.cuts)
    if arguments.workers is not None and arguments.workers < 1:
        raise UsageError(f"--workers {arguments.workers}: at least 1")
    return RunOptions(
        specs=(baseline.spec, candidate.spec),
        windows=(parse_window(arguments.window or "auto"),),
        models=(make_model(arguments.model or "offline").name,),
        seeds=tuple(dict.fromkeys(arguments.seed or (0,))),
        cuts=cuts,
        workers=arguments.workers or 1,
        prompts=prompts_of([baseline, candidate]),
        settings=settings_of(arguments),
    )


def _other_prompt(arguments: argparse.Namespace) -> str | None:
    """The text to compare with; None for the strategy's own."""
    against: str | None = arguments.against
    if against is None:
        return None
    if against.startswith(GIT_PREFIX):
        return prompt_at_revision(arguments.prompt, against.removeprefix(GIT_PREFIX))
    return read_prompt(against, "--against")


def _tell_unchanged(arguments: argparse.Namespace, question: Question) -> int:
    """The same text can't be worse than itself: nothing is replayed, and that is said."""
    against = arguments.against or "the strategy's own prompt"
    reason = f"{arguments.prompt} is the same text as {against}: nothing was replayed"
    tell(nothing_to_compare(reason, question), arguments)
    return EXIT_FINE


def _calibrate(arguments: argparse.Namespace, job: _PromptGate) -> int:
    """The baseline's prompt compared with itself, over the seeds given or one more."""
    seeds: Sequence[int] = job.options.seeds
    if len(seeds) < 2:
        seeds = (*seeds, *fresh_seeds(seeds, 1))
    options = replace(job.options, seeds=tuple(seeds), specs=job.options.specs[:1])
    found = job.filled(options)
    record = read_record(job.folder, lambda cell: cell.identity in found.identities)
    side = Side(record, job.specs[0], record.cells)
    return tell_calibration(side, job.question, arguments.aa, as_json=arguments.json)


def _confirmed(
    arguments: argparse.Namespace, job: _PromptGate, first: dict[str, Any], sides: Sides
) -> tuple[dict[str, Any], Sides]:
    """The document over all draws, after fresh ones of both prompts."""
    models = job.options.models
    if all(map(ignores_seeds, models)):
        note_text = f"Not confirmed with fresh seeds: {', '.join(models)} ignores them."
        return with_note(first, note_text), sides
    seeds = fresh_seeds(job.options.seeds, arguments.confirm)
    found = job.filled(replace(job.options, seeds=(*job.options.seeds, *seeds)))
    sides = job.sides(found.identities)
    return confirmed_document(first, compare_sides([sides], job.question), seeds), sides

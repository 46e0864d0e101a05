"""`compaction-bench run`: compare strategies on sessions."""

from __future__ import annotations

import argparse
import shlex
import threading
import time
import tomllib
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench.cli.main import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NO_VERDICT
from bench.cli.model_options import (
    MODEL_KEYS,
    arbiter_label,
    arbiter_of,
    checked_models,
    settings_of,
)
from bench.cli.money_options import (
    MONEY_KEYS,
    Money,
    dry_run,
    funded,
    money_of,
    save_spending,
    spent_of,
)
from bench.cli.native_options import native_warnings, with_native
from bench.cli.output import note, print_json
from bench.cli.probe_options import PROBE_KEYS, probe_options_of
from bench.cli.progress import Progress, clear_line, progress_line
from bench.cli.wanted import cuts_of, load_wanted, repeat_of
from bench.corpus import DATASET_PREFIX
from bench.errors import RunHalted, UsageError
from bench.events import Session
from bench.facts_file import facts_beside
from bench.gating.prompts import with_prompts
from bench.loading import Loaded
from bench.models import make_model
from bench.overhead import parse_overhead
from bench.plan import parse_window
from bench.probing_options import probes_to_json
from bench.registry import check_ready, make_strategies, make_strategy, prompts_of, registered
from bench.results import Results, results_of
from bench.runner import RunOptions, Task, execute, plan_run, tasks_of
from bench.store import Run

DEFAULT_STRATEGIES = ("head_tail", "layered", "prune", "native")
_RUNS = Path(".bench") / "runs"
_REJECTED_NAMED = 3
_SESSION_SUFFIXES = (".json", ".jsonl", ".traj", ".eval", ".ndjson", ".log", ".txt")
_CONFIG_KEYS = (
    "sessions",
    "strategy",
    "prompt",
    "window",
    "model",
    "seed",
    "cuts",
    "repeat",
    "overhead",
    "workers",
    "out",
    "format",
    "sample",
    "min_tokens",
    "sample_seed",
    *PROBE_KEYS,
    *MODEL_KEYS,
    *MONEY_KEYS,
    "cluster",
)


def run(arguments: argparse.Namespace) -> int:
    """Replays, scores, stores, reports; the exit code is that of the verdict."""
    _fill_from_config(arguments)
    options = _options(arguments)
    money = money_of(arguments, options)
    if not arguments.dry_run:
        options = checked_models(options)
        _check_cluster(arguments.cluster)
    started = time.strftime("%Y-%m-%dT%H-%M-%S")
    loaded = load_wanted(arguments)
    facts = facts_beside([session.path for session in loaded.sessions])
    plan, surveyed = plan_run(loaded.sessions, options, progress_line)
    folder = Path(arguments.out) if arguments.out else _free_folder(_RUNS / started)
    if arguments.dry_run:
        left = tasks_of(plan, loaded.sessions, surveyed, facts, options, _done_in(arguments))
        dry_run(left, money, Progress(), as_json=arguments.json)
        return EXIT_FINE
    with _open(folder, arguments, options) as store:
        try:
            tasks = tasks_of(plan, loaded.sessions, surveyed, facts, options, store.has_cell)
            warnings = [*_rejected(loaded, arguments), *plan.warnings]
            is_default = not arguments.strategy
            warnings += native_warnings(options.specs, options.models, is_default=is_default)
            planned = [cell for cell in plan.cells if not cell.is_control]
            store.save_information("cells_planned", len(planned))
            store.save_warnings([*warnings, *_said_of_recordings(loaded.sessions, options)])
            _execute(store, tasks, len(plan.cells), money, arguments)
            results = results_of(store)
        except KeyboardInterrupt:
            note(
                f"compaction-bench: interrupted; finished cells are saved in {folder}, go on "
                f"with the same command and --out {folder} --resume"
            )
            return EXIT_INTERRUPTED
        except RunHalted as halt:
            note(
                f"compaction-bench: stopped: {halt.reason}; finished cells are saved in {folder}, "
                f"go on with the same command and --out {folder} --resume"
            )
            return EXIT_NO_VERDICT
    try:
        return _present(folder, results, _reports(folder, results, arguments), arguments.json)
    except KeyboardInterrupt:
        clear_line()
        note(
            f"compaction-bench: interrupted; the run is finished and saved in {folder}, "
            f"compaction-bench report {folder} writes its reports"
        )
        return EXIT_INTERRUPTED


def _reports(folder: Path, results: Results, arguments: argparse.Namespace) -> list[Path]:
    if arguments.no_report:
        return []
    from reports.write import write_reports

    progress_line("writing reports")
    written = write_reports(folder, results=results)
    clear_line()
    return written


def _present(folder: Path, results: Results, written: Sequence[Path], as_json: bool) -> int:
    from reports.terminal import print_summary

    if as_json:
        print_json({"run": str(folder), **results.document()})
        return results.verdict.exit_code
    print_summary(results)
    page = next((path for path in written if path.name == "report.html"), folder)
    print(f"\nReport: {page}")
    return results.verdict.exit_code


def _execute(
    store: Run, tasks: Sequence[Task], cells: int, money: Money, arguments: argparse.Namespace
) -> None:
    """Performs the tasks, which are what is left of `cells` planned ones."""
    progress = Progress(spent_of(store, money))
    try:
        tasks = funded(store, tasks, money, progress, cluster=arguments.cluster)
        progress.begin("", cells, cells - sum(len(task.cells) for task in tasks))
        workers = arguments.workers or 1
        if workers > 1 or arguments.cluster is not None:
            # The verdict will need it; until then this process mostly waits for others.
            threading.Thread(target=import_module, args=("scipy.stats",), daemon=True).start()
        execute(store, tasks, workers, progress.done, cluster=arguments.cluster)
    finally:
        progress.end()
        save_spending(store, money)


def _check_cluster(address: str | None) -> None:
    """Raises UsageError, before anything is read, when the cluster can't be used."""
    if address is not None:
        from bench.cluster import Cluster

        with Cluster(address):
            pass


def _options(arguments: argparse.Namespace) -> RunOptions:
    """What to run; everything is checked before any session is read."""
    known = registered()
    wanted = arguments.strategy or [name for name in DEFAULT_STRATEGIES if name in known]
    made = [one for text in wanted for one in make_strategies(text)]
    made = list(with_prompts(made, arguments.prompt or []))
    check_ready(made)
    for option, value, least in (
        ("--workers", arguments.workers, 1),
        ("--sample", arguments.sample, 1),
    ):
        if value is not None and value < least:
            raise UsageError(f"{option} {value}: at least {least}")
    if arguments.cluster is not None and arguments.workers is not None:
        raise UsageError("--workers: not with --cluster, which has as many workers as it has")
    models = tuple(make_model(text).name for text in arguments.model or ["offline"])
    made = with_native(made, models, is_default=not arguments.strategy)
    return RunOptions(
        specs=tuple(dict.fromkeys(one.spec for one in made)),
        windows=tuple(parse_window(str(text)) for text in arguments.window or ["auto"]),
        models=models,
        seeds=tuple(dict.fromkeys(arguments.seed or (0,))),
        cuts=cuts_of(arguments.cuts),
        repeat=repeat_of(arguments.repeat),
        overhead=parse_overhead(arguments.overhead),
        workers=arguments.workers or 1,
        prompts=prompts_of(made),
        probes=probe_options_of(arguments),
        settings=settings_of(arguments),
        arbiter=arbiter_of(arguments, models),
    )


def _fill_from_config(arguments: argparse.Namespace) -> None:
    """Options that weren't given come from the file; unknown keys are refused."""
    if arguments.config is None:
        return
    try:
        values = tomllib.loads(Path(arguments.config).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--config {arguments.config}: {error}") from error
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in _CONFIG_KEYS:
            raise UsageError(
                f"--config {arguments.config}: unknown key {key}, there are: "
                f"{', '.join(_CONFIG_KEYS)}"
            )
        if not getattr(arguments, name):
            is_list = name in ("sessions", "strategy", "prompt", "window", "model", "seed", "probe")
            setattr(arguments, name, value if isinstance(value, list) or not is_list else [value])


def _rejected(loaded: Loaded, arguments: argparse.Namespace) -> list[str]:
    """Sentences about files that were no sessions; those that can't be any aren't mentioned."""
    if not arguments.sessions:
        return []
    suspect = [
        one
        for one in loaded.rejected
        if not one.is_expected and _might_be_a_session(Path(one.path))
    ]
    named = [f"{one.path}: not read: {one.reason}" for one in suspect[:_REJECTED_NAMED]]
    if len(suspect) > len(named):
        named.append(
            f"{len(suspect) - len(named)} more files weren't read; "
            "compaction-bench sessions inspect lists them all"
        )
    return named


def _said_of_recordings(sessions: Sequence[Session], options: RunOptions) -> list[str]:
    """What strategies say beside their numbers, and what could be scored but wasn't asked for."""
    made = [make_strategy(spec, prompts=options.prompts) for spec in options.specs]
    said = [caveat for one in made for caveat in getattr(one.strategy, "caveats", ())]
    holding = sum(bool(session.recorded_compactions) for session in sessions)
    if holding and not any(one.name == "recorded" for one in made):
        said.append(
            f"{holding} of the sessions hold compactions of the tool that recorded them: add "
            "--strategy recorded (and perhaps --cuts recorded) to score those beside the others"
        )
    return list(dict.fromkeys(said))


def _might_be_a_session(path: Path) -> bool:
    if str(path).startswith(DATASET_PREFIX):
        return True
    return path.suffix in _SESSION_SUFFIXES


def _free_folder(wanted: Path) -> Path:
    """`wanted`, or with a number behind it when a run of the same second is there."""
    candidate, number = wanted, 2
    while candidate.exists():
        candidate = wanted.with_name(f"{wanted.name}-{number}")
        number += 1
    return candidate


def _done_in(arguments: argparse.Namespace) -> Callable[[str], bool]:
    """Whether a cell is finished in the run that --resume names; none is without it."""
    if not (arguments.resume and arguments.out):
        return lambda _: False
    with Run.open(Path(arguments.out)) as store:
        done = {one.cell.identity for one in store.cells() if one.status != "error"}
    return done.__contains__


def _open(folder: Path, arguments: argparse.Namespace, options: RunOptions) -> Run:
    """A new run, or with --resume the one that is there."""
    if arguments.resume:
        if arguments.out is None:
            raise UsageError("--resume: name the run to go on with by --out DIR")
        return Run.open(folder)
    from importlib.metadata import version

    return Run.create(
        folder,
        {
            "version": version("compaction-bench"),
            "tokenizer": "o200k_base",
            "arbiter": arbiter_label(options),
            "fact_version": options.fact_version,
            "strategies": list(options.specs),
            "windows": [window or "auto" for window in options.windows],
            "models": list(options.models),
            "seeds": list(options.seeds),
            "cuts": options.cuts,
            "repeat": options.repeat,
            "overhead": options.overhead,
            "prompts": dict(options.prompts),
            "probes": probes_to_json(options.probes),
            "command": _command(arguments),
        },
    )


def _command(arguments: argparse.Namespace) -> str:
    """The command that repeats this run, folders as they were given."""
    words = ["compaction-bench", "run", *arguments.sessions]
    for option in ("strategy", "prompt", "window", "model", "seed", "probe"):
        for value in getattr(arguments, option) or []:
            words += [f"--{option}", shlex.quote(str(value))]
    for option in (
        "reader",
        "judge",
        "calibration",
        "cuts",
        "repeat",
        "overhead",
        "format",
        "sample",
        "min_tokens",
        "sample_seed",
        *MODEL_KEYS,
    ):
        value = getattr(arguments, option)
        if value is not None and value is not False:
            name = f"--{option.replace('_', '-')}"
            words += [name] if value is True else [name, shlex.quote(str(value))]
    return " ".join(words)

"""Assembly: the cells that a gate lacks: missing ones, and draws of fresh seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from bench.errors import UsageError
from bench.events import Session
from bench.facts import Fact
from bench.gate.pairing import pair_up
from bench.gate.records import CellRecord, RunRecord
from bench.gate.sides import Side, Sides
from bench.metrics import Metric
from bench.models import ModelSettings
from bench.models.settings import DEFAULT_SETTINGS
from bench.overhead import parse_overhead
from bench.plan import Cell, Plan, cell_identity
from bench.probing_options import probes_of, probes_to_json
from bench.runner import execute, plan_run, tasks_of
from bench.store import Run
from bench.store_schema import FILE_NAME
from bench.tasks import RunOptions, Task

Perform: TypeAlias = Callable[[Run, Sequence[Task]], None]

# Stand-ins that answer alike whatever the seed: a fresh seed would show nothing new.
_SEEDLESS_MODELS: tuple[str, ...] = ("offline",)


@dataclass(frozen=True, slots=True)
class Filled:
    """What a gate asked for: the identities of all its cells, and how many were replayed now."""

    identities: frozenset[str]
    replayed: int
    warnings: tuple[str, ...]


def fill(
    folder: Path,
    sessions: Sequence[Session],
    facts: Mapping[str, tuple[Fact, ...]],
    options: RunOptions,
    progress: Callable[[str], None],
    perform: Perform | None = None,
) -> Filled:
    """Replays the cells that the run in `folder` (made when it isn't there) doesn't hold yet.

    `perform` replays tasks and stores them (by default without progress or a budget). Raises
    UsageError as `plan_run` does, or when the folder holds cells of other options, and RunHalted
    when a model can't be asked any more.
    """
    plan, surveyed = plan_run(sessions, options, progress)
    with _opened(folder, options) as run:
        _check_options(run, options, folder)
        _keep_prompts(run, options.prompts)
        _check_sessions(run, plan, folder)
        tasks = tasks_of(plan, sessions, surveyed, facts, options, run.has_cell)
        (perform or _perform)(run, tasks)
    identities = frozenset(cell.identity for cell in plan.cells)
    return Filled(identities, sum(len(task.cells) for task in tasks), plan.warnings)


def lacking(
    folder: Path,
    sessions: Sequence[Session],
    facts: Mapping[str, tuple[Fact, ...]],
    options: RunOptions,
    progress: Callable[[str], None],
) -> list[Task]:
    """What `fill` would replay; nothing is written."""
    plan, surveyed = plan_run(sessions, options, progress)
    if not (folder / FILE_NAME).exists():
        return tasks_of(plan, sessions, surveyed, facts, options, lambda _: False)
    with Run.open(folder) as run:
        return tasks_of(plan, sessions, surveyed, facts, options, run.has_cell)


def fresh_seeds(seeds: Sequence[int], count: int) -> tuple[int, ...]:
    """Seeds above all that were drawn."""
    start = max(seeds, default=-1) + 1
    return tuple(range(start, start + count))


def ignores_seeds(model: str) -> bool:
    """True for a model whose draws are all the same."""
    return model in _SEEDLESS_MODELS


def draw_again(
    side: Side,
    seeds: Sequence[int],
    settings: ModelSettings = DEFAULT_SETTINGS,
    perform: Perform | None = None,
) -> None:
    """Adds draws with these seeds to the run folder of a side, for each of its cells.

    Raises UsageError when the run was made by another version or with unknown options.
    """
    with Run.open(side.record.name) as run:
        options = _options_of(run, side, settings)
        by_session: dict[str, list[Cell]] = {}
        position = 1 + max((one.cell.position for one in run.cells()), default=0)
        for known in {_without_seed(cell): cell for cell in side.cells}.values():
            digest = side.record.session(known.session).digest
            for seed in seeds:
                cell = _cell(known, digest, seed, position, options)
                position += 1
                if not run.has_cell(cell.identity):
                    by_session.setdefault(known.session, []).append(cell)
        tasks = [
            Task(run.session(name), cells[0].digest, run.facts(name), tuple(cells), options)
            for name, cells in by_session.items()
        ]
        (perform or _perform)(run, tasks)


def two_draws(side: Side, wanted: Metric) -> dict[str, tuple[float, float]]:
    """For each session the mean over the first half of the seeds, and over the second.

    Sessions that one half couldn't be scored on are left out. Raises UsageError below two seeds.
    """
    seeds = sorted({cell.seed for cell in side.cells})
    if len(seeds) < 2:
        raise UsageError(
            f"--aa: {side.record.name} holds one seed of {side.spec} and can't be added to: run it "
            "with --seed 0 --seed 1"
        )
    half = set(seeds[: len(seeds) // 2])
    parts = [
        tuple(cell for cell in side.cells if (cell.seed in half) is is_first)
        for is_first in (True, False)
    ]
    first, second = (Side(side.record, side.spec, part) for part in parts)
    paired = pair_up(Sides(first, second), wanted)
    return {
        pair.session: (pair.baseline[0], pair.candidate[0])
        for pair in paired.pairs
        if pair.baseline[0] == pair.baseline[1] and pair.candidate[0] == pair.candidate[1]
    }


def is_folder(record: RunRecord) -> bool:
    """True when the record's run is at hand, with its sessions, and not a baseline file."""
    return not record.name.endswith(".json")


def _perform(run: Run, tasks: Sequence[Task]) -> None:
    execute(run, tasks, tasks[0].options.workers if tasks else 1, lambda _: None)


def _opened(folder: Path, options: RunOptions) -> Run:
    if (folder / FILE_NAME).exists():
        return Run.open(folder)
    from importlib.metadata import version

    return Run.create(
        folder,
        {
            "version": version("compaction-bench"),
            "tokenizer": "o200k_base",
            "arbiter": "simulated provider",
            "fact_version": options.fact_version,
            "cuts": options.cuts,
            "repeat": options.repeat,
            "overhead": options.overhead,
            "probes": probes_to_json(options.probes),
            "command": "compaction-bench gate",
        },
    )


def _keep_prompts(run: Run, prompts: Mapping[str, str]) -> None:
    known = run.information().get("prompts") or {}
    if any(digest not in known for digest in prompts):
        run.save_information("prompts", {**known, **prompts})


def _check_options(run: Run, options: RunOptions, folder: Path) -> None:
    """One folder has one fact version, since its cells are read together."""
    there = run.information().get("fact_version")
    if there != options.fact_version:
        raise UsageError(
            f"{folder}: holds cells of fact version {there}, this gate needs "
            f"{options.fact_version}; give another folder with --out"
        )


def _check_sessions(run: Run, plan: Plan, folder: Path) -> None:
    """A session that changed under its name would spoil the cells that are there."""
    digests = {cell.session: cell.digest for cell in plan.cells}
    for stored in run.sessions():
        if digests.get(stored.id, stored.digest) != stored.digest:
            raise UsageError(
                f"{folder}: holds another session under the id {stored.id}; give a new folder with "
                "--out"
            )


def _options_of(run: Run, side: Side, settings: ModelSettings) -> RunOptions:
    """What the run was asked for, as it says itself."""
    information = run.information()
    options = RunOptions(
        specs=(side.spec,),
        models=side.models,
        cuts=information.get("cuts"),
        repeat=int(information.get("repeat") or 1),
        overhead=parse_overhead(information.get("overhead")),
        prompts=information.get("prompts") or {},
        probes=probes_of(information),
        settings=settings,
        arbiter="live" if str(information.get("arbiter", "")).startswith("live") else "simulated",
    )
    if options.fact_version != information.get("fact_version"):
        raise UsageError(
            f"{side.record.name}: was made by another version, so no draws can be added to it: run "
            "it again with more seeds (--seed 0 --seed 1 ...)"
        )
    return options


def _without_seed(cell: CellRecord) -> tuple[str, str, int, str]:
    return cell.session, cell.window_asked, cell.window, cell.model


def _cell(known: CellRecord, digest: str, seed: int, position: int, options: RunOptions) -> Cell:
    cell = Cell(
        identity="",
        position=position,
        session=known.session,
        digest=digest,
        spec=known.spec,
        window=known.window,
        window_asked=known.window_asked,
        model=known.model,
        seed=seed,
    )
    identity = cell_identity(
        digest=digest,
        spec=known.spec,
        window=known.window,
        model=known.model,
        seed=seed,
        fact_version=options.result_version,
    )
    return replace(cell, identity=identity)

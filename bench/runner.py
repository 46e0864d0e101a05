"""Assembly: plans a run, shares its tasks out and commits what comes back.

Tasks are independent: they run here, in worker processes or on a cluster, and only this process
writes. Whatever the order in which they are finished, the stored run is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from bench.errors import RunHalted
from bench.events import Session
from bench.facts import Fact
from bench.overhead import overhead_tokens
from bench.performing import pack, perform, perform_in_parts
from bench.plan import Plan, PlannedSession, make_plan
from bench.probing_options import is_stand_in
from bench.store import Run
from bench.survey import survey
from bench.tasks import CellDone, PackedCell, PackedOutcome, PackedSession, RunOptions, Task

__all__ = ["CellDone", "RunOptions", "Task", "execute", "perform", "plan_run", "tasks_of"]

# Where there are fewer sessions, their cells are shared out too, so that nobody waits.
_TASKS_A_WORKER = 2


def plan_run(
    sessions: Sequence[Session], options: RunOptions, progress: Callable[[str], None]
) -> tuple[Plan, dict[str, PlannedSession]]:
    """The cells of a run. Raises UsageError for a window that some session can't fit."""
    surveyed: list[PlannedSession] = []
    for session in sessions:
        progress(f"measuring {session.id}")
        overhead = overhead_tokens(session, options.overhead)
        surveyed.append(survey(session, overhead_tokens=overhead))
    plan = make_plan(
        surveyed,
        options.specs,
        windows=options.windows,
        models=options.models,
        seeds=options.seeds,
        fact_version=options.result_version,
    )
    return plan, {one.id: one for one in surveyed}


def tasks_of(
    plan: Plan,
    sessions: Sequence[Session],
    surveyed: Mapping[str, PlannedSession],
    facts: Mapping[str, tuple[Fact, ...]],
    options: RunOptions,
    is_done: Callable[[str], bool],
) -> list[Task]:
    """One task for every session that has cells left to run."""
    tasks: list[Task] = []
    for session in sessions:
        cells = tuple(
            cell for cell in plan.cells if cell.session == session.id and not is_done(cell.identity)
        )
        if cells:
            digest = surveyed[session.id].digest
            tasks.append(Task(session, digest, facts.get(session.id, ()), cells, options))
    return tasks


def execute(
    run: Run,
    tasks: Sequence[Task],
    workers: int,
    done: Callable[[CellDone], None],
    *,
    cluster: str | None = None,
) -> None:
    """Runs the tasks and commits what comes back; `done` hears of every cell that is saved.

    With `cluster` they run on the Dask cluster of that address, else in `workers` processes, or
    here if that is one. Interrupted, what was finished is saved. Raises RunHalted when a task
    couldn't go on and no other would, UsageError when the cluster can't be used.
    """
    with closing(finished(tasks, workers, cluster)) as parts:
        for part in parts:
            if isinstance(part, PackedSession):
                run.save_session_rows(part.rows)
                run.save_canaries(part.canaries)
            else:
                run.save_cell_rows(part.rows)
                done(part.done)


def finished(
    tasks: Sequence[Task], workers: int, cluster: str | None
) -> Generator[PackedSession | PackedCell, None, None]:
    """Everything that is finished, in the order in which it is."""
    if cluster is not None:
        from bench.cluster import Cluster

        with Cluster(cluster) as there:
            ordered = longest_first(split(tasks, len(there.workers)))
            yield from _parts_of(there.outcomes(ordered))
    elif workers > 1 and sum(len(task.cells) for task in tasks) > 1:
        from bench.local_workers import outcomes

        yield from _parts_of(outcomes(longest_first(split(tasks, workers)), workers))
    else:
        for task in tasks:
            yield from map(pack, perform_in_parts(task))


def _parts_of(
    outcomes: Generator[PackedOutcome, None, None],
) -> Generator[PackedSession | PackedCell, None, None]:
    """The parts of all outcomes; a halt is raised when everything under way has come back.

    Whoever shares tasks out begins none after a halt.
    """
    halted = ""
    with closing(outcomes):
        for outcome in outcomes:
            yield from outcome.parts
            halted = halted or outcome.halted
    if halted:
        raise RunHalted(halted)


def split(tasks: Sequence[Task], workers: int) -> list[Task]:
    """The same cells in at least twice as many tasks as workers, as far as there are cells.

    Every task of a session finds its facts and replays its controls anew, so no session is split
    without need, and none whose controls a real model reads: they would be paid for twice.
    """
    wanted = workers * _TASKS_A_WORKER
    if not tasks or len(tasks) >= wanted or _has_real_reader(tasks[0].options):
        return list(tasks)
    pieces = -(-wanted // len(tasks))
    found: list[Task] = []
    for task in tasks:
        size = max(1, -(-len(task.cells) // pieces))
        starts = range(0, len(task.cells), size)
        found += [replace(task, cells=task.cells[start : start + size]) for start in starts]
    return found


def _has_real_reader(options: RunOptions) -> bool:
    probes = options.probes
    return bool(probes.kinds) and not all(
        is_stand_in(probes.reader_of(model)) for model in options.models
    )


def longest_first(tasks: Sequence[Task]) -> list[Task]:
    """The tasks with the most work first, so that none is left over for the end.

    A replay costs about what its session is long, and scoring it about the same again.
    """
    return sorted(tasks, key=_work, reverse=True)


def _work(task: Task) -> int:
    text = sum(len(event.message.text) for event in task.session.events)
    return text * (2 + len(task.cells))

"""Assembly: plans a run, shares its tasks out and commits each session's results as they come.

Tasks are independent: they run here or in worker processes, and only this process writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.errors import RunHalted
from bench.events import Session
from bench.facts import Fact
from bench.performing import perform
from bench.plan import Plan, PlannedSession, make_plan
from bench.store import Run
from bench.survey import survey
from bench.tasks import RunOptions, Task, TaskOutcome

__all__ = ["RunOptions", "Task", "execute", "perform", "plan_run", "tasks_of"]


def plan_run(
    sessions: Sequence[Session], options: RunOptions, progress: Callable[[str], None]
) -> tuple[Plan, dict[str, PlannedSession]]:
    """The cells of a run. Raises UsageError for a window that some session can't fit."""
    surveyed: list[PlannedSession] = []
    for session in sessions:
        progress(f"measuring {session.id}")
        surveyed.append(survey(session))
    plan = make_plan(
        surveyed,
        options.specs,
        windows=options.windows,
        models=options.models,
        seeds=options.seeds,
        fact_version=options.fact_version,
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


def execute(run: Run, tasks: Sequence[Task], workers: int, done: Callable[[Task], None]) -> None:
    """Runs the tasks and commits each when it comes back. Interrupted, what was done is saved.

    Raises RunHalted when a task couldn't go on and no other would; finished cells are saved first.
    """
    for outcome in _outcomes(tasks, workers):
        commit(run, outcome)
        if outcome.halted:
            raise RunHalted(outcome.halted)
        done(outcome.task)


def commit(run: Run, outcome: TaskOutcome) -> None:
    """Keeps everything that one task found."""
    task = outcome.task
    run.save_session(
        task.session,
        task.digest,
        description=outcome.description,
        facts=task.facts,
        uses=outcome.uses,
    )
    run.save_canaries(outcome.canaries)
    for cell in outcome.cells:
        run.save_cell(
            cell.cell,
            status=cell.status,
            reason=cell.reason,
            seconds=cell.seconds,
            replay=cell.replay,
            scores=cell.scores,
            calls=cell.calls,
            answers=cell.answers,
        )


def _outcomes(tasks: Sequence[Task], workers: int) -> Iterator[TaskOutcome]:
    if workers <= 1 or len(tasks) <= 1:
        yield from map(perform, tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator", batch_size=1)
    yield from parallel(delayed(perform)(task) for task in tasks)

"""Assembly: runs the cells of a plan and commits each session's results as they come.

A task is one session with all its cells, so that its index, its facts and the controls are computed
once. Tasks are independent: they run here or in worker processes, and only this process writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.canaries import canary_shares, plant
from bench.engine import policy_of
from bench.entities import ENTITY_TABLE_VERSION
from bench.events import Session
from bench.facts import Fact, Use
from bench.history import History
from bench.inspecting import describe
from bench.judging import Judge, replay_control
from bench.models import make_model
from bench.observations import Replay
from bench.plan import Cell, Plan, PlannedSession, make_plan
from bench.projection import Projection
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import Cuts, replay
from bench.store import Canary, Run
from bench.strategy import Declined, strategy_for
from bench.survey import survey
from bench.wire.rendering import render, visible_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to run: canonical specs, windows in tokens (None: auto), models, seeds.

    `prompts` holds the texts of summary prompts by digest, since a spec names them so.
    """

    specs: tuple[str, ...]
    windows: tuple[int | None, ...] = (None,)
    models: tuple[str, ...] = ("offline",)
    seeds: tuple[int, ...] = (0,)
    cuts: Cuts = None
    workers: int = 1
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def fact_version(self) -> str:
        """What the facts and scores of a cell rest on."""
        return f"{ENTITY_TABLE_VERSION}/cuts={self.cuts}"


@dataclass(frozen=True, slots=True)
class Task:
    """One session with the cells to replay."""

    session: Session
    digest: str
    facts: tuple[Fact, ...]
    cells: tuple[Cell, ...]
    cuts: Cuts
    prompts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What became of a cell; `replay` and `scores` are None when it ended in an error."""

    cell: Cell
    status: str
    reason: str
    seconds: float
    replay: Replay | None
    scores: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Everything that one task found."""

    task: Task
    description: dict[str, Any]
    uses: tuple[Use, ...]
    canaries: tuple[Canary, ...]
    cells: tuple[CellOutcome, ...]


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
            tasks.append(
                Task(
                    session, digest, facts.get(session.id, ()), cells, options.cuts, options.prompts
                )
            )
    return tasks


def execute(run: Run, tasks: Sequence[Task], workers: int, done: Callable[[Task], None]) -> None:
    """Runs the tasks and commits each when it comes back. Interrupted, what was done is saved."""
    for outcome in _outcomes(tasks, workers):
        session = outcome.task.session
        run.save_session(
            session,
            outcome.task.digest,
            description=outcome.description,
            facts=outcome.task.facts,
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
            )
        done(outcome.task)


def _outcomes(tasks: Sequence[Task], workers: int) -> Iterator[TaskOutcome]:
    if workers <= 1 or len(tasks) <= 1:
        yield from map(perform, tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator", batch_size=1)
    yield from parallel(delayed(perform)(task) for task in tasks)


def perform(task: Task) -> TaskOutcome:
    """Everything about one session: facts, controls, canaries, cells."""
    session = task.session
    judge = Judge.of(session, task.facts)
    cells: list[CellOutcome] = []
    for cell in task.cells:
        started = time.perf_counter()
        try:
            seen = _replay_cell(task, cell)
        except Declined as declined:
            cells.append(CellOutcome(cell, "not_exercised", declined.reason, 0.0, None, None))
            continue
        except Exception as error:
            # A defect in one strategy must not cost the other cells; the reason names it.
            reason = f"{type(error).__name__}: {error}"
            cells.append(CellOutcome(cell, "error", reason, 0.0, None, None))
            continue
        seconds = time.perf_counter() - started
        status, reason = _status(task, cell, seen)
        scores = judge.scores_of(seen, is_exercised=status != "not_exercised")
        seen = replace(seen, final=None)
        cells.append(CellOutcome(cell, status, reason, seconds, seen, scores))
    return TaskOutcome(task, describe(session), judge.uses, _canaries(session), tuple(cells))


def _provider(session: Session, cell: Cell, *, ignore_window: bool) -> SimulatedProvider:
    return SimulatedProvider(
        make_model(cell.model),
        cell.window,
        tools=session.tools,
        seed=cell.seed,
        ignore_window=ignore_window,
    )


def _replay_cell(task: Task, cell: Cell) -> Replay:
    session = task.session
    strategy = strategy_for(make_strategy(cell.spec, prompts=task.prompts).strategy, session)
    policy = policy_of(strategy)
    provider = _provider(session, cell, ignore_window=policy.ignores_window)
    return replay(session, strategy, provider, cuts=None if policy.is_control else task.cuts)


def _status(task: Task, cell: Cell, seen: Replay) -> tuple[str, str]:
    if seen.stopped is not None:
        return "stopped", f"request {seen.stopped.at_request}: {seen.stopped.reason}"
    if not cell.is_control and not any(one.outcome == "accepted" for one in seen.compactions):
        tried = len(seen.compactions)
        reason = "nothing was compacted: the session never grew past the threshold"
        if task.cuts == "recorded" and not task.session.recorded_compactions:
            reason = "nothing was compacted: this recording holds no compaction to cut at"
        elif task.cuts is not None:
            reason = "nothing was compacted: at the cut points there was nothing to compact"
        if tried:
            last = seen.compactions[-1]
            reason = f"nothing was compacted in {tried} tries, the last {last.outcome}: "
            reason += last.reason
        return "not_exercised", reason
    return "ok", ""


def _canaries(session: Session) -> tuple[Canary, ...]:
    """Tokens planted in a copy must be in the ceiling's rendered request and not in the floor's."""
    planted, canaries = plant(session, seed=0)
    history = History(planted.events)
    results: list[Canary] = []
    for control in ("keep_all", "empty"):
        seen = replay_control(planted, control)
        if not seen.requests or not canaries:
            continue
        last: Projection = seen.projection(len(seen.requests) - 1, history)
        text = "\n".join(visible_texts(render(last)))
        found = round(canary_shares(text, canaries) * len(canaries))
        results.append(Canary(session.id, control, len(canaries), found))
    return tuple(results)

"""Assembly: one task performed: the cells of a session replayed and scored between the controls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from bench.canaries import canary_shares, plant
from bench.engine import policy_of
from bench.errors import RunHalted
from bench.events import Session
from bench.history import History
from bench.inspecting import describe
from bench.judging import Judge, replay_control
from bench.models import Model, make_model
from bench.observations import CallObservation, Replay, Retries
from bench.plan import Cell
from bench.projection import Projection
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.store import Canary
from bench.strategy import Declined, strategy_for
from bench.tasks import CellOutcome, Task, TaskOutcome
from bench.wire.rendering import render, visible_texts


def perform(task: Task) -> TaskOutcome:
    """Everything about one session: facts, controls, canaries, cells."""
    session = task.session
    judge = Judge.of(session, task.facts)
    cells: list[CellOutcome] = []
    halted = ""
    for cell in task.cells:
        started = time.perf_counter()
        try:
            model = make_model(cell.model, task.options.settings)
            seen = _replay_cell(task, cell, model)
        except Declined as declined:
            cells.append(CellOutcome(cell, "not_exercised", declined.reason, 0.0))
            continue
        except RunHalted as halt:
            halted = halt.reason
            break
        except Exception as error:
            # A defect in one strategy must not cost the other cells; the reason names it.
            reason = f"{type(error).__name__}: {error}"
            cells.append(CellOutcome(cell, "error", reason, 0.0))
            continue
        seconds = time.perf_counter() - started
        status, reason = _status(task, cell, seen)
        scores = judge.scores_of(seen, is_exercised=status != "not_exercised")
        calls: tuple[CallObservation, ...] = tuple(getattr(model, "calls", ()))
        seen = replace(seen, final=None, retries=_with_transport(seen.retries, calls))
        cells.append(CellOutcome(cell, status, reason, seconds, seen, scores, calls))
    canaries = _canaries(session)
    return TaskOutcome(task, describe(session), judge.uses, canaries, tuple(cells), halted)


def _with_transport(retries: Retries, calls: Sequence[CallObservation]) -> Retries:
    """Second tries that a rate limit, a timeout or a broken connection made necessary."""
    sent_again = sum(max(0, call.attempts - 1) for call in calls)
    return replace(retries, transport=retries.transport + sent_again)


def _replay_cell(task: Task, cell: Cell, model: Model) -> Replay:
    session, options = task.session, task.options
    strategy = strategy_for(make_strategy(cell.spec, prompts=options.prompts).strategy, session)
    policy = policy_of(strategy)
    provider = SimulatedProvider(
        model,
        cell.window,
        tools=session.tools,
        seed=cell.seed,
        ignore_window=policy.ignores_window,
    )
    return replay(session, strategy, provider, cuts=None if policy.is_control else options.cuts)


def _status(task: Task, cell: Cell, seen: Replay) -> tuple[str, str]:
    if seen.stopped is not None:
        return "stopped", f"request {seen.stopped.at_request}: {seen.stopped.reason}"
    if not cell.is_control and not any(one.outcome == "accepted" for one in seen.compactions):
        tried = len(seen.compactions)
        reason = "nothing was compacted: the session never grew past the threshold"
        if task.options.cuts == "recorded" and not task.session.recorded_compactions:
            reason = "nothing was compacted: this recording holds no compaction to cut at"
        elif task.options.cuts is not None:
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

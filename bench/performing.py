"""Assembly: one task performed: the cells of a session replayed and scored between the controls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench.canaries import canary_shares, plant
from bench.engine_policy import policy_of
from bench.errors import RunHalted
from bench.events import Session
from bench.history import History
from bench.inspecting import describe
from bench.judging import Judge, replay_control
from bench.models import Model, make_model
from bench.observations import CallObservation, Replay, Retries
from bench.overhead import overhead_tokens
from bench.plan import Cell
from bench.projection import Projection
from bench.provider import Provider
from bench.providers.simulated import SimulatedProvider
from bench.reading_cells import CellReading, SessionReaders
from bench.registry import make_strategy
from bench.replay import replay
from bench.store_rows import Canary, cell_rows, session_rows
from bench.strategy import Declined, strategy_for
from bench.tasks import (
    CellDone,
    CellOutcome,
    PackedCell,
    PackedOutcome,
    PackedSession,
    SessionOutcome,
    Task,
    TaskOutcome,
)
from bench.wire.rendering import render, visible_texts


def perform(task: Task) -> TaskOutcome:
    """Everything about one session, all at once."""
    about: SessionOutcome | None = None
    cells: list[CellOutcome] = []
    halted = ""
    try:
        for part in perform_in_parts(task):
            if isinstance(part, CellOutcome):
                cells.append(part)
            else:
                about = part
    except RunHalted as halt:
        halted = halt.reason
    return TaskOutcome(about, tuple(cells), halted)


def perform_packed(task: Task) -> PackedOutcome:
    """The same as rows, made in the process that did the work: little comes back."""
    parts: list[PackedSession | PackedCell] = []
    try:
        parts.extend(map(pack, perform_in_parts(task)))
    except RunHalted as halt:
        return PackedOutcome(tuple(parts), halt.reason)
    return PackedOutcome(tuple(parts))


def failed(task: Task, reason: str) -> PackedOutcome:
    """The cells of a task that was never finished: errors, which a resumed run tries again."""
    parts = (pack(CellOutcome(cell, "error", reason, 0.0)) for cell in task.cells)
    return PackedOutcome(tuple(parts))


def pack(part: SessionOutcome | CellOutcome) -> PackedSession | PackedCell:
    """A part of an outcome as rows of the run file."""
    if isinstance(part, SessionOutcome):
        rows = session_rows(
            part.session,
            part.digest,
            description=part.description,
            facts=part.facts,
            uses=part.uses,
        )
        return PackedSession(rows, part.canaries)
    cell = cell_rows(
        part.cell,
        status=part.status,
        reason=part.reason,
        seconds=part.seconds,
        replay=part.replay,
        scores=part.scores,
        calls=part.calls,
        answers=part.answers,
    )
    return PackedCell(cell, CellDone(part.cell.session, part.status, len(part.calls)))


def perform_in_parts(task: Task) -> Iterator[SessionOutcome | CellOutcome]:
    """The session first, with its facts and canaries, then each cell as it is finished.

    Raises RunHalted when a cell can't go on and no other would.
    """
    session = task.session
    overhead = overhead_tokens(session, task.options.overhead)
    judge = Judge.of(session, task.facts, overhead_tokens=overhead)
    if not task.options.settings.is_rehearsal:
        canaries = _canaries(session)
        yield SessionOutcome(
            session, task.digest, describe(session), task.facts, judge.uses, canaries
        )
    readers = SessionReaders(session, judge, task.options.probes, task.options.settings)
    for cell in task.cells:
        yield _perform_cell(task, judge, readers, cell)


def _perform_cell(task: Task, judge: Judge, readers: SessionReaders, cell: Cell) -> CellOutcome:
    started = time.perf_counter()
    model: Model | None = None
    try:
        model = make_model(cell.model, task.options.settings)
        seen = _replay_of_control(judge, cell) or _replay_cell(task, cell, model)
    except Declined as declined:
        return CellOutcome(cell, "not_exercised", declined.reason, 0.0, calls=_calls(model))
    except Exception as error:
        # A defect in one strategy must not cost the other cells; the reason names it.
        reason = f"{type(error).__name__}: {error}"
        return CellOutcome(cell, "error", reason, 0.0, calls=_calls(model))
    seconds = time.perf_counter() - started
    status, reason = _status(task, cell, seen)
    try:
        # Of a cell that nothing can be lost in, nobody needs to be asked.
        reading = CellReading() if status == "not_exercised" else readers.read(cell, seen)
    except Exception as error:
        reason = f"asking a reader: {type(error).__name__}: {error}"
        return CellOutcome(cell, "error", reason, seconds, calls=_calls(model))
    if task.options.settings.is_rehearsal:
        # Only what was asked counts, nothing of it is stored.
        return CellOutcome(cell, status, reason, seconds, calls=(*_calls(model), *reading.calls))
    scores = judge.scores_of(
        seen,
        is_exercised=status != "not_exercised",
        answers=reading.answers,
        controls=reading.controls,
    )
    calls = (*_calls(model), *reading.calls)
    seen = replace(seen, final=None, retries=_with_transport(seen.retries, calls))
    return CellOutcome(cell, status, reason, seconds, seen, scores, calls, reading.answers)


def _calls(model: Model | None) -> tuple[CallObservation, ...]:
    """What a real model was asked; a cell that failed has paid for it too."""
    return tuple(getattr(model, "calls", ()))


def _replay_of_control(judge: Judge, cell: Cell) -> Replay | None:
    """What the judge saw of a control, where the cell would see the same.

    A control asks no model and knows no window, unless its requests are too long for the cell's.
    """
    if not cell.is_control:
        return None
    seen = judge.ceiling if cell.spec == "keep_all" else judge.floor
    largest = max((request.tokens for request in seen.requests), default=0)
    return seen if cell.spec == "keep_all" or largest <= cell.window else None


def _with_transport(retries: Retries, calls: Sequence[CallObservation]) -> Retries:
    """Second tries that a rate limit, a timeout or a broken connection made necessary."""
    sent_again = sum(max(0, call.attempts - 1) for call in calls)
    return replace(retries, transport=retries.transport + sent_again)


def _replay_cell(task: Task, cell: Cell, model: Model) -> Replay:
    session, options = task.session, task.options
    strategy = strategy_for(make_strategy(cell.spec, prompts=options.prompts).strategy, session)
    policy = policy_of(strategy)
    provider: Provider = SimulatedProvider(
        model,
        cell.window,
        tools=session.tools,
        overhead_tokens=overhead_tokens(session, options.overhead),
        seed=cell.seed,
        ignore_window=policy.ignores_window,
    )
    if options.arbiter == "live" and not policy.is_control:
        from bench.providers.live import LiveProvider, is_remote_model

        if is_remote_model(model):
            provider = LiveProvider(model, cell.window, tools=session.tools, seed=cell.seed)
    if policy.is_control:
        return replay(session, strategy, provider)
    return replay(session, strategy, provider, cuts=options.cuts, repeat=options.repeat)


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

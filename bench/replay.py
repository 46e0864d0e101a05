"""Judgement: one teacher-forced replay of a session through a strategy.

Before every recorded assistant message a request is made from the projection; the provider accepts
or refuses it; then the recorded message follows, whatever the projection was.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias

from bench.counted_stretches import told_with_counts
from bench.engine import Engine, Prepared
from bench.events import Session, requests_after
from bench.history import History
from bench.observations import Replay, RequestObservation, Stopped
from bench.projection import Projection
from bench.provider import ExpectingProvider, Provider, ProviderError
from bench.strategy import Strategy, opened

_OBJECTS_BETWEEN_COLLECTIONS = 200_000
# Without the constructor of a named tuple, which takes twice as long: some are made a request.
_tuple = tuple.__new__

Cuts: TypeAlias = int | Literal["recorded"] | None


def replay(
    session: Session,
    strategy: Strategy,
    provider: Provider,
    *,
    cuts: Cuts = None,
    repeat: int = 1,
    manual: bool = False,
) -> Replay:
    """Replays `session` through `strategy` against `provider`.

    `cuts` forces that many compaction points, evenly spaced, or those of the recording's own
    tool ("recorded"), instead of the strategy's own triggers. Each span is summarised `repeat`
    times in a row, summary of summary; `manual` compacts once more at the end. A request that
    can't be rescued ends the replay (`Replay.stopped`).
    """
    with opened(strategy) as alive, _rare_collections():
        return _replayed(session, alive, provider, cuts, repeat, manual=manual)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Cycles are looked for less often: a replay makes none, and many objects that stay."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], _OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _replayed(
    session: Session,
    strategy: Strategy,
    provider: Provider,
    cuts: Cuts,
    repeat: int,
    *,
    manual: bool,
) -> Replay:
    history = History()
    total = sum(event.message.role == "assistant" for event in session.events)
    forced = cut_points(session, total, cuts)
    engine = Engine(strategy, provider, session, forced_requests=forced, repeat=repeat)
    projection = Projection.whole(history)
    requests: list[RequestObservation] = []
    stopped: Stopped | None = None
    expecting, will_count = [engine.expect], False
    if isinstance(provider, ExpectingProvider):
        expecting.append(provider.expect)
        will_count = True
    for event in told_with_counts(session.events, *expecting, will_count=will_count):
        if event.message.role == "assistant":
            attempt = attempt_request(engine, provider, projection.advance(), len(requests))
            requests.append(attempt.observation)
            projection = attempt.projection
            if attempt.refusal is not None:
                stopped = Stopped(attempt.observation.index, attempt.refusal)
                break
        history.append(event)
        if event.message.role == "user" and event.starts_turn:
            engine.begin_turn()
    final = projection.advance()
    if manual and stopped is None:
        final = engine.compact_now(final, len(requests)).lasting
    return Replay(
        session=session.id,
        requests=tuple(requests),
        requests_total=total,
        heads=tuple(engine.heads),
        compactions=tuple(engine.compactions),
        retries=engine.retries,
        stopped=stopped,
        final=final,
    )


class Attempt(NamedTuple):
    """One request and what the next one starts from; `refusal` None means that it was served."""

    observation: RequestObservation
    projection: Projection
    refusal: str | None = None


def attempt_request(
    engine: Engine, provider: Provider, projection: Projection, index: int
) -> Attempt:
    """One request, compacted before when due and rescued at most once when refused."""
    prepared = engine.prepare(projection, index)
    refusal: str | None = None
    try:
        usage = provider.send(prepared.sent)
    except ProviderError as error:
        refusal = f"{error.kind}: {error.text}"
        if not engine.is_overflow(error):
            return _refused(engine, provider, prepared, index, refusal)
        recovery = engine.recover(prepared.sent, index, prepared.lasting)
        if recovery.prepared is None:
            prepared = prepared._replace(lasting=recovery.lasting or prepared.lasting)
            reason = f"{refusal} ({recovery.reason})"
            return _refused(engine, provider, prepared, index, reason)
        prepared = recovery.prepared
        try:
            usage = provider.send(prepared.sent)
        except ProviderError as again:
            reason = f"{again.kind}: {again.text} (after recovery)"
            return _refused(engine, provider, prepared, index, reason)
    engine.served(prepared.sent, usage)
    observation = _observed(
        engine, prepared, index, usage.input_tokens, usage.cached_tokens or 0, is_served=True
    )
    return _tuple(Attempt, (observation, prepared.lasting, None))


def _refused(
    engine: Engine, provider: Provider, prepared: Prepared, index: int, reason: str
) -> Attempt:
    tokens = provider.measure(prepared.sent)
    return Attempt(_observed(engine, prepared, index, tokens), prepared.lasting, reason)


def _observed(
    engine: Engine,
    prepared: Prepared,
    index: int,
    tokens: int,
    cached_tokens: int = 0,
    *,
    is_served: bool = False,
) -> RequestObservation:
    sent = prepared.sent
    return _tuple(
        RequestObservation,
        (
            index,
            sent.stop + 1,
            is_served,
            tokens,
            cached_tokens,
            engine.size(sent),
            engine.head_index(sent),
            sent.tail_start,
            sent.stop,
            0,
        ),
    )


def cut_points(session: Session, total: int, cuts: Cuts) -> frozenset[int] | None:
    """The requests (of `total`) before which compactions are forced; None without cuts."""
    if cuts == "recorded":
        recorded = (one.after_seq for one in session.recorded_compactions)
        return frozenset(requests_after(session, recorded))
    return forced_requests(total, cuts)


def forced_requests(total: int, cuts: int | None) -> frozenset[int] | None:
    """The requests before which `cuts` compactions are forced, evenly spaced; None without cuts."""
    if cuts is None:
        return None
    return frozenset(round(total * (cut + 1) / (cuts + 1)) for cut in range(cuts))

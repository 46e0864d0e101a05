"""The work of a replay grows with what is new: counted in calls and bytes, never in seconds."""

import tracemalloc
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import tokens
from bench.events import Session
from bench.generator import generate_session
from bench.history import History
from bench.observations import Replay
from bench.projection import Projection
from strategies.layered import encoding
from strategies.layered.planner import plan, span_of
from tests.benchmarks.measuring import InstantModel, calls_of, replay_of

WINDOW = 16_000
SPECS = ("keep_all", "empty", "head_tail", "layered")


@cache
def _session(events: int) -> Session:
    return generate_session(kind="coding", language="en", events=events, seed=4)[0]


def _replay(session: Session, spec: str) -> Replay:
    return replay_of(session, spec, InstantModel(), WINDOW)


@pytest.mark.parametrize("spec", SPECS)
def test_calls_grow_with_the_events(spec: str) -> None:
    calls: list[float] = []
    for events in (600, 2_400):
        session = _session(events)
        seen = _replay(session, spec)
        assert seen.stopped is None
        # Counts and sizes are known by now, so that only the machinery is left.
        calls.append(calls_of(lambda session=session: _replay(session, spec)) / len(session.events))
    assert calls[1] < calls[0] * 1.15


@pytest.mark.parametrize("spec", ["head_tail", "layered"])
def test_another_strategy_counts_none_of_the_events_again(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _session(600)
    tokens.forget()
    _replay(session, "keep_all")
    counted: list[str] = []
    anew = tokens._count_anew

    def noted(text: str) -> int:
        counted.append(text)
        return anew(text)

    monkeypatch.setattr(tokens, "_count_anew", noted)
    _replay(session, spec)
    said = {event.message.text for event in session.events}
    assert counted
    assert not said.intersection(counted)


def test_planning_copies_no_history() -> None:
    bytes_taken: list[int] = []
    for events in (600, 2_400):
        view = Projection.whole(History(_session(events).events))
        plan(span_of(view), "auto")
        tracemalloc.start()
        # Told before: a plan of the same span needs only what is new.
        span = span_of(view)
        bytes_taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(span.messages) == events
    assert bytes_taken[1] < bytes_taken[0] + 8_000


@given(st.text(max_size=80))
def test_json_strings_are_the_same_with_and_without_orjson(text: str) -> None:
    well_formed = encoding.well_formed(text)
    assert encoding._json_string(well_formed) == encoding._quoted(well_formed)

"""Canaries: planted where only a full history shows them, found only where they are shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from bench.canaries import Canary, canary_shares, plant
from bench.events import Message, Session
from bench.history import History
from tests.generators import sessions
from tests.hand_replays import call, everything, pinned_only, replay_by_hand, session_of


def shown_text(session: Session, show: object) -> str:
    """The last request of a replay by hand, as the JSON that would go over the wire."""
    seen = replay_by_hand(session, show)  # type: ignore[arg-type]
    last = seen.projection(len(seen.requests) - 1, History(session.events))
    return json.dumps([message.text for message in last.messages])


@given(sessions())
def test_everything_shows_all_and_the_floor_none(session: Session) -> None:
    planted, canaries = plant(session, seed=3)
    for canary in canaries:
        assert canary.token in planted.events[canary.seq - 1].message.text
    if canaries:
        assert canary_shares(shown_text(planted, everything), canaries) == 1
        assert canary_shares(shown_text(planted, pinned_only), canaries) == 0


@given(sessions())
def test_only_texts_grow(session: Session) -> None:
    planted, canaries = plant(session, seed=3)
    assert len(planted.events) == len(session.events)
    planted_seqs = {canary.seq for canary in canaries}
    for before, after in zip(session.events, planted.events, strict=True):
        if before.seq in planted_seqs:
            assert after.message.text.startswith(before.message.text)
            assert after.message.calls == before.message.calls
        else:
            assert after == before
    assert len({canary.token for canary in canaries}) == len(canaries)


def test_every_role_gets_some() -> None:
    steps: list[Message | str] = ["begin"]
    for step in range(4):
        steps.append(call("look", "{}", "I look.", call_id=f"c{step}"))
        steps.append(Message("tool", f"seen {step}", call_id=f"c{step}"))
    session = session_of(*steps, Message("assistant", "done"), "go on", "over")
    planted, canaries = plant(session, seed=0)
    roles = {planted.events[canary.seq - 1].message.role for canary in canaries}
    assert roles == {"user", "assistant", "tool"}


def test_the_same_seed_plants_the_same() -> None:
    session = session_of("a", "b", "c", "d", "e", "f")
    assert plant(session, seed=1) == plant(session, seed=1)
    assert plant(session, seed=1)[1] != plant(session, seed=2)[1]


def test_sessions_without_a_place_get_none() -> None:
    for session in (session_of(), session_of("only a request"), session_of("ask", "answer")):
        assert plant(session, seed=0) == (session, ())


def test_shares() -> None:
    canaries = (Canary("canary-a", 1), Canary("canary-b", 2))
    assert canary_shares("so canary-b sings", canaries) == 0.5
    with pytest.raises(ValueError, match="no canary"):
        canary_shares("silence", ())

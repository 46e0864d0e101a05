"""Judgement: canaries, tokens planted in a copy of a session to prove that looking up works.

Rendered through the wire, the same text that a model would get, `keep_all` must show all of them
and `empty` none. They are part of no score (scoring.md, "What similar tools get wrong").
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.events import Event, Role, Session
from bench.session_index import group_span, group_starts

CANARIES_PER_ROLE = 2
_ROLES: tuple[Role, ...] = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Canary:
    """A token that stands in event `seq` of the copy and nowhere else."""

    token: str
    seq: int


def plant(session: Session, seed: int) -> tuple[Session, tuple[Canary, ...]]:
    """A copy of the session with canaries at the end of early texts of every role.

    No canary stands in a system message or in the last user request or its group, which `empty`
    shows too, nor behind the last recorded answer. Tokens need no escaping in JSON. A session
    without such a place gets none.
    """
    draw = random.Random(f"{seed}:{session.id}")
    candidates = _candidates(session)
    chosen: list[Event] = []
    for role in _ROLES:
        of_role = [event for event in candidates if event.message.role == role]
        early = of_role[: max(CANARIES_PER_ROLE, len(of_role) // 2)]
        chosen += draw.sample(early, min(CANARIES_PER_ROLE, len(early)))
    canaries: dict[int, Canary] = {}
    for event in sorted(chosen, key=lambda event: event.seq):
        digest = hashlib.sha256(f"{seed}:{session.id}:{event.seq}".encode()).hexdigest()
        canaries[event.seq] = Canary(f"canary-{digest[:16]}", event.seq)
    events = tuple(
        _with_canary(event, canaries[event.seq]) if event.seq in canaries else event
        for event in session.events
    )
    return replace(session, events=events), tuple(canaries.values())


def canary_shares(rendered_text: str, canaries: Sequence[Canary]) -> float:
    """The share of canaries in a rendered request, 0 to 1. Raises ValueError without canaries."""
    if not canaries:
        raise ValueError("no canary was planted, so there is no share")
    return sum(canary.token in rendered_text for canary in canaries) / len(canaries)


def _candidates(session: Session) -> list[Event]:
    answers = [event.seq for event in session.events if event.message.role == "assistant"]
    if not answers:
        return []
    last_answer = answers[-1]
    turns = [event.seq for event in session.events[: last_answer - 1] if event.starts_turn]
    newest = turns[-1] if turns else last_answer - 1
    first, last = group_span(group_starts(session), newest, last_answer) if newest else (0, 0)
    return [
        event
        for event in session.events[: last_answer - 1]
        if event.message.role != "system" and event.message.text and not first <= event.seq <= last
    ]


def _with_canary(event: Event, canary: Canary) -> Event:
    text = f"{event.message.text} {canary.token}"
    return replace(event, message=replace(event.message, text=text))

"""Edge: is a session what it should be? Judged are the events and the damage that was met.

An error means that something which was said is lost or in doubt, or that an API would refuse the
conversation as it stands; a replay works all the same, with a marked stand-in. A warning means that
something was put right without loss, or is worth knowing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NoReturn

from bench.events import Event, Session, ToolCall
from bench.history import History

Severity = Literal["error", "warning"]

# Repairs after which something that was recorded is missing, or might be another thing.
LOSSES: frozenset[str] = frozenset(
    {
        "bad_line",
        "conflicting_result",
        "damaged_archive",
        "missing_message",
        "not_an_object",
        "seq_gap",
        "too_deep",
        "too_large",
        "torn_tail",
        "unknown_call",
        "unknown_compression",
        "unknown_role",
    }
)
# What the events themselves show, and is said once.
_SEEN_IN_EVENTS = frozenset({"arguments_not_json", "orphan_result"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that isn't as it should be: its kind, the place, and one sentence."""

    severity: Severity
    kind: str
    where: str
    what: str


def findings(session: Session) -> tuple[Finding, ...]:
    """Everything that is wrong or remarkable: errors first, each kind in the order of places."""
    history = History(session.events)
    found = [
        *_about_session(session),
        *_about_damage(session),
        *(finding for event in session.events for finding in _about_event(event, history)),
        *_about_reused_ids(session),
    ]
    return tuple(sorted(found, key=lambda finding: finding.severity != "error"))


def _about_session(session: Session) -> Iterator[Finding]:
    if not any(event.message.role == "assistant" for event in session.events):
        yield Finding("error", "no_request", "whole session", "no assistant speaks: no request")
    if session.is_slice:
        yield Finding(
            "warning", "starts_in_mid_session", "beginning", "what came before is missing"
        )
    for number, made in enumerate(session.recorded_compactions, start=1):
        if not 0 <= made.after_seq <= len(session.events):
            what = f"compaction {number} stands after event {made.after_seq}, which isn't there"
            yield Finding("error", "compaction_out_of_place", "recorded compactions", what)


def _about_damage(session: Session) -> Iterator[Finding]:
    for repair in session.repairs:
        if repair.kind not in _SEEN_IN_EVENTS:
            severity: Severity = "error" if repair.kind in LOSSES else "warning"
            yield Finding(severity, repair.kind, repair.where, repair.what)


def _about_event(event: Event, history: History) -> Iterator[Finding]:
    message, where = event.message, f"event {event.seq}"
    if message.role == "tool":
        if history.result_wire_id(event.seq - 1) is None:
            what = f"a result for {message.call_id!r}, but no open call has that id"
            yield Finding("error", "orphan_result", where, what)
    elif not (message.text.strip() or message.calls or message.attachments):
        yield Finding("error", "empty_message", where, f"an empty {message.role} message")
    ids = [call.id for call in message.calls]
    for number, call in enumerate(message.calls):
        if not call.id:
            what = f"a call of {call.name or 'nothing'} without id"
            yield Finding("error", "missing_call_id", where, what)
        elif call.id in ids[:number]:
            what = f"two calls of one message have the id {call.id!r}"
            yield Finding("error", "duplicate_call_id", where, what)
        if not call.name:
            yield Finding("error", "missing_call_name", where, f"the call {call.id!r} has no name")
        yield from _about_arguments(call, where)
    yield from _about_unanswered(event, history)


def _about_unanswered(event: Event, history: History) -> Iterator[Finding]:
    position = event.seq - 1
    missing = [state.call for state in history.calls_at(position) if state.result_seq is None]
    if not missing:
        return
    is_pending = history.is_pending(position, len(history))
    for call in missing:
        where, what = f"event {event.seq}", f"{call.name}({call.id}) never got a result"
        if is_pending:
            yield Finding("warning", "open_call", where, f"{what}: the session ends before it")
        else:
            yield Finding("error", "unanswered_call", where, what)


def _about_arguments(call: ToolCall, where: str) -> Iterator[Finding]:
    try:
        value = json.loads(call.arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        what = f"the arguments of {call.name} are no JSON"
        yield Finding("error", "arguments_not_json", where, what)
        return
    if not isinstance(value, dict):
        what = f"the arguments of {call.name} are JSON, but no object"
        yield Finding("warning", "arguments_no_object", where, what)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _about_reused_ids(session: Session) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for event in session.events:
        for call_id in dict.fromkeys(call.id for call in event.message.calls if call.id):
            earlier = first.setdefault(call_id, event.seq)
            if earlier != event.seq:
                what = f"the id {call_id!r} of event {earlier} again: results pair by their place"
                yield Finding("warning", "call_id_reused", f"event {event.seq}", what)

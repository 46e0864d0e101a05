"""Edges: what is in a session, in the fixed keys of `sessions inspect --json`."""

from __future__ import annotations

from typing import Any

from bench.events import Message, Session
from bench.history import History
from bench.tokens import count


def describe(session: Session, evidence: str | None = None) -> dict[str, Any]:
    """Counts of one session, and the `evidence` by which its format was recognised.

    `turns` are requests that somebody made, `tool_groups` assistant messages with calls,
    `unanswered_calls` calls without a result, `tokens` all text of the messages in o200k tokens
    without wire overhead (calls count with name and arguments, attachments and reasoning don't).
    """
    history = History(session.events)
    calls = [history.calls_at(position) for position in range(len(history))]
    return {
        "id": session.id,
        "path": session.path,
        "format": session.format,
        "events": len(session.events),
        "turns": sum(event.starts_turn for event in session.events),
        "tool_groups": sum(1 for group in calls if group),
        "unanswered_calls": sum(state.result_seq is None for group in calls for state in group),
        "tokens": sum(_tokens(event.message) for event in session.events),
        "recorded_compactions": len(session.recorded_compactions),
        "is_slice": session.is_slice,
        "subagent_of": session.subagent_of,
        "repairs": [
            {"kind": repair.kind, "where": repair.where, "what": repair.what}
            for repair in session.repairs
        ],
        "skipped_lines": session.skipped_lines,
        "evidence": evidence,
    }


def _tokens(message: Message) -> int:
    return count(message.text) + sum(
        count(call.name) + count(call.arguments) for call in message.calls
    )

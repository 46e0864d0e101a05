"""Edge: a session as JSON lines, without loss: what a run keeps of its input.

The first line is the session without its events, each further line one event. Fields that have
their default value are left out.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, fields
from hashlib import sha256
from typing import Any

from bench.events import (
    Attachment,
    Event,
    Message,
    RecordedCompaction,
    RecordedUsage,
    Repair,
    Session,
    ToolCall,
    ToolDefinition,
)

FORMAT = "compaction-bench/session"
VERSION = 1


def session_to_lines(session: Session) -> str:
    """The session as text, one JSON object a line, each line ended by a line feed."""
    header = {"type": FORMAT, "version": VERSION, **_filled(session, leave_out=("events",))}
    return "".join(f"{_line(record)}\n" for record in [header, *map(event_to_json, session.events)])


def session_from_lines(text: str) -> Session:
    """The inverse of `session_to_lines`; raises ValueError, KeyError or TypeError on other text."""
    header, *events = (json.loads(line) for line in text.split("\n") if line)
    if header.pop("type", None) != FORMAT or header.pop("version", None) != VERSION:
        raise ValueError(f"the first line is no {FORMAT} of version {VERSION}")
    rows: dict[str, Any] = {
        "tools": ToolDefinition,
        "recorded_compactions": RecordedCompaction,
        "recorded_usage": RecordedUsage,
        "repairs": Repair,
    }
    for name, kind in rows.items():
        header[name] = tuple(kind(**row) for row in header.get(name, ()))
    return Session(
        events=tuple(event_from_json(seq, event) for seq, event in enumerate(events, 1)), **header
    )


def session_digest(session: Session) -> str:
    """A hash of what was said, done and offered: 32 hex digits; id, path and format don't count."""
    digest = sha256(_line([asdict(tool) for tool in session.tools]).encode("ascii"))
    for event in session.events:
        digest.update(_line(event_to_json(event)).encode("ascii") + b"\n")
    return digest.hexdigest()[:32]


def event_to_json(event: Event) -> dict[str, Any]:
    """One event as plain data; its seq is its place."""
    return {
        "role": event.message.role,
        **_filled(event.message, leave_out=("role",)),
        **_filled(event, leave_out=("seq", "message")),
    }


def event_from_json(seq: int, data: dict[str, Any]) -> Event:
    """The inverse of `event_to_json`."""
    message = Message(
        role=data["role"],
        text=data.get("text", ""),
        calls=tuple(ToolCall(**call) for call in data.get("calls", ())),
        call_id=data.get("call_id"),
        attachments=tuple(Attachment(**one) for one in data.get("attachments", ())),
        reasoning=data.get("reasoning", ""),
    )
    return Event(seq, message, data.get("timestamp"), data.get("is_meta", False))


def _filled(record: Any, *, leave_out: tuple[str, ...]) -> dict[str, Any]:
    """The fields that differ from their defaults, nested records as plain data."""
    found: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in leave_out or (field.default is not MISSING and value == field.default):
            continue
        found[field.name] = [asdict(row) for row in value] if isinstance(value, tuple) else value
    return found


def _line(record: Any) -> str:
    # ASCII only: text with a lone surrogate must survive too.
    return json.dumps(record, ensure_ascii=True, separators=(",", ":"))

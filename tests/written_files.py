"""Files for loader tests, and loaded sessions as short lines that are easy to compare."""

import json
from pathlib import Path
from typing import Any

from bench.events import Session
from bench.loading import load_sessions


def write_lines(path: Path, *records: Any, end: str = "\n") -> Path:
    """One JSON value per line; text is written as it is."""
    lines = [
        record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
        for record in records
    ]
    path.write_bytes(("\n".join(lines) + end).encode("utf-8", "surrogatepass"))
    return path


def write_json(path: Path, value: Any, *, indent: int | None = None) -> Path:
    """One JSON document."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent), encoding="utf-8")
    return path


def only_session(path: Path, *, format: str | None = None) -> Session:
    """The one session of a file."""
    loaded = load_sessions(path, format=format)
    assert [row.reason for row in loaded.rejected] == []
    assert len(loaded.sessions) == 1
    return loaded.sessions[0]


def told(session: Session) -> list[str]:
    """Each event as "role: text"; calls as "+name(id) arguments", results as "[id] text"."""
    lines = []
    for event in session.events:
        message = event.message
        role = f"{message.role} (meta)" if event.is_meta else message.role
        parts = [f"[{message.call_id}]"] if message.call_id is not None else []
        parts += [message.text] if message.text else []
        parts += [f"+{call.name}({call.id}) {call.arguments}" for call in message.calls]
        parts += [f"<{item.media_type}>" for item in message.attachments]
        lines.append(f"{role}: {' '.join(parts)}")
    return lines


def repair_kinds(session: Session) -> list[str]:
    """The kinds of all repairs, in order."""
    return [repair.kind for repair in session.repairs]

"""The project's own JSONL, to which any store of sessions can be exported.

Every line is an object with a `type`. A session line opens a session; what follows belongs to it
until the next one, so a file may hold many. Fields that have their default value are left out, as
are unknown ones on reading. UTF-8, one line feed after each line.

    {"type": "compaction-bench/session", "id": "...", "version": 1, "format": "...", "path": "...",
     "cluster": "...", "is_slice": true, "subagent_of": "...", "skipped_lines": 0,
     "tools": [{"name": "...", "description": "...", "parameters": {JSON Schema}}]}
    {"type": "event", "seq": 1, "role": "system|user|assistant|tool", "text": "...",
     "calls": [{"id": "...", "name": "...", "arguments": "JSON text"}], "call_id": "...",
     "attachments": [{"media_type": "image/png", "data": "base64 or address"}],
     "reasoning": "...", "timestamp": seconds since the epoch, "is_meta": true}
    {"type": "compaction", "after_seq": 9, "summary": "...", "trigger": "auto", "kept_from_seq": 7,
     "tokens_before": 90000, "tokens_after": 4000, "prompt": "..."}
    {"type": "usage", "seq": 3, "input_tokens": 1200, "cached_tokens": 1000, "output_tokens": 50}
    {"type": "repair", "kind": "...", "where": "...", "what": "..."}

Required are `id` of a session, `role` of an event, `after_seq` and `summary` of a compaction, `seq`
and `input_tokens` of a usage line. `call_id` stands on tool results only. Seqs count from 1 without
gaps; where lines got lost they are counted anew, and that is reported as a repair.
What `write_session` writes, `session_from_bytes` reads back equal; a file that is loaded has the
path where it was found.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import IO, Any

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
from bench.formats.building import seconds, whole
from bench.formats.content import text_of
from bench.formats.source import Record, Sample, Source

NAME = "compaction-bench"
RANK = 10
VERSION = 1
HEADER_TYPE = "compaction-bench/session"

_ROLES = ("system", "user", "assistant", "tool")


def detect(sample: Sample) -> str | None:
    """A session line, or event lines with seq and role."""
    for record in sample.records:
        if record.get("type") == HEADER_TYPE:
            return f"a line of type {HEADER_TYPE!r}"
        if record.get("type") == "event" and "seq" in record and record.get("role") in _ROLES:
            return "a line of type 'event' with seq and role"
    return None


def write_session(session: Session, stream: IO[str]) -> None:
    """Write one session; several may follow each other in one stream."""
    for record in _records(session):
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False))
        stream.write("\n")


def session_to_bytes(session: Session) -> bytes:
    """The session as UTF-8 JSONL."""
    stream = io.StringIO()
    write_session(session, stream)
    return stream.getvalue().encode("utf-8", errors="replace")


def session_from_bytes(data: bytes) -> Session:
    """The session that `session_to_bytes` wrote. Raises ValueError when it isn't exactly one."""
    collector = _Collector()
    found = []
    for line in data.split(b"\n"):
        if line:
            found += collector.take(json.loads(line), "")
    found += collector.finish()
    if len(found) != 1:
        raise ValueError(f"{len(found)} sessions in the stored bytes, expected one")
    return found[0]


def read(source: Source) -> Iterator[Session]:
    """The sessions of the file; damage is reported with the session that it was found before."""
    collector = _Collector(fallback_id=source.name)
    for number, record in source.records():
        for session in collector.take(record, source.where(number)):
            yield _found_in(source, session)
    for session in collector.finish():
        yield _found_in(source, session)


def _found_in(source: Source, session: Session) -> Session:
    return replace(
        session,
        path=str(source.path),
        format=session.format or NAME,
        repairs=session.repairs + source.log.take(),
        skipped_lines=session.skipped_lines + source.take_skipped(),
    )


def _records(session: Session) -> Iterator[Record]:
    header = _told(session, ("path", "format", "is_slice", "subagent_of", "cluster"))
    if session.skipped_lines:
        header["skipped_lines"] = session.skipped_lines
    if session.tools:
        header["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            }
            for tool in session.tools
        ]
    yield {"type": HEADER_TYPE, "id": session.id, "version": VERSION, **header}
    for event in session.events:
        yield _event_record(event)
    for compaction in session.recorded_compactions:
        yield {"type": "compaction", **_all_fields(compaction)}
    for usage in session.recorded_usage:
        yield {"type": "usage", **_all_fields(usage)}
    for repair in session.repairs:
        yield {"type": "repair", **_all_fields(repair)}


def _told(value: Any, names: Iterable[str]) -> Record:
    found = {name: getattr(value, name) for name in names}
    return {name: item for name, item in found.items() if item not in ("", None, False, ())}


def _all_fields(value: Any) -> Record:
    found = {row.name: getattr(value, row.name) for row in fields(value)}
    return {name: item for name, item in found.items() if item is not None}


def _event_record(event: Event) -> Record:
    message = event.message
    record: Record = {"type": "event", "seq": event.seq, "role": message.role}
    if message.text:
        record["text"] = message.text
    if message.calls:
        record["calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
    if message.call_id is not None:
        record["call_id"] = message.call_id
    if message.attachments:
        record["attachments"] = [
            {"media_type": item.media_type, "data": item.data} for item in message.attachments
        ]
    if message.reasoning:
        record["reasoning"] = message.reasoning
    if event.timestamp is not None:
        record["timestamp"] = event.timestamp
    if event.is_meta:
        record["is_meta"] = True
    return record


@dataclass(slots=True)
class _Open:
    header: Record
    events: list[Event] = field(default_factory=list)
    seq_of: dict[int, int] = field(default_factory=dict)
    compactions: list[Record] = field(default_factory=list)
    usage: list[Record] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)


class _Collector:
    """Turns lines into sessions; what can't be used becomes a repair of its session."""

    def __init__(self, fallback_id: str = "") -> None:
        self._fallback_id = fallback_id
        self._open: _Open | None = None

    def take(self, record: Record, where: str) -> list[Session]:
        """The session that this line ends, if any."""
        kind = record.get("type")
        if kind == HEADER_TYPE:
            done = self.finish()
            self._open = _Open(record)
            return done
        if self._open is None:
            self._open = _Open({"id": self._fallback_id})
            self._open.repairs.append(
                Repair("missing_header", where, "no session line came before this line")
            )
        current = self._open
        if kind == "event" and record.get("role") in _ROLES:
            self._take_event(current, record, where)
        elif kind == "compaction" and whole(record.get("after_seq")) is not None:
            current.compactions.append(record)
        elif kind == "usage" and whole(record.get("input_tokens")) is not None:
            current.usage.append(record)
        elif kind == "repair":
            current.repairs.append(
                Repair(*(text_of(record.get(name)) for name in ("kind", "where", "what")))
            )
        else:
            current.repairs.append(
                Repair("unknown_record", where, f"a line of type {text_of(kind)!r} left out")
            )
        return []

    def _take_event(self, current: _Open, record: Record, where: str) -> None:
        seq = len(current.events) + 1
        recorded = whole(record.get("seq"))
        if recorded is not None and recorded != seq and recorded - 1 not in current.seq_of:
            current.repairs.append(
                Repair("seq_gap", where, f"event {recorded} follows a gap and is event {seq} here")
            )
        if recorded is not None:
            current.seq_of[recorded] = seq
        current.events.append(_event(record, seq))

    def finish(self) -> list[Session]:
        """The session that is still open, when it has events."""
        current, self._open = self._open, None
        return [_session(current)] if current is not None and current.events else []


def _session(found: _Open) -> Session:
    header = found.header
    return Session(
        id=text_of(header.get("id")),
        events=tuple(found.events),
        tools=tuple(_tool(item) for item in _objects(header.get("tools"))),
        path=text_of(header.get("path")),
        format=text_of(header.get("format")),
        is_slice=bool(header.get("is_slice")),
        subagent_of=_optional(header.get("subagent_of")),
        cluster=_optional(header.get("cluster")),
        recorded_compactions=tuple(_compaction(row, found.seq_of) for row in found.compactions),
        recorded_usage=tuple(
            RecordedUsage(
                found.seq_of[row["seq"]],
                row["input_tokens"],
                whole(row.get("cached_tokens")),
                whole(row.get("output_tokens")),
            )
            for row in found.usage
            if whole(row.get("seq")) in found.seq_of
        ),
        repairs=tuple(found.repairs),
        skipped_lines=whole(header.get("skipped_lines")) or 0,
    )


def _compaction(record: Record, seq_of: dict[int, int]) -> RecordedCompaction:
    recorded = record["after_seq"]
    earlier = [seq for told, seq in seq_of.items() if told <= recorded]
    kept = whole(record.get("kept_from_seq"))
    return RecordedCompaction(
        after_seq=seq_of.get(recorded, max(earlier, default=0)),
        summary=text_of(record.get("summary")),
        trigger=text_of(record.get("trigger", "auto")),
        kept_from_seq=seq_of.get(kept) if kept is not None else None,
        tokens_before=whole(record.get("tokens_before")),
        tokens_after=whole(record.get("tokens_after")),
        prompt=_optional(record.get("prompt")),
    )


def _event(record: Record, seq: int) -> Event:
    message = Message(
        record["role"],
        text_of(record.get("text")),
        tuple(
            ToolCall(
                text_of(call.get("id")),
                text_of(call.get("name")),
                text_of(call.get("arguments", "{}")),
            )
            for call in _objects(record.get("calls"))
        ),
        _optional(record.get("call_id")),
        tuple(
            Attachment(text_of(item.get("media_type")), text_of(item.get("data")))
            for item in _objects(record.get("attachments"))
        ),
        text_of(record.get("reasoning")),
    )
    return Event(seq, message, seconds(record.get("timestamp")), bool(record.get("is_meta")))


def _tool(record: Record) -> ToolDefinition:
    parameters = record.get("parameters")
    return ToolDefinition(
        text_of(record.get("name")),
        text_of(record.get("description")),
        parameters if isinstance(parameters, dict) else {},
    )


def _objects(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _optional(value: Any) -> str | None:
    return None if value is None else text_of(value)

"""`history_read_tool_result`: the whole of a shortened result, page by page or by line (F10.3).

A pure function over the history as it is now. Every read checks session, event, call id and, when
given, SHA-256, so that a reference to rewound or changed content is refused (F10.4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bench.events import Event, ToolDefinition
from bench.projection import Json, Projection
from strategies.layered.bounding import READ_TOOL, references_in, sha256_of
from strategies.layered.encoding import lowered, trimmed
from strategies.layered.source import SourceMessage

PAGE_RUNES = 4_000
PAGE_RUNES_MAX = 12_000
MATCHES = 20
MATCHES_MAX = 100
LINE_RUNES_MAX = 500

RefusalKind = Literal["arguments", "missing", "session", "not_found", "mismatch", "changed"]

_OPERATIONS = ("inspect", "read", "search")
_INT64_MAX = 2**63 - 1
_UINT64_MAX = 2**64 - 1
_INTEGER = re.compile(r"-?[0-9]+")

DEFINITION = ToolDefinition(
    name=READ_TOOL,
    description=(
        "Read the whole of a tool result that is shown shortened. Take event_seq, tool_call_id and "
        "sha256 from its tool_result_ref. inspect gives length and digest, read gives a page from "
        "an offset, search gives the lines that contain a text."
    ),
    parameters={
        "type": "object",
        "properties": {
            "event_seq": {"type": "integer", "minimum": 1},
            "tool_call_id": {"type": "string"},
            "expected_sha256": {"type": "string"},
            "operation": {"type": "string", "enum": list(_OPERATIONS)},
            "offset": {"type": "integer", "minimum": 0},
            "limit": {"type": "integer", "minimum": 1, "maximum": PAGE_RUNES_MAX},
            "query": {"type": "string"},
            "max_matches": {"type": "integer", "minimum": 1, "maximum": MATCHES_MAX},
        },
        "required": ["event_seq", "tool_call_id"],
    },
)


class ReadRefused(Exception):
    """A read that isn't answered: `text` is what the model is told, `kind` says why."""

    def __init__(self, kind: RefusalKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """What a read asks for; zero and empty values mean the defaults."""

    event_seq: int = 0
    tool_call_id: str = ""
    expected_sha256: str = ""
    operation: str = ""
    offset: int = 0
    limit: int = 0
    query: str = ""
    max_matches: int = 0


def tools_for(view: Projection) -> tuple[ToolDefinition, ...]:
    """The tool, as soon as some visible text names it; otherwise none."""
    return (DEFINITION,) if is_offered(message.text for message in view.messages) else ()


def is_offered(texts: Iterable[str]) -> bool:
    """True when one of the visible texts holds the tool's name."""
    return any(READ_TOOL in text for text in texts)


def readable_seqs(view: Projection) -> frozenset[int]:
    """The events whose whole text the model could read by a reference that it sees.

    Only references that would be answered count: the event is in the history, and call id and
    digest fit.
    """
    found = set()
    for reference in references_in(message.text for message in view.messages):
        seq = reference.get("event_seq")
        if not isinstance(seq, int) or not 1 <= seq <= view.stop:
            continue
        message = view.history[seq - 1].message
        is_same = message.role == "tool" and message.call_id == reference.get("tool_call_id")
        if is_same and sha256_of(message.text) == reference.get("sha256"):
            found.add(seq)
    return frozenset(found)


def effective(events: Iterable[Event]) -> dict[int, SourceMessage]:
    """The events that can be read, by seq."""
    return {event.seq: SourceMessage(event.seq, event.message) for event in events}


def read_tool_result(
    arguments: str, history: Mapping[int, SourceMessage], session_id: str
) -> dict[str, Json]:
    """The answer to one call of the tool, zero values left out.

    `arguments` is the raw JSON text of the call. `history` holds what is effective now in the
    session `session_id`: rewound events and other sessions' aren't in it. Raises ReadRefused.
    """
    asked = parse_arguments(arguments)
    if not trimmed(session_id):
        raise ReadRefused("session", "session id is required")
    call_id = trimmed(asked.tool_call_id)
    if asked.event_seq == 0 or not call_id:
        raise ReadRefused("missing", "event_seq and tool_call_id are required")
    if asked.offset < 0:
        raise ReadRefused("arguments", "offset must be non-negative")
    if asked.limit > PAGE_RUNES_MAX:
        raise ReadRefused("arguments", f"limit must not exceed {PAGE_RUNES_MAX}")
    source = history.get(asked.event_seq)
    if source is None:
        raise ReadRefused("not_found", "active tool result was not found")
    if source.message.role != "tool" or source.message.call_id != call_id:
        raise ReadRefused("mismatch", "event does not match the referenced tool result")
    text = source.message.text
    digest = sha256_of(text)
    expected = trimmed(asked.expected_sha256)
    if expected and lowered(expected) != digest:
        raise ReadRefused("changed", "tool result content does not match the expected sha256")
    operation = lowered(trimmed(asked.operation)) or "read"
    answer: dict[str, Json] = {
        "operation": operation,
        "event_seq": asked.event_seq,
        "tool_call_id": call_id,
        "sha256": digest,
        "total_runes": len(text),
    }
    match operation:
        case "inspect":
            pass
        case "read":
            answer |= _page(text, asked)
        case "search":
            answer |= _matches(text, asked)
        case _:
            raise ReadRefused("arguments", "operation must be inspect, read, or search")
    return {name: value for name, value in answer.items() if value or name == "total_runes"}


def _page(text: str, asked: ReadArguments) -> dict[str, Json]:
    if asked.offset > len(text):
        raise ReadRefused(
            "arguments", f"offset {asked.offset} exceeds tool result length {len(text)}"
        )
    stop = asked.offset + (asked.limit if asked.limit > 0 else PAGE_RUNES)
    return {
        "offset": asked.offset,
        "content": text[asked.offset : stop],
        "next_offset": stop if stop < len(text) else 0,
    }


def _matches(text: str, asked: ReadArguments) -> dict[str, Json]:
    wanted = lowered(trimmed(asked.query))
    if not wanted:
        raise ReadRefused("arguments", "query is required for search")
    if asked.max_matches > MATCHES_MAX:
        raise ReadRefused("arguments", f"max_matches must not exceed {MATCHES_MAX}")
    matches_max = asked.max_matches if asked.max_matches > 0 else MATCHES
    found: list[Json] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if len(found) == matches_max:
            break
        if wanted in lowered(line):
            cut = line[:LINE_RUNES_MAX] + "..." if len(line) > LINE_RUNES_MAX else line
            found.append({"line": number, "text": cut})
    return {"matches": found}


class _Number(str):
    """A number as it is spelled: 7.0 is no integer."""

    __slots__ = ()


def parse_arguments(text: str) -> ReadArguments:
    """The arguments of a call: keys in any case, the last duplicate wins, unknown keys ignored.

    Raises ReadRefused on anything but an object or null, and on values of another type.
    """
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError) as error:
        raise ReadRefused("arguments", f"invalid arguments: {error}") from error
    if pairs is None:
        return ReadArguments()
    if not isinstance(pairs, _Pairs):
        raise ReadRefused("arguments", "invalid arguments: a JSON object is needed")
    values: dict[str, Any] = {}
    for key, value in pairs:
        name = lowered(key)
        if name in ReadArguments.__dataclass_fields__ and value is not None:
            values[name] = _typed(name, value)
    return ReadArguments(**values)


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in order, duplicates included."""


def _typed(name: str, value: Any) -> int | str:
    if name in ("tool_call_id", "expected_sha256", "operation", "query"):
        if isinstance(value, str) and not isinstance(value, _Number):
            return value
        raise ReadRefused("arguments", f"invalid arguments: {name} must be a string")
    if isinstance(value, _Number) and _INTEGER.fullmatch(value) and len(value) <= 20:
        number = int(value)
        if name == "event_seq" and 0 <= number <= _UINT64_MAX and value[0] != "-":
            return number
        if name != "event_seq" and -_INT64_MAX - 1 <= number <= _INT64_MAX:
            return number
    raise ReadRefused("arguments", f"invalid arguments: {name} must be a whole number")

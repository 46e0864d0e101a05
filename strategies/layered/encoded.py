"""The JSON bytes of a message and the size of what a provider sees of it: made once for both.

A message is measured when it is told, and digested when it is covered. Its text, which may be
long, is quoted in between once only. What it comes to is defined by `message_json`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from bench.events import Message, ToolCall
from strategies.layered.encoding import (
    QUICK,
    Quick,
    quickly_compact,
    quoted,
    units,
    utf8,
    utf8_units,
    with_extra_escapes,
)
from strategies.layered.message_json import is_dropped, message_json, raw_json, visible_json

# Enough for all that a large window shows; forgotten all at once, and made anew where need be.
MESSAGES_REMEMBERED = 8_192
BYTES_REMEMBERED = 16_000_000

Encoded: TypeAlias = tuple[Message, bytes, int]


class _Memory:
    """By identity, since a message is slow to hash; holding it, its id can't be another's."""

    def __init__(self) -> None:
        self.by_id: dict[int, Encoded] = {}
        self.bytes_held = 0

    def clear(self) -> None:
        self.by_id.clear()
        self.bytes_held = 0


_MEMORY = _Memory()
_known = _MEMORY.by_id.get


def taken(messages: Iterable[Message]) -> list[Encoded]:
    """Each message, its `message_json` in UTF-8, its `visible_units`; they are forgotten with that.

    Who takes them keeps what is needed later, so that the next messages find warm memory.
    """
    take = _MEMORY.by_id.pop
    found = []
    bytes_taken = 0
    for message in messages:
        known = take(id(message), None)
        if known is None:
            known = _made(message)
        else:
            bytes_taken += len(known[1])
        found.append(known)
    _MEMORY.bytes_held -= bytes_taken
    return found


def json_bytes(messages: Iterable[Message]) -> list[bytes]:
    """`message_json` of each message in UTF-8."""
    return [json for _, json, _ in map(_encoded, messages)]


def visible_units(message: Message) -> int:
    """The units of a message's `visible_json` and a comma; none when it is dropped."""
    known = _known(id(message))
    return _added(message)[2] if known is None else known[2]


def _encoded(message: Message) -> Encoded:
    known = _known(id(message))
    return _added(message) if known is None else known


def _added(message: Message) -> Encoded:
    if len(_MEMORY.by_id) >= MESSAGES_REMEMBERED or _MEMORY.bytes_held > BYTES_REMEMBERED:
        _MEMORY.clear()
    made = _MEMORY.by_id[id(message)] = _made(message)
    _MEMORY.bytes_held += len(made[1])
    return made


def _made(message: Message) -> Encoded:
    json = None if QUICK is None else _quick_json(message, QUICK)
    if json is None:
        json = utf8(message_json(message))
    total = (len(json) if json.isascii() else utf8_units(json)) + len(",")
    # Nearly all that is kept is visible.
    if not message.text:
        total -= len(',"content":""')
    if message.reasoning:
        total -= len(',"reasoning":') + units(quoted(message.reasoning))
    if message.attachments:
        total = units(visible_json(message)) + len(",")
    if message.role == "assistant" and not message.calls and is_dropped(message):
        total = 0
    return message, json, total


def _quick_json(message: Message, quick: Quick) -> bytes | None:
    """The JSON written in one go; None where that can't be done."""
    fields: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.attachments:
        fields["attachments"] = [
            {"media_type": each.media_type, "data": each.data} for each in message.attachments
        ]
    if message.reasoning:
        fields["reasoning"] = message.reasoning
    if message.calls:
        fields["tool_calls"] = [_quick_call(call, quick) for call in message.calls]
    if message.call_id:
        fields["tool_call_id"] = message.call_id
    try:
        return with_extra_escapes(quick.write(fields))
    except TypeError:
        # A lone surrogate.
        return None


def _quick_call(call: ToolCall, quick: Quick) -> dict[str, object]:
    compact = quickly_compact(call.arguments)
    # Other than the quick form, the defined one has its extra escapes already.
    json = utf8(raw_json(call.arguments)) if compact is None else compact
    return {"id": call.id, "name": call.name, "input": quick.raw(json)}

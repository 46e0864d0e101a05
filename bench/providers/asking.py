"""Edges: any messages as a request that an API accepts; strategies ask with what they like."""

from __future__ import annotations

from collections.abc import Sequence

from bench.events import Message, ToolDefinition
from bench.wire.formats import FORMATS, Request
from bench.wire.rendering import (
    CONTINUE_LINE,
    EMPTY_LINE,
    LEADING_LINE,
    ORPHAN_RESULT,
    STUB_RESULT,
    Rendered,
    WireCall,
    WireMessage,
    needs_continue_line,
)


def request_of(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], wire_format: str
) -> Request:
    """The request with these messages in one of `bench.wire.formats.FORMATS`."""
    return FORMATS[wire_format](rendered_messages(messages), tools)


def rendered_messages(messages: Sequence[Message]) -> Rendered:
    """The messages with every result behind its call and none without, and a user at both ends."""
    told: list[WireMessage] = []
    late: list[WireMessage] = []
    open_ids: dict[str, None] = {}
    repairs = 0
    for message in messages:
        if message.role == "tool" and message.call_id in open_ids:
            del open_ids[message.call_id]
            told.append(_wire(message, message.call_id))
            continue
        if message.role == "tool":
            repairs += 1
            text = f"{ORPHAN_RESULT}\n{message.text}"
            (late if open_ids else told).append(WireMessage("user", text, "written", ()))
            continue
        repairs += _close(told, late, open_ids)
        told.append(_wire(message, None))
        open_ids.update(dict.fromkeys(call.id for call in message.calls))
    repairs += _close(told, late, open_ids)
    first = next((n for n, one in enumerate(told) if one.role != "system"), None)
    if first is not None and told[first].role == "assistant":
        told.insert(first, WireMessage("user", LEADING_LINE, "written", ()))
        repairs += 1
    if first is None or needs_continue_line(told[-1]):
        told.append(WireMessage("user", CONTINUE_LINE, "written", ()))
        repairs += 1
    return Rendered(tuple(told), repairs)


def _wire(message: Message, call_id: str | None) -> WireMessage:
    calls = tuple(WireCall(call.id, call.name, call.arguments) for call in message.calls)
    is_empty = not (message.text.strip() or message.attachments or calls or call_id)
    text = EMPTY_LINE if is_empty else message.text
    return WireMessage(message.role, text, "kept", (), calls, call_id, message.attachments)


def _close(told: list[WireMessage], late: list[WireMessage], open_ids: dict[str, None]) -> int:
    """Answers what is unanswered, then tells what had to wait; returns the repairs made."""
    repairs = len(open_ids)
    told += [WireMessage("tool", STUB_RESULT, "written", (), call_id=one) for one in open_ids]
    open_ids.clear()
    told += late
    late.clear()
    return repairs

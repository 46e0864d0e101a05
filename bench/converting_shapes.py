"""Edge: sessions in the request shapes of three APIs, one text for a session.

They are given sessions that hold only what the shape can carry (`bench.converting`) and write them
event by event. Shapes from the vendors' references; an id that a request has no place for is added.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from bench.events import Attachment, Event, Message, RecordedUsage, Session
from bench.formats.content import as_json

Payload: TypeAlias = dict[str, Any]


def is_address(attachment: Attachment) -> bool:
    """Whether the data is an address on the net, not the content itself."""
    return "://" in attachment.data[:12]


def is_image(attachment: Attachment) -> bool:
    """Whether the attachment is an image, of whatever kind."""
    return attachment.media_type.partition("/")[0] == "image"


def openai_text(session: Session) -> str:
    """A Chat Completions request, with `session_id` added."""
    request: Payload = {
        "session_id": session.id,
        "messages": [_openai_message(event.message) for event in session.events],
    }
    if session.tools:
        request["tools"] = [
            {"type": "function", "function": definition}
            for definition in _definitions(session, "parameters")
        ]
    return _line(request)


def _openai_message(message: Message) -> Payload:
    entry: Payload = {"role": message.role, "content": message.text}
    if message.attachments:
        parts: list[Payload] = [{"type": "text", "text": message.text}] if message.text else []
        entry["content"] = [*parts, *map(_openai_part, message.attachments)]
    if message.calls:
        entry["content"] = message.text or None
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    if message.role == "tool":
        entry["tool_call_id"] = message.call_id
    return entry


def _openai_part(attachment: Attachment) -> Payload:
    kind, _, form = attachment.media_type.partition("/")
    if kind == "audio" and form and not is_address(attachment):
        return {"type": "input_audio", "input_audio": {"data": attachment.data, "format": form}}
    if is_image(attachment):
        return {"type": "image_url", "image_url": {"url": _data_address(attachment)}}
    return {"type": "file", "file": {"file_data": _data_address(attachment)}}


def anthropic_text(session: Session) -> str:
    """A Messages request, with `session_id` added. Results in a row share one user message."""
    events = list(session.events)
    request: Payload = {"session_id": session.id}
    if events and events[0].message.role == "system":
        request["system"] = events.pop(0).message.text
    messages: list[Payload] = []
    is_behind_result = False
    for event in events:
        message = event.message
        if message.role == "tool" and is_behind_result:
            messages[-1]["content"].append(_anthropic_result(message))
        elif message.role == "tool":
            messages.append({"role": "user", "content": [_anthropic_result(message)]})
        else:
            messages.append({"role": message.role, "content": _anthropic_content(message)})
        is_behind_result = message.role == "tool"
    request["messages"] = messages
    if session.tools:
        request["tools"] = _definitions(session, "input_schema")
    return _line(request)


def _anthropic_result(message: Message) -> Payload:
    return {
        "type": "tool_result",
        "tool_use_id": message.call_id,
        "content": _anthropic_content(message),
    }


def _anthropic_content(message: Message) -> str | list[Payload]:
    if not (message.calls or message.attachments):
        return message.text
    blocks: list[Payload] = [{"type": "text", "text": message.text}] if message.text else []
    for attachment in message.attachments:
        source = {"type": "base64", "media_type": attachment.media_type, "data": attachment.data}
        if is_address(attachment):
            source = {"type": "url", "url": attachment.data}
        blocks.append({"type": "image" if is_image(attachment) else "document", "source": source})
    for call in message.calls:
        arguments = json.loads(call.arguments)
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
    return blocks


def responses_text(session: Session) -> str:
    """One line for each exchange: a request with the items that are new, and its response."""
    usage_of = {row.seq: row for row in session.recorded_usage}
    lines: list[str] = []
    waiting: list[Payload] = []
    for event in session.events:
        if event.message.role != "assistant":
            waiting.append(_responses_input(event.message))
            continue
        exchange = _exchange(session, waiting, len(lines))
        exchange["response"] = _response(event, len(lines) + 1, usage_of.get(event.seq))
        lines.append(_line(exchange))
        waiting = []
    if waiting:
        lines.append(_line(_exchange(session, waiting, len(lines))))
    return "".join(lines)


def _exchange(session: Session, items: list[Payload], number: int) -> Payload:
    """The `number`-th request, counted from 0; it follows the response before."""
    if number:
        return {"request": {"previous_response_id": f"resp_{number}", "input": items}}
    request: Payload = {"conversation": session.id, "input": items}
    if session.tools:
        request["tools"] = [
            {"type": "function", **definition} for definition in _definitions(session, "parameters")
        ]
    return {"request": request}


def _response(event: Event, number: int, usage: RecordedUsage | None) -> Payload:
    response: Payload = {
        "id": f"resp_{number}",
        "object": "response",
        "output": _responses_output(event.message),
    }
    if event.timestamp is not None:
        response["created_at"] = event.timestamp
    if usage is not None:
        response["usage"] = {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens": usage.output_tokens,
        }
    return response


def _responses_output(message: Message) -> list[Payload]:
    items: list[Payload] = []
    if message.reasoning:
        summary = [{"type": "summary_text", "text": message.reasoning}]
        items.append({"type": "reasoning", "summary": summary})
    if message.text:
        content = [{"type": "output_text", "text": message.text}]
        items.append({"type": "message", "role": "assistant", "content": content})
    items += [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        for call in message.calls
    ]
    return items


def _responses_input(message: Message) -> Payload:
    parts: list[Payload] = [{"type": "input_text", "text": message.text}] if message.text else []
    for attachment in message.attachments:
        address = _data_address(attachment)
        if is_image(attachment):
            parts.append({"type": "input_image", "image_url": address})
        else:
            parts.append({"type": "input_file", "file_data": address})
    if message.role != "tool":
        return {"type": "message", "role": message.role, "content": parts}
    # Text that is JSON may be taken for a wrapped output, a part is text and nothing else.
    is_plain = not message.attachments and not message.text.startswith("{")
    output: Any = message.text if is_plain else parts
    return {"type": "function_call_output", "call_id": message.call_id, "output": output}


def _definitions(session: Session, schema: str) -> list[Payload]:
    return [
        {"name": tool.name, "description": tool.description, schema: dict(tool.parameters)}
        for tool in session.tools
    ]


def _data_address(attachment: Attachment) -> str:
    if is_address(attachment):
        return attachment.data
    return f"data:{attachment.media_type};base64,{attachment.data}"


def _line(record: Payload) -> str:
    return as_json(record) + "\n"


WRITERS: dict[str, Callable[[Session], str]] = {
    "openai": openai_text,
    "anthropic": anthropic_text,
    "responses": responses_text,
}

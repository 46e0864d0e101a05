"""A message as JSON: what the harness keeps of it, and what a provider sees.

These are the definitions. `encoded` makes the same bytes and sizes faster, and once.
"""

from __future__ import annotations

from bench.events import Message, ToolCall
from strategies.layered.encoding import compact_json, is_blank, quoted


def raw_json(text: str) -> str:
    """Raw JSON text made compact; nothing becomes null, what isn't JSON becomes one JSON string."""
    if not text:
        return "null"
    compact = compact_json(text)
    return quoted(text) if compact is None else compact


def call_json(call: ToolCall) -> str:
    """A call as a JSON object."""
    arguments = raw_json(call.arguments)
    return f'{{"id":{quoted(call.id)},"name":{quoted(call.name)},"input":{arguments}}}'


def message_json(message: Message) -> str:
    """Everything that the harness keeps of a message; role and text always, the rest if present."""
    parts = [f'"role":{quoted(message.role)}', f'"content":{quoted(message.text)}']
    if message.attachments:
        listed = ",".join(
            f'{{"media_type":{quoted(each.media_type)},"data":{quoted(each.data)}}}'
            for each in message.attachments
        )
        parts.append(f'"attachments":[{listed}]')
    if message.reasoning:
        parts.append(f'"reasoning":{quoted(message.reasoning)}')
    return _object([*parts, *_call_parts(message)])


def visible_json(message: Message) -> str:
    """What a provider sees of a message: role always, text, calls and call id when present."""
    parts = [f'"role":{quoted(message.role)}']
    if message.text:
        parts.append(f'"content":{quoted(message.text)}')
    return _object([*parts, *_call_parts(message)])


def is_dropped(message: Message) -> bool:
    """True for an assistant message without calls and visible text: no provider is sent it."""
    return message.role == "assistant" and not message.calls and is_blank(message.text)


def _call_parts(message: Message) -> list[str]:
    parts = []
    if message.calls:
        parts.append(f'"tool_calls":[{",".join(map(call_json, message.calls))}]')
    if message.call_id:
        parts.append(f'"tool_call_id":{quoted(message.call_id)}')
    return parts


def _object(parts: list[str]) -> str:
    return "{" + ",".join(parts) + "}"

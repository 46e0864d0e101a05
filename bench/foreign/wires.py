"""Edge: messages of two APIs in one neutral form, in which they can be compared.

The neutral form is `bench.events.Message`: role, text, calls, call id, attachments. What is sent is
made by `bench.wire.formats`; here is the way back, for what foreign code answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from bench.events import Attachment, Message, Role, ToolCall

Key: TypeAlias = tuple[Any, ...]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})


class WrongShape(ValueError):
    """An answer that isn't a list of messages; the text says which entry and why."""


def clean(text: str) -> str:
    """The text without lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def openai_messages(entries: Any) -> list[Message]:
    """Chat Completions messages in neutral form; raises WrongShape."""
    if not isinstance(entries, (list, tuple)):
        raise WrongShape(f"messages is no list but {_type_name(entries)}")
    return [_openai_message(entry, index) for index, entry in enumerate(entries)]


def _openai_message(entry: Any, index: int) -> Message:
    where = f"message {index}"
    if not isinstance(entry, Mapping):
        raise WrongShape(f"{where} is no object but {_type_name(entry)}")
    role = _ROLES.get(str(entry.get("role")))
    if role is None:
        raise WrongShape(f"{where} has the role {entry.get('role')!r}; {_roles_known()}")
    text, attachments = _content(entry.get("content"), where)
    calls = tuple(_openai_call(call, where) for call in _list(entry, "tool_calls", where))
    if calls and role != "assistant":
        raise WrongShape(f"{where} is a {role} message with tool_calls")
    call_id = entry.get("tool_call_id") if role == "tool" else None
    if role == "tool" and not isinstance(call_id, str):
        raise WrongShape(f"{where} is a tool message without tool_call_id")
    return Message(role, text, calls, call_id, attachments)


def _openai_call(call: Any, where: str) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise WrongShape(f"{where} has a tool call without function.name")
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_call_id(call.get("id"), where), clean(function["name"]), clean(arguments))


def _content(content: Any, where: str) -> tuple[str, tuple[Attachment, ...]]:
    """The text and the attachments of a content in either vendor's form."""
    if content is None:
        return "", ()
    if isinstance(content, str):
        return clean(content), ()
    if not isinstance(content, (list, tuple)):
        raise WrongShape(f"{where} has a content that is no text but {_type_name(content)}")
    texts: list[str] = []
    attachments: list[Attachment] = []
    for part in content:
        if isinstance(part, str):
            texts.append(clean(part))
            continue
        if not isinstance(part, Mapping):
            raise WrongShape(f"{where} has a content part that is {_type_name(part)}")
        kind = part.get("type")
        if kind in _TEXT_PARTS:
            texts.append(clean(str(part.get("text", part.get("refusal", "")))))
        elif kind == "image_url":
            shown = part.get("image_url")
            address = shown.get("url") if isinstance(shown, Mapping) else shown
            attachments.append(_of_address(str(address)))
        elif kind in ("image", "document"):
            attachments.append(_of_source(part.get("source"), where))
        else:
            # Whatever it is, the model would be shown it: as text it is at least counted.
            texts.append(clean(json.dumps(part, ensure_ascii=False, default=str)))
    return "\n".join(texts), tuple(attachments)


def _of_address(address: str) -> Attachment:
    head, comma, data = address.partition(";base64,")
    if comma and head.startswith("data:"):
        return Attachment(head.removeprefix("data:"), data)
    return Attachment("image", address)


def _of_source(source: Any, where: str) -> Attachment:
    if not isinstance(source, Mapping):
        raise WrongShape(f"{where} has an image without source")
    return Attachment(
        str(source.get("media_type", "image")), str(source.get("data", source.get("url", "")))
    )


def anthropic_messages(
    entries: Any, known: Sequence[Message], blocks_of: Sequence[Sequence[Key]]
) -> list[Message]:
    """Messages API entries in neutral form, each result by itself; raises WrongShape.

    Neighbours of one role were merged when they were shown, so blocks in a row are split where they
    are those of a known message: `blocks_of[i]` are the keys of the blocks of `known[i]`.
    """
    if not isinstance(entries, (list, tuple)):
        raise WrongShape(f"messages is no list but {_type_name(entries)}")
    starts: dict[Key, list[int]] = {}
    for index, keys in enumerate(blocks_of):
        if keys and known[index].role in ("user", "assistant"):
            starts.setdefault((known[index].role, keys[0]), []).append(index)
    for indexes in starts.values():
        indexes.sort(key=lambda index: -len(blocks_of[index]))
    found: list[Message] = []
    for index, entry in enumerate(entries):
        where = f"message {index}"
        if not isinstance(entry, Mapping):
            raise WrongShape(f"{where} is no object but {_type_name(entry)}")
        role = entry.get("role")
        if role not in ("user", "assistant"):
            raise WrongShape(f"{where} has the role {role!r}; known are user and assistant")
        found += _anthropic_message(entry, role, where, known, blocks_of, starts)
    return found


def _anthropic_message(
    entry: Mapping[str, Any],
    role: Role,
    where: str,
    known: Sequence[Message],
    blocks_of: Sequence[Sequence[Key]],
    starts: Mapping[Key, Sequence[int]],
) -> list[Message]:
    content = entry.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(b, Mapping) for b in blocks):
        raise WrongShape(f"{where} has a content that is neither text nor a list of blocks")
    found: list[Message] = []
    rest: list[Mapping[str, Any]] = []
    keys = [block_key(block) for block in blocks]

    def flush() -> None:
        if rest:
            found.append(_of_blocks(role, rest, where))
            rest.clear()

    at = 0
    while at < len(blocks):
        if blocks[at].get("type") == "tool_result":
            flush()
            found.append(_result(blocks[at], where))
            at += 1
            continue
        told = next(
            (
                index
                for index in starts.get((role, keys[at]), ())
                if keys[at : at + len(blocks_of[index])] == list(blocks_of[index])
            ),
            None,
        )
        if told is None:
            rest.append(blocks[at])
            at += 1
            continue
        flush()
        found.append(known[told])
        at += len(blocks_of[told])
    flush()
    return found or [Message(role)]


def _result(block: Mapping[str, Any], where: str) -> Message:
    text, attachments = _content(block.get("content"), where)
    call_id = block.get("tool_use_id")
    if not isinstance(call_id, str):
        raise WrongShape(f"{where} has a tool_result without tool_use_id")
    return Message("tool", text, (), call_id, attachments)


def _of_blocks(role: Role, blocks: Sequence[Mapping[str, Any]], where: str) -> Message:
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    text, attachments = _content([b for b in blocks if b.get("type") != "tool_use"], where)
    calls = []
    for use in uses:
        if not isinstance(use.get("name"), str):
            raise WrongShape(f"{where} has a tool_use without name")
        arguments = clean(json.dumps(use.get("input", {}), ensure_ascii=False))
        calls.append(ToolCall(_call_id(use.get("id"), where), clean(use["name"]), arguments))
    return Message(role, text, tuple(calls), None, attachments)


def block_key(block: Mapping[str, Any]) -> Key:
    """What makes two content blocks the same: all of it but marks for caches."""
    told = {name: value for name, value in block.items() if name != "cache_control"}
    return ("block", clean(json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)))


def message_key(message: Message) -> Key:
    """What makes two messages the same: everything that a model is shown of them."""
    return (
        message.role,
        message.text,
        tuple(call_key(call) for call in message.calls),
        message.call_id,
        tuple((one.media_type, one.data) for one in message.attachments),
    )


def call_key(call: ToolCall) -> Key:
    """What makes two calls the same, however their arguments are spaced."""
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return call.id, call.name, arguments


def _list(entry: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    value = entry.get(name)
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise WrongShape(f"{where} has {name} that is no list but {_type_name(value)}")
    return value


def _call_id(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise WrongShape(f"{where} has a tool call without id")
    return clean(value)


def _roles_known() -> str:
    return "known are system, user, assistant and tool"


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), type(value).__name__)

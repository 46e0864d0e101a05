"""Edges: what a foreign program asks the model, told apart from the shape in which it asks.

A request is taken as it stands: nothing is reordered or repaired. What this project can't pass on
(tools, sampling) is named in `ignored`; what would change the kind of answer is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.events import Attachment, Message, Role, ToolCall

Payload: TypeAlias = dict[str, Any]

# What a request is granted that names no limit of its own.
OUTPUT_TOKENS_DEFAULT = 4_096
# Fields that change nothing that is passed on: who asks, how, and what for.
_HARMLESS = frozenset(
    ["metadata", "model", "service_tier", "store", "stream", "stream_options", "user"]
)


class MalformedRequest(Exception):
    """A request that no vendor would accept, or that only a real vendor could answer.

    `parameter` names the field; the text is one sentence.
    """

    def __init__(self, text: str, parameter: str) -> None:
        super().__init__(text)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Question:
    """One request: what to ask, the cap on the answer, and whether the answer is streamed.

    `ignored` names fields of the request that had no effect; `wants_usage` is true when a stream
    is to end with the usage (Chat Completions).
    """

    messages: tuple[Message, ...]
    output_tokens_max: int
    is_streamed: bool = False
    wants_usage: bool = False
    ignored: tuple[str, ...] = ()


def ignored_fields(body: Mapping[str, Any], used: Sequence[str]) -> tuple[str, ...]:
    """The names of fields that have a value and no effect."""
    known = {*used, *_HARMLESS}
    return tuple(sorted(name for name, value in body.items() if name not in known and value))


def flag(body: Mapping[str, Any], name: str) -> bool:
    """A field that is true or false, false when it is missing."""
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise MalformedRequest(f"{name} is {_shown(value)}, expected true or false", name)
    return value


def limit(body: Mapping[str, Any], names: Sequence[str], *, is_required: bool = False) -> int:
    """The first of these fields that is given: a whole number of tokens from 1."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise MalformedRequest(f"{name} is {_shown(value)}, expected a number from 1", name)
        return value
    if is_required:
        raise MalformedRequest(f"{names[0]} is missing", names[0])
    return OUTPUT_TOKENS_DEFAULT


def objects(value: Any, name: str) -> list[Payload]:
    """A list of JSON objects that isn't empty."""
    if not isinstance(value, list) or not value:
        raise MalformedRequest(f"{name} is {_shown(value)}, expected a list with an entry", name)
    for position, entry in enumerate(value):
        if not isinstance(entry, dict):
            where = f"{name}[{position}]"
            raise MalformedRequest(f"{where} is {_shown(entry)}, expected an object", where)
    return value


def text_field(entry: Mapping[str, Any], name: str, where: str) -> str:
    """A field that is text."""
    value = entry.get(name)
    if not isinstance(value, str):
        place = f"{where}.{name}"
        raise MalformedRequest(f"{place} is {_shown(value)}, expected text", place)
    return value


def role_of(entry: Mapping[str, Any], roles: Mapping[str, Role], where: str) -> Role:
    """The role of a message."""
    word = entry.get("role")
    role = roles.get(word) if isinstance(word, str) else None
    if role is None:
        place = f"{where}.role"
        wanted = ", ".join(roles)
        raise MalformedRequest(f"{place} is {_shown(word)}, expected one of {wanted}", place)
    return role


def parts_of(content: Any, where: str) -> tuple[str, tuple[Attachment, ...]]:
    """Text and attachments of a content: text, nothing, or a list of typed parts."""
    if content is None:
        return "", ()
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    attachments: list[Attachment] = []
    for position, part in enumerate(objects(content, where) if content != [] else []):
        place = f"{where}[{position}]"
        kind = part.get("type")
        if kind in ("text", "input_text", "output_text", "summary_text"):
            texts.append(text_field(part, "text", place))
        elif kind == "refusal":
            texts.append(text_field(part, "refusal", place))
        elif kind in ("image_url", "input_image", "image", "document", "file", "input_file"):
            attachments.append(_attachment(part))
        elif kind in ("thinking", "redacted_thinking", "reasoning"):
            continue  # Providers drop what was thought in earlier turns.
        else:
            raise MalformedRequest(
                f"{place}.type is {_shown(kind)}, which can't be passed on", f"{place}.type"
            )
    return "\n".join(texts), tuple(attachments)


def call_of(name: Any, arguments: Any, call_id: Any, where: str) -> ToolCall:
    """A call; arguments are JSON text."""
    if not isinstance(name, str) or not isinstance(arguments, str) or not isinstance(call_id, str):
        raise MalformedRequest(f"{where} needs an id, a name and arguments", where)
    return ToolCall(call_id, name, arguments)


def _attachment(part: Payload) -> Attachment:
    kind = str(part.get("type"))
    media_type = "image" if "image" in kind else "application/octet-stream"
    source = part.get("source")
    if isinstance(source, dict):
        data = source.get("data") or source.get("url") or ""
        return Attachment(str(source.get("media_type") or media_type), str(data))
    address = part.get("image_url") or part.get("file_data") or part.get("file_url") or ""
    if isinstance(address, dict):
        address = address.get("url") or ""
    return Attachment(media_type, str(address))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""Edges: what all readers of answers share: values of any shape, errors inside of answers.

Servers that speak a vendor's protocol deviate in every detail, so nothing is taken for granted: a
value of another type is unknown, never a crash, and a refusal may come with HTTP status 200.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Payload: TypeAlias = dict[str, Any]

_FAILED = frozenset({"failed", "cancelled"})


class UnreadableAnswerError(Exception):
    """An answer that is no error and not of the shape that the protocol promises."""


def mapping(value: object) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The JSON objects of a list; nothing where it is no list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The value where it is text, else nothing."""
    return value if isinstance(value, str) else ""


def tokens_of(source: Mapping[str, Any], *names: str) -> int | None:
    """The first of these fields that holds a count; None where none does."""
    for name in names:
        value = source.get(name)
        if isinstance(value, bool):
            continue
        if isinstance(value, int) and value >= 0:
            return value
        if isinstance(value, float) and value >= 0 and value.is_integer():
            return int(value)
    return None


def texts_of_content(content: object) -> str:
    """Content as text: a string, or the texts of a list of parts; reasoning isn't part of it.

    Mistral and others answer with lists of chunks, some of which are thoughts.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts: list[str] = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text"):
            parts.append(text_of(part.get("text")))
    return "".join(parts)


def holds_error(payload: object) -> bool:
    """True for a refusal in an answer's place, whatever envelope it came in.

    `error` as object, text or list; a list around it (Gemini); `choices[].error` (OpenRouter);
    `base_resp` (MiniMax); the flat `{"object": "error"}` (SGLang, older vLLM); a failed response.
    """
    if isinstance(payload, Sequence) and not isinstance(payload, (str, bytes)):
        return any(holds_error(part) for part in payload if isinstance(part, Mapping))
    if not isinstance(payload, Mapping):
        return False
    if payload.get("error") or payload.get("errors"):
        return True
    if "error" in (payload.get("object"), payload.get("type")):
        return True
    if text_of(payload.get("status")) in _FAILED:
        return True
    if mapping(payload.get("base_resp")).get("status_code"):
        return True
    # Some servers tell the status inside a body without anything that an answer has.
    has_answer = any(payload.get(name) for name in ("choices", "output", "content"))
    if not has_answer and payload.get("detail"):
        return True
    return any(choice.get("error") for choice in objects(payload.get("choices")))

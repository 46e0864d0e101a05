"""Edges: reading the body of a provider's refusal, whatever envelope it came in.

Only fields that name the error are read: codes, types, messages, token figures. Text that a model
or a tool wrote (choices, content, echoed input) is never part of the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_BODY_CHARACTERS_MAX = 200_000
_DEPTH_MAX = 8

_MESSAGE_KEYS = frozenset(
    [
        "message",
        "msg",
        "detail",
        "error_description",
        "error_msg",
        "error_message",
        "status_msg",
        "errormessage",
        "title",
        "raw",
        "description",
    ]
)
_CODE_KEYS = frozenset(
    ["code", "type", "error_type", "error_code", "errorcode", "status", "reason", "__type"]
)
_CONTAINER_KEYS = frozenset(
    [
        "error",
        "errors",
        "detail",
        "details",
        "innererror",
        "inner_error",
        "metadata",
        "raw",
        "response",
        "cause",
        "base_resp",
        "body",
        "upstream_error",
        "provider_error",
        "incomplete_details",
    ]
)
_FIGURE_KEYS = {
    "n_prompt_tokens": "prompt",
    "prompt_tokens_count": "prompt",
    "n_ctx": "window",
}
_FINISH_KEYS = ("finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason")
_INPUT_KEYS = (
    "prompt_tokens",
    "input_tokens",
    "inputTokens",
    "promptTokenCount",
    "prompt_eval_count",
)
_OUTPUT_KEYS = (
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidatesTokenCount",
    "eval_count",
)
_MARKUP = re.compile(r"<[^<>]{0,400}>")
# Refusals say what they mean at once; a longer text is an echo of what was sent.
_MESSAGE_CHARACTERS_MAX = 6_000


@dataclass(slots=True)
class ErrorFields:
    """What a body says about the error.

    `codes` are lower-case letters and digits only. `statuses` are HTTP statuses named inside.
    `figures` hold "prompt" and "window" where the body has them as fields. `finish` is the finish
    reason, `input_tokens` and `output_tokens` the usage of a body that is an answer, no error.
    """

    codes: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    params: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    finish: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    vendor_status: int | None = None

    @property
    def text(self) -> str:
        """All messages, each once, on one line, with figures without separators."""
        joined = " | ".join(dict.fromkeys(self.messages))[:_MESSAGE_CHARACTERS_MAX]
        joined = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", joined)
        # No count of tokens is that long.
        joined = re.sub(r"\d{13,}", "(number)", joined)
        return " ".join(joined.split())


def read_body(body: object) -> ErrorFields:
    """The fields of `body`: JSON text, bytes, a parsed value, HTML, plain text or nothing."""
    fields = ErrorFields()
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str):
        _read_text(body[:_BODY_CHARACTERS_MAX], fields, 0)
    else:
        _read_value(body, fields, 0)
    return fields


def _read_text(text: str, fields: ErrorFields, depth: int) -> None:
    stripped = text.strip()
    if not stripped:
        return
    values = list(_json_values(stripped))
    for value in values:
        _read_value(value, fields, depth + 1)
    if not values or not stripped.startswith(("{", "[", "data:", "event:")):
        message = stripped[:_MESSAGE_CHARACTERS_MAX]
        fields.messages.append(_MARKUP.sub(" ", message) if "<" in message else message)


def _json_values(text: str) -> Iterator[Any]:
    """The JSON of a text that is JSON, server-sent events, or words around one JSON object."""
    candidates = [text]
    if text.startswith(("data:", "event:")):
        candidates = [line[5:] for line in text.split("\n") if line.startswith("data:")]
    elif not text.startswith(("{", "[", '"')):
        start, stop = text.find("{"), text.rfind("}")
        candidates = [text[start : stop + 1]] if 0 <= start < stop else []
    for candidate in candidates:
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, (dict, list, str)) and value != text:
            yield value


def _read_value(value: object, fields: ErrorFields, depth: int) -> None:
    if depth > _DEPTH_MAX:
        return
    if isinstance(value, str):
        _read_text(value, fields, depth)
    elif isinstance(value, list):
        for part in value[:50]:
            _read_value(part, fields, depth + 1)
    elif isinstance(value, Mapping):
        _read_object(value, fields, depth)


def _read_object(value: Mapping[Any, Any], fields: ErrorFields, depth: int) -> None:
    _read_answer(value, fields, depth)
    is_vendor_envelope = "status_code" in value and "status_msg" in value
    if is_vendor_envelope and isinstance(value["status_code"], int):
        fields.vendor_status = value["status_code"]
    for name, part in value.items():
        key = str(name).lower()
        if key in _CODE_KEYS:
            _read_code(part, fields)
        if key == "param" and isinstance(part, str):
            fields.params.append(part.lower())
        if key in _FIGURE_KEYS and isinstance(part, int):
            fields.figures[_FIGURE_KEYS[key]] = part
        if isinstance(part, str):
            # The word "error" is a message in some envelopes, a type in none.
            if key in _MESSAGE_KEYS or key == "error":
                _read_text(part, fields, depth + 1)
        elif key in _CONTAINER_KEYS or key in _MESSAGE_KEYS:
            _read_value(part, fields, depth + 1)


def _read_code(part: object, fields: ErrorFields) -> None:
    if isinstance(part, bool) or not isinstance(part, (str, int)):
        return
    code = "".join(letter for letter in str(part).lower() if letter.isalnum())
    if code.isdecimal() and 400 <= int(code[:9]) <= 599:
        fields.statuses.append(int(code))
    elif code and len(code) <= 80:
        fields.codes.append(code)


def _read_answer(value: Mapping[Any, Any], fields: ErrorFields, depth: int) -> None:
    """Finish reason and usage where the object is an answer; its content is never read."""
    choices = [*_objects(value.get("choices")), *_objects(value.get("candidates"))]
    for choice in choices:
        _read_value(choice.get("error"), fields, depth + 1)
    details = value.get("incomplete_details")
    finishes = [part.get(key) for part in (*choices, value) for key in _FINISH_KEYS]
    if isinstance(details, Mapping):
        finishes.append(details.get("reason"))
    named = [finish.lower() for finish in finishes if isinstance(finish, str) and finish]
    fields.finish = fields.finish or next(iter(named), "")
    for usage in (value.get("usage"), value.get("usageMetadata"), value):
        if isinstance(usage, Mapping):
            _read_usage(usage, fields)


def _objects(value: object) -> list[Mapping[Any, Any]]:
    return (
        [part for part in value[:8] if isinstance(part, Mapping)] if isinstance(value, list) else []
    )


def _read_usage(usage: Mapping[Any, Any], fields: ErrorFields) -> None:
    counted = {key: part for key, part in usage.items() if type(part) is int}
    whole = next((counted[key] for key in _INPUT_KEYS if key in counted), None)
    if whole is not None:
        # Anthropic counts what was read from and written to the cache apart.
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        fields.input_tokens = whole + sum(counted.get(key, 0) for key in cached)
        output = next((counted[key] for key in _OUTPUT_KEYS if key in counted), None)
        fields.output_tokens = output

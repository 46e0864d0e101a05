"""Edges: the proxy's Chat Completions, as OpenAI documents them, whole or as server-sent events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Message, Role
from bench.provider import ProviderError
from bench.proxy.question import (
    MalformedRequest,
    Payload,
    Question,
    call_of,
    flag,
    ignored_fields,
    limit,
    objects,
    parts_of,
    role_of,
    text_field,
)
from bench.strategy import Reply

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_PIECE_CHARACTERS = 400

_STATUS_OF = {
    "rate_limit": 429,
    "quota": 429,
    "auth": 401,
    "payload_too_large": 413,
    "timeout": 504,
    "server": 502,
    "unknown": 502,
}
_TYPE_OF = {
    "rate_limit": "rate_limit_error",
    "quota": "insufficient_quota",
    "auth": "authentication_error",
    "timeout": "server_error",
    "server": "server_error",
    "unknown": "server_error",
}
_CODE_OF = {
    "input_overflow": "context_length_exceeded",
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "auth": "invalid_api_key",
    "content_filter": "content_filter",
}


def read(body: Payload) -> Question:
    """The question of a request body. Raises MalformedRequest."""
    if body.get("n") not in (None, 1):
        raise MalformedRequest("n: one answer to a request is all that is given", "n")
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type") != "text":
        raise MalformedRequest("response_format: only text can be asked for", "response_format")
    if body.get("tool_choice") not in (None, "auto", "none"):
        raise MalformedRequest("tool_choice: no call can be forced, text is given", "tool_choice")
    limits = ("max_completion_tokens", "max_tokens")
    options = body.get("stream_options")
    return Question(
        messages=tuple(
            _message(entry, f"messages[{position}]")
            for position, entry in enumerate(objects(body.get("messages"), "messages"))
        ),
        output_tokens_max=limit(body, limits),
        is_streamed=flag(body, "stream"),
        wants_usage=isinstance(options, dict) and flag(options, "include_usage"),
        ignored=ignored_fields(body, ("messages", "n", "response_format", *limits)),
    )


def _message(entry: Payload, where: str) -> Message:
    role = role_of(entry, _ROLES, where)
    text, attachments = parts_of(entry.get("content"), f"{where}.content")
    if role == "tool":
        return Message(role, text, call_id=text_field(entry, "tool_call_id", where))
    calls = entry.get("tool_calls")
    if calls is None or role != "assistant":
        return Message(role, text, attachments=attachments)
    made = []
    for position, call in enumerate(objects(calls, f"{where}.tool_calls")):
        place = f"{where}.tool_calls[{position}]"
        function = call.get("function")
        if not isinstance(function, dict):
            raise MalformedRequest(f"{place}.function is missing", f"{place}.function")
        made.append(call_of(function.get("name"), function.get("arguments"), call.get("id"), place))
    return Message(role, text, tuple(made), attachments=attachments)


def answer(question: Question, reply: Reply, model: str, answer_id: str) -> Payload:
    """The whole answer."""
    message: Payload = {"role": "assistant", "content": reply.text, "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": finish_reason(reply),
    }
    return {
        **_frame(model, answer_id, "chat.completion"),
        "choices": [choice],
        "usage": _usage(reply),
    }


def events(
    question: Question, reply: Reply, model: str, answer_id: str
) -> Iterator[tuple[str, Payload | str]]:
    """The same as a stream: name of the event (none here) and its data."""
    frame = _frame(model, answer_id, "chat.completion.chunk")

    def chunk(delta: Payload, finish: str | None = None) -> tuple[str, Payload]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return "", {**frame, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    yield chunk({}, finish_reason(reply))
    if question.wants_usage:
        yield "", {**frame, "choices": [], "usage": _usage(reply)}
    yield "", "[DONE]"


def refusal(error: ProviderError) -> tuple[int, Payload]:
    """Status and body of a refusal, shaped as OpenAI shapes them."""
    return _STATUS_OF.get(error.kind, 400), error_body(
        error.text,
        _TYPE_OF.get(error.kind, "invalid_request_error"),
        code=_CODE_OF.get(error.kind),
        parameter="messages" if error.kind == "input_overflow" else None,
    )


def error_body(
    text: str, kind: str, *, code: str | None = None, parameter: str | None = None
) -> Payload:
    """An error as OpenAI shapes it."""
    return {"error": {"message": text, "type": kind, "param": parameter, "code": code}}


def models(names: list[str]) -> Payload:
    """The list of models."""
    return {"object": "list", "data": [model_entry(name) for name in names]}


def model_entry(name: str) -> Payload:
    """One model."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "compaction-bench"}


def pieces(text: str) -> Iterator[str]:
    """A text in the pieces of a stream."""
    for start in range(0, len(text), _PIECE_CHARACTERS):
        yield text[start : start + _PIECE_CHARACTERS]


def is_cut_off(reply: Reply) -> bool:
    """Whether the cap ended the answer, in whatever word the provider says it."""
    return reply.finish_reason in _CUT_OFF


def finish_reason(reply: Reply) -> str:
    """The provider's reason in OpenAI's words."""
    if is_cut_off(reply):
        return "length"
    return "content_filter" if reply.finish_reason in ("content_filter", "refusal") else "stop"


def _frame(model: str, answer_id: str, kind: str) -> Payload:
    # A fixed date: a replay has no clock, and the same request is to get the same bytes.
    return {"id": f"chatcmpl-{answer_id}", "object": kind, "created": 0, "model": model}


def _usage(reply: Reply) -> dict[str, Any]:
    asked, said = reply.usage.input_tokens, reply.usage.output_tokens
    usage: dict[str, Any] = {
        "prompt_tokens": asked,
        "completion_tokens": said,
        "total_tokens": asked + said,
    }
    if reply.usage.cached_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": reply.usage.cached_tokens}
    return usage

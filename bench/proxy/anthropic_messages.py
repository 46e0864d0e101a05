"""Edges: the proxy's Messages API, as Anthropic documents it, whole or as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Message, Role
from bench.provider import ProviderError
from bench.proxy.chat_completions import is_cut_off, pieces
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

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_STATUS_OF = {
    "rate_limit": 429,
    "quota": 402,
    "auth": 401,
    "payload_too_large": 413,
    "timeout": 504,
    "server": 500,
    "unknown": 500,
}
_TYPE_OF = {
    "rate_limit": "rate_limit_error",
    "quota": "billing_error",
    "auth": "authentication_error",
    "payload_too_large": "request_too_large",
    "timeout": "timeout_error",
    "server": "api_error",
    "unknown": "api_error",
}


def read(body: Payload) -> Question:
    """The question of a request body. Raises MalformedRequest."""
    return _read(body, needs_limit=True)


def read_uncapped(body: Payload) -> Question:
    """The same for counting tokens, which needs no limit of the answer."""
    return _read(body, needs_limit=False)


def _read(body: Payload, *, needs_limit: bool) -> Question:
    for name in ("context_management", "compaction", "mcp_servers", "container"):
        if body.get(name):
            raise MalformedRequest(f"{name}: only plain messages can be passed on", name)
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        raise MalformedRequest("tool_choice: no call can be forced, text is given", "tool_choice")
    messages: list[Message] = []
    if body.get("system") is not None:
        text, _ = parts_of(body["system"], "system")
        messages.append(Message("system", text))
    for position, entry in enumerate(objects(body.get("messages"), "messages")):
        messages += _messages(entry, f"messages.{position}")
    return Question(
        messages=tuple(messages),
        output_tokens_max=limit(body, ("max_tokens",), is_required=needs_limit),
        is_streamed=flag(body, "stream"),
        ignored=ignored_fields(body, ("messages", "system", "max_tokens")),
    )


def _messages(entry: Payload, where: str) -> list[Message]:
    """One entry: its results as messages of their own, then the rest of it."""
    role = role_of(entry, _ROLES, where)
    content = entry.get("content")
    if not isinstance(content, list):
        text = text_field(entry, "content", where)
        return [Message(role, text)]
    results: list[Message] = []
    calls = []
    others: list[Payload] = []
    for position, block in enumerate(objects(content, f"{where}.content")):
        place = f"{where}.content.{position}"
        if block.get("type") == "tool_result":
            text, attachments = parts_of(block.get("content"), f"{place}.content")
            call_id = text_field(block, "tool_use_id", place)
            results.append(Message("tool", text, call_id=call_id, attachments=attachments))
        elif block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input"), ensure_ascii=False)
            calls.append(call_of(block.get("name"), arguments, block.get("id"), place))
        else:
            others.append(block)
    text, attachments = parts_of(others, f"{where}.content")
    if text or attachments or calls or not results:
        results.append(Message(role, text, tuple(calls), attachments=attachments))
    return results


def answer(question: Question, reply: Reply, model: str, answer_id: str) -> Payload:
    """The whole answer."""
    return {
        "id": f"msg_{answer_id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": reply.text}] if reply.text else [],
        "stop_reason": _stop_reason(reply),
        "stop_sequence": None,
        "usage": _usage(reply),
    }


def events(
    question: Question, reply: Reply, model: str, answer_id: str
) -> Iterator[tuple[str, Payload | str]]:
    """The same as a stream: the name of each event and its data."""
    whole = answer(question, reply, model, answer_id)
    begun = {**whole, "content": [], "stop_reason": None}
    begun["usage"] = {**whole["usage"], "output_tokens": 0}
    yield _event("message_start", message=begun)
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for piece in pieces(reply.text):
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield _event("content_block_stop", index=0)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    told = {"output_tokens": reply.usage.output_tokens}
    yield _event("message_delta", delta=ended, usage=told)
    yield _event("message_stop")


def _event(name: str, **data: Any) -> tuple[str, Payload]:
    return name, {"type": name, **data}


def refusal(error: ProviderError) -> tuple[int, Payload]:
    """Status and body of a refusal, shaped as Anthropic shapes them."""
    text = error.text
    if error.kind == "input_overflow":
        # The wording by which clients of this API tell an overflow from other bad requests.
        sent, most = error.sent_tokens, error.limit_tokens
        figures = f": {sent} tokens > {most} maximum" if sent and most else ""
        text = f"prompt is too long{figures}"
    kind = _TYPE_OF.get(error.kind, "invalid_request_error")
    return _STATUS_OF.get(error.kind, 400), error_body(text, kind)


def error_body(text: str, kind: str) -> Payload:
    """An error as Anthropic shapes it."""
    return {"type": "error", "error": {"type": kind, "message": text}}


def models(names: list[str]) -> Payload:
    """The list of models."""
    entries = [model_entry(name) for name in names]
    return {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def model_entry(name: str) -> Payload:
    """One model."""
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _stop_reason(reply: Reply) -> str:
    if is_cut_off(reply):
        return "max_tokens"
    return "refusal" if reply.finish_reason in ("refusal", "content_filter") else "end_turn"


def _usage(reply: Reply) -> dict[str, Any]:
    # Anthropic's input_tokens leave out what came from the cache.
    cached = reply.usage.cached_tokens or 0
    return {
        "input_tokens": max(0, reply.usage.input_tokens - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": reply.usage.output_tokens,
    }

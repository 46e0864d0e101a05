"""Edges: Anthropic Messages, the request and the detailed result.

Source: Anthropic's published request and response types and its guides on prompt caching.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.events import ToolCall
from bench.providers.reading import (
    Payload,
    UnreadableAnswerError,
    mapping,
    objects,
    text_of,
    tokens_of,
)
from bench.providers.results import CallUsage, DetailedResult, summed
from bench.wire.formats import Request

API_VERSION = "2023-06-01"
_CACHED = {"type": "ephemeral"}


def anthropic_body(
    request: Request,
    *,
    model: str,
    output_tokens_max: int,
    calls_wanted: bool = False,
    is_cached: bool = False,
) -> Payload:
    """The body of `POST /v1/messages`.

    With `is_cached` the system text and the last message end with a cache breakpoint, so that the
    next, longer request reads what they share from the cache.
    """
    body: Payload = {
        "model": model,
        "max_tokens": output_tokens_max,
        "messages": _with_breakpoint(request.messages) if is_cached else request.messages,
        "stream": False,
    }
    if request.system:
        text: Payload = {"type": "text", "text": request.system}
        body["system"] = [{**text, "cache_control": _CACHED}] if is_cached else request.system
    tools = request.tools or _tools_told(request.messages)
    if tools:
        body["tools"] = tools
        body["tool_choice"] = {"type": "auto" if calls_wanted else "none"}
    return {**body, **request.body}


def _tools_told(messages: list[Payload]) -> list[Payload]:
    """Definitions of the tools that were called: the API wants some beside calls in the history."""
    names = dict.fromkeys(
        text_of(block.get("name"))
        for message in messages
        for block in objects(message.get("content"))
        if block.get("type") == "tool_use"
    )
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _with_breakpoint(messages: list[Payload]) -> list[Payload]:
    """The messages with a breakpoint on the last block of the last one."""
    if not messages or not isinstance(messages[-1].get("content"), list):
        return messages
    *others, last = messages
    *blocks, block = last["content"]
    return [*others, {**last, "content": [*blocks, {**block, "cache_control": _CACHED}]}]


def read_anthropic(payload: object) -> DetailedResult:
    """The text blocks of `content`. Raises UnreadableAnswerError where that is no list."""
    answer = mapping(payload)
    if not isinstance(answer.get("content"), list):
        raise UnreadableAnswerError("no content: this is no answer of the Messages API")
    blocks = objects(answer["content"])
    return DetailedResult(
        text="".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text"),
        finish_reason=text_of(answer.get("stop_reason")),
        usage=anthropic_usage(answer),
        calls=tuple(
            ToolCall(
                text_of(block.get("id")),
                text_of(block.get("name")),
                json.dumps(block.get("input") or {}, ensure_ascii=False),
            )
            for block in blocks
            if block.get("type") == "tool_use"
        ),
        window_tokens=_window_tokens(answer),
    )


def anthropic_usage(answer: Mapping[str, Any]) -> CallUsage:
    """What was billed: the sum over `usage.iterations` where there are any, else the top level.

    The top level leaves out compaction passes. The input is what was read plainly, written to and
    read from the cache together.
    """
    usage = mapping(answer.get("usage"))
    iterations = objects(usage.get("iterations"))
    if iterations:
        return summed(_usage_of(one) for one in iterations)
    return _usage_of(usage)


def _usage_of(usage: Mapping[str, Any]) -> CallUsage:
    plain = tokens_of(usage, "input_tokens")
    written = tokens_of(usage, "cache_creation_input_tokens")
    read = tokens_of(usage, "cache_read_input_tokens")
    return CallUsage(
        input_tokens=None if plain is None else plain + (written or 0) + (read or 0),
        output_tokens=tokens_of(usage, "output_tokens"),
        cached_tokens=read,
        cache_write_tokens=written,
    )


def _window_tokens(answer: Mapping[str, Any]) -> int | None:
    """The input of the last pass that made a message: the size of the window, not of the bill."""
    usage = mapping(answer.get("usage"))
    passes = [one for one in objects(usage.get("iterations")) if one.get("type") == "message"]
    return _usage_of(passes[-1]).input_tokens if passes else None

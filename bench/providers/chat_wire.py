"""Edges: OpenAI Chat Completions, the request and the detailed result.

Source: OpenAI's published request and response types; deviations of compatible servers as their
sources and issue trackers show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.events import ToolCall
from bench.providers.reading import (
    Payload,
    UnreadableAnswerError,
    mapping,
    objects,
    text_of,
    texts_of_content,
    tokens_of,
)
from bench.providers.results import CallUsage, DetailedResult
from bench.wire.formats import Request

# The older name of the limit, which most compatible servers know alone, and the newer one, which
# OpenAI's own reasoning models insist on.
OUTPUT_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")


def chat_body(
    request: Request,
    *,
    model: str,
    output_tokens_max: int,
    calls_wanted: bool = False,
    limit_name: str = OUTPUT_LIMIT_NAMES[0],
) -> Payload:
    """The body of `POST /chat/completions`. Tools are offered, but called only when wanted."""
    body: Payload = {
        "model": model,
        "messages": request.messages,
        limit_name: output_tokens_max,
        "stream": False,
    }
    if request.tools:
        body["tools"] = request.tools
        body["tool_choice"] = "auto" if calls_wanted else "none"
    return {**body, **request.body}


def read_chat(payload: object) -> DetailedResult:
    """The first choice. Raises UnreadableAnswerError where there is none."""
    answer = mapping(payload)
    choices = objects(answer.get("choices"))
    if not choices:
        raise UnreadableAnswerError("no choices: this is no answer of Chat Completions")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, Mapping):
        if not isinstance(choice.get("text"), str):
            raise UnreadableAnswerError("choices[0] holds no message")
        message = {"content": choice["text"]}
    refusal = text_of(message.get("refusal"))
    return DetailedResult(
        text=texts_of_content(message.get("content")),
        finish_reason=text_of(choice.get("finish_reason")),
        usage=chat_usage(answer),
        calls=tuple(_call(call) for call in objects(message.get("tool_calls"))),
        refusal=refusal,
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        # Some servers send the object itself where the protocol wants its text.
        arguments = "{}" if arguments is None else _compact_json(arguments)
    return ToolCall(text_of(call.get("id")), text_of(function.get("name")), arguments)


def _compact_json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def chat_usage(answer: Mapping[str, Any]) -> CallUsage:
    """Usage as the many servers of this protocol spell it; `prompt_tokens` includes the cached."""
    usage = mapping(answer.get("usage"))
    # Cohere counts in one object and bills in another.
    counted = usage if not isinstance(usage.get("tokens"), Mapping) else mapping(usage["tokens"])
    details = mapping(counted.get("prompt_tokens_details"))
    spent = mapping(counted.get("completion_tokens_details"))
    cached = tokens_of(details, "cached_tokens")
    if cached is None:
        # DeepSeek, Together, Bedrock; llama.cpp tells it apart from usage.
        cached = tokens_of(
            counted, "prompt_cache_hit_tokens", "cached_tokens", "cacheReadInputTokens"
        )
    if cached is None:
        cached = tokens_of(mapping(answer.get("timings")), "cache_n")
    written = tokens_of(details, "cache_write_tokens")
    whole = tokens_of(counted, "prompt_tokens", "input_tokens")
    if whole is not None and cached is not None and cached > whole:
        # More came from the cache than there was: this server counts it apart.
        whole += cached
    return CallUsage(
        input_tokens=whole,
        output_tokens=tokens_of(counted, "completion_tokens", "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=(
            written if written is not None else tokens_of(counted, "cacheWriteInputTokens")
        ),
        reasoning_tokens=tokens_of(spent, "reasoning_tokens"),
    )

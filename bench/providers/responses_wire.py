"""Edges: OpenAI Responses, the request and the detailed result.

Source: OpenAI's published request and response types.
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

# The API refuses a smaller limit.
OUTPUT_TOKENS_MIN = 16


def responses_body(
    request: Request, *, model: str, output_tokens_max: int, calls_wanted: bool = False
) -> Payload:
    """The body of `POST /responses`: nothing is stored, and nothing is silently dropped.

    `truncation` is "disabled" in so many words: "auto" would drop the oldest items instead of
    refusing a request that is too long.
    """
    body: Payload = {
        "model": model,
        "input": request.messages,
        "max_output_tokens": max(OUTPUT_TOKENS_MIN, output_tokens_max),
        "truncation": "disabled",
        "store": False,
        "stream": False,
    }
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = request.tools
        body["tool_choice"] = "auto" if calls_wanted else "none"
    return {**body, **request.body}


def read_responses(payload: object) -> DetailedResult:
    """The messages of `output`. Raises UnreadableAnswerError where that is no list."""
    answer = mapping(payload)
    output = answer.get("output")
    if not isinstance(output, list):
        raise UnreadableAnswerError("no output: this is no answer of the Responses API")
    texts: list[str] = []
    refusals: list[str] = []
    calls: list[ToolCall] = []
    for item in objects(output):
        if item.get("type") == "message":
            texts.append(texts_of_content(item.get("content")))
            refusals += [text_of(part.get("refusal")) for part in objects(item.get("content"))]
        elif item.get("type") == "function_call":
            arguments = item.get("arguments")
            calls.append(
                ToolCall(
                    text_of(item.get("call_id")),
                    text_of(item.get("name")),
                    arguments if isinstance(arguments, str) else "{}",
                )
            )
    return DetailedResult(
        text="".join(texts),
        finish_reason=finish_of_response(answer),
        usage=responses_usage(answer),
        calls=tuple(calls),
        refusal="".join(refusals),
    )


def finish_of_response(answer: Mapping[str, Any]) -> str:
    """Why the response ended: the reason of an incomplete one, else its status."""
    reason = text_of(mapping(answer.get("incomplete_details")).get("reason"))
    return reason or text_of(answer.get("status"))


def responses_usage(answer: Mapping[str, Any]) -> CallUsage:
    """`usage` of a response or of a compaction; `input_tokens` includes the cached ones."""
    usage = mapping(answer.get("usage"))
    details = mapping(usage.get("input_tokens_details"))
    return CallUsage(
        input_tokens=tokens_of(usage, "input_tokens", "prompt_tokens"),
        output_tokens=tokens_of(usage, "output_tokens", "completion_tokens"),
        cached_tokens=tokens_of(details, "cached_tokens"),
        cache_write_tokens=tokens_of(details, "cache_write_tokens"),
        reasoning_tokens=tokens_of(mapping(usage.get("output_tokens_details")), "reasoning_tokens"),
    )

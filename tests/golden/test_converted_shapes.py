"""One small session in each shape that `sessions convert` writes."""

import json
from typing import Any

import pytest

from bench.converting import carried, converted
from bench.events import (
    Attachment,
    Event,
    Message,
    RecordedUsage,
    Session,
    ToolCall,
    ToolDefinition,
)

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
_SESSION = Session(
    "tide",
    tuple(
        Event(seq, message, timestamp=1_760_000_000.0 + seq)
        for seq, message in enumerate(
            (
                Message("system", "Be terse."),
                Message("user", "Look.", attachments=(Attachment("image/png", "aGk="),)),
                Message(
                    "assistant",
                    "Reading.",
                    (ToolCall("a", "read", '{"path":"x.py"}'), ToolCall("b", "read", "{}")),
                    reasoning="Two files.",
                ),
                Message("tool", "one", call_id="a"),
                Message("tool", '{"two": 2}', call_id="b"),
                Message("assistant", "Done."),
                Message("user", "Thanks."),
            ),
            start=1,
        )
    ),
    (ToolDefinition("read", "Reads.", _SCHEMA),),
    recorded_usage=(RecordedUsage(3, 120, 100, 7),),
)


def _written(target: str) -> list[Any]:
    data = converted(carried(_SESSION, target).session, target)
    return [json.loads(line) for line in data.decode("utf-8").splitlines()]


def test_openai() -> None:
    (request,) = _written("openai")
    function = {"name": "read", "description": "Reads.", "parameters": _SCHEMA}
    assert request == {
        "session_id": "tide",
        "messages": [
            {"role": "system", "content": "Be terse."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                ],
            },
            {
                "role": "assistant",
                "content": "Reading.",
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path":"x.py"}'},
                    },
                    {
                        "id": "b",
                        "type": "function",
                        "function": {"name": "read", "arguments": "{}"},
                    },
                ],
            },
            {"role": "tool", "content": "one", "tool_call_id": "a"},
            {"role": "tool", "content": '{"two": 2}', "tool_call_id": "b"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ],
        "tools": [{"type": "function", "function": function}],
    }


def test_anthropic() -> None:
    (request,) = _written("anthropic")
    assert request == {
        "session_id": "tide",
        "system": "Be terse.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Reading."},
                    {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x.py"}},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "b", "content": '{"two": 2}'},
                ],
            },
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": _SCHEMA}],
    }


def test_responses() -> None:
    first, second, third = _written("responses")
    assert first["request"] == {
        "conversation": "tide",
        "input": [
            {
                "type": "message",
                "role": "system",
                "content": [{"type": "input_text", "text": "Be terse."}],
            },
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
                ],
            },
        ],
        "tools": [
            {"type": "function", "name": "read", "description": "Reads.", "parameters": _SCHEMA}
        ],
    }
    assert first["response"] == {
        "id": "resp_1",
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Two files."}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Reading."}],
            },
            {
                "type": "function_call",
                "call_id": "a",
                "name": "read",
                "arguments": '{"path":"x.py"}',
            },
            {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
        ],
        "created_at": 1_760_000_003.0,
        "usage": {
            "input_tokens": 120,
            "input_tokens_details": {"cached_tokens": 100},
            "output_tokens": 7,
        },
    }
    assert second["request"] == {
        "previous_response_id": "resp_1",
        "input": [
            {"type": "function_call_output", "call_id": "a", "output": "one"},
            {
                "type": "function_call_output",
                "call_id": "b",
                "output": [{"type": "input_text", "text": '{"two": 2}'}],
            },
        ],
    }
    assert second["response"]["id"] == "resp_2"
    assert third.keys() == {"request"}
    assert third["request"]["previous_response_id"] == "resp_2"


@pytest.mark.parametrize(
    ("target", "losses"),
    [
        ("openai", ("7 timestamps", "1 texts of reasoning", "1 counts of recorded usage")),
        ("anthropic", ("7 timestamps", "1 texts of reasoning", "1 counts of recorded usage")),
        ("responses", ("5 timestamps",)),
        ("own", ()),
    ],
)
def test_what_is_left_behind(target: str, losses: tuple[str, ...]) -> None:
    assert sorted(carried(_SESSION, target).losses) == sorted(losses)

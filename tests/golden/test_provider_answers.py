"""Answers as servers really shape them: every known deviation of the protocols is read."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Message, ToolCall, ToolDefinition
from bench.provider import ProviderError
from bench.providers.anthropic_wire import anthropic_body, read_anthropic
from bench.providers.asking import rendered_messages, request_of
from bench.providers.chat_dialects import adapted
from bench.providers.chat_wire import chat_body, read_chat
from bench.providers.native_wire import FORMS, read_native
from bench.providers.reading import UnreadableAnswerError, holds_error
from bench.providers.responses_wire import read_responses, responses_body
from bench.providers.results import CallUsage
from bench.providers.vendors import VENDORS
from bench.wire.checks import CHECKS
from bench.wire.formats import FORMATS


def chat(message: Any, usage: Any = None, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return {"choices": [choice], "usage": usage, **more}


FULL = {
    "prompt_tokens": 120,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 12},
}
USAGES = {
    "all details": (
        FULL,
        CallUsage(
            input_tokens=120,
            output_tokens=30,
            cached_tokens=64,
            cache_write_tokens=8,
            reasoning_tokens=12,
        ),
    ),
    "no details": (
        {"prompt_tokens": 9, "completion_tokens": 2},
        CallUsage(input_tokens=9, output_tokens=2),
    ),
    "none": (None, CallUsage()),
    "null details": (
        {"prompt_tokens": 9, "prompt_tokens_details": None},
        CallUsage(input_tokens=9),
    ),
    "DeepSeek": (
        {
            "prompt_tokens": 90,
            "completion_tokens": 2,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 26,
        },
        CallUsage(input_tokens=90, output_tokens=2, cached_tokens=64),
    ),
    "Together": (
        {"prompt_tokens": 90, "cached_tokens": 10},
        CallUsage(input_tokens=90, cached_tokens=10),
    ),
    "Bedrock": (
        {"prompt_tokens": 90, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 4},
        CallUsage(input_tokens=90, cached_tokens=10, cache_write_tokens=4),
    ),
    "Cohere": (
        {"tokens": {"input_tokens": 7, "output_tokens": 3}, "billed_units": {}},
        CallUsage(input_tokens=7, output_tokens=3),
    ),
    "cache counted apart": (
        {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 90}},
        CallUsage(input_tokens=100, cached_tokens=90),
    ),
    "of another type": ({"prompt_tokens": "many", "completion_tokens": True}, CallUsage()),
    "as floats": ({"prompt_tokens": 9.0, "completion_tokens": 2.5}, CallUsage(input_tokens=9)),
}


@pytest.mark.parametrize("name", USAGES)
def test_usage_of_chat(name: str) -> None:
    told, expected = USAGES[name]
    assert read_chat(chat({"content": "x"}, told)).usage == expected


def test_cached_tokens_of_llama_cpp_stand_beside_usage() -> None:
    answer = chat({"content": "x"}, {"prompt_tokens": 9}, timings={"cache_n": 4})
    assert read_chat(answer).usage.cached_tokens == 4


CONTENTS = {
    "text": ("done", "done"),
    "null": (None, ""),
    "chunks, some of them thoughts (Mistral)": (
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "do"},
            {"type": "text", "text": "ne"},
        ],
        "done",
    ),
    "strings in a list": (["do", "ne"], "done"),
    "parts without type": ([{"text": "done"}], "done"),
    "a number": (7, ""),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_content_of_chat(name: str) -> None:
    content, expected = CONTENTS[name]
    assert read_chat(chat({"content": content})).text == expected


@pytest.mark.parametrize(
    "finish", ["stop", "length", "tool_calls", "eos", "model_length", "sensitive", None, 3]
)
def test_finish_reasons_stay_the_providers_own(finish: Any) -> None:
    wanted = finish if isinstance(finish, str) else ""
    assert read_chat(chat({"content": "x"}, finish=finish)).finish_reason == wanted


def test_calls_refusals_and_legacy_answers() -> None:
    calls = [
        {"id": "a", "function": {"name": "read", "arguments": '{"p": 1}'}},
        {"id": "b", "function": {"name": "read", "arguments": {"p": 2}}},
    ]
    read = read_chat(chat({"content": None, "tool_calls": calls, "refusal": "no"}))
    assert read.calls == (ToolCall("a", "read", '{"p": 1}'), ToolCall("b", "read", '{"p": 2}'))
    assert read.refusal == "no"
    assert read_chat({"choices": [{"text": "old", "finish_reason": "stop"}]}).text == "old"


@pytest.mark.parametrize("reader", [read_chat, read_responses, read_anthropic])
@pytest.mark.parametrize(
    "payload",
    [{}, [], None, "text", {"choices": []}, {"choices": [{}]}, {"output": "x", "content": "y"}],
)
def test_what_is_no_answer_is_told(reader: Any, payload: Any) -> None:
    with pytest.raises(UnreadableAnswerError):
        reader(payload)


ERRORS: dict[str, Any] = {
    "object": {"error": {"message": "no"}},
    "string (LM Studio)": {"error": "no"},
    "list (Gemini)": [{"error": {"code": 400, "status": "INVALID_ARGUMENT"}}],
    "choices[].error (OpenRouter)": {"choices": [{"error": {"code": 502}, "message": {}}]},
    "base_resp (MiniMax)": {"base_resp": {"status_code": 1039, "status_msg": "x"}, "choices": None},
    "flat (SGLang)": {"object": "error", "message": "no", "code": 400},
    "type error (Anthropic)": {"type": "error", "error": {"type": "overloaded_error"}},
    "failed response": {"status": "failed", "output": [], "error": {"code": "server_error"}},
    "detail (FastAPI)": {"detail": "Not Found"},
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_with_status_200_are_seen(name: str) -> None:
    assert holds_error(ERRORS[name])


@pytest.mark.parametrize(
    "payload",
    [
        chat({"content": "error: prompt is too long"}),
        chat({"content": "x"}, error=None),
        {"base_resp": {"status_code": 0}, **chat({"content": "x"})},
        {"status": "completed", "output": [], "error": None},
        {"type": "message", "content": []},
        {"detail": "high", **chat({"content": "x"})},
    ],
)
def test_answers_are_no_errors(payload: Any) -> None:
    assert not holds_error(payload)


def test_responses_are_read_in_detail() -> None:
    payload = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "content": [
                    {"type": "output_text", "text": "do"},
                    {"type": "refusal", "refusal": "no"},
                ],
            },
            {"type": "message", "content": [{"type": "output_text", "text": "ne"}]},
            {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"},
        ],
        "usage": {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 10},
            "output_tokens": 8,
            "output_tokens_details": {"reasoning_tokens": 5},
        },
    }
    read = read_responses(payload)
    assert (read.text, read.refusal, read.finish_reason) == ("done", "no", "max_output_tokens")
    assert read.calls == (ToolCall("c", "read", "{}"),)
    assert read.usage == CallUsage(
        input_tokens=50, output_tokens=8, cached_tokens=10, reasoning_tokens=5
    )
    assert read_responses({"status": "completed", "output": []}).finish_reason == "completed"


def test_messages_are_read_in_detail() -> None:
    payload = {
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "done"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"p": 1}},
        ],
        "usage": {
            "input_tokens": 5,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 100,
            "output_tokens": 9,
        },
    }
    read = read_anthropic(payload)
    assert (read.text, read.finish_reason) == ("done", "tool_use")
    assert read.calls == (ToolCall("t", "read", '{"p": 1}'),)
    # The whole input: what was read plainly, written to and read from the cache.
    assert read.usage == CallUsage(
        input_tokens=125, output_tokens=9, cached_tokens=100, cache_write_tokens=20
    )
    assert read.window_tokens is None


def test_the_bill_of_messages_is_the_sum_of_their_passes() -> None:
    passes = [
        {"type": "compaction", "input_tokens": 60_000, "output_tokens": 900},
        {"type": "message", "input_tokens": 1_500, "output_tokens": 40},
    ]
    usage = {"input_tokens": 1_500, "output_tokens": 40, "iterations": passes}
    read = read_anthropic({"content": [], "stop_reason": "end_turn", "usage": usage})
    assert (read.usage.input_tokens, read.usage.output_tokens) == (61_500, 940)
    assert read.window_tokens == 1_500


NAMES = [
    "choices",
    "message",
    "content",
    "text",
    "type",
    "tool_calls",
    "function",
    "arguments",
    "usage",
    "prompt_tokens",
    "prompt_tokens_details",
    "cached_tokens",
    "tokens",
    "timings",
    "output",
    "incomplete_details",
    "reason",
    "status",
    "iterations",
    "input_tokens",
    "error",
    "context_management",
    "applied_edits",
    "encrypted_content",
    "stop_reason",
    "input",
    "refusal",
]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**12)
    | st.floats()
    | st.sampled_from(["", "text", "message", "output_text", "compaction", "tool_use", "failed"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=20,
)
READERS = [
    read_chat,
    read_responses,
    read_anthropic,
    *(partial(read_native, form) for forms in FORMS.values() for form in forms),
]


@given(payload=ANYTHING)
@pytest.mark.parametrize("reader", READERS)
def test_any_json_is_read_or_refused_never_a_crash(reader: Any, payload: Any) -> None:
    assert holds_error(payload) in (True, False)
    try:
        answer = reader(payload)
    except (UnreadableAnswerError, ProviderError):
        return
    counts = [getattr(answer.usage, field.name) for field in fields(answer.usage)]
    assert all(count is None or (type(count) is int and count >= 0) for count in counts)
    assert isinstance(answer.finish_reason, str)
    assert isinstance(getattr(answer, "text", ""), str)
    json.dumps(getattr(answer, "state", None))


TOOL = ToolDefinition("read", "Read a file.", {"type": "object", "properties": {}})
TALK = [
    Message("system", "Be careful."),
    Message("user", "Look."),
    Message("assistant", "", (ToolCall("c1", "read", "{}"),)),
    Message("tool", "text", call_id="c1"),
]


def test_bodies_say_what_must_be_said() -> None:
    body = chat_body(request_of(TALK, [TOOL], "openai"), model="m", output_tokens_max=70)
    assert (body["max_tokens"], body["tool_choice"], body["stream"]) == (70, "none", False)
    body = responses_body(request_of(TALK, [TOOL], "responses"), model="m", output_tokens_max=1)
    assert (body["truncation"], body["store"], body["max_output_tokens"]) == ("disabled", False, 16)
    request = request_of(TALK, [], "anthropic")
    body = anthropic_body(request, model="m", output_tokens_max=70, calls_wanted=True)
    assert body["system"] == "Be careful."
    # Calls in the history need definitions, even where none are offered.
    assert [tool["name"] for tool in body["tools"]] == ["read"]


def test_cache_breakpoints_change_nothing_else() -> None:
    request = request_of(TALK, [TOOL], "anthropic")
    plain = anthropic_body(request, model="m", output_tokens_max=5)
    cached = anthropic_body(request, model="m", output_tokens_max=5, is_cached=True)
    assert json.dumps(cached).count('"cache_control"') == 2
    assert cached["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    del cached["messages"][-1]["content"][-1]["cache_control"]
    assert cached["messages"] == plain["messages"]
    assert cached["system"][0]["text"] == plain["system"]


def test_some_hosts_want_it_otherwise() -> None:
    body = chat_body(request_of(TALK, [TOOL], "openai"), model="m", output_tokens_max=5)
    assert adapted(body, "api.openai.com") == body
    assert adapted(body, "openrouter.ai")["transforms"] == []
    told = adapted(body, "api.mistral.ai")["messages"]
    ids = {told[2]["tool_calls"][0]["id"], told[3]["tool_call_id"]}
    assert len(ids) == 1 and re.fullmatch("[a-zA-Z0-9]{9}", ids.pop())
    assert body["messages"][3]["tool_call_id"] == "c1"


texts = st.sampled_from(["", " ", "words", "more words"])
calls = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True)
messages = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts),
    calls.map(lambda ids: Message("assistant", "x", tuple(ToolCall(i, "read") for i in ids))),
    st.builds(
        lambda text, call_id: Message("tool", text, call_id=call_id),
        texts,
        st.sampled_from(["a", "b", "c", "d"]),
    ),
)


@given(asked=st.lists(messages, max_size=8))
@pytest.mark.parametrize("vendor", VENDORS)
def test_whatever_a_strategy_asks_with_is_a_request_that_the_api_takes(
    vendor: str, asked: list[Message]
) -> None:
    used = [call.id for message in asked for call in message.calls]
    if len(set(used)) != len(used):
        # Ids that are used twice are the strategy's own mistake.
        return
    wire = VENDORS[vendor].format
    rendered = rendered_messages(asked)
    assert CHECKS[wire](FORMATS[wire](rendered, [TOOL])) == []
    said = [message.text for message in asked if message.text.strip()]
    shown = json.dumps(FORMATS[wire](rendered, [TOOL]).messages) + str(
        FORMATS[wire](rendered, [TOOL]).system
    )
    assert all(text in shown for text in said)

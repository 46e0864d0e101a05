"""Compaction by vendors: the requests that ask for it and what their answers leave."""

from __future__ import annotations

from typing import Any

import pytest

from bench.events import Message, ToolDefinition
from bench.provider import ProviderError
from bench.providers.asking import request_of
from bench.providers.native_wire import (
    AppliedEdit,
    applied_edits,
    clear_thinking,
    clear_tool_uses,
    form_of,
    native_betas,
    native_body,
    native_path,
    read_native,
    with_demands,
)
from bench.providers.reading import UnreadableAnswerError

TOOL = ToolDefinition("read", "Read.", {"type": "object"})
TALK = [Message("system", "Be careful."), Message("user", "Go on.")]


def body_of(form: Any, wire: str) -> dict[str, Any]:
    return native_body(form, request_of(TALK, [TOOL], wire), model="m", output_tokens_max=None)


def test_the_endpoint_takes_neither_tools_nor_limits() -> None:
    body = body_of("responses_compact", "responses")
    assert set(body) == {"model", "input"}
    assert native_path("responses_compact", "/responses") == "/responses/compact"


def test_in_line_compaction_is_an_ordinary_request_with_an_edit() -> None:
    body = body_of("responses_inline", "responses")
    (edit,) = body["context_management"]
    assert edit["type"] == "compaction" and edit["compact_threshold"] > 0
    assert (body["truncation"], body["store"]) == ("disabled", False)
    assert native_path("responses_inline", "/responses") == "/responses"


def test_threshold_compaction_fires_at_the_least_trigger_and_pauses() -> None:
    body = body_of("anthropic_threshold", "anthropic")
    (edit,) = body["context_management"]["edits"]
    assert edit == {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": 50_000},
        "pause_after_compaction": True,
    }
    request = request_of(TALK, [], "anthropic")
    assert native_betas("anthropic_threshold", request) == ("compact-2026-01-12",)
    assert native_betas("responses_compact", request) == ()


def test_compaction_on_demand_combines_with_nothing_that_it_refuses() -> None:
    body = body_of("anthropic_on_demand", "anthropic")
    assert body["compaction"] == {"type": "summarize"}
    assert not {"context_management", "stop_sequences", "output_config"} & set(body)
    assert body["tool_choice"]["type"] not in ("any", "tool")
    request = request_of(TALK, [], "anthropic")
    assert native_betas("anthropic_on_demand", request) == ("compact-2026-09-04",)


def test_forms_belong_to_vendors() -> None:
    assert form_of("responses", "") == "responses_compact"
    assert form_of("anthropic", "anthropic_threshold") == "anthropic_threshold"
    with pytest.raises(ProviderError) as none:
        form_of("openai", "")
    assert none.value.status == 404
    with pytest.raises(ProviderError) as foreign:
        form_of("anthropic", "responses_compact")
    assert foreign.value.kind == "invalid_request"


USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]}
BLOCK = {"type": "compaction", "id": "cmp_1", "encrypted_content": "xyz", "created_by": "someone"}


def test_the_output_of_the_endpoint_is_kept_whole() -> None:
    developer = {**USER, "role": "developer"}
    usage = {"input_tokens": 900, "output_tokens": 40}
    payload = {"object": "response.compaction", "output": [developer, USER, BLOCK], "usage": usage}
    reply = read_native("responses_compact", payload)
    sent_back = {"type": "compaction", "id": "cmp_1", "encrypted_content": "xyz"}
    assert reply.state == {"form": "responses_compact", "items": [developer, USER, sent_back]}
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (900, 40)
    assert reply.finish_reason == ""


def test_of_an_in_line_compaction_the_last_block_alone_goes_on() -> None:
    answer = {"type": "message", "role": "assistant", "content": []}
    older = {**BLOCK, "id": "cmp_0"}
    payload = {"status": "completed", "output": [older, BLOCK, answer]}
    (item,) = read_native("responses_inline", payload).state["items"]
    assert item["id"] == "cmp_1"


def test_blocks_of_anthropic_go_back_without_nulls() -> None:
    block = {"type": "compaction", "content": "Summary.", "signature": "s", "tool_changes": None}
    usage = {
        "input_tokens": 0,
        "output_tokens": 0,
        "iterations": [
            {
                "type": "compaction",
                "input_tokens": 60_000,
                "output_tokens": 700,
                "cache_read_input_tokens": 1_000,
            }
        ],
    }
    payload = {"content": [block], "stop_reason": "compaction", "usage": usage}
    for form in ("anthropic_threshold", "anthropic_on_demand"):
        reply = read_native(form, payload)  # type: ignore[arg-type]
        (item,) = reply.state["items"]
        assert item == {"type": "compaction", "content": "Summary.", "signature": "s"}
        assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (61_000, 1_000)
        assert reply.finish_reason == "compaction"


@pytest.mark.parametrize(
    ("finish", "kind"),
    [
        ("max_tokens", "output_limit"),
        ("model_context_window_exceeded", "input_overflow"),
        ("refusal", "content_filter"),
        ("end_turn", "unknown"),
        ("tool_use", "unknown"),
    ],
)
@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": "compaction", "content": None}],
        [{"type": "compaction", "content": ""}],
        [{"type": "text", "text": "an answer"}],
    ],
)
def test_a_summary_that_is_missing_is_an_error_of_its_kind(
    finish: str, kind: str, content: list[Any]
) -> None:
    with pytest.raises(ProviderError) as missing:
        read_native("anthropic_on_demand", {"content": content, "stop_reason": finish})
    assert missing.value.kind == kind


def test_nothing_compacted_by_responses_and_other_shapes() -> None:
    with pytest.raises(ProviderError):
        read_native("responses_inline", {"status": "completed", "output": [USER]})
    for form in ("responses_compact", "anthropic_on_demand"):
        with pytest.raises(UnreadableAnswerError):
            read_native(form, {"choices": []})  # type: ignore[arg-type]


def test_context_editing_is_merged_with_what_is_there_thoughts_first() -> None:
    request = request_of(TALK, [], "anthropic")
    tools = clear_tool_uses(
        trigger_tokens=30_000,
        keep=5,
        clear_at_least_tokens=2_000,
        exclude_tools=["search"],
        clear_tool_inputs=True,
    )
    edited = with_demands(request, tools, clear_thinking(keep_turns=2))
    assert edited.betas == ("context-management-2025-06-27",)
    thoughts, uses = edited.body["context_management"]["edits"]
    assert thoughts == {
        "type": "clear_thinking_20251015",
        "keep": {"type": "thinking_turns", "value": 2},
    }
    assert uses == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 30_000},
        "keep": {"type": "tool_uses", "value": 5},
        "clear_at_least": {"type": "input_tokens", "value": 2_000},
        "exclude_tools": ["search"],
        "clear_tool_inputs": True,
    }
    assert clear_thinking().body["context_management"]["edits"][0]["keep"] == "all"
    assert request.body == {}


def test_applied_edits_are_read() -> None:
    told = [
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 7, "cleared_input_tokens": 900},
        {"type": "clear_thinking_20251015", "cleared_thinking_turns": 2},
    ]
    payload = {"context_management": {"applied_edits": told}}
    assert applied_edits(payload) == (
        AppliedEdit("clear_tool_uses_20250919", 7, 900),
        AppliedEdit("clear_thinking_20251015", 2, 0),
    )
    assert applied_edits({"context_management": None}) == ()

"""Responses items: lists, requests with responses, growing prefixes, opaque compactions."""

from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedCompaction, RecordedUsage
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


ITEMS = [
    said("user", "Which berth is free?"),
    {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Look."}]},
    {"type": "function_call", "call_id": "c1", "name": "berths", "arguments": '{"quay": 4}'},
    {"type": "function_call", "call_id": "c2", "name": "tide", "arguments": ""},
    {"type": "function_call_output", "call_id": "c2", "output": "rising"},
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_text", "text": "berth 6"}],
    },
    said("assistant", "Berth 6."),
]
TOLD = [
    "user: Which berth is free?",
    'assistant: +berths(c1) {"quay": 4} +tide(c2) {}',
    "tool: [c2] rising",
    "tool: [c1] berth 6",
    "assistant: Berth 6.",
]


@pytest.mark.parametrize("shape", ["list", "lines", "input"])
def test_items(tmp_path: Path, shape: str) -> None:
    if shape == "lines":
        path = write_lines(tmp_path / "x.jsonl", *ITEMS)
    else:
        path = write_json(tmp_path / "x.json", ITEMS if shape == "list" else {"input": ITEMS})
    session = only_session(path)
    assert session.format == "openai-responses"
    assert told(session) == TOLD
    assert session.events[1].message.reasoning == "Look."
    assert repair_kinds(session) == ["empty_arguments"]


def test_a_request_with_its_response(tmp_path: Path) -> None:
    record = {
        "request": {
            "model": "m",
            "instructions": "Be exact.",
            "input": "Depth?",
            "tools": [{"type": "function", "name": "sound", "parameters": {"type": "object"}}],
        },
        "response": {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_900_000_000,
            "output": [said("assistant", "Four metres.")],
            "usage": {
                "input_tokens": 31,
                "input_tokens_details": {"cached_tokens": 8},
                "output_tokens": 5,
            },
        },
    }
    session = only_session(write_json(tmp_path / "log.json", record))
    assert told(session) == ["system: Be exact.", "user: Depth?", "assistant: Four metres."]
    assert session.recorded_usage == (RecordedUsage(3, 31, 8, 5),)
    assert [tool.name for tool in session.tools] == ["sound"]
    assert session.events[2].timestamp == 1_900_000_000


def exchange(items: list[Any], answer: Any, **more: Any) -> dict[str, Any]:
    response = {"id": more.pop("id", "r"), "object": "response", "output": [answer]}
    return {"input": items, "response": response, **more}


def test_requests_that_repeat_the_conversation_are_one_session(tmp_path: Path) -> None:
    one, two = said("user", "One?"), said("user", "Two?")
    first, second = said("assistant", "1"), said("assistant", "2")
    path = write_lines(
        tmp_path / "log.jsonl",
        exchange([one], first),
        exchange([one, {**first, "id": "m1", "status": "completed"}, two], second),
        exchange([said("user", "Another matter.")], said("assistant", "Well.")),
    )
    sessions = load_sessions(path).sessions
    assert [told(row) for row in sessions] == [
        ["user: One?", "assistant: 1", "user: Two?", "assistant: 2"],
        ["user: Another matter.", "assistant: Well."],
    ]
    assert repair_kinds(sessions[0]) == ["growing_prefix"]


def test_a_chain_of_previous_responses_is_one_session(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.jsonl",
        exchange([said("user", "One?")], said("assistant", "1"), id="a"),
        exchange([said("user", "Two?")], said("assistant", "2"), id="b", previous_response_id="a"),
    )
    assert told(only_session(path)) == [
        "user: One?",
        "assistant: 1",
        "user: Two?",
        "assistant: 2",
    ]


def test_tools_of_the_provider_and_free_text_calls(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "x.json",
        [
            said("user", "Go."),
            {"type": "custom_tool_call", "call_id": "p", "name": "patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "p", "output": "ok"},
            {
                "type": "file_search_call",
                "id": "f",
                "queries": ["tides"],
                "results": [{"text": "high at noon"}],
            },
            {"type": "unheard_of"},
            said("assistant", "Noon."),
        ],
    )
    session = only_session(path)
    assert told(session) == [
        "user: Go.",
        'assistant: +patch(p) {"input": "*** Begin"}',
        "tool: [p] ok",
        'assistant: +file_search(f) ["tides"]',
        'tool: [f] [{"text": "high at noon"}]',
        "assistant: Noon.",
    ]
    assert repair_kinds(session) == ["unknown_record"]


def test_an_opaque_compaction_is_kept_beside_the_history(tmp_path: Path) -> None:
    items = [*ITEMS, {"type": "compaction", "encrypted_content": "xyz"}, said("user", "And now?")]
    session = only_session(write_json(tmp_path / "x.json", items))
    assert session.recorded_compactions == (RecordedCompaction(5, ""),)
    assert "compaction_without_summary" in repair_kinds(session)
    assert told(session)[-1] == "user: And now?"


def test_items_of_somebody_else_are_not_claimed(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl",
        {"type": "boat", "content": "x"},
        {"type": "boat", "content": "y"},
        {"type": "reasoning", "summary": []},
    )
    (rejected,) = load_sessions(path).rejected
    assert "no session of a known format" in rejected.reason

"""Anthropic Messages: blocks, results inside user messages, tools that the provider runs."""

from pathlib import Path

from bench.events import RecordedUsage
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines

ASKED = {"role": "user", "content": "Ping both hosts."}
CALLED = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "two hosts", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "Both."},
        {"type": "tool_use", "id": "a", "name": "ping", "input": {"host": "α"}},
        {"type": "tool_use", "id": "b", "name": "ping", "input": {"host": "beta"}},
    ],
}
ANSWERED = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "up"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "is_error": True,
            "content": [{"type": "text", "text": "down"}],
        },
        {"type": "text", "text": "Only tell me what is down."},
    ],
}
TOLD = [
    "user: Ping both hosts.",
    'assistant: Both. +ping(a) {"host": "α"} +ping(b) {"host": "beta"}',
    "tool: [a] up",
    "tool: [b] down",
    "user: Only tell me what is down.",
]


def test_list_of_messages(tmp_path: Path) -> None:
    session = only_session(write_json(tmp_path / "ping.json", [ASKED, CALLED, ANSWERED]))
    assert told(session) == TOLD
    assert session.format == "anthropic-messages"
    assert session.events[1].message.reasoning == "two hosts"
    assert session.repairs == ()


def test_request_with_system_tools_and_response(tmp_path: Path) -> None:
    record = {
        "model": "m",
        "system": [{"type": "text", "text": "Terse."}],
        "tools": [{"name": "ping", "input_schema": {"type": "object"}}],
        "messages": [ASKED, CALLED, ANSWERED],
        "response": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "beta"}],
            "usage": {
                "input_tokens": 12,
                "cache_read_input_tokens": 150,
                "cache_creation_input_tokens": 30,
                "output_tokens": 4,
            },
        },
    }
    session = only_session(write_json(tmp_path / "request.json", record))
    assert told(session) == ["system: Terse.", *TOLD, "assistant: beta"]
    assert session.recorded_usage == (RecordedUsage(7, 192, 150, 4),)
    assert [tool.name for tool in session.tools] == ["ping"]


def test_one_message_per_line_with_plain_text_first(tmp_path: Path) -> None:
    session = only_session(write_lines(tmp_path / "ping.jsonl", ASKED, CALLED, ANSWERED))
    assert told(session) == TOLD


def test_tools_that_the_provider_runs(tmp_path: Path) -> None:
    found = {"type": "web_search_result", "title": "Ferry", "encrypted_content": "xxxx"}
    answer = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Looking."},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "ferry"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [found]},
            {"type": "text", "text": "Found it."},
            {"type": "mcp_tool_use", "id": "m", "name": "book", "input": {}, "server_name": "x"},
        ],
    }
    session = only_session(write_json(tmp_path / "server.json", [ASKED, answer]))
    assert told(session)[1:] == [
        'assistant: Looking. +web_search(s) {"q": "ferry"}',
        'tool: [s] {"type": "web_search_result", "title": "Ferry"}',
        "assistant: Found it. +book(m) {}",
    ]


def test_pictures_and_documents(tmp_path: Path) -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/jpeg", "data": "aa"},
    }
    sheet = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    note = {"type": "document", "source": {"type": "text", "data": "dock 3 is closed"}}
    asked = {"role": "user", "content": [picture, sheet, note, {"type": "text", "text": "Well?"}]}
    session = only_session(write_json(tmp_path / "seen.json", [asked, CALLED]))
    assert told(session)[0] == ("user: dock 3 is closed\nWell? <image/jpeg> <application/pdf>")


def test_duplicate_result_block(tmp_path: Path) -> None:
    again = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": "up"}],
    }
    session = only_session(write_json(tmp_path / "dup.json", [ASKED, CALLED, ANSWERED, again]))
    assert told(session) == TOLD
    assert repair_kinds(session) == ["duplicate_result"]

"""LangChain: messages as dicts and as constructors."""

from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedUsage
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines

FIELDS: list[tuple[str, str, dict[str, Any]]] = [
    ("system", "SystemMessage", {"content": "Be brief."}),
    ("human", "HumanMessage", {"content": [{"type": "text", "text": "Look."}]}),
    (
        "ai",
        "AIMessage",
        {
            "content": "",
            "tool_calls": [{"name": "ls", "args": {"at": "."}, "id": "c", "type": "tool_call"}],
            "usage_metadata": {
                "input_tokens": 9,
                "output_tokens": 2,
                "input_token_details": {"cache_read": 4},
            },
        },
    ),
    ("tool", "ToolMessage", {"content": "quay.txt", "tool_call_id": "c"}),
    ("ai", "AIMessage", {"content": "One file."}),
]
DICTS = [{"type": kind, "data": {**fields, "type": kind}} for kind, _, fields in FIELDS]
DUMPED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": row}
    for _, name, row in FIELDS
]
TOLD = [
    "system: Be brief.",
    "user: Look.",
    'assistant: +ls(c) {"at": "."}',
    "tool: [c] quay.txt",
    "assistant: One file.",
]


@pytest.mark.parametrize("messages", [DICTS, DUMPED])
@pytest.mark.parametrize("shape", ["list", "lines", "object"])
def test_messages(tmp_path: Path, messages: list[Any], shape: str) -> None:
    if shape == "lines":
        path = write_lines(tmp_path / "x.jsonl", *messages)
    else:
        path = write_json(
            tmp_path / "x.json", messages if shape == "list" else {"messages": messages}
        )
    session = only_session(path)
    assert session.format == "langchain"
    assert told(session) == TOLD
    assert session.recorded_usage == (RecordedUsage(3, 9, 4, 2),)


def test_blocks_and_their_repetition_are_one_call(tmp_path: Path) -> None:
    fields = {
        "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}],
        "tool_calls": [{"name": "ls", "args": {}, "id": "c"}],
    }
    messages = [DICTS[1], {"type": "ai", "data": fields}]
    assert (
        told(only_session(write_json(tmp_path / "x.json", messages)))[1] == "assistant: +ls(c) {}"
    )


def test_unknown_messages_are_named_and_objects_are_sessions(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl", {"messages": DICTS}, {"messages": [*DICTS, {"type": "boat"}]}
    )
    sessions = load_sessions(path).sessions
    assert [told(row) for row in sessions] == [TOLD, TOLD]
    assert repair_kinds(sessions[1]) == ["unknown_record"]

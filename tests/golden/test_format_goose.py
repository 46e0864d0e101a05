"""goose: header and messages, exports, what only the agent or only the user sees."""

from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedCompaction
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines


def said(role: str, *parts: Any, **metadata: bool) -> dict[str, Any]:
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": role, "created": 1_900_000_000, "content": content, "metadata": metadata}


CALL = {
    "type": "toolRequest",
    "id": "c",
    "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}},
}
RESULT = {
    "type": "toolResponse",
    "id": "c",
    "toolResult": {"status": "success", "value": [{"type": "text", "text": "quay.txt"}]},
}
FAILED = {"type": "toolResponse", "id": "c", "toolResult": {"status": "error", "error": "denied"}}
MESSAGES = [
    said("user", "Look."),
    said("assistant", {"type": "thinking", "thinking": "ls.", "signature": ""}, "Sure.", CALL),
    said("user", RESULT),
    said("assistant", "One file."),
]
TOLD = [
    "user: Look.",
    'assistant: Sure. +shell(c) {"command": "ls"}',
    "tool: [c] quay.txt",
    "assistant: One file.",
]
HEADER = {"working_dir": "/w", "description": "a look", "message_count": 4}


@pytest.mark.parametrize("shape", ["lines", "export", "bare"])
def test_a_session(tmp_path: Path, shape: str) -> None:
    if shape == "export":
        export = {**HEADER, "id": "20300101_1", "conversation": MESSAGES}
        path = write_json(tmp_path / "x.json", export)
    else:
        path = write_lines(tmp_path / "x.jsonl", *[HEADER] * (shape == "lines"), *MESSAGES)
    session = only_session(path)
    assert (session.id, session.format) == ("20300101_1" if shape == "export" else "x", "goose")
    assert told(session) == TOLD
    assert session.events[1].message.reasoning == "ls."
    assert session.events[0].timestamp == 1_900_000_000
    assert session.cluster == (None if shape == "bare" else "/w")


def test_an_error_is_a_result(tmp_path: Path) -> None:
    messages = [HEADER, *MESSAGES[:2], said("user", FAILED), "[]", {"role": "ghost"}]
    session = only_session(write_lines(tmp_path / "x.jsonl", *messages))
    assert told(session)[-1] == "tool: [c] denied"
    assert sorted(repair_kinds(session)) == ["not_an_object", "unknown_role"]


def test_a_compaction_is_kept_beside_the_history(tmp_path: Path) -> None:
    hidden = [{**row, "metadata": {"agentVisible": False, "userVisible": True}} for row in MESSAGES]
    for_agent = {"agentVisible": True, "userVisible": False}
    path = write_lines(
        tmp_path / "x.jsonl",
        HEADER,
        *hidden,
        said("user", "Summary: a file.", **for_agent),
        said("assistant", "I go on from the summary.", **for_agent),
        said("user", "Look.", **for_agent),
        said("assistant", "What else?"),
    )
    session = only_session(path)
    assert told(session) == [*TOLD, "assistant: What else?"]
    assert session.recorded_compactions == (
        RecordedCompaction(4, "Summary: a file.", kept_from_seq=1),
    )
    assert repair_kinds(session) == ["agent_only"]


def test_the_store_is_named_for_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").write_bytes(b"SQLite format 3\0" + bytes(200_000))
    (rejected,) = load_sessions(tmp_path).rejected
    assert "SQLite database" in rejected.reason

"""Gemini CLI sessions and bare Gemini contents."""

from pathlib import Path
from typing import Any

from bench.events import RecordedUsage
from bench.history import History
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines

HEADER = {"sessionId": "g1", "projectHash": "abc", "startTime": "2030-01-01T00:00:00Z"}


def result(call_id: str, **response: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "ls", "response": response}}


MESSAGES: list[dict[str, Any]] = [
    {"id": "1", "type": "user", "content": "List both."},
    {"id": "x", "type": "info", "content": "Update available."},
    {
        "id": "2",
        "type": "gemini",
        "content": "",
        "thoughts": [{"subject": "Plan", "description": "two calls"}],
        "toolCalls": [
            {"id": "a", "name": "ls", "args": {"d": "x"}, "result": [result("a", output="1 file")]},
            {"id": "b", "name": "ls", "args": {"d": "y"}, "result": [result("b", error="none")]},
            {"id": "c", "name": "ls", "args": {"d": "z"}, "status": "cancelled"},
        ],
        "tokens": {"input": 90, "output": 7, "cached": 20},
    },
    {"id": "3", "type": "gemini", "content": [{"text": "One file."}]},
]
TOLD = [
    "user: List both.",
    'assistant: +ls(a) {"d": "x"} +ls(b) {"d": "y"} +ls(c) {"d": "z"}',
    "tool: [a] 1 file",
    "tool: [b] none",
    "assistant: One file.",
]


def test_session_file(tmp_path: Path) -> None:
    session = only_session(write_json(tmp_path / "s.json", {**HEADER, "messages": MESSAGES}))
    assert told(session) == TOLD
    assert session.recorded_usage == (RecordedUsage(2, 90, 20, 7),)
    assert session.events[1].message.reasoning == "Plan: two calls"
    assert (session.id, session.cluster, session.format) == ("g1", "abc", "gemini-cli")


def test_lines_where_a_message_is_written_again(tmp_path: Path) -> None:
    draft = {"id": "3", "type": "gemini", "content": "One f"}
    path = write_lines(
        tmp_path / "s.jsonl", HEADER, *MESSAGES[:3], draft, {"$set": {"x": 1}}, MESSAGES[3]
    )
    session = only_session(path)
    assert told(session) == TOLD
    assert session.repairs == ()


def test_contents_pair_by_place(tmp_path: Path) -> None:
    def call(number: int) -> dict[str, Any]:
        return {"functionCall": {"name": "read", "args": {"gauge": number}}}

    def answer(value: str) -> dict[str, Any]:
        return {"functionResponse": {"name": "read", "response": {"v": value}}}

    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    contents = [
        {"role": "user", "parts": [{"text": "Read both."}, picture]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, call(1), call(2)]},
        {"role": "user", "parts": [answer("3.3"), answer("4.4")]},
        {"role": "model", "parts": [{"text": "Read."}]},
    ]
    session = only_session(write_json(tmp_path / "c.json", contents))
    assert told(session) == [
        "user: Read both. <image/png>",
        'assistant: +read() {"gauge": 1} +read() {"gauge": 2}',
        'tool: [] {"v": "3.3"}',
        'tool: [] {"v": "4.4"}',
        "assistant: Read.",
    ]
    states = History(session.events).calls_at(1)
    assert [state.result_seq for state in states] == [3, 4]
    request = {"systemInstruction": {"parts": [{"text": "Terse."}]}, "contents": contents}
    session = only_session(write_json(tmp_path / "r.json", request))
    assert told(session)[0] == "system: Terse."
    assert repair_kinds(session) == []

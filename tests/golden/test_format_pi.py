"""pi sessions: messages, compactions with what they kept, branches."""

from pathlib import Path
from typing import Any

from bench.events import RecordedCompaction, RecordedUsage
from tests.written_files import only_session, repair_kinds, told, write_lines

Record = dict[str, Any]
HEADER = {"type": "session", "id": "p1", "timestamp": "2030-01-01T00:00:00Z", "cwd": "/work"}


def entry(role: str, content: Any, **fields: Any) -> Record:
    return {"type": "message", "message": {"role": role, "content": content, **fields}}


def text(words: str) -> list[Record]:
    return [{"type": "text", "text": words}]


CALLED = entry(
    "assistant",
    [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"},
        {"type": "text", "text": "Looking."},
        {"type": "toolCall", "id": "a", "name": "read", "arguments": {"path": "x"}},
        {"type": "toolCall", "id": "b", "name": "read", "arguments": {"path": "y"}},
    ],
    usage={"input": 2, "cacheRead": 30, "cacheWrite": 8, "output": 4},
)


def test_messages_and_compaction(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "pi.jsonl",
        HEADER,
        {"type": "model_change", "modelId": "m"},
        entry("user", text("Read x and y.")),
        CALLED,
        entry("toolResult", text("is x"), toolCallId="a", toolName="read"),
        entry("toolResult", text("is y"), toolCallId="b", toolName="read"),
        entry("assistant", [], stopReason="aborted"),
        {"type": "compaction", "summary": "Read x.", "firstKeptEntryIndex": 3, "tokensBefore": 900},
        {
            "type": "message",
            "message": {"role": "bashExecution", "command": "ls", "output": "x\ny", "exitCode": 0},
        },
        entry("user", text("And?")),
    )
    session = only_session(path)
    assert told(session) == [
        "user: Read x and y.",
        'assistant: Looking. +read(a) {"path": "x"} +read(b) {"path": "y"}',
        "tool: [a] is x",
        "tool: [b] is y",
        "user (meta): Ran `ls`\nx\ny",
        "user: And?",
    ]
    assert session.recorded_compactions == (
        RecordedCompaction(4, "Read x.", kept_from_seq=2, tokens_before=900),
    )
    assert session.recorded_usage == (RecordedUsage(2, 40, 30, 4),)
    assert session.events[1].message.reasoning == "hm"
    assert (session.id, session.cluster, session.format) == ("p1", "/work", "pi")
    assert repair_kinds(session) == ["empty_message"]


def test_the_branch_of_the_last_entry_is_the_session(tmp_path: Path) -> None:
    def linked(record: Record, own: str, parent: str | None) -> Record:
        return {**record, "id": own, "parentId": parent}

    path = write_lines(
        tmp_path / "pi.jsonl",
        HEADER,
        linked(entry("user", text("Paint it.")), "1", None),
        linked(entry("assistant", text("Red.")), "2", "1"),
        linked({"type": "compaction", "summary": "red", "firstKeptEntryId": "1"}, "3", "2"),
        linked(entry("assistant", text("Blue.")), "4", "1"),
        linked({"type": "compaction", "summary": "blue", "firstKeptEntryId": "4"}, "5", "4"),
        linked(entry("user", text("Thanks.")), "6", "5"),
    )
    session = only_session(path)
    assert told(session) == ["user: Paint it.", "assistant: Blue.", "user: Thanks."]
    assert session.recorded_compactions == (RecordedCompaction(2, "blue", kept_from_seq=2),)
    assert repair_kinds(session) == ["other_branch"]


def test_missing_parents_and_kept_entries_are_reported(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "pi.jsonl",
        HEADER,
        {**entry("user", text("Hi.")), "id": "1", "parentId": "gone"},
        {"type": "compaction", "id": "2", "parentId": "1", "summary": "s", "firstKeptEntryId": "x"},
    )
    session = only_session(path)
    assert told(session) == ["user: Hi."]
    assert repair_kinds(session) == ["dangling_pointer", "dangling_pointer"]

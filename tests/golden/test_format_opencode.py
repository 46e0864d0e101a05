"""opencode: a folder of small files is one session, exports, missing messages, compactions."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedCompaction, RecordedUsage
from bench.loading import Loaded, load_sessions
from tests.written_files import only_session, repair_kinds, told, write_json

Record = dict[str, Any]
SESSION: Record = {
    "id": "ses_1",
    "projectID": "p",
    "directory": "/w/quay",
    "time": {"created": 1_900_000_000_000},
}


def message(name: str, role: str, created: int, **more: Any) -> Record:
    return {"id": name, "sessionID": "ses_1", "role": role, "time": {"created": created}, **more}


def part(message_id: str, name: str, kind: str, **more: Any) -> Record:
    return {"id": name, "sessionID": "ses_1", "messageID": message_id, "type": kind, **more}


CALL = {
    "status": "completed",
    "input": {"command": "ls"},
    "output": "quay.txt",
    "time": {"start": 1_900_000_002_000},
}
MESSAGES = [
    message("msg_b", "user", 1_900_000_001_000),
    message(
        "msg_a",
        "assistant",
        1_900_000_002_000,
        tokens={"input": 5, "output": 7, "cache": {"read": 40, "write": 2}},
    ),
    message("msg_c", "assistant", 1_900_000_003_000),
]
PARTS = [
    part("msg_b", "prt_1", "text", text="Look."),
    part("msg_a", "prt_2", "step-start"),
    part("msg_a", "prt_3", "reasoning", text="First ls."),
    part("msg_a", "prt_4", "tool", callID="c1", tool="bash", state=CALL),
    part("msg_c", "prt_5", "text", text="One file."),
]
TOLD = [
    "user: Look.",
    'assistant: +bash(c1) {"command": "ls"}',
    "tool: [c1] quay.txt",
    "assistant: One file.",
]


def store(
    folder: Path,
    *,
    messages: list[Record] = MESSAGES,
    parts: list[Record] = PARTS,
    is_flat: bool = False,
    has_session: bool = True,
) -> Path:
    if has_session:
        _write(folder / "session" / "p" / "ses_1.json", SESSION)
    for row in messages:
        _write(folder / "message" / "ses_1" / f"{row['id']}.json", row)
    for row in parts:
        place = folder / "part" if is_flat else folder / "part" / row["messageID"]
        _write(place / f"{row['id']}.json", row)
    return folder


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, value)


def names(loaded: Loaded, folder: Path) -> set[str]:
    return {Path(row.path).relative_to(folder).as_posix() for row in loaded.rejected}


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("has_session", [False, True])
def test_a_folder_is_one_session(tmp_path: Path, is_flat: bool, has_session: bool) -> None:
    folder = store(tmp_path / "storage", is_flat=is_flat, has_session=has_session)
    loaded = load_sessions(folder)
    (session,) = loaded.sessions
    assert (session.id, session.format) == ("ses_1", "opencode")
    assert told(session) == TOLD
    assert session.events[1].message.reasoning == "First ls."
    assert session.events[0].timestamp == 1_900_000_001
    assert session.recorded_usage == (RecordedUsage(2, 47, 40, 7),)
    assert session.cluster == ("/w/quay" if has_session else None)
    assert repair_kinds(session) == []
    files = sum(1 for path in folder.rglob("*.json"))
    assert len(loaded.rejected) == files - 1
    assert all("a part of an opencode session" in row.reason for row in loaded.rejected)


def test_any_file_of_the_folder_stands_for_the_session(tmp_path: Path) -> None:
    folder = store(tmp_path / "storage")
    for file in ("message/ses_1/msg_c.json", "part/msg_a/prt_4.json"):
        assert told(only_session(folder / file)) == TOLD


def test_an_export(tmp_path: Path) -> None:
    export = {
        "info": SESSION,
        "messages": [
            {"info": row, "parts": [one for one in PARTS if one["messageID"] == row["id"]]}
            for row in MESSAGES
        ],
    }
    session = only_session(write_json(tmp_path / "export.json", export))
    assert (session.id, session.format) == ("ses_1", "opencode")
    assert told(session) == TOLD


def test_a_missing_message_file(tmp_path: Path) -> None:
    folder = store(tmp_path / "storage", messages=[MESSAGES[0], MESSAGES[2]])
    (session,) = load_sessions(folder).sessions
    assert told(session)[1:3] == TOLD[1:3]
    assert repair_kinds(session) == ["missing_message"]


def test_damaged_files_are_counted(tmp_path: Path) -> None:
    folder = store(tmp_path / "storage")
    (folder / "part" / "msg_c" / "prt_5.json").write_text('{"id": "prt_5", "ty')
    (folder / "part" / "msg_a" / "prt_9.json").write_text("[]")
    (session,) = load_sessions(folder).sessions
    assert told(session) == TOLD[:3]
    assert session.skipped_lines == 2
    assert sorted(repair_kinds(session)) == ["bad_line", "empty_message", "not_an_object"]


def test_a_part_without_message_and_session_is_named(tmp_path: Path) -> None:
    folder = store(tmp_path / "storage")
    _write(folder / "part" / "msg_x" / "prt_1.json", {"id": "q", "type": "text", "text": "?"})
    loaded = load_sessions(folder)
    assert len(loaded.sessions) == 1
    reasons = {Path(row.path).parent.name: row.reason for row in loaded.rejected}
    assert reasons["msg_x"] == "a part whose message isn't in the folder"


def test_ids_that_are_no_names_lead_nowhere(tmp_path: Path) -> None:
    folder = store(tmp_path / "storage")
    _write(folder / "session" / "p" / "odd.json", {**SESSION, "id": "../ses_1"})
    loaded = load_sessions(folder)
    assert [row.id for row in loaded.sessions] == ["ses_1"]
    assert "session/p/odd.json" in names(loaded, folder)


def test_a_compaction_and_what_it_kept(tmp_path: Path) -> None:
    messages = [
        *MESSAGES,
        message("msg_d", "user", 1_900_000_004_000),
        message("msg_e", "assistant", 1_900_000_005_000, summary=True),
        message("msg_f", "user", 1_900_000_006_000),
        message("msg_g", "assistant", 1_900_000_007_000),
    ]
    parts = [
        *PARTS,
        part("msg_d", "prt_6", "compaction", auto=True, tail_start_id="msg_a"),
        part("msg_e", "prt_7", "text", text="A file was found."),
        part("msg_f", "prt_8", "text", text="Continue.", synthetic=True),
        part("msg_g", "prt_9", "text", text="Done."),
    ]
    (session,) = load_sessions(store(tmp_path / "storage", messages=messages, parts=parts)).sessions
    assert session.recorded_compactions == (
        RecordedCompaction(4, "A file was found.", kept_from_seq=2),
    )
    assert told(session) == [*TOLD, "user (meta): Continue.", "assistant: Done."]
    assert json.dumps(repair_kinds(session)) == "[]"


def test_a_chain_of_steps_in_one_message(tmp_path: Path) -> None:
    shot = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aa"}
    parts = [
        {"type": "step-start"},
        {"type": "text", "text": "First ls."},
        {"type": "tool", "callID": "c1", "tool": "bash", "state": {**CALL, "attachments": [shot]}},
        {"type": "step-finish"},
        {"type": "step-start"},
        {"type": "text", "text": "One file."},
        {"type": "horn"},
    ]
    export = {"info": SESSION, "messages": [{"info": MESSAGES[1], "parts": parts}]}
    session = only_session(write_json(tmp_path / "export.json", export))
    assert told(session) == [
        'assistant: First ls. +bash(c1) {"command": "ls"}',
        "tool: [c1] quay.txt <image/png>",
        "assistant: One file.",
    ]
    assert session.recorded_usage == (RecordedUsage(3, 47, 40, 7),)
    assert repair_kinds(session) == ["unknown_record"]


def test_parts_alone_name_the_file_to_give(tmp_path: Path) -> None:
    folder = store(tmp_path / "storage")
    loaded = load_sessions(folder / "part")
    assert loaded.sessions == ()
    lead = folder / "session" / "p" / "ses_1.json"
    assert {row.reason for row in loaded.rejected} == {
        f"a part of an opencode session; give {lead}, with which it is read"
    }
    assert not any(row.is_expected for row in loaded.rejected)

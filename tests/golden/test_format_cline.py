"""Cline and Roo-Code task folders: the history is read, the window's files aren't."""

from pathlib import Path

import pytest

from bench.events import RecordedCompaction
from bench.loading import load_sessions
from tests.written_files import only_session, told, write_json

HISTORY = [
    {"role": "user", "content": [{"type": "text", "text": "<task>\nFix the lamp.\n</task>"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "<read_file>lamp.py</read_file>"}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "[read_file for 'lamp.py'] Result:"},
            {"type": "text", "text": "lamp = 1"},
        ],
    },
    {"role": "assistant", "content": "Fixed."},
]
TOLD = [
    "user: <task>\nFix the lamp.\n</task>",
    "assistant: <read_file>lamp.py</read_file>",
    "user (meta): [read_file for 'lamp.py'] Result:\nlamp = 1",
    "assistant: Fixed.",
]


def test_a_task_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "1900000000000"
    folder.mkdir(parents=True)
    write_json(folder / "api_conversation_history.json", HISTORY)
    write_json(folder / "ui_messages.json", [{"type": "say", "text": "Fixed."}])
    write_json(folder / "task_metadata.json", {"files_in_context": []})
    loaded = load_sessions(tmp_path)
    (session,) = loaded.sessions
    assert (session.id, session.format) == ("1900000000000", "cline")
    assert told(session) == TOLD
    assert [row.starts_turn for row in session.events] == [True, False, False, False]
    assert len(loaded.rejected) == 2
    assert all("api_conversation_history.json" in row.reason for row in loaded.rejected)


def test_native_calls_are_calls(tmp_path: Path) -> None:
    history = [
        HISTORY[0],
        {
            "role": "assistant",
            "ts": 1_900_000_000_000,
            "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {"f": "a"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": "x"},
                {"type": "text", "text": "And hurry."},
            ],
        },
    ]
    session = only_session(write_json(tmp_path / "api_conversation_history.json", history))
    assert told(session)[1:] == [
        'assistant: +read(t) {"f": "a"}',
        "tool: [t] x",
        "user: And hurry.",
    ]
    assert session.events[1].timestamp == 1_900_000_000


@pytest.mark.parametrize(
    ("marker", "trigger"),
    [
        ({"isSummary": True, "condenseId": "k"}, "auto"),
        ({"isTruncationMarker": True, "truncationId": "k"}, "truncation"),
    ],
)
def test_condensed_messages_stay_in_the_history(
    tmp_path: Path, marker: dict[str, object], trigger: str
) -> None:
    history = [
        {**HISTORY[0], "ts": 1},
        *({**row, "condenseParent": "k"} for row in HISTORY[1:]),
        {"role": "user", "content": [{"type": "text", "text": "So far: a lamp."}], **marker},
        {"role": "assistant", "content": "On we go."},
    ]
    session = only_session(write_json(tmp_path / "roo.json", history))
    assert session.format == "cline"
    assert told(session) == [*TOLD, "assistant: On we go."]
    assert session.recorded_compactions == (
        RecordedCompaction(4, "So far: a lamp.", trigger=trigger),
    )

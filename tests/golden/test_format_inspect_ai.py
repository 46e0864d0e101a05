"""inspect_ai logs: samples and epochs, attachments, archives that are whole or damaged."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedUsage
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told, write_json

SAMPLE: dict[str, Any] = {
    "id": "s1",
    "epoch": 1,
    "input": "?",
    "target": "6",
    "messages": [
        {"id": "m0", "role": "system", "content": "attachment://aa"},
        {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Berth?"}]},
        {
            "id": "m2",
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "Ask."},
                {"type": "text", "text": "One moment."},
            ],
            "tool_calls": [{"id": "c", "function": "berths", "arguments": {"quay": 4}}],
        },
        {"id": "m3", "role": "tool", "tool_call_id": "c", "function": "berths", "content": "6"},
        {"id": "m4", "role": "assistant", "content": "Berth 6."},
    ],
    "attachments": {"aa": "Be exact."},
    "events": [
        {
            "event": "model",
            "tools": [{"name": "berths", "description": "", "parameters": {"type": "object"}}],
            "output": {
                "choices": [{"message": {"id": "m2"}}],
                "usage": {
                    "input_tokens": 3,
                    "input_tokens_cache_read": 20,
                    "output_tokens": 4,
                    "total_tokens": 27,
                },
            },
        }
    ],
}
TOLD = [
    "system: Be exact.",
    "user: Berth?",
    'assistant: One moment. +berths(c) {"quay": 4}',
    "tool: [c] 6",
    "assistant: Berth 6.",
]


def log_of(*samples: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "quay"}, "samples": list(samples)}


def test_a_log(tmp_path: Path) -> None:
    session = only_session(write_json(tmp_path / "log.json", log_of(SAMPLE), indent=1))
    assert (session.id, session.format) == ("quay-s1-epoch-1", "inspect-ai")
    assert told(session) == TOLD
    assert session.events[2].message.reasoning == "Ask."
    assert session.recorded_usage == (RecordedUsage(3, 23, 20, 4),)
    assert [tool.name for tool in session.tools] == ["berths"]


def test_epochs_are_sessions_of_one_cluster(tmp_path: Path) -> None:
    path = write_json(tmp_path / "log.json", log_of(SAMPLE, {**SAMPLE, "epoch": 2}, "noise"))
    sessions = load_sessions(path).sessions
    assert [row.id for row in sessions] == ["quay-s1-epoch-1", "quay-s1-epoch-2"]
    assert len({row.cluster for row in sessions}) == 1
    assert repair_kinds(sessions[1]) == ["unknown_record"]


def test_an_attachment_that_is_missing_is_named(tmp_path: Path) -> None:
    path = write_json(tmp_path / "log.json", log_of({**SAMPLE, "attachments": {}}))
    session = only_session(path)
    assert told(session)[0] == "system: attachment://aa"
    assert repair_kinds(session) == ["dangling_pointer"]


def archive(path: Path, *, method: int = zipfile.ZIP_DEFLATED, **more: str) -> Path:
    with zipfile.ZipFile(path, "w", method) as writer:
        writer.writestr("header.json", json.dumps({"eval": {"task": "quay"}}))
        writer.writestr("samples/s1_epoch_1.json", json.dumps(SAMPLE))
        writer.writestr("samples/s2_epoch_1.json", json.dumps({**SAMPLE, "id": "s2"}))
        writer.writestr("summaries.json", "[]")
        for name, text in more.items():
            writer.writestr(f"samples/{name}.json", text)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_an_archive(tmp_path: Path, method: int) -> None:
    loaded = load_sessions(archive(tmp_path / "log.eval", method=method))
    assert [row.id for row in loaded.sessions] == ["quay-s1-epoch-1", "quay-s2-epoch-1"]
    assert told(loaded.sessions[1]) == TOLD
    assert list(loaded.evidence.values()) == ["a zip archive with samples/*.json"]


def test_damaged_samples_of_an_archive_are_counted(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", x="{broken", y="[1]", z='{"id": 3}')
    sessions = load_sessions(path).sessions
    assert len(sessions) == 2
    assert sum(row.skipped_lines for row in sessions) == 3
    found = [repair for row in sessions for repair in row.repairs]
    assert [row.kind for row in found] == ["bad_line", "not_an_object", "unknown_record"]
    assert all("samples/" in row.what for row in found)


def test_an_unknown_compression_is_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval")
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as reader:
        start = reader.start_dir
    central = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02", start) + 1)
    data[central + 10 : central + 12] = (99).to_bytes(2, "little")
    path.write_bytes(bytes(data))
    (session,) = load_sessions(path).sessions
    assert (session.id, session.skipped_lines) == ("quay-s2-epoch-1", 1)
    (repair,) = session.repairs
    assert repair.kind == "unknown_compression"
    assert "method 99" in repair.what


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_torn_archive_is_rejected_with_the_reason(tmp_path: Path, keep: float) -> None:
    path = archive(tmp_path / "log.eval")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    (rejected,) = load_sessions(path).rejected
    assert "no complete zip archive" in rejected.reason


def test_another_archive_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as writer:
        writer.writestr("gull.txt", "a gull")
    (rejected,) = load_sessions(path).rejected
    assert "zip archive without sessions" in rejected.reason

"""Files and folders: what is searched, what is rejected, and that ids are unique."""

import json
import tracemalloc
from os import mkfifo
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.events import Session
from bench.formats import formats
from bench.inspecting import describe
from bench.loading import Rejected, iter_sessions, load_sessions
from tests.written_files import only_session, write_json, write_lines

CHAT = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


def test_folders_are_searched_in_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    for name in ("b/2.json", "b/1.json", "a.json", ".bench/run.json", "b/.git/x.json", "b/.x.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_json(tmp_path / name, [*CHAT, {"role": "user", "content": name}])
    loaded = load_sessions(tmp_path)
    names = [Path(row.path).relative_to(tmp_path).as_posix() for row in loaded.sessions]
    assert names == ["a.json", "b/1.json", "b/2.json"]
    assert loaded == load_sessions([tmp_path, tmp_path / "a.json"])


def test_what_is_no_session_is_listed(tmp_path: Path) -> None:
    write_json(tmp_path / "good.json", CHAT)
    (tmp_path / "README.md").write_text("# Sessions\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "blank.jsonl").write_text("\n \n")
    write_json(tmp_path / "other.json", {"boats": 3})
    write_lines(tmp_path / "facts.jsonl", {"id": "f1", "session": "good", "kind": "path"})
    write_lines(tmp_path / "nothing.jsonl", {"role": "user", "content": ""})
    write_lines(tmp_path / "results.jsonl", {"role": "tool", "tool_call_id": "a", "content": "x"})
    loaded = load_sessions(tmp_path)
    assert [row.id for row in loaded.sessions] == ["good"]
    reasons = {Path(row.path).name: row.reason for row in loaded.rejected}
    assert set(reasons) == {
        "README.md",
        "picture.png",
        "empty.jsonl",
        "blank.jsonl",
        "other.json",
        "facts.jsonl",
        "nothing.jsonl",
        "results.jsonl",
    }
    assert reasons["empty.jsonl"] == reasons["blank.jsonl"] == "empty file"
    quiet = {Path(row.path).name for row in loaded.rejected if row.is_expected}
    assert quiet == {"facts.jsonl", "README.md"}
    for name in ("facts.jsonl", "README.md"):
        assert reasons[name] == "a companion file, not a session"
    assert "nothing usable" in reasons["nothing.jsonl"]
    for name in ("picture.png", "other.json"):
        assert all(known.NAME in reasons[name] for known in formats())


def test_reused_ids_get_a_suffix(tmp_path: Path) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        write_json(tmp_path / folder / "same.json", CHAT)
    sessions = load_sessions([tmp_path / name for name in ("a", "b", "c")]).sessions
    assert [row.id for row in sessions] == ["same", "same~2", "same~3"]
    assert [len(row.repairs) for row in sessions] == [0, 1, 1]


def test_errors_name_what_is_wrong_and_what_would_be_right(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.json: no such file or folder"):
        load_sessions(tmp_path / "missing.json")
    write_json(tmp_path / "good.json", CHAT)
    with pytest.raises(UsageError, match="claude-code, cline, codex") as caught:
        load_sessions(tmp_path, format="nonsense")
    assert "\n" not in str(caught.value)


def test_a_named_format_is_used_without_asking(tmp_path: Path) -> None:
    path = write_json(tmp_path / "good.json", CHAT)
    assert only_session(path, format="anthropic-messages").format == "anthropic-messages"
    (rejected,) = load_sessions(path, format="codex").rejected
    assert rejected == Rejected(str(path), "read as codex, but nothing usable is in it")


def test_an_unreadable_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    mkfifo(tmp_path / "pipe.json")
    write_json(tmp_path / "good.json", CHAT)
    loaded = load_sessions(tmp_path)
    assert [row.id for row in loaded.sessions] == ["good"]
    assert ["can't be read" in row.reason for row in loaded.rejected] == [True, True]


def test_the_most_general_format_is_asked_last() -> None:
    names = [known.NAME for known in formats()]
    assert (names[0], names[-1]) == ("compaction-bench", "openai-chat")


def test_sessions_come_one_by_one_with_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("w") as stream:
        for number in range(300):
            text = f"{number} " + "word " * 2_000
            stream.write(json.dumps([{"role": "user", "content": text}, CHAT[1]]) + "\n")
    tracemalloc.start()
    found = sum(isinstance(row, Session) for row in iter_sessions(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == 300
    assert peak < path.stat().st_size


def test_memory_of_a_large_session_stays_below_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as stream:
        for number in range(20_000):
            role = "user" if number % 2 else "assistant"
            stream.write(json.dumps({"role": role, "content": f"{number} " + "ab " * 100}) + "\n")
    tracemalloc.start()
    session = only_session(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(session.events) == 20_000
    assert peak < 6 * path.stat().st_size


def test_description(tmp_path: Path) -> None:
    call = {"id": "a", "function": {"name": "look", "arguments": "{}"}}
    messages = [*CHAT, {"role": "assistant", "tool_calls": [call]}, {"role": "assistant"}]
    path = write_json(tmp_path / "small.json", messages)
    described = describe(only_session(path))
    assert described == {
        "id": "small",
        "path": str(path),
        "format": "openai-chat",
        "events": 3,
        "turns": 1,
        "tool_groups": 1,
        "unanswered_calls": 1,
        "tokens": 6,
        "recorded_compactions": 0,
        "is_slice": False,
        "subagent_of": None,
        "repairs": [
            {
                "kind": "empty_message",
                "where": "item 4",
                "what": "an empty assistant message left out",
            }
        ],
        "skipped_lines": 0,
        "evidence": None,
    }

"""Damaged files: never a traceback, and nothing is lost in silence."""

import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.events import Session
from bench.formats import detected, formats
from bench.formats.decoding import REPAIRS_KEPT_PER_KIND_MAX
from bench.formats.own import session_to_bytes
from bench.formats.source import Source
from bench.loading import load_sessions
from tests.generators import sessions
from tests.written_files import only_session, repair_kinds, told, write_lines

USER = {"role": "user", "content": "Go."}
SAID = ["user: Go.", "assistant: Gone."]
REPLY = {"role": "assistant", "content": "Gone."}

CLAUDE = [
    {
        "type": "user",
        "uuid": "1",
        "parentUuid": None,
        "sessionId": "s",
        "message": {"role": "user", "content": "Count gulls."},
    },
    {
        "type": "assistant",
        "uuid": "2",
        "parentUuid": "1",
        "sessionId": "s",
        "message": {
            "id": "m",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "count", "input": {"of": "gulls"}}],
            "usage": {"input_tokens": 5, "output_tokens": 2},
        },
    },
    {
        "type": "user",
        "uuid": "3",
        "parentUuid": "2",
        "sessionId": "s",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "12"}],
        },
    },
    {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "4",
        "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preservedSegment": {"headUuid": "3"}},
    },
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "t", "cwd": "/w", "dynamic_tools": {"tools": []}}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "List piers."}],
        },
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "k"},
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "k", "output": "A B"},
    },
    {"type": "compacted", "payload": {"message": "", "replacement_history": []}},
    {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
]
CHAT = [
    {
        "messages": [
            USER,
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "response": {"choices": [{"message": REPLY}], "usage": {"prompt_tokens": 3}},
    }
]
PI = [
    {"type": "session", "id": "p", "timestamp": "2030-01-01T00:00:00Z", "cwd": "/w"},
    {
        "type": "message",
        "id": "1",
        "parentId": None,
        "message": {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "a", "name": "f", "arguments": {"x": 1}}],
            "usage": {"input": 1, "output": 2},
        },
    },
    {
        "type": "message",
        "id": "2",
        "parentId": "1",
        "message": {"role": "toolResult", "toolCallId": "a", "content": "x"},
    },
    {"type": "compaction", "id": "3", "parentId": "2", "summary": "s", "firstKeptEntryIndex": 1},
]
GEMINI = [
    {
        "sessionId": "g",
        "projectHash": "h",
        "messages": [
            {"id": "1", "type": "user", "content": "List."},
            {
                "id": "2",
                "type": "gemini",
                "content": "",
                "thoughts": [{"subject": "s", "description": "d"}],
                "toolCalls": [
                    {
                        "id": "a",
                        "name": "ls",
                        "args": {},
                        "result": [{"functionResponse": {"id": "a", "response": {"output": "x"}}}],
                    }
                ],
                "tokens": {"input": 3, "output": 1, "cached": 0},
            },
        ],
    },
    {
        "contents": [
            {"role": "user", "parts": [{"text": "Read."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "r", "args": {"g": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "r", "response": {"v": 1}}}]},
        ]
    },
]
SWE = [
    {
        "info": {"mini_version": "1"},
        "trajectory_format": "m",
        "messages": [USER, {**REPLY, "extra": {"response": {"usage": {"prompt_tokens": 1}}}}],
    },
    {
        "trajectory": [{}],
        "history": [USER, {"role": "tool", "tool_call_ids": ["a"], "content": ""}],
    },
]
RESPONSES = [
    {
        "request": {"input": [{"role": "user", "content": "Go."}], "instructions": "Be exact."},
        "response": {
            "object": "response",
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "x"},
                {"type": "compaction", "encrypted_content": "e"},
            ],
            "usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}},
        },
    }
]
OPENHANDS = [
    {
        "instance_id": "o",
        "history": [
            {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}},
            {
                "id": 1,
                "source": "agent",
                "action": "run",
                "args": {"command": "ls"},
                "tool_call_metadata": {
                    "tool_call_id": "a",
                    "function_name": "f",
                    "model_response": {
                        "id": "r",
                        "choices": [{"message": {"content": "c", "tool_calls": [{"id": "a"}]}}],
                        "usage": {"prompt_tokens": 2},
                    },
                },
            },
            {"id": 2, "observation": "run", "cause": 1, "content": "x", "extras": {}},
            {
                "id": 3,
                "action": "condensation",
                "source": "agent",
                "args": {"forgotten_event_ids": [1], "summary": "s"},
            },
            {"id": 4, "observation": "recall", "content": "", "extras": {"repo_instructions": "t"}},
        ],
    }
]
INSPECT = [
    {
        "eval": {"task": "t"},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "target": "",
                "messages": [
                    USER,
                    {"id": "m", "role": "assistant", "content": "attachment://a"},
                ],
                "attachments": {"a": "Gone."},
                "events": [
                    {
                        "event": "model",
                        "tools": [{"name": "f"}],
                        "output": {
                            "choices": [{"message": {"id": "m"}}],
                            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
                        },
                    }
                ],
            }
        ],
    }
]
OPENCODE = [
    {
        "info": {"id": "s", "projectID": "p", "directory": "/w"},
        "messages": [
            {
                "info": {"id": "1", "role": "user", "time": {"created": 1}},
                "parts": [{"type": "text", "text": "Go."}, {"type": "compaction", "auto": True}],
            },
            {
                "info": {"id": "2", "role": "assistant", "tokens": {"input": 1, "cache": {}}},
                "parts": [
                    {"type": "tool", "callID": "a", "tool": "f", "state": {"output": "x"}},
                    {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aa"},
                ],
            },
        ],
    }
]
CLINE = [
    {**USER, "ts": 1, "condenseParent": "k"},
    {"role": "user", "content": "s", "isSummary": True, "condenseId": "k"},
    REPLY,
]
GOOSE = [
    {"working_dir": "/w", "description": "d"},
    {"role": "user", "created": 1, "content": [{"type": "text", "text": "Go."}]},
    {
        "role": "assistant",
        "content": [
            {"type": "toolRequest", "id": "a", "toolCall": {"value": {"name": "f"}}},
            {"type": "toolResponse", "id": "a", "toolResult": {"value": [{"type": "text"}]}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "text", "text": "s"}],
        "metadata": {"userVisible": False, "agentVisible": True},
    },
]
ATIF = [
    {
        "schema_version": "1",
        "session_id": "t",
        "agent": {"tool_definitions": []},
        "steps": [
            {"source": "user", "message": "Go."},
            {
                "source": "agent",
                "message": "m",
                "tool_calls": [{"tool_call_id": "a", "function_name": "f", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "a", "content": "x"}]},
                "metrics": {"prompt_tokens": 1},
            },
        ],
        "continued_trajectory_ref": "t2.json",
    }
]
LANGCHAIN = [
    {"type": "human", "data": {"content": "Go."}},
    {
        "lc": 1,
        "id": ["langchain", "AIMessage"],
        "kwargs": {
            "content": "c",
            "tool_calls": [{"id": "a", "name": "f", "args": {}}],
            "usage_metadata": {"input_tokens": 1, "input_token_details": {"cache_read": 0}},
        },
    },
]
NEW = {
    "responses": RESPONSES,
    "openhands": OPENHANDS,
    "inspect": INSPECT,
    "opencode": OPENCODE,
    "cline": CLINE,
    "goose": GOOSE,
    "atif": ATIF,
    "langchain": LANGCHAIN,
}
FILES = {
    **{name: "\n".join(map(json.dumps, records)).encode() for name, records in NEW.items()},
    "pi": "\n".join(map(json.dumps, PI)).encode(),
    "gemini": json.dumps(GEMINI[0], indent=1).encode(),
    "swe": json.dumps(SWE[0]).encode(),
    "claude": "\n".join(map(json.dumps, CLAUDE)).encode(),
    "codex": "\n".join(map(json.dumps, CODEX)).encode(),
    "chat": "\n".join(map(json.dumps, CHAT)).encode(),
    "messages": json.dumps([USER, REPLY], indent=1).encode(),
}


def read_fully(path: Path) -> None:
    """Load it, and hold the counts of lines against each other for every format that may read."""
    load_sessions(path)
    for candidate in formats():
        source = Source(path)
        list(candidate.read(source))
        read = source.lines_read + source.lines_blank + source.lines_skipped
        assert read == source.lines_total
        if source.sample.shape == "lines":
            lines = path.read_bytes().split(b"\n")
            assert source.lines_total == len(lines) - (lines[-1] == b"")


DAMAGE = st.lists(
    st.tuples(
        st.sampled_from(("replace", "insert", "cut", "drop")),
        st.floats(0, 1, exclude_max=True),
        st.binary(min_size=1, max_size=4)
        | st.sampled_from((b"\n", b"\0", b"\xff", b'"', b"{", b"]", b"\\ud800", b"NaN", b"null")),
    ),
    min_size=1,
    max_size=6,
)


def damaged(data: bytes, damage: list[tuple[str, float, bytes]]) -> bytes:
    for kind, place, piece in damage:
        at = int(place * len(data))
        if kind == "replace":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "insert":
            data = data[:at] + piece + data[at:]
        elif kind == "cut":
            data = data[:at]
        else:
            data = data[:at] + data[at + 8 * len(piece) :]
    return data


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(FILES)), damage=DAMAGE)
def test_byte_damage(tmp_path: Path, name: str, damage: list[tuple[str, float, bytes]]) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(damaged(FILES[name], damage))
    read_fully(path)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(session=sessions(max_turns=2, max_steps=3), damage=DAMAGE)
def test_byte_damage_in_the_own_format(
    tmp_path: Path, session: Session, damage: list[tuple[str, float, bytes]]
) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(damaged(session_to_bytes(session), damage))
    read_fully(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(found for key, item in inner for found in _paths(item, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], new)
    return copy


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(),
    records=st.sampled_from((CLAUDE, CODEX, CHAT, PI, GEMINI, SWE, *NEW.values())),
    strange=VALUES,
)
def test_any_value_in_any_field(
    tmp_path: Path, data: st.DataObject, records: list[Any], strange: Any
) -> None:
    changed = _with(records, data.draw(st.sampled_from(_paths(records)[1:])), strange)
    path = tmp_path / "strange.jsonl"
    path.write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
    read_fully(path)
    found = detected(Source(path).sample)
    assert found is None or found[1]


@pytest.mark.parametrize(
    ("damage", "kinds", "skipped"),
    [
        ('{"role": "user", "con', ["bad_line"], 1),
        ("\0" * 20, ["nul_bytes"], 1),
        ("// a note", ["comment_line"], 1),
        ("42", ["not_an_object"], 1),
        ("[" * 100_000, ["too_deep"], 1),
        ('{"a":' * 100_000, ["too_deep"], 1),
        ("", [], 0),
        ("\r", [], 0),
    ],
)
def test_one_damaged_line(tmp_path: Path, damage: str, kinds: list[str], skipped: int) -> None:
    session = only_session(write_lines(tmp_path / "x.jsonl", USER, damage, REPLY))
    assert told(session) == SAID
    assert (repair_kinds(session), session.skipped_lines) == (kinds, skipped)
    if kinds:
        assert session.repairs[0].where == f"line 2, byte {len(json.dumps(USER)) + 1}"


def test_torn_tail_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lines = [json.dumps(USER), json.dumps(REPLY), '{"role": "us']
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    session = only_session(path)
    assert told(session) == SAID
    assert (repair_kinds(session), session.skipped_lines) == (["torn_tail"], 1)
    assert session.repairs[0].where.startswith("line 3, byte ")


def test_torn_list_keeps_its_complete_items(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([USER, REPLY, {"role": "user", "content": "More."}], indent=1)[:-9])
    session = only_session(path)
    assert told(session) == SAID
    assert (repair_kinds(session), session.skipped_lines) == (["torn_tail"], 1)


def test_a_damaged_document_is_rejected_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"messages": [USER, REPLY]}, indent=1)[:-9])
    (rejected,) = load_sessions(path).rejected
    assert "damaged JSON" in rejected.reason
    assert "line" in rejected.reason


@pytest.mark.parametrize(
    ("written", "read", "kinds"),
    [
        ('"\\ud83d"', "\ufffd", ["lone_surrogate"]),
        ('"\\uDC00 and \\ud83d\\ude00"', "\ufffd and \U0001f600", ["lone_surrogate"]),
        ('"a\tb"', "a\tb", ["control_character"]),
        ('"a\0b"', "ab", ["nul_bytes"]),
        ('"a\u2028b\u0085c"', "a\u2028b\u0085c", []),
        ('"back\\\\ud800slash"', "back\\ud800slash", []),
    ],
)
def test_text_that_is_put_right(tmp_path: Path, written: str, read: str, kinds: list[str]) -> None:
    path = write_lines(tmp_path / "x.jsonl", f'{{"role": "user", "content": {written}}}', REPLY)
    session = only_session(path)
    assert session.events[0].message.text == read
    assert repair_kinds(session) == kinds
    assert session.skipped_lines == 0


def test_invalid_utf8_becomes_replacement_characters(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"role": "user", "content": "12 gulls\xff\xfe."}\n')
    session = only_session(path)
    assert told(session) == ["user: 12 gulls\ufffd\ufffd."]
    assert repair_kinds(session) == ["invalid_utf8"]


def test_arguments_nested_too_deeply(tmp_path: Path) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    call = f'{{"id": "x", "function": {{"name": "f", "arguments": {deep}}}}}'
    path = write_lines(
        tmp_path / "x.jsonl", USER, f'{{"role": "assistant", "tool_calls": [{call}]}}', REPLY
    )
    assert told(only_session(path))[-1] == "assistant: Gone."


def test_many_repairs_of_one_kind_are_summed_up(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", USER, *["broken"] * 1_000, REPLY)
    session = only_session(path)
    assert session.skipped_lines == 1_000
    assert len(session.repairs) == REPAIRS_KEPT_PER_KIND_MAX + 1
    assert session.repairs[-1].what == f"{1_000 - REPAIRS_KEPT_PER_KIND_MAX} more of this kind"


@pytest.mark.parametrize(
    ("first", "second"), [([USER, REPLY], [REPLY]), (SWE[0], SWE[1]), (GEMINI[1], GEMINI[1])]
)
def test_damage_behind_the_last_session_is_reported_with_it(
    tmp_path: Path, first: Any, second: Any
) -> None:
    path = write_lines(tmp_path / "x.jsonl", first, "broken", second, "broken")
    sessions_found = load_sessions(path).sessions
    assert len(sessions_found) == 2
    assert sum(row.skipped_lines for row in sessions_found) == 2
    assert [kind for row in sessions_found for kind in repair_kinds(row)].count("bad_line") == 2


@pytest.mark.parametrize("place", [0, 1])
def test_one_long_line(tmp_path: Path, place: int) -> None:
    lines = [REPLY, REPLY]
    lines.insert(place, {"role": "user", "content": "Q" * 20_000_000})
    path = write_lines(tmp_path / "x.jsonl", *lines)
    tracemalloc.start()
    session = only_session(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(len(event.message.text) for event in session.events) == 20_000_000
    assert peak < 4 * path.stat().st_size


# Text in which a line is a whole record of its own can't be told from records.
LINES_OF_TEXT = st.text(st.characters(exclude_characters="{[", exclude_categories=["Cs"]))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(LINES_OF_TEXT.map("x{}".format), min_size=1, max_size=6))
def test_raw_line_feeds_anywhere(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "x.jsonl"
    records = [json.dumps({"role": "user", "content": text}) for text in texts]
    broken = "\n".join(record.replace("\\\\", "\0").replace("\\n", "\n") for record in records)
    path.write_text(broken.replace("\0", "\\\\"), encoding="utf-8", newline="")
    session = only_session(path)
    assert [event.message.text for event in session.events] == texts
    assert session.skipped_lines == 0
    read_fully(path)


@pytest.mark.parametrize("name", sorted(NEW))
def test_what_is_damaged_here_is_recognised_when_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(FILES[name])
    loaded = load_sessions(path)
    assert len(loaded.sessions) == 1
    assert name in loaded.sessions[0].format


ARCHIVED = {
    "header.json": {"eval": {"task": "t"}},
    "samples/1_epoch_1.json": INSPECT[0]["samples"][0],  # type: ignore[index]
    "samples/2_epoch_1.json": {**INSPECT[0]["samples"][0], "id": 2},  # type: ignore[index]
}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=DAMAGE, method=st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
def test_byte_damage_in_an_archive(
    tmp_path: Path, damage: list[tuple[str, float, bytes]], method: int
) -> None:
    path = tmp_path / "damaged.eval"
    with zipfile.ZipFile(path, "w", method) as writer:
        for name, value in ARCHIVED.items():
            writer.writestr(name, json.dumps(value))
    path.write_bytes(damaged(path.read_bytes(), damage))
    loaded = load_sessions(path)
    assert len(loaded.sessions) + len(loaded.rejected) >= 1
    found = sum(row.skipped_lines for row in loaded.sessions) + len(loaded.sessions)
    assert found >= len(loaded.sessions)
    read_fully(path)


STORED = {
    "session/p/s.json": {"id": "s", "projectID": "p", "directory": "/w"},
    "message/s/1.json": {"id": "1", "sessionID": "s", "role": "user", "time": {"created": 1}},
    "message/s/2.json": {"id": "2", "sessionID": "s", "role": "assistant"},
    "part/1/a.json": {"id": "a", "messageID": "1", "type": "text", "text": "Go."},
    "part/2/b.json": {
        "id": "b",
        "messageID": "2",
        "type": "tool",
        "callID": "c",
        "tool": "f",
        "state": {"output": "x", "time": {"start": 2}},
    },
}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(), name=st.sampled_from(sorted(STORED)), strange=VALUES, damage=st.none() | DAMAGE
)
def test_damage_in_a_folder_of_small_files(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    name: str,
    strange: Any,
    damage: list[tuple[str, float, bytes]] | None,
) -> None:
    folder = tmp_path_factory.mktemp("storage")
    for file, value in STORED.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        if file == name:
            value = _with(value, data.draw(st.sampled_from(_paths(value)[1:])), strange)
        content = json.dumps(value).encode()
        if file == name and damage is not None:
            content = damaged(content, damage)
        (folder / file).write_bytes(content)
    loaded = load_sessions(folder)
    # Each file leads to a session, is read with another one, or is rejected by itself.
    assert len({row.path for row in (*loaded.sessions, *loaded.rejected)}) == len(STORED)
    for candidate in formats():
        list(candidate.read(Source(folder / name)))


def test_a_record_broken_by_raw_line_feeds(tmp_path: Path) -> None:
    broken = '{"role": "assistant", "content": "one\n\ntwo\nthree"}'
    session = only_session(write_lines(tmp_path / "x.jsonl", USER, broken, USER))
    assert told(session) == ["user: Go.", "assistant: one\n\ntwo\nthree", "user: Go."]
    (repair,) = session.repairs
    assert (repair.kind, repair.where, session.skipped_lines) == ("raw_line_feed", "lines 2-5", 0)


def test_a_torn_record_swallows_nothing_behind_it(tmp_path: Path) -> None:
    torn = '{"role": "assistant", "content": "one'
    session = only_session(write_lines(tmp_path / "x.jsonl", USER, torn, "words", "", REPLY, USER))
    assert told(session) == [*SAID, "user: Go."]
    assert (repair_kinds(session), session.skipped_lines) == (["bad_line", "bad_line"], 2)
    assert [row.where.split(",")[0] for row in session.repairs] == ["line 2", "line 3"]


def test_records_glued_in_one_line(tmp_path: Path) -> None:
    glued = json.dumps(USER) + json.dumps(REPLY) + "  " + json.dumps(USER)
    session = only_session(write_lines(tmp_path / "x.jsonl", glued, REPLY))
    assert told(session) == [*SAID, *SAID]
    assert (repair_kinds(session), session.skipped_lines) == (["glued_records"], 0)


def test_links_to_folders_are_listed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    write_lines(tmp_path / "real" / "x.jsonl", USER, REPLY)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "in" / "circle").symlink_to(tmp_path / "in")
    loaded = load_sessions(tmp_path / "in")
    assert loaded.sessions == ()
    assert ["link to a folder" in row.reason for row in loaded.rejected] == [True, True]
    assert len(load_sessions(tmp_path / "in" / "link").sessions) == 1


def test_memory_of_one_object_with_wide_characters(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    messages = [{"role": "user", "content": "ab " * 2_000 + "\U0001f600"}, REPLY] * 600
    path.write_text(json.dumps({"messages": messages}, ensure_ascii=False), encoding="utf-8")
    tracemalloc.start()
    session = only_session(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(session.events) == 1_200
    assert peak < 6 * path.stat().st_size


def _said_by_user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


WRITTEN: dict[str, tuple[Callable[[str], Any], Callable[[list[Any]], list[Any]]]] = {
    "openai-responses": (
        lambda text: {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": text}],
        },
        lambda messages: [{"input": messages, "instructions": ""}],
    ),
    "openhands": (
        lambda text: {"source": "user", "action": "message", "args": {"content": text}},
        lambda messages: [{"history": messages}],
    ),
    "inspect-ai": (
        _said_by_user,
        lambda messages: [{"eval": {}, "samples": [{"id": 1, "epoch": 1, "messages": messages}]}],
    ),
    "opencode": (
        lambda text: {"info": {"role": "user"}, "parts": [{"type": "text", "text": text}]},
        lambda messages: [{"info": {"id": "s"}, "messages": messages}],
    ),
    "cline": (_said_by_user, list),
    "goose": (_said_by_user, lambda messages: [{"working_dir": "/w", "conversation": messages}]),
    "atif": (
        lambda text: {"source": "user", "message": text},
        lambda messages: [{"schema_version": "1", "steps": messages}],
    ),
    "langchain": (
        lambda text: {"type": "human", "data": {"content": text}},
        lambda messages: [{"messages": messages}],
    ),
}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(WRITTEN)),
    strange=st.dictionaries(st.integers(0, 5), VALUES, max_size=3),
)
def test_every_message_is_an_event_or_a_repair(
    tmp_path: Path, name: str, strange: dict[int, Any]
) -> None:
    message, packed = WRITTEN[name]
    messages = [strange.get(place, message(f"text {place}")) for place in range(7)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, packed(messages))), encoding="utf-8")
    session = only_session(path, format=name)
    texts = [event.message.text for event in session.events]
    whole = [f"text {place}" for place in range(7) if place not in strange]
    assert [text for text in texts if text in whole] == whole
    assert len(texts) + len(session.repairs) >= len(messages)

"""The project's own JSONL: what is written reads back equal, what is damaged is reported."""

import io
import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bench.events import (
    Attachment,
    Event,
    Message,
    RecordedCompaction,
    RecordedUsage,
    Repair,
    Session,
    ToolCall,
    ToolDefinition,
)
from bench.formats.own import session_from_bytes, session_to_bytes, write_session
from bench.loading import load_sessions
from tests.generators import sessions as histories
from tests.written_files import only_session, repair_kinds, told

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
COUNTS = st.integers(0, 10**7)
MAYBE = st.none() | COUNTS

MESSAGES = st.builds(
    Message,
    role=st.sampled_from(("system", "user", "assistant", "tool")),
    text=TEXTS,
    calls=st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    call_id=st.none() | TEXTS,
    attachments=st.lists(st.builds(Attachment, TEXTS, TEXTS), max_size=2).map(tuple),
    reasoning=TEXTS,
)
TOOLS = st.builds(
    ToolDefinition,
    TEXTS,
    TEXTS,
    st.dictionaries(TEXTS, st.recursive(TEXTS | COUNTS | st.none(), st.lists, max_leaves=4)),
)


@st.composite
def any_sessions(draw: st.DrawFn) -> Session:
    """Anything that a Session may hold, sensible or not."""
    messages = draw(st.lists(MESSAGES, min_size=1, max_size=5))
    times = st.none() | st.floats(0, 1e11, allow_nan=False)
    events = tuple(
        Event(number, message, draw(times), draw(st.booleans()))
        for number, message in enumerate(messages, 1)
    )
    seqs = st.integers(1, len(events))
    compaction = st.builds(
        RecordedCompaction,
        st.integers(0, len(events)),
        TEXTS,
        TEXTS,
        st.none() | seqs,
        MAYBE,
        MAYBE,
        st.none() | TEXTS,
    )
    return Session(
        id=draw(TEXTS),
        events=events,
        tools=tuple(draw(st.lists(TOOLS, max_size=2))),
        path=draw(TEXTS),
        format=draw(TEXTS),
        is_slice=draw(st.booleans()),
        subagent_of=draw(st.none() | TEXTS.filter(bool)),
        cluster=draw(st.none() | TEXTS.filter(bool)),
        recorded_compactions=tuple(draw(st.lists(compaction, max_size=2))),
        recorded_usage=tuple(
            draw(st.lists(st.builds(RecordedUsage, seqs, COUNTS, MAYBE, MAYBE), max_size=2))
        ),
        repairs=tuple(draw(st.lists(st.builds(Repair, TEXTS, TEXTS, TEXTS), max_size=2))),
        skipped_lines=draw(COUNTS),
    )


@given(any_sessions() | histories())
def test_reads_back_equal(session: Session) -> None:
    assert session_from_bytes(session_to_bytes(session)) == session


def test_a_file_may_hold_many_sessions(tmp_path: Path) -> None:
    first = Session("a", (Event(1, Message("user", "Line one\u2028still line one")),), cluster="x")
    second = Session("b", (Event(1, Message("user", "港口")),), format="codex")
    stream = io.StringIO()
    write_session(first, stream)
    write_session(second, stream)
    path = tmp_path / "two.jsonl"
    path.write_text(stream.getvalue(), encoding="utf-8")
    assert load_sessions(path).sessions == (
        replace(first, path=str(path), format="compaction-bench"),
        replace(second, path=str(path)),
    )


def test_lost_lines_are_reported_and_seqs_stay_without_gaps(tmp_path: Path) -> None:
    events = tuple(Event(n, Message("user" if n % 2 else "assistant", f"{n}")) for n in range(1, 7))
    session = Session(
        "a",
        events,
        recorded_compactions=(RecordedCompaction(4, "four", kept_from_seq=3),),
        recorded_usage=(RecordedUsage(2, 9), RecordedUsage(6, 11)),
    )
    lines = session_to_bytes(session).splitlines(keepends=True)
    lines[2] = lines[2][:20] + b"\n"
    lines.insert(5, b'{"type": "mood", "text": "fine"}\n')
    path = tmp_path / "lost.jsonl"
    path.write_bytes(b"".join(lines))
    found = only_session(path)
    assert told(found) == ["user: 1", "user: 3", "assistant: 4", "user: 5", "assistant: 6"]
    assert found.recorded_compactions == (RecordedCompaction(3, "four", kept_from_seq=2),)
    assert found.recorded_usage == (RecordedUsage(5, 11),)
    assert sorted(repair_kinds(found)) == ["bad_line", "seq_gap", "unknown_record"]
    assert found.skipped_lines == 1


def test_events_without_a_session_line(tmp_path: Path) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_text(json.dumps({"type": "event", "seq": 1, "role": "user", "text": "Hi."}) + "\n")
    found = only_session(path)
    assert (found.id, told(found)) == ("bare", ["user: Hi."])
    assert repair_kinds(found) == ["missing_header"]


def test_stored_bytes_must_hold_one_session() -> None:
    for data in (b"", b'{"type": "compaction-bench/session", "id": "a"}\n'):
        try:
            session_from_bytes(data)
        except ValueError as error:
            assert "expected one" in str(error)
        else:
            raise AssertionError("no error")

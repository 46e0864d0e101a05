"""What is wrong with a session: each kind, where it is, and whether it is an error."""

from dataclasses import replace

import pytest
from hypothesis import given

from bench.events import Event, Message, RecordedCompaction, Repair, Session, ToolCall
from bench.validating import LOSSES, Finding, findings
from tests.builders import session
from tests.generators import sessions


def _kinds(of: Session) -> list[tuple[str, str, str]]:
    return [(one.severity, one.kind, one.where) for one in findings(of)]


def test_sound_session_has_no_findings() -> None:
    told = session(
        "system: s", "user: go", "call a b", "result b: 2", "result a: 1", "assistant: x"
    )
    assert findings(told) == ()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("user: go", "call a", "user: never mind"), ("error", "unanswered_call", "event 2")),
        (("user: go", "call a"), ("warning", "open_call", "event 2")),
        (
            ("user: go", "call a b", "result a: 1"),
            ("warning", "open_call", "event 2"),
        ),
        (
            ("user: go", "assistant: x", "result a: 1"),
            ("error", "orphan_result", "event 3"),
        ),
        (("user:  ", "assistant: x"), ("error", "empty_message", "event 1")),
        (("user: go", "assistant: "), ("error", "empty_message", "event 2")),
        (("user: go", "system: s"), ("error", "no_request", "whole session")),
        (
            ("user: go", "call a", "result a: 1", "call a", "result a: 2"),
            ("warning", "call_id_reused", "event 4"),
        ),
        (
            ("user: go", "call a a", "result a: 1", "result a: 2"),
            ("error", "duplicate_call_id", "event 2"),
        ),
    ],
)
def test_each_kind_of_finding(lines: tuple[str, ...], expected: tuple[str, str, str]) -> None:
    assert _kinds(session(*lines)) == [expected]


def test_result_without_text_is_no_empty_message() -> None:
    assert findings(session("user: go", "call a", "result a: ")) == ()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (ToolCall("a", "read", '{"x": 1'), ("error", "arguments_not_json")),
        (ToolCall("a", "read", ""), ("error", "arguments_not_json")),
        (ToolCall("a", "read", '{"x": NaN}'), ("error", "arguments_not_json")),
        (ToolCall("a", "read", "[" * 100_000), ("error", "arguments_not_json")),
        (ToolCall("a", "read", "[1]"), ("warning", "arguments_no_object")),
        (ToolCall("a", "", "{}"), ("error", "missing_call_name")),
        (ToolCall("", "read", "{}"), ("error", "missing_call_id")),
    ],
)
def test_calls(call: ToolCall, expected: tuple[str, str]) -> None:
    told = session("user: go")
    events = (
        *told.events,
        Event(2, Message("assistant", calls=(call,))),
        Event(3, Message("tool", "1", call_id=call.id)),
    )
    assert [one[:2] for one in _kinds(replace(told, events=events))] == [expected]


def test_damage_that_lost_something_is_an_error_and_stands_first() -> None:
    told = replace(
        session("user: go", "assistant: x"),
        repairs=(
            Repair("invalid_utf8", "line 3", "bytes that are no UTF-8 became U+FFFD"),
            Repair("torn_tail", "line 9, byte 120", "the last line is cut off"),
            Repair("a_kind_of_tomorrow", "line 1", "something was put right"),
            Repair("orphan_result", "line 2", "said by the events themselves"),
        ),
    )
    assert findings(told) == (
        Finding("error", "torn_tail", "line 9, byte 120", "the last line is cut off"),
        Finding("warning", "invalid_utf8", "line 3", "bytes that are no UTF-8 became U+FFFD"),
        Finding("warning", "a_kind_of_tomorrow", "line 1", "something was put right"),
    )
    assert "torn_tail" in LOSSES


def test_slices_and_compactions_out_of_place() -> None:
    told = replace(
        session("user: go", "assistant: x"),
        is_slice=True,
        recorded_compactions=(RecordedCompaction(2, "fine"), RecordedCompaction(7, "where?")),
    )
    assert _kinds(told) == [
        ("error", "compaction_out_of_place", "recorded compactions"),
        ("warning", "starts_in_mid_session", "beginning"),
    ]


@given(sessions())
def test_calls_and_results_that_dont_pair_are_each_found(told: Session) -> None:
    found = findings(told)
    calls = sum(len(event.message.calls) for event in told.events)
    results = sum(event.message.role == "tool" for event in told.events)
    missing = sum(one.kind in ("unanswered_call", "open_call") for one in found)
    orphans = sum(one.kind == "orphan_result" for one in found)
    assert calls - missing == results - orphans
    assert all(one.what and "\n" not in one.what for one in found)

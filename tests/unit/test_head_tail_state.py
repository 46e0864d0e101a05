"""State lifted out of the summarised part (Z5), and the pure shape of head/tail compaction."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Message, ToolCall
from bench.history import History
from strategies.head_tail.state import (
    BODY_BYTES_MAX,
    STATE_HEADING,
    SUMMARY_LABEL,
    carried_state,
    lift_state,
    plan_lines,
)
from strategies.head_tail.summary import (
    ContextLimitError,
    middle,
    replacement,
    summarise_in_halves,
    summary_message,
)
from tests.builders import message
from tests.generators import sessions


def call(name: str, arguments: str, call_id: str = "c") -> Message:
    return Message("assistant", "", (ToolCall(call_id, name, arguments),))


def result(text: str, call_id: str = "c") -> Message:
    return Message("tool", text, (), call_id)


def state_of(*messages: Message) -> object:
    line = lift_state(messages).to_json()
    return json.loads(line) if line else None


def skill(name: str, body: str) -> tuple[Message, Message]:
    return call("skill", json.dumps({"name": name})), result(body)


def plan(*items: dict[str, object]) -> Message:
    return call("update_plan", json.dumps({"plan": items}))


def test_z5_without_state_nothing_is_appended() -> None:
    assert state_of(message("user: hello"), message("call a"), message("result a: x")) is None
    assert summary_message("s", [message("user: hello")]).text == f"{SUMMARY_LABEL}\ns"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            '{"plan":[{"content":" a ","status":"done"},{"content":"b"}]}',
            "- [done] a\n- [pending] b",
        ),
        (
            '{"plan":[{"content":"a","status":" ","notes":"\\u00a0n "}]}',
            "- [pending] a\n  Notes: n",
        ),
        ('{"plan":[{"step":"a"},{"content":" ","step":"b"},{}]}', "- [pending] a\n- [pending] b"),
        ('{"PLAN":[{"CONTENT":"a","Status":"x"}]}', "- [x] a"),
        ('{"plan":[null,{"content":null,"step":"a"}]}', "- [pending] a"),
        ('{"plan":[{"content":"a"},{"content":3}]}', ""),
        ('{"plan":[{"content":"a"},"b"]}', ""),
        ('{"plan":{"content":"a"}}', ""),
        ('{"plan":[{"content":"a"}]} and more', ""),
        ('{"plan":null}', ""),
        ("[]", ""),
        ("null", ""),
        ("", ""),
        ("[" * 100_000, ""),
    ],
)
def test_z5_plan_lines(arguments: str, lines: str) -> None:
    assert plan_lines(arguments) == lines


def test_z5_the_newest_plan_that_yields_lines_wins() -> None:
    older, newer = plan({"content": "older"}), plan({"content": "newer"})
    assert state_of(older, newer, plan(), call("update_plan", "{")) == {"plan": "- [pending] newer"}
    both = Message("assistant", "", (*older.calls, *newer.calls))
    assert state_of(both) == {"plan": "- [pending] newer"}


def test_z5_a_carried_plan_serves_until_there_is_a_newer_one() -> None:
    summary = summary_message("s", [plan({"content": "carried"})])
    assert state_of(summary, plan()) == {"plan": "- [pending] carried"}
    assert state_of(summary, plan({"content": "own"})) == {"plan": "- [pending] own"}
    newer = summary_message("s", [plan({"content": "newer"})])
    assert state_of(summary, newer, summary_message("s", [])) == {"plan": "- [pending] newer"}


def test_z5_skills_are_joined_by_id_newest_body_at_the_first_place() -> None:
    messages = [
        call("skill", '{"name":" one "}', "a"),
        result("first\n", "a"),
        call("skill", '{"skill":"two"}', "b"),
        result("second", "b"),
        call("skill", '{"name":"one"}', "c"),
        result("third", "c"),
    ]
    skills = [{"name": "one", "body": "third"}, {"name": "two", "body": "second"}]
    assert state_of(*messages) == {"skills": skills}


@pytest.mark.parametrize(
    ("told", "answer", "name"),
    [
        (call("skill", "nonsense"), result("body"), "(unnamed)"),
        (call("skill", '{"name":" "}'), result("body"), "(unnamed)"),
        (call("skill", '{"name":"s"}', ""), result("body", ""), None),
        (call("skill", '{"name":"s"}'), result(" \u00a0\n"), None),
        (call("skill", '{"name":"s"}'), result("body", "other"), None),
        (call("read", '{"name":"s"}'), result("body"), None),
    ],
)
def test_z5_skills_without_name_id_or_body(
    told: Message, answer: Message, name: str | None
) -> None:
    expected = None if name is None else {"skills": [{"name": name, "body": "body"}]}
    assert state_of(told, answer) == expected


@pytest.mark.parametrize(
    ("size", "is_whole"), [(BODY_BYTES_MAX, True), (BODY_BYTES_MAX + 1, False)]
)
def test_z5_long_bodies_are_cut_on_a_character_with_a_note(size: int, is_whole: bool) -> None:
    body = "ä" * (size // 2) + "x" * (size % 2)
    (entry,) = state_of(*skill("s", body))["skills"]  # type: ignore[index]
    assert (entry["body"] == body) is is_whole
    assert len(entry["body"].encode()) <= BODY_BYTES_MAX
    if not is_whole:
        kept, _, note = entry["body"].partition("\n")
        assert set(kept) == {"ä"}
        assert "truncated" in note


def test_z5_tools_come_from_answered_tool_searches_one_for_each_section() -> None:
    text = "Loaded 2 tools. Full schemas follow.\n\n## mail\nsend\n{}\n\n## map\nshow\n"
    tools = [{"name": "mail", "body": "## mail\nsend\n{}"}, {"name": "map", "body": "## map\nshow"}]
    assert state_of(call("tool_search", "{}"), result(text)) == {"tools": tools}
    assert state_of(call("bash", "{}"), result(text)) is None
    assert state_of(call("tool_search", "{}"), result("Loaded 1 tool.\n## mail\nsend")) is None


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("# A instructions for b\nx\n<INSTRUCTIONS>\ni\n</INSTRUCTIONS> x", "<INSTRUCTIONS>\ni\n"),
        ("# A instructions for b\nno tags", None),
        ("# A instructions for b\n</INSTRUCTIONS> <INSTRUCTIONS>", None),
        ("A instructions for b\n<INSTRUCTIONS>i</INSTRUCTIONS>", None),
    ],
)
def test_z5_project_instructions(text: str, body: str | None) -> None:
    expected = None
    if body is not None:
        whole = f"# A instructions for b\n\n{body}</INSTRUCTIONS>"
        entry = {"source": "A instructions for b", "body": whole}
        expected = {"project_instructions": [entry]}
    assert state_of(Message("user", text)) == expected
    assert state_of(Message("tool", text)) is None


def test_z5_carried_bodies_keep_their_place_and_newer_ones_replace_them() -> None:
    earlier = [
        call("skill", '{"name":"a"}'),
        result("1"),
        call("skill", '{"name":"b"}'),
        result("2"),
    ]
    summary = summary_message("s", earlier)
    later = [call("skill", '{"name":"b"}'), result("3"), call("skill", '{"name":"c"}'), result("4")]
    bodies = [("a", "1"), ("b", "3"), ("c", "4")]
    expected = {"skills": [{"name": name, "body": body} for name, body in bodies]}
    assert state_of(summary, *later) == expected


def test_z5_a_summary_that_quotes_the_heading_doesnt_hide_the_state() -> None:
    quoting = f'they wrote\n{STATE_HEADING}\n{{"plan":"- [x] forged"}}'
    summary = summary_message(quoting, [plan({"content": "real"})])
    assert state_of(summary) == {"plan": "- [pending] real"}


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", '{"plan":3}', '{"skills":[3]}', '{"skills":[{"name":3}]}', '{"plan":"x"} {}'],
)
def test_z5_damaged_carried_state_is_left_out(line: str) -> None:
    told = Message("user", f"{SUMMARY_LABEL}\ns\n\n{STATE_HEADING}\n{line}")
    assert carried_state(told) is None
    assert state_of(told, plan({"content": "own"})) == {"plan": "- [pending] own"}


def test_z5_state_is_read_from_summaries_of_users_only() -> None:
    text = summary_message("s", [plan({"content": "real"})]).text
    assert carried_state(Message("assistant", text)) is None
    assert carried_state(Message("user", "quote: " + text)) is None


def test_z1_no_summariser_is_an_error_before_anything_else() -> None:
    with pytest.raises(ValueError, match="no summariser"):
        replacement([], 8, None)


def test_z1_an_empty_middle_asks_nobody() -> None:
    def ask(messages: Sequence[Message]) -> str:
        raise AssertionError("nobody should be asked")

    messages = [message("system: s"), message("call a"), message("result a: x")]
    assert replacement(messages, 1, ask) is None
    assert replacement([], 1, ask) is None


@given(sessions(), st.integers(1, 12))
def test_z13_no_cut_ever_splits_a_group(generated, preserve_last: int) -> None:  # type: ignore[no-untyped-def]
    history = History(generated.events)
    messages = [event.message for event in generated.events]
    start, stop = middle(messages, preserve_last)
    assert all(one.role == "system" for one in messages[:start])
    assert start == stop or messages[stop].role == "assistant"
    assert start == stop or history.group_start(stop) == stop
    assert start == stop or len(messages) - stop >= preserve_last


class Summariser:
    """Overflows above so many messages, and on what was summarised already when told so."""

    def __init__(self, messages_max: int, reduces: bool = True) -> None:
        self.messages_max, self.reduces = messages_max, reduces
        self.asked: list[list[str]] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        texts = [one.text for one in messages]
        self.asked.append(texts)
        is_reduction = any(text.startswith("<") for text in texts)
        if len(texts) > self.messages_max or (is_reduction and not self.reduces):
            raise ContextLimitError("too long")
        return f"<{'+'.join(texts)}>"


FIVE = [Message("user", letter) for letter in "abcde"]


def test_halves_when_the_summariser_itself_overflows() -> None:
    asked = Summariser(3)
    assert summarise_in_halves(FIVE, asked) == "<<a+b>+<c+d+e>>"
    assert asked.asked == [list("abcde"), list("ab"), list("cde"), ["<a+b>", "<c+d+e>"]]


def test_halves_again_and_joins_what_cant_be_reduced() -> None:
    assert summarise_in_halves(FIVE, Summariser(2, reduces=False)) == "<a+b>\n\n<c>\n\n<d+e>"


def test_one_message_that_is_too_long_is_an_error() -> None:
    asked = Summariser(0)
    with pytest.raises(ContextLimitError):
        summarise_in_halves(FIVE, asked)
    assert asked.asked == [list("abcde"), list("ab"), ["a"]]


def test_other_errors_of_a_half_pass_on() -> None:
    def broken(messages: Sequence[Message]) -> str:
        if len(messages) > 3:
            raise ContextLimitError("too long")
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        summarise_in_halves(FIVE, broken)

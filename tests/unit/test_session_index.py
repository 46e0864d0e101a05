"""The index against the plain text: what it locates is what a search by hand would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.entities import extract
from bench.events import Message, Session, ToolCall, ToolDefinition
from bench.matching import contains, key_of, normalise
from bench.session_index import Haystack, Needle, SessionIndex
from bench.tokens import count
from bench.visible_text import arguments_text, used_text, visible_text
from tests.generators import sessions
from tests.hand_replays import call, session_of


def needle(value: str, kind: str) -> Needle:
    return Needle(kind, key_of(value, kind))


def test_escapes_of_arguments_are_decoded() -> None:
    arguments = (
        '{"path": "a/b.py", "text": "one\\n\\"two\\" \\u4e2d", "n": 7, "deep": [{"k": "v"}]}'
    )
    assert arguments_text(arguments) == 'a/b.py\none\n"two" 中\n7\nv'
    assert arguments_text(arguments, with_names=True).endswith("7\nk\nv")


def test_arguments_that_are_no_json_are_read_as_they_are() -> None:
    assert arguments_text('{"cut": "a\\nb') == '{"cut": "a\nb'
    assert arguments_text("[" * 100_000) == "[" * 100_000
    assert arguments_text('"plain"') == "plain"
    assert arguments_text("null") == ""


def test_names_of_tools_are_visible_but_not_used() -> None:
    message = Message(
        "assistant", "Let me look.", (ToolCall("1", "read_file", '{"path": "a.py"}'),)
    )
    assert visible_text(message) == "Let me look.\nread_file\na.py"
    assert used_text(message) == "Let me look.\na.py"


def test_occurrences_are_ascending_and_whole() -> None:
    index = SessionIndex(
        session_of("open src/a.py", "no", "src/a.pyc", "in ./src/a.py now", "8080", "80 rows")
    )
    assert list(index.occurrences(needle("src/a.py", "path"))) == [1, 4]
    assert list(index.occurrences(needle("80", "number"))) == [6]
    assert list(index.occurrences(needle("absent", "text"))) == []
    assert index.is_within(needle("src/a.py", "path"), 2, 4)
    assert not index.is_within(needle("src/a.py", "path"), 2, 3)
    assert index.last_before(needle("src/a.py", "path"), 4) == 1
    assert index.last_before(needle("src/a.py", "path"), 1) is None


def test_ages_count_true_tokens_between_events() -> None:
    session = session_of("one", "two two", "three three three", "four")
    index = SessionIndex(session)
    expected = count("two two") + count("three three three")
    assert index.age_tokens(1, 4) == expected
    assert index.age_tokens(3, 4) == 0


def test_said_is_apart_from_called() -> None:
    session = session_of(
        "go",
        call("read", '{"path": "src/a.py"}'),
        Message("tool", "src/a.py: empty", call_id="c"),
        Message("assistant", "src/a.py is empty"),
    )
    index = SessionIndex(session)
    assert index.first_said(needle("src/a.py", "path")) == 4
    assert list(index.occurrences(needle("src/a.py", "path"))) == [2, 3, 4]


def test_a_request_inside_a_group_brings_the_group_along() -> None:
    session = session_of(
        "go",
        call("wait", "{}"),
        Message("user", "and be quick"),
        Message("tool", "done", call_id="c"),
        Message("assistant", "ready"),
    )
    assert SessionIndex(session).always_shown(5) == (2, 4)


def test_without_any_request_the_newest_group_is_shown() -> None:
    session = session_of(Message("assistant", "so"), Message("assistant", "on"))
    index = SessionIndex(session)
    assert index.always_shown(2) == (1, 1)
    assert index.always_shown(1) is None


def test_words_of_tools_are_known() -> None:
    tool = ToolDefinition("read_file", "Reads in_one_go.", {"properties": {"file_path": {}}})
    session = Session("s", session_of("go", call("grep_all", '{"pattern_x": "y"}')).events, (tool,))
    index = SessionIndex(session)
    assert index.tool_words == {"read_file", "grep_all", "pattern_x"}
    assert index.tool_definitions.holds(needle("file_path", "identifier"))
    assert index.tool_definitions.holds(needle("in_one_go", "identifier"))


@given(sessions())
def test_locating_agrees_with_searching(session: Session) -> None:
    index = SessionIndex(session)
    texts = [normalise(visible_text(event.message)) for event in session.events]
    needles = {
        Needle(entity.kind, entity.key)
        for event in session.events
        for entity in extract(used_text(event.message))
    }
    index.locate(needles)
    for wanted in needles:
        by_hand = [
            seq for seq, text in enumerate(texts, 1) if contains(text, wanted.key, wanted.kind)
        ]
        assert list(index.occurrences(wanted)) == by_hand
        assert [Haystack(text).holds(wanted) for text in texts] == [
            contains(text, wanted.key, wanted.kind) for text in texts
        ]


@given(
    st.lists(st.sampled_from(("éfoo_bar", "foo_bar", "foo_bar中", "v1.2", "1.2", "İx_y", "x_y")))
)
def test_locating_agrees_beside_other_alphabets(words: list[str]) -> None:
    index = SessionIndex(session_of(*(f"{word} and {word}" for word in words)))
    for value, kind in (("foo_bar", "identifier"), ("1.2", "version"), ("İx_y", "text")):
        wanted = needle(value, kind)
        assert list(index.occurrences(wanted)) == [
            seq
            for seq, text in enumerate(index.texts, 1)
            if contains(text, wanted.key, wanted.kind)
        ]


_FRAGMENTS = (
    "v1.1",
    "1.1",
    "12.5 %",
    "中文",
    "a/b.py",
    "./",
    "...",
    "--x_y",
    "Foo_b",
    "git",
    "$",
    "-",
)


@given(
    st.lists(st.lists(st.sampled_from((*_FRAGMENTS, " ", " ", ",")), max_size=8), max_size=6),
    st.lists(st.lists(st.sampled_from((*_FRAGMENTS, " ")), min_size=1, max_size=3), min_size=1),
    st.sampled_from(("text", "number", "version", "path", "identifier", "command", "literal")),
)
def test_locating_agrees_for_values_of_any_shape(
    texts: list[list[str]], values: list[list[str]], kind: str
) -> None:
    index = SessionIndex(session_of("go", *map("".join, texts)))
    needles = [needle("".join(value), kind) for value in values]
    index.locate(needles)
    for wanted in needles:
        assert list(index.occurrences(wanted)) == [
            seq
            for seq, text in enumerate(index.texts, 1)
            if contains(text, wanted.key, wanted.kind)
        ]

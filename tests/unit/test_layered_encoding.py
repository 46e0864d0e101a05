"""Text as the original counts it, and sizes that add up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Message, Session, ToolCall, ToolDefinition
from strategies.layered.budget import Prior, decide, limits
from strategies.layered.encoding import (
    compact_json,
    is_json,
    lowered,
    quoted,
    shown,
    tokens,
    trimmed,
    units,
    utf8,
)
from strategies.layered.estimate import (
    ESTIMATOR,
    messages_json,
    messages_tokens,
    next_input_tokens,
    request_units,
    tool_texts,
)
from tests.generators import sessions

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


@given(ANY_TEXT)
def test_quoted_text_is_json_of_the_same_text(text: str) -> None:
    assert json.loads(quoted(text)) == utf8(text).decode()
    assert not set("<>&\u2028\u2029") & set(quoted(text))


@given(ANY_TEXT)
def test_units_count_one_for_ascii_and_four_for_the_rest(text: str) -> None:
    assert units(text) == sum(1 if rune <= "\x7f" else 4 for rune in text)


@given(st.integers(-1_000, 1_000))
def test_tokens_round_away_from_zero(count: int) -> None:
    assert abs(tokens(count)) == -(-abs(count) // 4)
    assert tokens(-count) == -tokens(count)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists))
def test_compact_json_keeps_the_value(value: object) -> None:
    spaced = json.dumps(value, indent=2, ensure_ascii=False)
    compact = compact_json(spaced)
    assert compact is not None
    assert json.loads(compact) == value
    assert compact_json(compact) == compact


@pytest.mark.parametrize("text", ["", "NaN", "-Infinity", "{", "01", "'a'", "[1,]", "[" * 100_000])
def test_what_is_no_json(text: str) -> None:
    assert not is_json(text)
    assert compact_json(text) is None


def test_json_keeps_its_spelling() -> None:
    assert compact_json('{ "a" : 1.0e5, "a": 12345678901234567890 }') == (
        '{"a":1.0e5,"a":12345678901234567890}'
    )
    assert is_json("1" * 10_000)


def test_white_space_and_case_are_the_originals() -> None:
    assert trimmed("\u0085\u3000 a\x1c \u200b\t") == "a\x1c \u200b"
    assert lowered("\u0130STANBUL \u03a3") == "istanbul \u03c3"
    assert shown('a"\x1c\ufeff\n') == '"a\\"\\x1c\\ufeff\\n"'


@given(sessions())
def test_f2_1_sizes_add_up(given_session: Session) -> None:
    said = [event.message for event in given_session.events]
    total = ESTIMATOR.envelope_units + sum(map(ESTIMATOR.message_units, said))
    total += ESTIMATOR.tools_units(given_session.tools)
    exact = request_units(said, tool_texts(given_session.tools))
    assert exact - total == (1 if messages_json(said) == "[]" else 0)
    plain = [Message(m.role, m.text, m.calls, m.call_id) for m in said]
    assert messages_tokens(said) == tokens(units(messages_json(plain)))


def test_arguments_that_are_no_json_count_as_text_but_for_the_original() -> None:
    broken = [Message("assistant", "", (ToolCall("x", "read", "{oops"),))]
    assert request_units(broken) > 28
    assert request_units(broken, original=True) == 0


def test_f2_1_the_trigger_is_strict() -> None:
    said = [Message("user", "x" * 400)]
    size = tokens(request_units(said))
    at, below = (limits(4 * size, max_input_tokens=bound) for bound in (size, size - 1))
    assert not decide(said, (), at, Prior()).needs_compaction
    assert decide(said, (), below, Prior()).needs_compaction


def test_f9_1_the_next_size_is_the_last_count_plus_the_difference() -> None:
    assert next_input_tokens(100, 40, 45) == 102
    assert next_input_tokens(100, 40, 36) == 99
    assert next_input_tokens(0, 40, 36) == 9
    assert next_input_tokens(1, 400, 0) == 0


def test_tools_travel_with_every_request() -> None:
    tool = ToolDefinition("read", "Reads.", {"type": "object"})
    assert ESTIMATOR.tools_units([]) == 0
    assert ESTIMATOR.tools_units([tool]) > units("read" + "Reads.")

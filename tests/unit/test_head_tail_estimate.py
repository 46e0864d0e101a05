"""Estimates, Go's JSON and Go's text rules, which decide sizes and cuts of head/tail strategies."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Attachment, Message, ToolCall, ToolDefinition
from strategies.head_tail.estimate import (
    estimator,
    messages_tokens,
    text_tokens_by_bytes,
    text_tokens_by_characters,
)
from strategies.head_tail.go_text import cut_to_bytes, lower, trim, utf8, write_json
from strategies.head_tail.overflow import is_overflow, text_classes


@pytest.mark.parametrize(
    ("text", "by_bytes", "by_characters"),
    [
        ("", 0, 0),
        ("abc", 0, 0),
        ("abcd", 1, 1),
        ("a b c d ", 1, 2),
        ("\t\n\x0b\x0c\r " * 4, 0, 6),
        ("\u00a0\u00a0", 1, 0),
        ("\u3000\x1c\x1f\u200b", 2, 1),
        ("你好世界", 3, 1),
        ("🚀", 1, 0),
        ("\ud800\ud800\ud800\ud800", 3, 1),
    ],
)
def test_z6_a_text_costs_a_quarter_of_its_bytes_or_characters(
    text: str, by_bytes: int, by_characters: int
) -> None:
    assert text_tokens_by_bytes(text) == by_bytes
    assert text_tokens_by_characters(text) == by_characters


@given(st.text(st.sampled_from("a \t\n\x0b\x0c\r\x1c\u00a0\u3000好🚀\ud800\xff"), max_size=60))
def test_z6_only_the_six_ascii_blanks_are_free(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    assert text_tokens_by_bytes(text) == sum(byte not in b" \t\n\x0b\x0c\r" for byte in data) // 4


@pytest.mark.parametrize("blanks", [64_000, 65_000, 65_519, 65_520, 65_521, 70_000, 200_000])
def test_z6_any_number_of_blanks_is_free(blanks: int) -> None:
    assert text_tokens_by_bytes("abcd" + " " * blanks + "efgh") == 2
    assert text_tokens_by_bytes("\n" * (blanks - 7) + "sevenx!") == 1


def test_z6_messages_calls_and_attachments_have_flat_costs() -> None:
    calls = (ToolCall("id", "abcdabcd", '{"a":1}'), ToolCall("id", "abc", ""))
    message = Message("assistant", "abcd", calls, "call id", (Attachment("image/png", "x" * 99),))
    # text 1 + 4, calls 2 + 1 + 4 and 0 + 0 + 4, attachment 1,000.
    assert estimator("bytes").message_units(message) == 1_016
    assert messages_tokens([message, message]) == 2_032


def test_z6_tools_cost_name_description_and_json_of_the_parameters() -> None:
    with_parameters = ToolDefinition("abcd", "abcdabcd", {"b": [1.0, None], "a": "<"})
    # {"a":"\u003c","b":[1,null]} are 27 bytes.
    assert estimator("bytes").tools_units([with_parameters]) == 1 + 2 + 6 + 4
    assert estimator("bytes").tools_units([ToolDefinition("abcd")]) == 5


def test_chinese_costs_less_than_half_by_characters() -> None:
    message = Message("user", "窗口大小由配置文件决定" * 40)
    assert estimator("bytes").message_units(message) == 334
    assert estimator("chars").message_units(message) == 114


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-7"),
        (1e-6, "0.000001"),
        (2**53 + 1, "9007199254740992"),
        (12345678901234567890, "12345678901234567000"),
        (10**400, "1" + "0" * 400),
        ("<>&\u2028", '"\\u003c\\u003e\\u0026\\u2028"'),
        ('"\\/\b\f\n\r\t\x00\x7f', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\x7f"'),
        ("é🚀\ud800", '"é🚀\ufffd"'),
        ({"b": 1, "a": {"d": [], "c": {}}}, '{"a":{"c":{},"d":[]},"b":1}'),
    ],
)
def test_json_as_go_writes_it(value: object, text: str) -> None:
    assert write_json(value) == text


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_json_as_go_writes_it_means_the_same(value: object) -> None:
    assert json.loads(write_json(value), parse_int=float) == value
    assert json.loads(write_json(value, sort_keys=False), parse_int=float) == value


def test_json_keeps_the_order_of_keys_when_told() -> None:
    assert write_json({"b": 1, "a": 2}, sort_keys=False) == '{"b":1,"a":2}'


@given(st.text(), st.integers(-1, 40))
def test_a_text_is_cut_between_characters(text: str, bytes_max: int) -> None:
    kept = cut_to_bytes(text, bytes_max)
    assert text.startswith(kept)
    assert len(utf8(kept)) <= max(0, bytes_max)
    following = text[len(kept) : len(kept) + 1]
    assert not following or len(utf8(kept + following)) > bytes_max


def test_trimming_takes_white_space_and_nothing_else() -> None:
    assert trim("\u0085\u00a0\u3000 x\x1c\u2003\n") == "x\x1c"
    assert trim("\u200bx\ufeff") == "\u200bx\ufeff"


def test_lower_case_gives_one_character_for_one() -> None:
    assert lower("CONTEXT W\u0130NDOW \u212a") == "context window k"


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("This model's maximum context length is 8192 tokens", {"context_limit"}),
        ("Please REDUCE the length of the messages", {"context_limit"}),
        ("input is too long for requested model", {"context_limit"}),
        ("context-length exceeded", set()),
        ("Input is  too long", set()),
        ("429 rate limit reached", set()),
        ("400 unsupported image", {"image_rejection"}),
        ("image too large", set()),
        ("idle timeout after 60s", {"stream_timeout", "reconnect"}),
        ("latency 503ms", {"reconnect"}),
        ("", set()),
    ],
)
def test_z9_error_texts_are_told_apart_by_substrings(text: str, classes: set[str]) -> None:
    assert text_classes(text) == classes


def test_z9_a_refused_image_is_no_overflow_whatever_else_the_text_says() -> None:
    assert is_overflow("this exceeds the maximum context length")
    assert not is_overflow("400 this image exceeds the maximum context length")

"""The fast counter says what tiktoken says, or isn't asked."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import tokens_fast
from bench.tokens import ENCODING_NAME, encoding

pytest.importorskip("toktok", reason="toktok-rs (extra fast) isn't installed")

_SCRAPS = [
    *("word", "don't", "'S", "'re", "ing", "CamelCase", "HTTPServer", "naïve", "ﬁne", "İ", "ſ"),
    *(" ", "  ", "\n", "\n\n", "\r\n", "\t", "\xa0", "\u3000", "\u2028", "\u200b", "\u200d"),
    *("1", "1234567", "3.14", "½", "²", "Ⅻ", "٣", "中文", "。", "，", "カナ", "한국어"),
    *("ไทย", "عربى", "עברית", "🧠", "👩\u200d👧", "🏽", "❤️", "\u0301", "e\u0301", "\ufeff"),
    *("/", "//", "```", '{"a":', "<|endoftext|>", "<|", "|>", "\x00", "\x1b[31m", "\x7f"),
    *("\ufffd", "\ufff0", "…", "—", "_", "__init__", "@", "#!", "=>", "$", "\\n"),
]


def _both(text: str) -> tuple[int, int]:
    count = tokens_fast.counter(ENCODING_NAME)
    assert count is not None
    return count(text), len(encoding().encode_ordinary(text))


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_any_settled_text_has_the_same_count(text: str) -> None:
    if tokens_fast.is_settled(text):
        fast, true = _both(text)
        assert fast == true


@pytest.mark.parametrize("seed", range(40))
def test_hostile_text_has_the_same_count(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        text = "".join(chance.choices(_SCRAPS, k=chance.randint(1, 60)))
        if not tokens_fast.is_settled(text):
            text = "".join(filter(tokens_fast.is_settled, text))
        fast, true = _both(text)
        assert fast == true, text


@pytest.mark.parametrize("run", [" ", "\n", "a", "=", "中", "1", "🧠", "\u0301", "\r\n", " \n"])
@pytest.mark.parametrize("length", [63, 1_000, 19_000])
def test_runs_have_the_same_count(run: str, length: int) -> None:
    for text in (run * length, f"word{run * length}word", f" {run * length} "):
        fast, true = _both(text)
        assert fast == true


def test_every_settled_character_has_the_same_count_in_every_place() -> None:
    settled = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code < 0xE000 and tokens_fast.is_settled(chr(code))
    ]
    assert len(settled) > 80_000
    for start in range(0, len(settled), 128):
        part = settled[start : start + 128]
        for place in ("{}", "a{}b ", " {}", "1{}1", ".{}\n", "A{0}{0}'s"):
            text = "".join(place.format(character) for character in part)
            fast, true = _both(text)
            assert fast == true, (place, hex(ord(part[0])))


@pytest.mark.parametrize("text", ["\ud800", "\u0378x\u088f", "a\U00033479b", "\uffff"])
def test_what_may_change_its_category_is_left_to_tiktoken(text: str) -> None:
    assert not tokens_fast.is_settled(text)


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tokens_fast.SWITCH_VARIABLE, "off")
    tokens_fast.counter.cache_clear()
    try:
        assert tokens_fast.counter(ENCODING_NAME) is None
    finally:
        tokens_fast.counter.cache_clear()

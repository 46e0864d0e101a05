"""What a text was joined of is known of that very text, for a while."""

import pytest

from bench import joined_texts
from bench.joined_texts import forget, joined, pieces_of


def test_only_the_very_text_is_known() -> None:
    text = joined(("one ", "two ", "three"))
    assert text == "one two three"
    assert pieces_of(text) == ("one ", "two ", "three")
    assert pieces_of("".join(["one two", " three"])) is None


def test_what_was_joined_is_let_go_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(joined_texts, "_CHARACTERS_MAX", 50)
    texts = [joined(("a" * 10, str(number))) for number in range(20)]
    known = [text for text in texts if pieces_of(text) is not None]
    assert known == texts[-len(known) :]
    assert 0 < 2 * sum(map(len, known)) <= 50
    assert pieces_of(joined(("a" * 20, "b" * 20))) is None
    forget()
    assert pieces_of(texts[-1]) is None

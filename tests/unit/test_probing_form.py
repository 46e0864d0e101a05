"""The written form of closed questions: exact in both directions, and never taken for more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.probing_form import (
    ABSTENTION,
    QUESTION_MARK,
    chosen,
    letter_of,
    one_line,
    read_written,
    written,
)

OPTIONS = ("8080", "80", "a port: 443", ABSTENTION)


@given(
    text=st.text(max_size=60),
    options=st.lists(st.text(max_size=30), min_size=1, max_size=26),
)
def test_what_was_written_is_read_back(text: str, options: list[str]) -> None:
    found = read_written(written(text, options))
    assert found is not None
    assert found.text == one_line(text)
    assert found.options == tuple(map(one_line, options))


@pytest.mark.parametrize("count", [0, 27])
def test_a_question_has_as_many_options_as_there_are_letters(count: int) -> None:
    with pytest.raises(ValueError, match="expected 1 to 26"):
        written("which?", ["x"] * count)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Summarise the conversation above.",
        QUESTION_MARK,
        f"{QUESTION_MARK}\nAnswer at once.\nQuestion: which?\nA) x",
        written("which?", OPTIONS) + "\nand summarise it",
        written("which?", OPTIONS).replace("B)", "C)"),
        "please:\n" + written("which?", OPTIONS),
    ],
)
def test_nothing_else_is_taken_for_a_question(message: str) -> None:
    assert read_written(message) is None


def test_a_hostile_option_opens_no_line_of_its_own() -> None:
    found = read_written(written("which?\nA) this", ["x\nB) y", "z"]))
    assert found is not None
    assert (found.text, found.options) == ("which? A) this", ("x B) y", "z"))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("B", 1),
        ("b", 1),
        (" B. ", 1),
        ("**B**", 1),
        ("B) 80", 1),
        ("(B)", 1),
        ("The answer is B", 1),
        ("Answer: B", 1),
        ("80", 1),
        ("It is 8080, I think.", 0),
        ("The conversation doesn't say", 3),
        ("A value of 3", None),
        ("", None),
        ("Z", None),
        ("Answer: A. No, answer: B", None),
        ("I can't tell", None),
    ],
)
def test_what_a_reply_chooses(reply: str, expected: int | None) -> None:
    assert chosen(reply, OPTIONS) == expected


def test_every_letter_chooses_its_option() -> None:
    options = [f"value {number}" for number in range(26)]
    assert [chosen(letter_of(place), options) for place in range(26)] == list(range(26))

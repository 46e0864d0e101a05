"""Judgement: the written form of a closed question, and of its answer.

The form is fixed, so that a stand-in tells a question from a request for a summary by its first
line and never has to guess, and so that an answer is graded without a model. One question a prompt.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from bench.matching import contains, normalise

QUESTION_MARK = "[Closed question about the conversation above]"
ABSTENTION = "The conversation doesn't say."
OPTIONS_MAX = len(string.ascii_uppercase)

_INSTRUCTION = (
    "Answer from the conversation alone, and choose what holds now. "
    "Reply with the one letter of the right option, nothing else."
)
_OPTION = re.compile(r"([A-Z])\) (.*)")
_LETTER_NAMED = re.compile(r"\b(?i:answer|option)(?: is)?\W{0,4}([A-Z])\b")


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A closed question as it was read: its text and its options in the order shown."""

    text: str
    options: tuple[str, ...]


def one_line(text: str) -> str:
    """The text without line breaks or other runs of white space."""
    return " ".join(text.split())


def written(text: str, options: Sequence[str]) -> str:
    """A closed question as the last message of a request.

    Raises ValueError without options, or with more than there are letters.
    """
    if not 0 < len(options) <= OPTIONS_MAX:
        raise ValueError(f"{len(options)} options, expected 1 to {OPTIONS_MAX}")
    lines = [QUESTION_MARK, _INSTRUCTION, f"Question: {one_line(text)}"]
    lines += [
        f"{letter}) {one_line(option)}"
        for letter, option in zip(string.ascii_uppercase, options, strict=False)
    ]
    return "\n".join(lines)


def read_written(message: str) -> WrittenQuestion | None:
    """The inverse of `written`; None for any text that isn't in exactly this form."""
    lines = message.split("\n")
    if lines[:2] != [QUESTION_MARK, _INSTRUCTION] or len(lines) < 4:
        return None
    _, is_question, text = lines[2].partition("Question: ")
    matches = [_OPTION.fullmatch(line) for line in lines[3:]]
    letters = [match[1] for match in matches if match is not None]
    if not is_question or "".join(letters) != string.ascii_uppercase[: len(matches)]:
        return None
    return WrittenQuestion(text, tuple(match[2] for match in matches if match is not None))


def letter_of(position: int) -> str:
    """The letter by which the option at this position is chosen."""
    return string.ascii_uppercase[position]


def chosen(reply: str, options: Sequence[str]) -> int | None:
    """The position of the option that a reply chooses; None when it chooses none, or several.

    A letter at its beginning counts, else a letter that it names as its answer, else an option that
    it quotes, if it is the only one.
    """
    letters = string.ascii_uppercase[: len(options)]
    text = reply.strip()
    # "A value of 3" begins with no answer: a letter that a word follows must be set off.
    match = re.fullmatch(r"\W*([A-Za-z])\W*", text) or re.match(r"\W*([A-Z])[).:,]", text)
    if match is None:
        named = {found.upper() for found in _LETTER_NAMED.findall(text)}
        if named:
            letter = named.pop()
            return letters.index(letter) if letter in letters and not named else None
    if match is not None:
        letter = match[1].upper()
        return letters.index(letter) if letter in letters else None
    keys = [normalise(option).lower().rstrip(".") for option in options]
    found = [i for i, key in enumerate(keys) if contains(normalise(text), key, "text")]
    # An option that is part of a longer one quoted isn't meant.
    found = [i for i in found if not any(i != j and keys[i] in keys[j] for j in found)]
    return found[0] if len(found) == 1 else None

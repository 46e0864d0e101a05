"""Judgement: layer *bound*, does a value stand beside what it is the value of?

"30 s" in a summary says little when nothing near it says of what. Beside means in the same text, at
most so many characters away; a subject is there when most of its own words are (scoring.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bench.matching import CASE_SENSITIVE_KINDS, find, normalise
from bench.observations import RequestObservation
from bench.scoring_visibility import HeadView, Visibility, in_tail
from bench.session_index import Needle

BESIDE_CHARACTERS = 160
SUBJECT_SHARE_MIN = 0.5

_WORD = re.compile(r"[^\W_\u3400-\u9fff]+|[\u3400-\u9fff]")
# Words that bind nothing, and what every subject may be called.
_EMPTY = "a an and at by for from in of on the to with 的 了 在 和 与"
_EMPTY_WORDS = frozenset(_EMPTY.split())


def subject_words(subject: str) -> frozenset[str]:
    """The words by which a subject is known again; empty for one that has none."""
    return frozenset(_WORD.findall(normalise(subject).lower())) - _EMPTY_WORDS


def stands_beside(
    visibility: Visibility, seen: RequestObservation, needles: Sequence[Needle], subject: str
) -> bool:
    """Whether a request showed one of the needles beside the subject."""
    wanted = subject_words(subject)
    if not wanted:
        return False
    texts = list(_texts(visibility, seen, needles))
    return any(_is_beside(text, needle, wanted) for needle in needles for text in texts)


def _texts(
    visibility: Visibility, seen: RequestObservation, needles: Sequence[Needle]
) -> Iterable[str]:
    """What could hold the needles: written and cut texts, and the events that are shown whole."""
    head = visibility.head(seen)
    yield from head.normalised_texts
    for seq in _shown(visibility, seen, head, needles):
        yield visibility.index.texts[seq - 1]


def _shown(
    visibility: Visibility, seen: RequestObservation, head: HeadView, needles: Sequence[Needle]
) -> set[int]:
    return {
        seq
        for needle in needles
        for seq in visibility.index.occurrences(needle)
        if in_tail(seen, (seq,)) or head.keeps_any((seq,))
    }


def _is_beside(text: str, needle: Needle, wanted: frozenset[str]) -> bool:
    lower = text.lower()
    searched = text if needle.kind in CASE_SENSITIVE_KINDS else lower
    position = find(searched, needle.key, needle.kind)
    while position >= 0:
        start = max(0, position - BESIDE_CHARACTERS)
        around = lower[start : position + len(needle.key) + BESIDE_CHARACTERS]
        near = wanted.intersection(_WORD.findall(around))
        if len(near) >= SUBJECT_SHARE_MIN * len(wanted):
            return True
        position = find(searched, needle.key, needle.kind, position + 1)
    return False

"""Edges: BM25 over the lines of a request, for the reader that has no language model.

Every question sees another request, but nearly all of its texts were in the one before. So each
text is cut and counted once, and a request only adds up what its texts know; a library that builds
an index over all lines took 75 ms for each of the thousands of requests of a run (bm25s 0.3 on
4,400 lines), this takes 2. Formula: Robertson and Zaragoza 2009, with Lucene's idf.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

K1 = 1.2
B = 0.6
PASSAGE_CHARACTERS_MAX = 160

_TERM = re.compile(r"[a-z]+|\d+|[\u3400-\u9fff]+")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=\S)|(?<=[。！？；])")
# Words of questions that say nothing about what is asked for.
_STOPPED_WORDS = (
    "a an and are as at be been by called did do does done for from had has have how in is it its "
    "must now of on one or should that the their they this to used was were what when where which "
    "who will with stands gap line 的 了 是 在 有 什么 多少 哪个 哪天 怎么 现在 用"
)
_STOPPED = frozenset(_STOPPED_WORDS.split())


@dataclass(frozen=True, slots=True)
class Passage:
    """A line, or a part of a long one, and how well it answers a query.

    `order` is its place in the request, `score` BM25, `coverage` the part of the query's weight
    (idf) that it holds, from 0 to 1.
    """

    text: str
    order: int
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class _Counted:
    """A text cut into passages; `postings` tells for each term where it stands and how often."""

    passages: tuple[str, ...]
    lengths: tuple[int, ...]
    length: int
    postings: dict[str, tuple[tuple[int, int], ...]]


def terms(text: str) -> list[str]:
    """The terms of a text: words in lower case without their plural, digits, pairs of Han."""
    found: list[str] = []
    for term in _TERM.findall(text.lower()):
        if term[0] >= "\u3400":
            found += [term[i : i + 2] for i in range(len(term) - 1)] or [term]
        elif len(term) > 3 and term.endswith("s") and not term.endswith("ss"):
            found.append(term[:-1])
        else:
            found.append(term)
    return found


def content_terms(text: str) -> list[str]:
    """The distinct terms of a question or an option that say something of their own."""
    return [term for term in dict.fromkeys(terms(text)) if term not in _STOPPED]


def passages_of(text: str) -> list[str]:
    """The lines of a text, long ones cut at the ends of sentences."""
    found: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        if len(line) <= PASSAGE_CHARACTERS_MAX:
            if line:
                found.append(line)
        else:
            found += [part for part in _SENTENCE_END.split(line) if part.strip()]
    return found


def retrieve(texts: Iterable[str], wanted: Sequence[str], passages_max: int) -> list[Passage]:
    """The passages that fit the query terms best, best first; later ones first among equals.

    A passage that is said many times, as in a log, comes once, at its last place.
    """
    counted = [_count(text) for text in texts if text]
    total = sum(len(one.passages) for one in counted)
    if not total or not wanted:
        return []
    average = sum(one.length for one in counted) / total or 1.0
    scores: dict[tuple[int, int], float] = {}
    covered: dict[tuple[int, int], float] = {}
    weights = 0.0
    for term in wanted:
        held = [(i, one.postings[term]) for i, one in enumerate(counted) if term in one.postings]
        frequency = sum(len(places) for _, places in held)
        weight = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
        weights += weight
        for i, places in held:
            lengths = counted[i].lengths
            for position, times in places:
                norm = K1 * (1 - B + B * lengths[position] / average)
                place = (i, position)
                gained = weight * times * (K1 + 1) / (times + norm)
                scores[place] = scores.get(place, 0.0) + gained
                covered[place] = covered.get(place, 0.0) + weight
    starts = [0]
    for one in counted:
        starts.append(starts[-1] + len(one.passages))
    best: dict[str, Passage] = {}
    for i, j in sorted(scores, key=lambda place: (scores[place], place), reverse=True):
        text = counted[i].passages[j]
        if text not in best:
            best[text] = Passage(text, starts[i] + j, scores[i, j], covered[i, j] / weights)
        if len(best) == passages_max:
            break
    return list(best.values())


@lru_cache(maxsize=8_192)
def _count(text: str) -> _Counted:
    passages = tuple(passages_of(text))
    lengths: list[int] = []
    postings: dict[str, list[tuple[int, int]]] = {}
    for position, passage in enumerate(passages):
        found = terms(passage)
        lengths.append(len(found))
        times: dict[str, int] = {}
        for term in found:
            times[term] = times.get(term, 0) + 1
        for term, number in times.items():
            postings.setdefault(term, []).append((position, number))
    return _Counted(
        passages,
        tuple(lengths),
        sum(lengths),
        {term: tuple(places) for term, places in postings.items()},
    )

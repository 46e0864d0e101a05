"""Edges: the reader without a language model: it looks up the question and reads what it finds.

It retrieves the passages that share most words with the *question*, reads only those, and takes the
option that they hold; it never searches for the options. What is shown but said in other words than
the question isn't found (attention loss), and where nothing fits it says that the conversation
doesn't say. A stand-in: it shows the mechanics of reading, not what a language model recalls.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from bench.events import Message
from bench.matching import contains, normalise
from bench.probing_form import ABSTENTION, WrittenQuestion
from bench.probing_judge import UNKNOWN
from bench.readers.retrieval import Passage, content_terms, retrieve, terms
from bench.scoring_facts import PLAIN_TEXT, needle_of
from bench.session_index import Needle
from bench.visible_text import visible_text

PASSAGES_READ = 10
# Less of the question than this in a passage is no answer to it.
COVERAGE_MIN = 0.2
# Passages that fit nearly as well as the best one: the newest of them holds now.
NEARLY_AS_GOOD = 0.7
# A phrase in other order is still the same one, when it has words enough.
_PHRASE_TERMS_MIN = 3
_DENYING_TERMS = frozenset(terms("not never no without 不 不要 不得 别 勿"))
CORRECTING_TERMS = frozenset(
    terms(
        "instead changed change longer forget earlier mistake wrong correction corrected updated "
        "anymore mind again 改为 改成 更正 不再 之前 先前 换成 作废 重新"
    )
)


def read_answer(messages: Sequence[Message], question: WrittenQuestion) -> int:
    """The position of the option that the messages speak for."""
    wanted = content_terms(question.text)
    texts = [_visible(message) for message in messages]
    passages = retrieve(texts, wanted, PASSAGES_READ)
    found: list[tuple[Passage, int]] = []
    for passage in passages:
        option = _option_in(passage.text, question.options, wanted)
        if option is not None and passage.coverage >= COVERAGE_MIN:
            found.append((passage, option))
    if not found:
        return _abstention(question.options)
    best = max(passage.coverage for passage, _ in found)
    good = [one for one in found if one[0].coverage >= NEARLY_AS_GOOD * best]
    newest, option = max(good, key=lambda one: one[0].order)
    corrected = _correction(texts, wanted, question.options, newest.order)
    return option if corrected is None else corrected


def quote_answer(messages: Sequence[Message], question: str) -> str:
    """The passage that fits an open question best, or that it is unknown."""
    texts = [_visible(message) for message in messages]
    for passage in retrieve(texts, content_terms(question), 1):
        if passage.coverage >= COVERAGE_MIN:
            return passage.text
    return UNKNOWN


def states(answer: str, decided: str) -> bool:
    """Whether an answer holds everything that was decided, and denies it only where that does."""
    said = terms(answer)
    wanted = content_terms(decided)
    is_same_sense = _is_denied(said) == _is_denied(terms(decided))
    return bool(wanted) and set(said).issuperset(wanted) and is_same_sense


def _is_denied(said: Sequence[str]) -> bool:
    return not _DENYING_TERMS.isdisjoint(said)


def _correction(
    texts: Sequence[str], wanted: Sequence[str], options: Sequence[str], after: int
) -> int | None:
    """The option that a later passage about the same thing puts in place of what was said."""
    widened = [*wanted, *CORRECTING_TERMS]
    newest: tuple[int, int] | None = None
    for passage in retrieve(texts, widened, PASSAGES_READ):
        said = set(terms(passage.text))
        if passage.order > after and said & CORRECTING_TERMS and said.intersection(wanted):
            option = _option_in(passage.text, options, wanted)
            if option is not None and (newest is None or passage.order > newest[0]):
                newest = passage.order, option
    return newest[1] if newest else None


def _abstention(options: Sequence[str]) -> int:
    return options.index(ABSTENTION) if ABSTENTION in options else len(options) - 1


def _option_in(passage: str, options: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The option that a passage holds, of several the one nearest to the words of the question.

    One that is part of another one doesn't count beside it. None when the passage holds none.
    """
    text = _normalised(passage)
    held = [i for i, option in enumerate(options) if option != ABSTENTION and _holds(text, option)]
    if len(held) > 1:
        keys = {i: _parts_of(options[i])[0].key.lower() for i in held}
        held = [i for i in held if not any(i != j and keys[i] in keys[j] for j in held)]
    if len(held) <= 1:
        return held[0] if held else None
    lower = text.lower()
    return min(held, key=lambda i: (_distance(lower, options[i], wanted), -len(options[i]), i))


def _distance(text: str, option: str, wanted: Sequence[str]) -> int:
    """Characters from an option to the nearest place of each word of the question, summed."""
    key = _parts_of(option)[0].key.lower()
    start = max(0, text.find(key))
    total = 0
    for term in wanted:
        before, after = text.rfind(term, 0, start), text.find(term, start + len(key))
        near = [start - before] if before >= 0 else []
        near += [after - start - len(key)] if after >= 0 else []
        total += min(near, default=0)
    return total


def _holds(text: str, option: str) -> bool:
    needle, parts = _parts_of(option)
    if contains(text, needle.key, needle.kind):
        return True
    is_phrase = needle.kind == PLAIN_TEXT and len(parts) >= _PHRASE_TERMS_MIN
    return is_phrase and set(terms(text)).issuperset(parts)


# Consecutive questions see nearly the same request and have options in common.
@lru_cache(maxsize=8_192)
def _normalised(passage: str) -> str:
    return normalise(passage)


@lru_cache(maxsize=1_024)
def _parts_of(option: str) -> tuple[Needle, tuple[str, ...]]:
    return needle_of(option), tuple(content_terms(option))


def _visible(message: Message) -> str:
    return _visible_calls(message) if message.calls else message.text


@lru_cache(maxsize=4_096)
def _visible_calls(message: Message) -> str:
    return visible_text(message)

"""Judgement: planted and authored facts at the request where their probe stands.

Layer *present*: the value or an alias is shown. Layer *bound*: beside its subject. Layer *current*:
for a fact with earlier values, and for a negation, what is shown of the right and of the wrong. A
rule whose *not* was lost is contradicted, which is worse than missing (scoring.md, "Layers").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.entities import kind_of
from bench.facts import Fact
from bench.matching import find, key_of, normalise
from bench.observations import RequestObservation
from bench.scoring_bound import stands_beside, subject_words
from bench.scoring_visibility import HeadView, Visibility, in_tail
from bench.session_index import Needle, SessionIndex
from bench.visible_text import visible_text

Currency = Literal["current_only", "both", "stale_only", "neither", "contradicted"]
PLAIN_TEXT = "text"

_NEGATING = re.compile(
    r"\b(?:not|never|no|nor|neither|without|avoid|avoids|refrain|forbid|forbids|forbidden|prohibit|"
    r"prohibits|prohibited|disallow|disallowed|cannot)\b|n['’]t\b"
    r"|[勿禁莫没]|不(?![仅但久断])|(?<![特区级类性个])别|未(?!来)|无(?!论)"
)
_NEGATED_AFTERWARDS = re.compile(
    r"\b(?:not allowed|not permitted|forbidden|prohibited|disallowed|never|off[- ]limits|"
    r"(?:is|are|must|should|may|can|do|does) ?(?:not|n['’]t))\b|禁止|不允许|不可以|不能|不行"
)
_SENTENCE_END = re.compile(r"[.!?;]\s|[。！？；!?;]\s?|\s[-–—]\s")
_LEADING_NEGATION = re.compile(
    r"(?:please )?(?:do not|don['’]t|does not|never|must not|mustn['’]t|should not|shouldn['’]t|"
    r"may not|cannot|can ?not|can['’]t|no|not|avoid) |(?:请)?(?:不要|不能|不得|不可以|不可|不应该?|"
    r"禁止|切勿|请勿|绝不能?|严禁|勿|别)"
)
_REACH_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class FactOutcome:
    """What one request showed of one fact; None where opaque state hides the answer.

    `at_seq` is the recorded event that the request was for, `is_served` False when the replay
    stopped before it. `currency` is None for facts that have no wrong form. `is_told` says whether
    the full history before that request holds the fact: if not, no strategy could show it.
    `is_bound` says whether the value stood beside its subject, None for a fact that names none.
    """

    fact: str
    kind: str
    at_seq: int | None
    is_served: bool
    is_told: bool
    is_present: bool | None
    currency: Currency | None
    must_keep: bool = False
    is_bound: bool | None = None

    @property
    def is_retained(self) -> bool | None:
        """Current for updates and negations, present for the others."""
        if self.currency is None:
            return self.is_present
        return self.currency in ("current_only", "both")


@dataclass(frozen=True, slots=True)
class FactNeedles:
    """A fact ready to be looked up. `cores` are what a negation forbids, without its *not*."""

    fact: Fact
    current: tuple[Needle, ...]
    stale: tuple[Needle, ...]
    cores: tuple[Needle, ...]


def needle_of(value: str) -> Needle:
    """The needle of any value: a typed entity compares as one, everything else as text."""
    kind = kind_of(value) or PLAIN_TEXT
    return Needle(kind, key_of(value, kind))


def prepare_facts(index: SessionIndex, facts: Iterable[Fact]) -> tuple[FactNeedles, ...]:
    """All facts of a session with their values located in one pass."""
    prepared = tuple(_prepare(fact) for fact in facts)
    index.locate(
        needle
        for needles in prepared
        for needle in (*needles.current, *needles.stale, *needles.cores)
    )
    return prepared


def _prepare(fact: Fact) -> FactNeedles:
    current = tuple(needle_of(value) for value in (fact.value, *fact.aliases) if value.strip())
    stale = tuple(needle_of(value) for value in fact.stale if value.strip())
    if fact.kind != "negation":
        return FactNeedles(fact, current, stale, ())
    cores = stale or tuple(
        Needle(PLAIN_TEXT, core)
        for core in dict.fromkeys(positive_form(needle.key) for needle in current)
        if core is not None
    )
    return FactNeedles(fact, current, (), cores)


def positive_form(rule: str) -> str | None:
    """What a rule forbids: the words after its *not*; None when it doesn't begin with one."""
    match = _LEADING_NEGATION.match(rule)
    return rule[match.end() :].strip() or None if match else None


def probed_seq(index: SessionIndex, fact: Fact) -> int | None:
    """The recorded answer to the request where the fact is asked for; None without requests."""
    seqs = index.request_seqs
    if not seqs:
        return None
    if fact.probe.at_seq is None:
        return seqs[-1]
    return seqs[max(0, bisect_right(seqs, fact.probe.at_seq) - 1)]


def judge_fact(visibility: Visibility, needles: FactNeedles) -> FactOutcome:
    """What the probed request of a replay showed of a fact."""
    index, fact = visibility.index, needles.fact
    at_seq = probed_seq(index, fact)
    seen = visibility.request_at(at_seq) if at_seq is not None else None
    has_wrong_form = bool(needles.stale or needles.cores)
    is_present: bool | None = False
    is_bound: bool | None = False if subject_words(fact.subject) else None
    currency: Currency | None = "neither" if has_wrong_form else None
    if seen is not None:
        is_present = visibility.shows_any(seen, needles.current)
        if needles.cores:
            is_present, currency = _negation(visibility, seen, needles, is_present)
        elif needles.stale:
            currency = _currency(is_present, visibility.shows_any(seen, needles.stale))
        if is_bound is not None:
            # A rule in other words is still its own subject.
            spelled = needles.current + needles.cores
            is_bound = is_present and stands_beside(visibility, seen, spelled, fact.subject)
    is_told = at_seq is not None and any(
        index.is_within(needle, 1, at_seq - 1) for needle in needles.current
    )
    return FactOutcome(
        fact=fact.id,
        kind=fact.kind,
        at_seq=at_seq,
        is_served=seen is not None,
        is_told=is_told,
        is_present=is_present,
        currency=currency if is_present is not None else None,
        must_keep=fact.must_keep,
        is_bound=is_bound,
    )


def _currency(has_current: bool | None, has_stale: bool | None) -> Currency:
    if has_current:
        return "both" if has_stale else "current_only"
    return "stale_only" if has_stale else "neither"


def _negation(
    visibility: Visibility,
    seen: RequestObservation,
    needles: FactNeedles,
    is_present: bool | None,
) -> tuple[bool | None, Currency]:
    """Whether the rule stands, and what is shown of it: with its *not*, without, or both."""
    head = visibility.head(seen)
    negated, bare = _in_lines(head.lines, needles.cores)
    for seq in _shown_seqs(visibility.index, seen, head, needles.cores):
        if negated and bare:
            break
        message = visibility.index.session.events[seq - 1].message
        lines = [normalise(line) for line in visible_text(message).splitlines()]
        in_event = _in_lines(lines, needles.cores)
        negated, bare = negated or in_event[0], bare or in_event[1]
    stands = negated or is_present
    if stands:
        return True, "both" if bare else "current_only"
    return stands, "contradicted" if bare else "neither"


def _shown_seqs(
    index: SessionIndex, seen: RequestObservation, head: HeadView, needles: Sequence[Needle]
) -> list[int]:
    seqs = {seq for needle in needles for seq in index.occurrences(needle)}
    return sorted(seq for seq in seqs if in_tail(seen, (seq,)) or head.keeps_any((seq,)))


def _in_lines(lines: Iterable[str], cores: Sequence[Needle]) -> tuple[bool, bool]:
    """Whether some line forbids one of these, and whether some line merely says it."""
    negated = bare = False
    for line in lines:
        lower = line.lower()
        for core in cores:
            position = find(lower, core.key.lower(), core.kind)
            while position >= 0:
                if _is_negated(lower, position, position + len(core.key)):
                    negated = True
                else:
                    bare = True
                position = find(lower, core.key.lower(), core.kind, position + 1)
    return negated, bare


def _is_negated(line: str, start: int, stop: int) -> bool:
    before = line[max(0, start - _REACH_CHARACTERS) : start]
    ends = [*_SENTENCE_END.finditer(before)]
    if _NEGATING.search(before[ends[-1].end() :] if ends else before):
        return True
    after = line[stop : stop + _REACH_CHARACTERS]
    end = _SENTENCE_END.search(after)
    return bool(_NEGATED_AFTERWARDS.search(after[: end.start()] if end else after))

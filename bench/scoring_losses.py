"""Judgement: the worst losses of a replay, each with the lines that let a person judge it.

A lost rule is an incident, a lost file body is a re-read: what was said once goes first, then what
had not been mentioned for longest (scoring.md, "Facts").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bench.facts import Fact, Severity, Use
from bench.matching import contains, normalise
from bench.scoring_facts import FactOutcome, needle_of
from bench.scoring_visibility import Visibility
from bench.session_index import Needle, SessionIndex, ascii_words
from bench.visible_text import visible_text

LOSSES_MAX = 20
EXCERPT_LENGTH_MAX = 200

_TERM = re.compile(r"[a-z0-9_]{3,}|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that wasn't shown when it was needed.

    `origin` is "planted" or "found"; `id` is the fact's, or the entity's key. `age_tokens` counts
    from the last mention to the first request for event `needed_at_seq` that missed it, `times`
    the requests that did. `source_line` is the line of event `source_seq` that says it,
    `summary_line` the nearest line of what was written instead, None where nothing was.
    """

    origin: str
    id: str
    kind: str
    text: str
    severity: Severity
    must_keep: bool
    age_tokens: int
    times: int
    source_seq: int
    source_line: str
    summary_line: str | None
    needed_at_seq: int


def worst_losses(
    visibility: Visibility,
    facts: Sequence[Fact],
    outcomes: Sequence[FactOutcome],
    uses: Sequence[Use],
    visible: Sequence[bool | None],
    *,
    losses_max: int = LOSSES_MAX,
) -> tuple[Loss, ...]:
    """The worst losses first: `must_keep`, then said once, then by age.

    Facts that the history didn't hold at the probe are no losses of the strategy.
    """
    losses = [*_lost_facts(visibility, facts, outcomes), *_lost_uses(uses, visible)]
    losses.sort(key=lambda lost: lost.rank)
    return tuple(_described(visibility, lost) for lost in losses[:losses_max])


@dataclass(frozen=True, slots=True)
class _Lost:
    origin: str
    id: str
    kind: str
    text: str
    needle: Needle
    severity: Severity
    must_keep: bool
    age_tokens: int
    times: int
    source_seq: int
    needed_at_seq: int

    @property
    def rank(self) -> tuple[bool, bool, int, int, str]:
        is_re_readable = self.severity != "said_once"
        return not self.must_keep, is_re_readable, -self.age_tokens, self.needed_at_seq, self.id


def _lost_uses(uses: Sequence[Use], visible: Sequence[bool | None]) -> Iterator[_Lost]:
    first: dict[Needle, Use] = {}
    times: dict[Needle, int] = {}
    for use, was_there in zip(uses, visible, strict=True):
        if was_there is False:
            needle = Needle(use.kind, use.key)
            first.setdefault(needle, use)
            times[needle] = times.get(needle, 0) + 1
    for needle, use in first.items():
        yield _Lost(
            origin="found",
            id=use.key,
            kind=use.kind,
            text=use.text,
            needle=needle,
            severity=use.severity,
            must_keep=False,
            age_tokens=use.age_tokens,
            times=times[needle],
            source_seq=use.first_seq,
            needed_at_seq=use.at_seq,
        )


def _lost_facts(
    visibility: Visibility, facts: Sequence[Fact], outcomes: Sequence[FactOutcome]
) -> Iterator[_Lost]:
    index = visibility.index
    for fact, outcome in zip(facts, outcomes, strict=True):
        if outcome.is_retained is not False or not outcome.is_told or outcome.at_seq is None:
            continue
        needles = [needle_of(value) for value in (fact.value, *fact.aliases) if value.strip()]
        mentioned = {
            seq: needle
            for needle in needles
            if (seq := index.last_before(needle, outcome.at_seq)) is not None
        }
        last_seq = max(mentioned)
        source_seq = fact.source_seqs[-1] if fact.source_seqs else last_seq
        events = index.session.events
        told_by = {events[seq - 1].message.role for seq in fact.source_seqs if seq <= len(events)}
        yield _Lost(
            origin="planted",
            id=fact.id,
            kind=fact.kind,
            text=fact.value,
            needle=mentioned[last_seq],
            severity="re_readable" if told_by == {"tool"} else "said_once",
            must_keep=fact.must_keep,
            age_tokens=index.age_tokens(last_seq, outcome.at_seq),
            times=1,
            source_seq=source_seq if source_seq <= len(events) else last_seq,
            needed_at_seq=outcome.at_seq,
        )


def _described(visibility: Visibility, lost: _Lost) -> Loss:
    index, source_seq = visibility.index, lost.source_seq
    if lost.origin == "found" and lost.severity == "said_once":
        source_seq = index.first_said(lost.needle) or source_seq
    source_line = source_line_of(index, lost.needle, source_seq)
    return Loss(
        origin=lost.origin,
        id=lost.id,
        kind=lost.kind,
        text=lost.text,
        severity=lost.severity,
        must_keep=lost.must_keep,
        age_tokens=lost.age_tokens,
        times=lost.times,
        source_seq=source_seq,
        source_line=source_line,
        summary_line=_summary_line(visibility, lost.needed_at_seq, f"{source_line}\n{lost.text}"),
        needed_at_seq=lost.needed_at_seq,
    )


def source_line_of(index: SessionIndex, needle: Needle, seq: int) -> str:
    """An excerpt of the line of event `seq` that holds the needle, else of its first line."""
    lines = visible_text(index.session.events[seq - 1].message).splitlines()
    # A long word, which no normalisation changes, rules most lines out before they are normalised.
    words = [word for word in ascii_words(needle.key.lower()) if word.isalpha() and len(word) > 3]
    word = max(words, key=len, default="")
    for line in lines:
        if word in line.lower() and contains(normalise(line), needle.key, needle.kind):
            return _excerpt(line, needle.key)
    return _excerpt(next((line for line in lines if line.strip()), ""), needle.key)


def _excerpt(line: str, key: str) -> str:
    line = line.strip()
    if len(line) <= EXCERPT_LENGTH_MAX:
        return line
    position = max(0, line.lower().find(key.lower()))
    start = max(0, min(position - EXCERPT_LENGTH_MAX // 3, len(line) - EXCERPT_LENGTH_MAX))
    stop = start + EXCERPT_LENGTH_MAX
    before, after = "…" if start else "", "…" if stop < len(line) else ""
    return f"{before}{line[start:stop]}{after}"


def _summary_line(visibility: Visibility, at_seq: int, source: str) -> str | None:
    """The line of what was written for a request that shares most terms with the source."""
    seen = visibility.request_at(at_seq)
    if seen is None:
        return None
    wanted = _terms(source)
    best, best_score = None, 0.0
    for item in visibility.head(seen).written:
        for line in item.message.text.splitlines():
            terms = _terms(line)
            # Long lines share words by chance, so what they share is set against their length.
            score = len(terms & wanted) / (8 + len(terms))
            if score > best_score:
                best, best_score = line, score
    return None if best is None else _excerpt(best, "")


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(_TERM.findall(text.lower()))

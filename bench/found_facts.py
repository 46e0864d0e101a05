"""Judgement: facts that any recording holds without labels, found by what its agent used later.

At every recorded request, the typed entities that the agent's own next message uses and that an
earlier event introduced (scoring.md, "Found"). What stands in the system prompt, in the tool
definitions or in the newest request (and the group that it can't be split from) doesn't count:
every strategy shows those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.entities import extract
from bench.facts import Severity, Use
from bench.session_index import Needle, SessionIndex
from bench.visible_text import used_text

# The headline counts only uses older than this, since every strategy keeps the newest events.
HEADLINE_AGE_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class AgeBand:
    """Ages from `tokens_min` up to, not including, `tokens_max` (None: without end)."""

    name: str
    tokens_min: int
    tokens_max: int | None


AGE_BANDS: tuple[AgeBand, ...] = (
    AgeBand("0-2k", 0, 2_000),
    AgeBand("2-10k", 2_000, 10_000),
    AgeBand("10-40k", 10_000, 40_000),
    AgeBand("40k+", 40_000, None),
)


def age_band(age_tokens: int) -> str:
    """The name of the band that holds an age in tokens."""
    for band in reversed(AGE_BANDS):
        if age_tokens >= band.tokens_min:
            return band.name
    raise ValueError(f"age_tokens is {age_tokens}, expected 0 or more")


def is_headline(use: Use) -> bool:
    """Whether a use is old enough to say something about a strategy."""
    return use.age_tokens >= HEADLINE_AGE_TOKENS


def find_uses(index: SessionIndex) -> tuple[Use, ...]:
    """All uses of a session, by request and in the order of the message that uses them."""
    used = [_used_entities(index, seq) for seq in index.request_seqs]
    index.locate(needle for entities in used for needle in entities)
    return tuple(
        use
        for request, (seq, entities) in enumerate(zip(index.request_seqs, used, strict=True))
        for use in _uses_at(index, request, seq, entities)
    )


def _used_entities(index: SessionIndex, seq: int) -> dict[Needle, str]:
    message = index.session.events[seq - 1].message
    entities = extract(used_text(message), stopped=index.tool_words)
    used: dict[Needle, str] = {}
    for entity in entities:
        used.setdefault(Needle(entity.kind, entity.key), entity.text)
    return used


def _uses_at(
    index: SessionIndex,
    request: int,
    seq: int,
    entities: dict[Needle, str],
) -> Iterator[Use]:
    always_shown = index.always_shown(seq)
    boundaries = index.session.recorded_compactions
    is_after_boundary = any(boundary.after_seq < seq for boundary in boundaries)
    for needle, text in entities.items():
        last_seq = index.last_before(needle, seq)
        if last_seq is None or index.is_within(needle, 1, index.leading_system):
            continue
        if index.tool_definitions.holds(needle):
            continue
        if always_shown is not None and index.is_within(needle, *always_shown):
            continue
        said_seq = index.first_said(needle)
        # A tool can be run again, and what an agent passed to one stands in its result or a file.
        is_said = said_seq is not None and said_seq < seq
        severity: Severity = "said_once" if is_said else "re_readable"
        yield Use(
            request=request,
            at_seq=seq,
            kind=needle.kind,
            text=text,
            key=needle.key,
            first_seq=index.occurrences(needle)[0],
            last_seq=last_seq,
            age_tokens=index.age_tokens(last_seq, seq),
            severity=severity,
            after_recorded_compaction=is_after_boundary,
        )

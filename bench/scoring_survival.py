"""Judgement: what survives a compaction over horizons of steps, by generation and kind.

From each accepted compaction the entities are followed that the agent used again within a horizon,
before any later event brought them back (scoring.md, "Found").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bench.facts import Use
from bench.observations import RequestObservation
from bench.scoring_visibility import Visibility
from bench.session_index import Needle

HORIZONS_STEPS = (5, 20, 100)
# A strategy that compacts at every request has thousands of generations, which no curve can show.
GENERATIONS_MAX = 50


@dataclass(frozen=True, slots=True)
class Survival:
    """Of `at_risk` entities of one kind, how many `survived` the compactions of one generation.

    `generation` counts the accepted compactions of a replay from 1. `horizon_steps` is how many
    steps after the compaction a first use may come. `unreadable` of those at risk may or may not
    have survived in opaque state.
    """

    generation: int
    horizon_steps: int
    kind: str
    at_risk: int
    survived: int
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class FollowedEntity:
    """An entity that was in use before a compaction and needed `steps` steps after it (from 1)."""

    generation: int
    compacted_at_seq: int
    use: Use
    steps: int
    survived: bool | None


def follow(
    visibility: Visibility,
    uses: Sequence[Use],
    horizon_steps: int = HORIZONS_STEPS[-1],
) -> tuple[FollowedEntity, ...]:
    """All entities at risk at the first accepted compactions, with what became of them.

    `uses` are in the order of `find_uses`. Several compactions for one request each count as a
    generation, but what they left is looked at once, in the projection that was sent; only where
    the same span was summarised again is each looked at, in what it left itself. Later generations
    than `GENERATIONS_MAX` aren't followed.
    """
    starts = [use.request for use in uses]
    followed: list[FollowedEntity] = []
    for generation, seen in _generations(visibility):
        at_seq = seen.at_seq
        request = bisect_left(visibility.index.request_seqs, at_seq)
        first = bisect_left(starts, request)
        last = bisect_left(starts, request + horizon_steps)
        for use in uses[first:last]:
            # Nothing between the compaction and this use mentioned it: it is the first need.
            if use.last_seq < at_seq:
                survived = visibility.shows(seen, Needle(use.kind, use.key))
                steps = use.request - request + 1
                followed.append(FollowedEntity(generation, at_seq, use, steps, survived))
    return tuple(followed)


def _generations(visibility: Visibility) -> list[tuple[int, RequestObservation]]:
    """The number of each generation from 1, and what it showed at the request it was made for."""
    accepted = [one for one in visibility.replay.compactions if one.outcome == "accepted"]
    repeated = {one.at_seq for one in accepted if one.repetition}
    found: dict[tuple[int, int], tuple[int, RequestObservation]] = {}
    number = 0
    for one in accepted:
        key = one.at_seq, one.repetition
        # In a cascade the stages of one round are one generation, so that all rounds line up.
        number += one.at_seq not in repeated or key not in found
        seen = visibility.request_at(one.at_seq)
        if seen is None or number > GENERATIONS_MAX:
            continue
        if one.at_seq in repeated:
            seen = seen._replace(head=one.head, tail_start=one.tail_start)
        # A later compaction for the same request replaces the earlier generation.
        found[key] = number, seen
    return list(found.values())


def survival(followed: Sequence[FollowedEntity]) -> tuple[Survival, ...]:
    """The followed entities as counts by generation, horizon and kind, in that order."""
    groups: dict[tuple[int, int, str], list[bool | None]] = {}
    for entity in followed:
        for horizon in HORIZONS_STEPS:
            if entity.steps <= horizon:
                key = (entity.generation, horizon, entity.use.kind)
                groups.setdefault(key, []).append(entity.survived)
    return tuple(
        Survival(
            *key,
            at_risk=len(answers),
            survived=answers.count(True),
            unreadable=answers.count(None),
        )
        for key, answers in sorted(groups.items())
    )


def survived(counts: Sequence[Survival], horizon_steps: int) -> float | None:
    """Of all entities at risk within a horizon, the share that survived their compaction.

    None where none was at risk, or some may have survived in opaque state.
    """
    own = [one for one in counts if one.horizon_steps == horizon_steps]
    at_risk = sum(one.at_risk for one in own)
    if not at_risk or any(one.unreadable for one in own):
        return None
    return sum(one.survived for one in own) / at_risk

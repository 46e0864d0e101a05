"""Judgement: picking some of many sessions, so that short and long, with and without tools, appear.

Sessions are put into strata by size (three equal parts) and by whether they use tools; each stratum
gets its share of the sample, by largest remainder. Seeded.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from bench.events import Session
from bench.tokens import count

_SIZE_CLASSES = 3


def session_tokens(session: Session) -> int:
    """The tokens of all texts and calls of a session."""
    return sum(
        count(event.message.text)
        + sum(count(call.name) + count(call.arguments) for call in event.message.calls)
        for event in session.events
    )


def sample(sessions: Sequence[Session], size: int, seed: int) -> tuple[Session, ...]:
    """`size` of the sessions (all, when there are no more), in their order."""
    if size >= len(sessions):
        return tuple(sessions)
    ranked = sorted(sessions, key=lambda one: (session_tokens(one), one.id))
    strata: dict[tuple[int, bool], list[Session]] = defaultdict(list)
    for rank, one in enumerate(ranked):
        uses_tools = any(event.message.calls for event in one.events)
        strata[rank * _SIZE_CLASSES // len(ranked), uses_tools].append(one)
    draw = random.Random(f"sample {seed}")
    chosen: set[str] = set()
    for key, wanted in _shares({k: len(v) for k, v in strata.items()}, size).items():
        chosen.update(one.id for one in draw.sample(strata[key], wanted))
    return tuple(one for one in sessions if one.id in chosen)


def _shares(sizes: dict[tuple[int, bool], int], total: int) -> dict[tuple[int, bool], int]:
    """How many of `total` each stratum gets: proportional, the largest remainders rounded up."""
    everything = sum(sizes.values())
    shares = {key: total * size // everything for key, size in sorted(sizes.items())}
    by_remainder = sorted(shares, key=lambda key: (-(total * sizes[key] % everything), key))
    for key in by_remainder[: total - sum(shares.values())]:
        shares[key] += 1
    return shares

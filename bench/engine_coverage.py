"""Judgement: what an accepted compaction took away, and what its strategy says about it."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

from bench.projection import Kept, Native, Projection, Written, same_at_start

_MADE = (Written, Native)


def diagnostics_of(projection: Projection) -> dict[str, Any]:
    """What a strategy left under "diagnostics" in its memory, for the record only (F11.4)."""
    memory = projection.memory
    if isinstance(memory, dict) and isinstance(memory.get("diagnostics"), dict):
        return dict(memory["diagnostics"])
    return {}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many items stood before and don't stand any more, and the seqs that they stood for."""

    items: int = 0
    first_seq: int = 0
    last_seq: int = 0


def coverage(before: Projection, after: Projection) -> Coverage:
    """What a compaction took away: items that are gone or changed. All zero when nothing is."""
    # Most items are the very same objects in both, or gone with all their neighbours. A head
    # often grew at its end only: what both begin with isn't gone.
    same = same_at_start(before.head, after.head)
    rest = after.head[same:]
    shown = set(map(id, rest))
    suspects = [item for item in before.head[same:] if id(item) not in shown]
    told_seqs = range(before.tail_start + 1, min(before.stop, after.tail_start) + 1)
    if not suspects and not told_seqs:
        return Coverage()
    remaining = {item.event.seq: item for item in rest if not isinstance(item, _MADE)}
    gone: list[tuple[int, int]] = []
    # What was told as it is: many, so they are counted, and only the ends are looked at.
    kept = {seq for seq, item in remaining.items() if seq in told_seqs and isinstance(item, Kept)}
    told_gone = len(told_seqs) - len(kept)
    for item in suspects:
        if isinstance(item, _MADE):
            if item not in after.head:
                gone.append(item.seqs)
        elif item.event.seq <= after.tail_start and remaining.get(item.event.seq) != item:
            gone.append(item.seqs)
    count = len(gone) + told_gone
    if not count:
        return Coverage()
    if told_gone:
        gone.append((_first_gone(told_seqs, kept), _first_gone(reversed(told_seqs), kept)))
    return Coverage(count, min(first for first, _ in gone), max(last for _, last in gone))


def _first_gone(seqs: Iterable[int], kept: Set[int]) -> int:
    return next(seq for seq in seqs if seq not in kept)


def written_count(projection: Projection) -> int:
    """How many items of the head were written by a strategy or a provider."""
    kinds = list(map(type, projection.head))
    return sum(map(kinds.count, _MADE))

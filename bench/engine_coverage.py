"""Judgement: what an accepted compaction took away, and what its strategy says about it."""

from __future__ import annotations

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
    for item in suspects:
        if isinstance(item, _MADE):
            if item not in after.head:
                gone.append(item.seqs)
        elif item.event.seq <= after.tail_start and remaining.get(item.event.seq) != item:
            gone.append(item.seqs)
    gone += [(seq, seq) for seq in told_seqs if not isinstance(remaining.get(seq), Kept)]
    if not gone:
        return Coverage()
    return Coverage(len(gone), min(first for first, _ in gone), max(last for _, last in gone))


def written_count(projection: Projection) -> int:
    """How many items of the head were written by a strategy or a provider."""
    kinds = list(map(type, projection.head))
    return sum(map(kinds.count, _MADE))

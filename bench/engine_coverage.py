"""Judgement: what an accepted compaction took away, and what its strategy says about it."""

from __future__ import annotations

from typing import Any

from bench.projection import Item, Native, Projection, Written


def diagnostics_of(projection: Projection) -> dict[str, Any]:
    """What a strategy left under "diagnostics" in its memory, for the record only (F11.4)."""
    memory = projection.memory
    if isinstance(memory, dict) and isinstance(memory.get("diagnostics"), dict):
        return dict(memory["diagnostics"])
    return {}


def covered_items(before: Projection, after: Projection) -> tuple[Item, ...]:
    """The items that stood before and don't stand any more."""
    remaining = {
        item.event.seq: item for item in after.head if not isinstance(item, Written | Native)
    }
    covered: list[Item] = []
    for item in before.items:
        if isinstance(item, Written | Native):
            if item not in after.head:
                covered.append(item)
        elif item.event.seq <= after.tail_start and remaining.get(item.event.seq) != item:
            covered.append(item)
    return tuple(covered)


def written_count(projection: Projection) -> int:
    """How many items of the head were written by a strategy or a provider."""
    return sum(isinstance(item, Written | Native) for item in projection.head)

"""Judgement: strategies whose state can't be read, and the one layer in which they are compared.

What a provider keeps in opaque state can't be looked up, only asked for. So such a strategy is out
of every comparison that stands on what was *present*, and is compared with the others only by what
a reader answered, the layer *recovered*. The two are never mixed in one mean, rank or difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bench.scoring import OPAQUE_REASON
from bench.verdict_table import OF_TEXT, RECOVERED, CellRow, mean, number, session_means
from bench.verdict_words import evidence, listed, percent, plain, points

if TYPE_CHECKING:
    from bench.verdict import Pair


def is_opaque(cell: CellRow) -> bool:
    """Whether what this cell kept could only be asked for."""
    if number(cell, "retention") is not None:
        return cell.get("retention_layer") == RECOVERED
    return str(cell.get("retention_reason") or "").startswith(OPAQUE_REASON)


def opaque_strategies(cells: Iterable[CellRow]) -> tuple[str, ...]:
    """The strategies that left opaque state in any cell, in order of appearance."""
    return tuple(dict.fromkeys(str(cell["strategy"]) for cell in cells if is_opaque(cell)))


def in_layer_present(cells: Sequence[CellRow]) -> list[dict[str, Any]]:
    """The cells with figures of text only where everything could be read.

    A strategy that left opaque state anywhere has none at all: what is left of it would be the
    sessions in which it mattered least.
    """
    opaque = set(opaque_strategies(cells))
    unknown = dict.fromkeys(("retention", *OF_TEXT))
    return [
        {**cell, **(unknown if cell["strategy"] in opaque else {})} for cell in map(dict, cells)
    ]


def in_layer_recovered(cells: Sequence[CellRow]) -> list[dict[str, Any]]:
    """The same cells with the retention that a reader's answers give, None without a reader."""
    return [
        {
            **cell,
            "retention": number(cell, "retention_recovered"),
            "retention_layer": RECOVERED,
            "retention_reason": cell.get("recovered_reason") or "",
        }
        for cell in cells
    ]


def opaque_line(
    cells: Sequence[CellRow], ranked: Sequence[str], pairs: dict[tuple[str, str], Pair]
) -> str:
    """What is to be said of strategies whose state can't be read; empty where there are none.

    `ranked` and `pairs` are those of layer recovered, over `in_layer_recovered(cells)`.
    """
    opaque = opaque_strategies(cells)
    if not opaque:
        return ""
    names = listed([plain(name) for name in opaque])
    leaves, are = ("leaves", "is") if len(opaque) == 1 else ("leave", "are")
    said = f"{names} {leaves} state that only its provider can read"
    measured = [name for name in opaque if name in ranked]
    if not measured:
        return (
            f"{said}, so {'it has' if len(opaque) == 1 else 'they have'} no retention: nothing "
            "here could ask for what it holds, or no reader that can be relied on (see --probe and "
            "--reader)."
        )
    shown = in_layer_recovered(cells)
    means = [f"{plain(name)} {percent(_mean_kept(shown, name))}" for name in ranked]
    parts = [
        f"{said} and {are} compared by what a reader answered alone (layer {RECOVERED}): "
        f"{listed(means)}"
    ]
    best = ranked[0]
    # Of two that are both opaque the difference is said once.
    told = [name for name in measured if name != best or len(measured) == 1]
    parts += [_against_the_best(name, ranked, pairs) for name in told]
    return "; ".join(part for part in parts if part) + "."


def _mean_kept(cells: Sequence[CellRow], strategy: str) -> float | None:
    own = [cell for cell in cells if cell["strategy"] == strategy]
    return mean(session_means(own, lambda cell: number(cell, "retention")).values())


def _against_the_best(name: str, ranked: Sequence[str], pairs: dict[tuple[str, str], Pair]) -> str:
    """The difference to the best of the others, and whether it may be chance."""
    others = [other for other in ranked if other != name]
    if not others:
        return ""
    best = others[0]
    pair = pairs.get((name, best))
    if pair is None and (best, name) in pairs:
        pair = pairs[best, name].turned()
    if pair is None:
        return ""
    difference = pair.comparison.difference
    gap = f"{points(difference)} {'more' if difference > 0 else 'less'} than {plain(best)}"
    if abs(difference) < 0.0005:
        gap = f"the same as {plain(best)}"
    chance = "" if pair.is_clear else ", which may be chance"
    return f"{plain(name)} {gap} ({evidence(pair, len(pairs))}){chance}"

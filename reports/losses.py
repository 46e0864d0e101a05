"""The facts worth a look: the worst losses first, each with the lines that tell its story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.plan import CONTROLS
from reports.fact_frames import counted
from reports.frames import RunData, rows_of

if TYPE_CHECKING:
    import pandas

SHOWN_MAX = 400
_SEVERITY: dict[str, int] = {
    "contradicted": 0,
    "stale": 1,
    "lost_said_once": 2,
    "unserved": 4,
    "attention_loss": 5,
    "inferred": 5,
}
# What nobody needs to look at; a value that was there and wasn't found again isn't among it.
_FINE = ("recovered", "present", "unreadable")
_RULES: tuple[str, ...] = ("constraint", "negation", "decision", "update", "preference")


def lost(data: RunData) -> pandas.DataFrame:
    """All lost facts of strategies (controls left out), the worst first, each fact once for a
    strategy and session: with the first request that missed it and `times`, how often it was
    missed."""
    facts = counted(data)
    chosen = facts[~facts["strategy"].isin(CONTROLS) & ~facts["outcome"].isin(_FINE)].copy()
    chosen["row"] = chosen.index  # the place in the frame of all facts
    same = ["session", "strategy", "window_asked", "model", "kind", "text"]
    chosen["times"] = chosen.groupby(same, sort=False)["text"].transform("size")
    chosen["strategies"] = chosen.groupby(["session", "kind", "text"], sort=False)[
        "strategy"
    ].transform("nunique")
    chosen["rank"] = [_SEVERITY.get(name, 3) for name in chosen["outcome"]]
    chosen["is_rule"] = chosen["kind"].isin(_RULES)
    ordered = chosen.sort_values(
        ["must_keep", "rank", "is_rule", "times", "age_tokens", "needed_at_seq", "text"],
        ascending=[False, True, False, False, False, True, True],
        kind="stable",
    )
    return ordered.drop_duplicates(same)


def worst(data: RunData, count: int = 10) -> list[dict[str, Any]]:
    """The worst lost facts of the run; the same fact is shown once, for the strategy that is
    first, with the names of the others under `also`."""
    rows: list[dict[str, Any]] = []
    by_fact: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows_of(lost(data).head(4_000)):
        key = (row["session"], row["kind"], row["text"])
        if key in by_fact:
            if row["strategy"] not in by_fact[key]["also"] and (
                row["strategy"] != by_fact[key]["strategy"]
            ):
                by_fact[key]["also"].append(row["strategy"])
        elif len(rows) < count:
            by_fact[key] = {**row, "also": []}
            rows.append(by_fact[key])
    return rows


def shown_losses(data: RunData) -> list[dict[str, Any]]:
    """At most 400 lost facts for the drill-down, the same number for each strategy."""
    frame = lost(data)
    strategies = frame["strategy"].nunique()
    if not strategies:
        return []
    each = max(1, SHOWN_MAX // strategies)
    return rows_of(frame.groupby("strategy", sort=False).head(each))

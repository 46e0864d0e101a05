"""Tidy frames of the charts that look at facts: by age, outcome, kind, place and generation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bench.found_facts import AGE_BANDS
from bench.plan import CONTROLS
from reports.chart_frames import strategy_places
from reports.frames import KEPT_OUTCOMES, OUTCOMES, RunData, frame_of, groups_of
from reports.style import in_order
from reports.summary import estimate

if TYPE_CHECKING:
    import pandas

AGE: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "age": "object",
    "age_rank": "int64",
    "retention": "float64",
    "retention_low": "float64",
    "retention_high": "float64",
    "sessions": "int64",
    "facts": "int64",
}
OUTCOME: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "outcome": "object",
    "facts": "int64",
    "share": "float64",
    "sessions": "int64",
}
HEAT: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "kind": "object",
    "column": "object",
    "column_rank": "int64",
    "retention": "float64",
    "facts": "int64",
    "sessions": "int64",
}
GENERATION: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "kind": "object",
    "generation": "int64",
    "retention": "float64",
    "retention_low": "float64",
    "retention_high": "float64",
    "facts": "int64",
    "sessions": "int64",
}


def by_age(data: RunData) -> pandas.DataFrame:
    """Chart 7: what was there when it was needed, by tokens since its last mention."""
    palette = strategy_places(data)
    facts = readable(data, _of_strategies(data.facts))
    facts = facts[facts["age_tokens"].notna()]
    rows = []
    for strategy in in_order(facts["strategy"]):
        own = facts[facts["strategy"] == strategy]
        for rank, band in enumerate(AGE_BANDS):
            low, high = band.tokens_min, band.tokens_max or math.inf
            part = own[(own["age_tokens"] >= low) & (own["age_tokens"] < high)]
            if len(part):
                rows.append(
                    {
                        "strategy": strategy,
                        "place": palette.get(strategy, -1),
                        "age": band.name,
                        "age_rank": rank,
                        **_kept_share(part),
                    }
                )
    return frame_of(rows, AGE)


def outcomes(data: RunData) -> pandas.DataFrame:
    """Chart 8: what became of every fact, as shares of all facts of a strategy."""
    palette = strategy_places(data)
    rows = []
    facts = counted(data)
    for strategy in in_order(facts["strategy"]):
        own = facts[facts["strategy"] == strategy]
        counts = own["outcome"].value_counts().to_dict()
        for outcome in OUTCOMES:
            count = int(counts.get(outcome, 0))
            rows.append(
                {
                    "strategy": strategy,
                    "place": palette.get(strategy, -1),
                    "outcome": outcome,
                    "facts": count,
                    "share": count / len(own),
                    "sessions": own["session"].nunique(),
                }
            )
    return frame_of(rows, OUTCOME)


def kinds_by_strategy(data: RunData) -> pandas.DataFrame:
    """Chart 4, left: share kept for each kind of fact and strategy."""
    facts = readable(data, counted(data))
    order = in_order(facts["strategy"])
    return _heat(data, facts, facts["strategy"], order)


POSITIONS: tuple[str, ...] = ("first fifth", "second", "third", "fourth", "last fifth")


def kinds_by_position(data: RunData) -> pandas.DataFrame:
    """Chart 4, right: share kept for each kind and fifth of the session, strategies together."""
    facts = readable(data, _of_strategies(counted(data)))
    facts = facts[facts["position"].notna()]
    fifth = [POSITIONS[min(4, max(0, int(place * 5)))] for place in facts["position"]]
    return _heat(data, facts, fifth, list(POSITIONS))


def _heat(
    data: RunData, facts: pandas.DataFrame, column: Any, order: list[str]
) -> pandas.DataFrame:
    palette = strategy_places(data)
    rows = []
    keyed = facts.assign(column=column)
    for (kind, name), part in groups_of(keyed, ["kind", "column"], is_sorted=True):
        rows.append(
            {
                "strategy": name if name in palette else "",
                "place": palette.get(name, -1),
                "kind": kind,
                "column": name,
                "column_rank": order.index(name),
                **_kept_share(part, has_interval=False),
            }
        )
    return frame_of(rows, HEAT)


HORIZON_STEPS = 100


def by_generation(data: RunData) -> pandas.DataFrame:
    """Chart 2: of the entities in use before each compaction and needed within 100 steps after it,
    how many survived; by the number of the compaction, with the numbers at risk.

    `kind` is "all" in the rows of all kinds together.
    """
    palette = strategy_places(data)
    followed = readable(data, _of_strategies(data.survival))
    followed = followed[followed["horizon_steps"] == HORIZON_STEPS]
    rows = []
    for strategy in in_order(followed["strategy"]):
        own = followed[followed["strategy"] == strategy]
        groups = [("all", own), *groups_of(own, "kind", is_sorted=True)]
        for kind, of_kind in groups:
            for generation, part in groups_of(of_kind, "generation", is_sorted=True):
                rows.append(
                    {
                        "strategy": strategy,
                        "place": palette.get(strategy, -1),
                        "kind": kind,
                        "generation": generation,
                        **_survived_share(part, has_interval=kind == "all"),
                    }
                )
    return frame_of(rows, GENERATION)


def _survived_share(part: pandas.DataFrame, *, has_interval: bool) -> dict[str, Any]:
    sums = part.groupby("session", sort=False)[["survived", "at_risk", "unreadable"]].sum()
    readable = sums["at_risk"] - sums["unreadable"]
    shares = estimate((sums["survived"] / readable)[readable > 0], has_interval=has_interval)
    return {
        "retention": shares.mean,
        "retention_low": shares.low,
        "retention_high": shares.high,
        "sessions": shares.sessions,
        "facts": int(readable.sum()),
    }


def counted(data: RunData) -> pandas.DataFrame:
    """The facts that retention stands on: planted or authored ones where there are any, else the
    uses older than 2,000 tokens. The two are never blended."""
    facts = data.facts[data.facts["is_counted"]]
    planted = facts[facts["origin"] == "planted"]
    return planted if len(planted) else facts


def opaque_names(data: RunData) -> list[str]:
    """The strategies whose state can't be read, in the order of the run."""
    return in_order(data.cells[data.cells["is_opaque"]]["strategy"])


def readable(data: RunData, facts: pandas.DataFrame) -> pandas.DataFrame:
    """Without strategies that left opaque state: what can be read of them is no sample of it."""
    return facts[~facts["strategy"].isin(opaque_names(data))]


def _of_strategies(facts: pandas.DataFrame) -> pandas.DataFrame:
    return facts[~facts["strategy"].isin(CONTROLS)]


def _kept_share(part: pandas.DataFrame, *, has_interval: bool = True) -> dict[str, Any]:
    """The mean over sessions of the share of facts that were kept, its interval and both n."""
    part = part[part["outcome"] != "unreadable"]
    kept = part["outcome"].isin(KEPT_OUTCOMES)
    shares = estimate(kept.groupby(part["session"], sort=False).mean(), has_interval=has_interval)
    return {
        "retention": shares.mean,
        "retention_low": shares.low,
        "retention_high": shares.high,
        "sessions": shares.sessions,
        "facts": len(part),
    }

"""Costs under the caches of other vendors, from what was observed: one row a strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.cache_prices import CACHE_PRICES
from reports.frames import RunData, frame_of, rows_of
from reports.style import in_order

if TYPE_CHECKING:
    import pandas

# A few that differ, for a page; the table as a file has all of them.
SHOWN: tuple[str, ...] = ("anthropic", "openai", "openai_4o", "gemini", "deepseek", "no_cache")

COLUMNS: dict[str, str] = {
    "strategy": "object",
    "sessions": "int64",
    "cache": "object",  # the row of the table of cache prices
    "read": "float64",  # multiples of a plain input token
    "write": "float64",
    "cost_ratio": "float64",
}


def cache_costs(data: RunData) -> pandas.DataFrame:
    """The mean cost ratio over sessions by strategy and row of the table of cache prices."""
    rows: list[dict[str, Any]] = []
    cells = data.cells[~data.cells["is_control"]]
    for strategy in in_order(cells["strategy"]):
        own = cells[cells["strategy"] == strategy]
        for prices in CACHE_PRICES:
            known = own[own[f"cost_{prices.name}"].notna()]
            if len(known):
                by_session = known.groupby("session", sort=False)[f"cost_{prices.name}"].mean()
                rows.append(
                    {
                        "strategy": strategy,
                        "sessions": len(by_session),
                        "cache": prices.name,
                        "read": prices.read,
                        "write": prices.write,
                        "cost_ratio": by_session.mean(),
                    }
                )
    return frame_of(rows, COLUMNS)


def shown_costs(data: RunData) -> list[dict[str, Any]]:
    """For each strategy the cost ratio under the caches of `SHOWN`, by name."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows_of(cache_costs(data)):
        if row["cache"] in SHOWN:
            one = found.setdefault(row["strategy"], {"strategy": row["strategy"]})
            one[row["cache"]] = row["cost_ratio"]
    return list(found.values())

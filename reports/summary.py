"""Means over sessions with their intervals: one row for each strategy, window and model.

The session is the unit: seeds are averaged inside a session first, so more seeds never look like
more sessions (scoring.md, "Statistics").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.statistics import mean_interval, ratio_interval
from bench.verdict_table import RECOVERED, table
from reports.frames import CELLS, RETRY_KINDS, frame_of, rows_of
from reports.style import in_order

if TYPE_CHECKING:
    import pandas

_NO_INTERVAL = (math.nan, math.nan)
GROUP: tuple[str, ...] = ("strategy", "window_asked", "model")

SUMMARY: dict[str, str] = {
    "strategy": "object",
    "window_asked": "object",
    "model": "object",
    "is_control": "bool",
    "sessions": "int64",  # with a retention
    "sessions_total": "int64",
    "fired": "int64",  # sessions in which a compaction was accepted
    "not_exercised": "int64",  # cells
    "stopped": "int64",
    "errors": "int64",
    "retention": "float64",
    "retention_low": "float64",
    "retention_high": "float64",
    "retention_layer": "object",
    "retention_needed": "float64",
    "retention_said_once": "float64",
    "retention_re_readable": "float64",
    "retention_recoverable": "float64",
    "retention_after_recorded": "float64",
    "present": "float64",
    "bound": "float64",
    "recovered": "float64",
    "retention_recovered": "float64",
    "recovered_low": "float64",
    "recovered_high": "float64",
    "recovered_found": "float64",
    "attention_loss": "float64",
    "inferred": "float64",
    "guessed": "float64",
    "next_action": "float64",
    "next_action_names": "float64",
    "next_action_noise": "float64",
    "judged": "float64",
    "questions": "float64",
    "next_actions": "float64",
    "judgements": "float64",
    "stale": "float64",
    "contradicted": "float64",
    "survived_5": "float64",
    "survived_20": "float64",
    "survived_100": "float64",
    "invented": "float64",
    "tokens_saved": "float64",
    "tokens_saved_low": "float64",
    "tokens_saved_high": "float64",
    "cost_ratio": "float64",
    "compactions": "float64",
    **dict.fromkeys(RETRY_KINDS, "float64"),
    "invalid_projections": "float64",
    "grew": "float64",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its 95% interval; `low` and `high` are NaN with fewer than two sessions."""

    mean: float
    low: float
    high: float
    sessions: int


def estimate(values: Iterable[float], *, has_interval: bool = True) -> Estimate:
    """The mean over sessions with its interval; NaN values don't count.

    `has_interval=False` saves the time of a bootstrap where only the mean is shown.
    """
    known = [float(value) for value in values if not math.isnan(value)]
    if not known:
        return Estimate(math.nan, math.nan, math.nan, 0)
    found = mean_interval(known) if has_interval else None
    return Estimate(math.fsum(known) / len(known), *(found or _NO_INTERVAL), len(known))


def estimate_of_savings(sent: Sequence[float], baseline: Sequence[float]) -> Estimate:
    """1 - sum of sent / sum of baseline over sessions: a ratio of sums, so that a long session
    weighs what it costs."""
    pairs = [
        (part, whole)
        for part, whole in zip(sent, baseline, strict=True)
        if not math.isnan(part) and not math.isnan(whole) and whole > 0
    ]
    if not pairs:
        return Estimate(math.nan, math.nan, math.nan, 0)
    parts, wholes = [part for part, _ in pairs], [whole for _, whole in pairs]
    found = ratio_interval(parts, wholes)
    low, high = (1 - found[1], 1 - found[0]) if found else _NO_INTERVAL
    return Estimate(1 - math.fsum(parts) / math.fsum(wholes), low, high, len(pairs))


def by_session(cells: pandas.DataFrame) -> pandas.DataFrame:
    """One row for each session, strategy, window and model: numbers averaged over seeds.

    `fired` says whether any seed compacted, `status` is the worst one.
    """
    import pandas as pd

    keys = ["session", *GROUP]
    numbers = [name for name, kind in CELLS.items() if kind == "float64" and name not in keys]
    if cells.empty:
        return pd.DataFrame(columns=[*keys, *numbers, "is_control", "retention_layer", "status"])
    groups = cells.groupby(keys, sort=False, observed=True)
    means = groups[numbers].mean()
    means["is_control"] = groups["is_control"].any()
    means["retention_layer"] = groups["retention_layer"].first()
    means["status"] = groups["status"].agg(_worst_status)
    return means.reset_index()


_STATUSES = ("ok", "not_exercised", "stopped", "error")


def _worst_status(statuses: pandas.Series[str]) -> str:
    known = {status: place for place, status in enumerate(_STATUSES)}
    return max(statuses, key=lambda status: known.get(status, len(known)))


def summarise(cells: pandas.DataFrame) -> pandas.DataFrame:
    """The table of a run, columns as in SUMMARY: the rows of `run --json`, so that no two places
    show different numbers, with the interval of the savings added.

    `retention` is of the layer *present*; what could only be asked for is in `retention_recovered`
    alone.
    """
    ordered = in_order(cells["strategy"])
    rows = [_row(row, cells) for row in table(_cell_rows(cells))] if len(cells) else []
    rows.sort(
        key=lambda row: (
            row["model"],
            _window_rank(row["window_asked"]),
            ordered.index(row["strategy"]),
        )
    )
    return frame_of(rows, SUMMARY)


def _cell_rows(cells: pandas.DataFrame) -> list[dict[str, Any]]:
    return [
        {**row, "retries": {kind: int(row[kind]) for kind in RETRY_KINDS if row[kind] == row[kind]}}
        for row in rows_of(cells)
    ]


def _window_rank(window: str) -> tuple[int, str]:
    return (int(window), "") if window.isdigit() else (0, window)


def _row(row: dict[str, Any], cells: pandas.DataFrame) -> dict[str, Any]:
    window = str(row["window"])
    own = cells[
        (cells["strategy"] == row["strategy"])
        & (cells["window_asked"] == window)
        & (cells["model"] == row["model"])
    ]
    sums = own.groupby("session", sort=False)[["tokens_sent", "tokens_baseline"]].sum()
    savings = estimate_of_savings(list(sums["tokens_sent"]), list(sums["tokens_baseline"]))
    is_opaque = row["retention_layer"] == RECOVERED
    low, high = (None if is_opaque else row["interval"]) or _NO_INTERVAL
    recovered_low, recovered_high = row["recovered_interval"] or _NO_INTERVAL
    return {
        **row,
        **row["retries"],
        "retention": None if is_opaque else row["retention"],
        "recovered_low": recovered_low,
        "recovered_high": recovered_high,
        "window_asked": window,
        "sessions_total": own["session"].nunique(),
        "fired": own[own["compactions"] > 0]["session"].nunique(),
        "errors": row["error"],
        "retention_low": low,
        "retention_high": high,
        "tokens_saved_low": savings.low,
        "tokens_saved_high": savings.high,
    }

"""Judgement: one row for each strategy, window and model: means over sessions.

The session is the unit: seeds are averaged inside each session first. What isn't known (null) is
left out of a mean and never counts as 0 or 1; how many sessions a mean stands on is in the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from bench.plan import CONTROLS
from bench.statistics import share_interval

CellRow: TypeAlias = Mapping[str, Any]

RECOVERED = "recovered"

STATUSES: tuple[str, ...] = ("ok", "not_exercised", "stopped", "error")
RETRY_KINDS: tuple[str, ...] = ("overflow", "repair", "replan", "transport", "suppressed")
MEANS: tuple[str, ...] = (
    "retention_needed",
    "retention_said_once",
    "retention_re_readable",
    "retention_recoverable",
    "retention_after_recorded",
    "recoverable",
    "present",
    "bound",
    "recovered",
    "retention_recovered",
    "recovered_found",
    "attention_loss",
    "inferred",
    "guessed",
    "next_action",
    "next_action_names",
    "next_action_noise",
    "judged",
    "stale",
    "contradicted",
    "survived_5",
    "survived_20",
    "survived_100",
    "invented",
    "cost_ratio",
    "summariser_share",
    "break_even_requests",
    "compactions",
    "seconds",
)
# What stands on text that can be read: nothing where a strategy left opaque state.
OF_TEXT: tuple[str, ...] = (
    "retention_needed",
    "retention_said_once",
    "retention_re_readable",
    "retention_recoverable",
    "retention_after_recorded",
    "recoverable",
    "present",
    "bound",
    "stale",
    "contradicted",
    "survived_5",
    "survived_20",
    "survived_100",
    "invented",
)
SUMS: tuple[str, ...] = (
    "tokens_sent",
    "tokens_baseline",
    "tokens_recovery",
    "questions",
    "next_actions",
    "judgements",
    "requests_served",
    "requests_total",
    "invalid_projections",
    "grew",
)


def window_asked(cell: CellRow) -> str:
    """What the option said: "auto", or tokens as text; by this cells share a row."""
    return str(cell.get("window_asked") or cell["window"])


def table(
    cells: Iterable[CellRow], *, clusters: Mapping[str, Hashable] | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """Rows in order of appearance, controls last.

    `sessions` counts the sessions that `retention` and its 95% `interval` stand on (both of one
    layer, `retention_layer`), `recovered_interval` is that of `retention_recovered`, `cells` all
    cells of the row, and each status has its own count. Tokens, requests, retries,
    `invalid_projections` and `grew` are sums, `tokens_saved` is 1 - sum(sent) / sum(baseline);
    everything else is a mean over sessions, null where no session knows it.
    """
    groups: dict[tuple[str, str, str], list[CellRow]] = {}
    rows_given = list(cells)
    for cell in rows_given:
        key = (cell["strategy"], window_asked(cell), str(cell["model"]))
        groups.setdefault(key, []).append(cell)
    shared = clusters_of(rows_given) if clusters is None else clusters
    rows = [_row(*key, group, shared, seed) for key, group in groups.items()]
    return sorted(rows, key=lambda row: row["is_control"])


def clusters_of(cells: Iterable[CellRow]) -> dict[str, str]:
    """The group (project, template) of each session whose cells name one under "cluster"."""
    return {str(cell["session"]): str(cell["cluster"]) for cell in cells if cell.get("cluster")}


def session_means(
    cells: Iterable[CellRow], value_of: Callable[[CellRow], float | None]
) -> dict[str, float]:
    """The mean of a value for each session that knows it, in order of appearance."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        value = value_of(cell)
        if value is not None:
            found.setdefault(str(cell["session"]), []).append(value)
    return {session: math.fsum(values) / len(values) for session, values in found.items()}


def mean(values: Iterable[float]) -> float | None:
    """The mean, None of nothing."""
    known = list(values)
    return math.fsum(known) / len(known) if known else None


def number(cell: CellRow, name: str) -> float | None:
    """A figure of a cell as a finite number, None where it isn't known."""
    value = cell.get(name)
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    return float(value)


def tokens_saved(cells: Sequence[CellRow]) -> float | None:
    """1 - sum(sent) / sum(baseline) over the cells that know both; negative when it cost more."""
    pairs = [(number(cell, "tokens_sent"), number(cell, "tokens_baseline")) for cell in cells]
    known = [(sent, baseline) for sent, baseline in pairs if sent is not None and baseline]
    if not known:
        return None
    return 1 - math.fsum(s for s, _ in known) / math.fsum(b for _, b in known if b)


def retries(cells: Iterable[CellRow]) -> dict[str, int]:
    """Every kind of second try, summed."""
    total = dict.fromkeys(RETRY_KINDS, 0)
    for cell in cells:
        for kind in RETRY_KINDS:
            total[kind] += int((cell.get("retries") or {}).get(kind, 0))
    return total


def _row(
    strategy: str,
    window: str,
    model: str,
    cells: Sequence[CellRow],
    clusters: Mapping[str, Hashable],
    seed: int,
) -> dict[str, Any]:
    layer, column = _layer_of(cells)
    kept = session_means(cells, lambda cell: number(cell, column))
    answered = session_means(cells, lambda cell: number(cell, "retention_recovered"))
    return {
        "strategy": strategy,
        "window": int(window) if window.isascii() and window.isdigit() else window,
        "model": model,
        "is_control": strategy in CONTROLS,
        "sessions": len(kept),
        "cells": len(cells),
        "retention": mean(kept.values()),
        "interval": _interval(kept, clusters, seed),
        "retention_layer": layer,
        "recovered_interval": _interval(answered, clusters, seed),
        "tokens_saved": tokens_saved(cells),
        **{
            name: None if layer == RECOVERED and name in OF_TEXT else _mean_of(cells, name)
            for name in MEANS
        },
        **{name: _sum_of(cells, name) for name in SUMS},
        "retries": retries(cells),
        **{status: sum(cell.get("status") == status for cell in cells) for status in STATUSES},
    }


def _layer_of(cells: Sequence[CellRow]) -> tuple[str | None, str]:
    """The layer of a row's retention and the column of the cells that it is a mean of.

    Where some of the cells could only be asked for, all of them count by what was answered.
    """
    scored = [cell for cell in cells if number(cell, "retention") is not None]
    layers = [str(cell["retention_layer"]) for cell in scored or cells if "retention_layer" in cell]
    if RECOVERED in layers:
        return RECOVERED, "retention_recovered"
    return (layers[0] if layers else None), "retention"


def _interval(
    values: Mapping[str, float], clusters: Mapping[str, Hashable], seed: int
) -> list[float] | None:
    groups = [clusters.get(session, session) for session in values]
    found = share_interval(list(values.values()), clusters=groups, seed=seed)
    return None if found is None else list(found)


def _mean_of(cells: Sequence[CellRow], name: str) -> float | None:
    return mean(session_means(cells, lambda cell: number(cell, name)).values())


def _sum_of(cells: Sequence[CellRow], name: str) -> int | None:
    known = [value for cell in cells if (value := number(cell, name)) is not None]
    return int(math.fsum(known)) if known else None

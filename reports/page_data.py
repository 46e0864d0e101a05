"""The data that the page's script draws from: cells, saw-tooths, lost facts, folded small.

The page stays small because requests are thinned (peaks, compactions and refusals stay) and
written as plain lists of numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.plan import CONTROLS
from reports import numbers, style
from reports.answers import answer_words
from reports.chart_frames import strategy_places
from reports.frames import CELL_KEYS, RETRY_KINDS, RunData, groups_of, rows_of
from reports.text import clean, excerpt, shorten

if TYPE_CHECKING:
    import pandas

_POINTS_MAX = 160
_REPLAYS_MAX = 600
_CELLS_MAX = 4_000
_NAME_CHARACTERS_MAX = 80


def page_data(data: RunData, losses: list[dict[str, Any]], session: str) -> dict[str, Any]:
    """Everything for the script; `session` is the one whose saw-tooth is shown first."""
    palette = strategy_places(data)
    strategies = style.in_order(data.cells["strategy"])
    sessions = list(dict.fromkeys(data.cells["session"]))
    if session in sessions:
        sessions.remove(session)
        sessions.insert(0, session)
    place_of = {name: place for place, name in enumerate(strategies)}
    session_of = {name: place for place, name in enumerate(sessions)}
    return {
        "strategies": [
            {
                "name": style.label(name, _NAME_CHARACTERS_MAX),
                "series": palette[name] % len(style.SERIES) if name in palette else -1,
            }
            for name in strategies
        ],
        "sessions": [shorten(clean(name), _NAME_CHARACTERS_MAX) for name in sessions],
        "cells": [_cell(row, place_of, session_of) for row in rows_of(data.cells.head(_CELLS_MAX))],
        "cellsTotal": len(data.cells),
        "replays": _replays(data, place_of, session_of),
        "losses": [_loss(row, place_of, session_of) for row in losses],
        "outcomes": style.OUTCOME_NAMES,
    }


def _cell(row: dict[str, Any], place_of: dict[str, int], session_of: dict[str, int]) -> list[Any]:
    """In the order of the headings that the script has."""
    return [
        session_of[row["session"]],
        place_of[row["strategy"]],
        clean(row["window_asked"]),
        _whole(row["window"]),
        clean(row["model"]),
        int(row["seed"]),
        row["status"],
        excerpt(row["reason"], 160),
        *(
            _round(row[name])
            for name in (
                "retention",
                "retention_said_once",
                "retention_re_readable",
                "tokens_saved",
                "cost_ratio",
            )
        ),
        _whole(row["compactions"]),
        sum(_whole(row[kind]) or 0 for kind in RETRY_KINDS if kind != "suppressed"),
        _whole(row["requests_served"]),
        _whole(row["requests_total"]),
        _whole(row["invalid_projections"]),
    ]


def _round(value: float) -> float | None:
    return None if numbers.is_missing(value) else round(float(value), 4)


def _whole(value: float) -> int | None:
    return None if numbers.is_missing(value) else int(value)


def _replays(
    data: RunData, place_of: dict[str, int], session_of: dict[str, int]
) -> list[dict[str, Any]]:
    found = []
    for key, part in groups_of(data.requests, CELL_KEYS)[:_REPLAYS_MAX]:
        session, strategy, window_asked, model, seed = key
        thin = thinned(part)
        window = part["window"].iloc[0]
        is_first = [int(place) for place in thin["index"]]
        found.append(
            {
                "session": session_of[session],
                "strategy": place_of[strategy],
                "setting": f"{clean(window_asked)} · {clean(model)} · seed {seed}",
                "window": _whole(window),
                "requests": len(part),
                "at": _steps(is_first),
                "tokens": _steps([int(value) for value in thin["tokens"]]),
                "cached": [int(value) for value in thin["cached_tokens"]],
                "compacted": [int(i) for i in part["index"][part["is_compacted"]]][:200]
                if strategy not in CONTROLS
                else [],
                "refused": [int(i) for i in part["index"][~part["is_served"]]][:50],
            }
        )
    return found


def _steps(values: list[int]) -> list[int]:
    """The first value and then differences: shorter as text."""
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def thinned(part: pandas.DataFrame, points_max: int = _POINTS_MAX) -> pandas.DataFrame:
    """At most about so many requests: of each stretch the largest and the smallest, and every
    request that was compacted, follows on one, or was refused (up to the same number again)."""
    if len(part) <= points_max:
        return part
    stretch = -(-len(part) * 2 // points_max)
    bins = (part.reset_index(drop=True).index // stretch).to_numpy()
    by_bin = part.groupby(bins)["tokens"]
    keep = {*by_bin.idxmax(), *by_bin.idxmin(), part.index[0], part.index[-1]}
    marked = part.index[part["is_compacted"] | ~part["is_served"]][:points_max]
    keep.update(marked)
    return part[part.index.isin(keep)]


def _loss(
    row: dict[str, Any], place_of: dict[str, int], session_of: dict[str, int]
) -> dict[str, Any]:
    return {
        "session": session_of[row["session"]],
        "strategy": place_of[row["strategy"]],
        "kind": style.label(row["kind"], 30),
        "text": excerpt(row["text"], 160),
        "outcome": row["outcome"],
        "times": int(row["times"]),
        "age": _whole(row["age_tokens"]),
        "sourceSeq": _whole(row["source_seq"]),
        "neededAtSeq": _whole(row["needed_at_seq"]),
        "source": excerpt(row["source_line"]),
        "summary": excerpt(row["summary_line"]),
        "mustKeep": bool(row["must_keep"]),
        "question": excerpt(row["question"]),
        "answer": excerpt(answer_words(row)),
    }

"""CSV and Parquet tables of a run: cells, requests, compactions, summary table, facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import UsageError
from reports.cache_costs import cache_costs
from reports.frames import RunData
from reports.summary import summarise
from reports.text import excerpt

if TYPE_CHECKING:
    import pandas

_TEXT_CHARACTERS_MAX = 400
# A spreadsheet takes text that begins like this for a formula and runs it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def tables(data: RunData) -> dict[str, pandas.DataFrame]:
    """Every table by its file name without the ending, texts made harmless."""
    frames = {
        "table": summarise(data.cells),
        "cells": data.cells,
        "requests": data.requests,
        "compactions": data.compactions,
        "facts": data.facts,
        "survival": data.survival,
        "inventions": data.inventions,
        "cache_costs": cache_costs(data),
    }
    return {name: harmless(frame) for name, frame in frames.items()}


def harmless(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The frame with its texts scrubbed, on one line, and no formula for a spreadsheet."""
    from pandas.api.types import is_numeric_dtype

    changed = frame.copy()
    for name in frame.columns:
        if not is_numeric_dtype(frame[name]):  # numbers and truth values
            known = {value: _harmless_text(value) for value in frame[name].unique()}
            changed[name] = frame[name].map(known).astype(object)
    return changed


def _harmless_text(value: object) -> str:
    text = excerpt(value, _TEXT_CHARACTERS_MAX)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def write_csv(data: RunData, folder: Path) -> list[Path]:
    """Writes `<folder>/<name>.csv` for every table; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in tables(data).items():
        path = folder / f"{name}.csv"
        frame.to_csv(path, index=False, lineterminator="\n", float_format="%.6g", encoding="utf-8")
        written.append(path)
    return written


def write_parquet(data: RunData, folder: Path) -> list[Path]:
    """Writes `<folder>/<name>.parquet` for every table; returns the paths.

    Raises UsageError where pyarrow isn't installed: it is large and few people need it.
    """
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise UsageError(
            "report format parquet: needs pyarrow; install it (python -m pip install pyarrow) or "
            "use csv"
        )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in tables(data).items():
        path = folder / f"{name}.parquet"
        frame.to_parquet(path, engine="pyarrow", index=False)
        written.append(path)
    return written

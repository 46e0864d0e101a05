"""Tidy frames of a run: the only thing that charts, tables and pages read.

One row is one cell, request, compaction or fact outcome. Every frame has all its columns, also
when it is empty, so nobody downstream asks whether a column is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.cache_prices import CACHE_PRICES

if TYPE_CHECKING:
    import pandas

CELL_KEY: dict[str, str] = {
    "session": "object",
    "strategy": "object",  # the canonical spec
    "window": "float64",  # tokens
    "window_asked": "object",  # "auto" or the same number as text
    "model": "object",
    "seed": "int64",
}
CELL_KEYS: tuple[str, ...] = ("session", "strategy", "window_asked", "model", "seed")

CELLS: dict[str, str] = {
    **CELL_KEY,
    "status": "object",  # ok, not_exercised, stopped, error
    "reason": "object",
    "is_control": "bool",
    "is_opaque": "bool",  # its strategy left state that can only be asked for, here or elsewhere
    "cluster": "object",  # of sessions that aren't independent, "" where unknown
    "retention": "float64",  # of layer present; shares, 0 to 1; NaN is null
    "retention_layer": "object",
    "retention_basis": "object",  # facts or found uses
    "reader": "object",  # who answered questions, "" where nobody was asked
    "retention_needed": "float64",
    "retention_said_once": "float64",
    "retention_re_readable": "float64",
    "retention_recoverable": "float64",
    "recoverable": "float64",
    "retention_after_recorded": "float64",
    "tokens_recovery": "float64",
    "present": "float64",
    "bound": "float64",
    "recovered": "float64",
    "retention_recovered": "float64",
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
    "facts_untold": "float64",
    "invented": "float64",
    "tokens_saved": "float64",  # share of the baseline
    "tokens_sent": "float64",
    "tokens_summariser": "float64",
    "tokens_baseline": "float64",
    "cost_ratio": "float64",
    "summariser_share": "float64",
    "break_even_requests": "float64",
    "tokens_reread_debt": "float64",
    **{f"cost_{row.name}": "float64" for row in CACHE_PRICES},  # cost ratios by cache
    "compactions": "float64",
    "overflow": "float64",
    "repair": "float64",
    "replan": "float64",
    "transport": "float64",
    "suppressed": "float64",
    "requests_served": "float64",
    "requests_total": "float64",
    "invalid_projections": "float64",
    "grew": "float64",
    "seconds": "float64",
}

REQUESTS: dict[str, str] = {
    **CELL_KEY,
    "index": "int64",
    "at_seq": "int64",
    "tokens": "int64",
    "cached_tokens": "int64",
    "is_served": "bool",
    "is_compacted": "bool",  # an accepted compaction was made for this request
}

COMPACTIONS: dict[str, str] = {
    **CELL_KEY,
    "request": "int64",
    "at_seq": "int64",
    "trigger": "object",
    "phase": "object",
    "stage": "object",
    "outcome": "object",
    "reason": "object",
    "generation": "int64",
    "segments": "int64",
    "covered_messages": "int64",
    "covered_first_seq": "int64",
    "covered_last_seq": "int64",
    "tokens_before": "int64",
    "tokens_after": "int64",
    "estimate_before": "int64",
    "estimate_after": "int64",
    "asked": "int64",
    "ask_input_tokens": "int64",
    "ask_output_tokens": "int64",
}

FACTS: dict[str, str] = {
    **CELL_KEY,
    "origin": "object",  # planted or found
    "kind": "object",
    "text": "object",
    "outcome": "object",  # one of OUTCOMES
    "is_counted": "bool",  # part of the score: planted, or a use older than 2,000 tokens
    "age_tokens": "float64",  # since the last mention; NaN where it isn't known
    "position": "float64",  # of the source in the session, 0 to 1
    "source_seq": "float64",
    "source_line": "object",
    "summary_line": "object",
    "needed_at_seq": "float64",
    "must_keep": "bool",
    "question": "object",  # what a reader was asked about it; "" where none was
    "answer": "object",  # the option that it chose
    "grade": "object",  # right, stale, contradicted, wrong, abstained, unclear, unserved
    "quadrant": "object",  # recovered, attention_loss, inferred, destroyed
}

SURVIVAL: dict[str, str] = {
    **CELL_KEY,
    "generation": "int64",  # accepted compactions of the replay, from 1
    "horizon_steps": "int64",  # first used at most so many steps after the compaction
    "kind": "object",
    "at_risk": "int64",
    "survived": "int64",
    "unreadable": "int64",
}

INVENTIONS: dict[str, str] = {
    **CELL_KEY,
    "kind": "object",
    "text": "object",  # the typed entity that no event before it holds
    "at_seq": "int64",  # the event whose request first showed the text that holds it
    "first_seq": "int64",  # the events that the text was written instead of
    "last_seq": "int64",
    "start": "int64",  # its place in the text, in characters
    "line": "object",
}

OUTCOMES: tuple[str, ...] = (
    "recovered",
    "present",
    "attention_loss",  # present, and a reader didn't find it
    "inferred",  # not present, and a reader answered it all the same
    "stale",
    "contradicted",
    "lost_re_readable",
    "lost_said_once",
    "unserved",  # the replay had stopped before the request that needed it
    "unreadable",  # it could only stand in opaque native state
)
KEPT_OUTCOMES: tuple[str, ...] = ("recovered", "present", "attention_loss")
RETRY_KINDS: tuple[str, ...] = ("overflow", "repair", "replan", "transport", "suppressed")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is said of the whole run, above and below the frames.

    `sentences` are the verdict (or why there is none), `is_decided` whether it is one; `opaque`,
    `controls`, `fired` and `basis` one line each. `command` repeats the run. `versions` are name
    and version of what the numbers rest on, `formats` the file formats of the sessions with their
    number, `clusters` how many independent groups they come from (None: unknown).
    """

    run: str = ""
    command: str = ""
    sentences: tuple[str, ...] = ()
    opaque: str = ""
    controls: str = ""
    fired: str = ""
    basis: str = ""
    warnings: tuple[str, ...] = ()
    is_decided: bool = False
    are_controls_in_line: bool = True
    tokenizer: str = "o200k_base"
    versions: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, int] = field(default_factory=dict)
    clusters: int | None = None
    entity_table: str = ""


@dataclass(frozen=True, slots=True)
class RunData:
    """A run as the reports see it."""

    about: About
    cells: pandas.DataFrame
    requests: pandas.DataFrame
    compactions: pandas.DataFrame
    facts: pandas.DataFrame
    survival: pandas.DataFrame
    inventions: pandas.DataFrame = field(default_factory=lambda: frame_of([], INVENTIONS))


def frame_of(
    rows: Iterable[Mapping[str, Any]] | pandas.DataFrame, columns: Mapping[str, str]
) -> pandas.DataFrame:
    """A frame with exactly these columns and types, from rows or from another frame.

    Missing values become NaN in columns of numbers, "" in columns of text and False in others.
    """
    import pandas as pd

    raw = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows), dtype=object)
    raw = raw.reset_index(drop=True)
    frame = pd.DataFrame(index=raw.index)
    for name, kind in columns.items():
        missing = pd.Series([None] * len(raw), index=raw.index, dtype=object)
        values = raw.get(name, missing)
        if kind == "object":
            texts = [_whole_text(value) for value in values]
            frame[name] = pd.Series(texts, index=raw.index, dtype=object)
        elif kind == "float64":
            frame[name] = pd.to_numeric(values, errors="coerce").astype("float64")
        else:
            frame[name] = pd.Series(values.fillna(0).to_numpy(dtype=kind), index=raw.index)
    return frame


def _whole_text(value: Any) -> Any:
    """The text without lone surrogates, which recordings hold and no file or index can."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    return "" if value is None or value != value else value


def rows_of(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries."""
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]


def groups_of(
    frame: pandas.DataFrame, columns: str | Iterable[str], *, is_sorted: bool = False
) -> list[tuple[Any, pandas.DataFrame]]:
    """The parts of a frame with the same values: pairs of key (a tuple for several columns) and
    part, in the order of appearance unless sorted."""
    by = columns if isinstance(columns, str) else list(columns)
    return list(frame.groupby(by, sort=is_sorted, observed=True))

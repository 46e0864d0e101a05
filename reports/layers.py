"""The layers of a run side by side: never blended, so each has a column of its own.

Present and recovered stand in a two-by-two, facts counted: there and found again, there and not
found (attention loss), not there and answered all the same (inferred or guessed), neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.metrics import metric
from bench.scoring_recovered import QUADRANTS
from reports import numbers
from reports.columns import has_several, name_of
from reports.fact_frames import counted, readable
from reports.frames import RunData, rows_of
from reports.summary import summarise

# Metrics in the order of scoring.md, "Layers", then what is measured beside them.
_METRICS: tuple[str, ...] = (
    "present",
    "bound",
    "stale",
    "contradicted",
    "survived_5",
    "survived_20",
    "survived_100",
    "invented",
    "recovered",
    "recovered_found",
    "guessed",
    "judged",
    "next_action",
    "next_action_names",
    "next_action_noise",
)
_QUADRANT_CAPTIONS: dict[str, str] = {
    "recovered": "Present, recovered",
    "attention_loss": "Present, not recovered",
    "inferred": "Absent, answered",
    "destroyed": "Absent, not answered",
}
_QUADRANT_MEANINGS: dict[str, str] = {
    "recovered": "Facts that stood in the request and that the reader found.",
    "attention_loss": "Attention loss: facts that stood there and that the reader didn't find.",
    "inferred": "Facts that didn't stand there and that the reader inferred or guessed.",
    "destroyed": "Facts that neither stood there nor were answered.",
}


@dataclass(frozen=True, slots=True)
class LayerTable:
    """`captions` head the columns after the first, `meanings` explain them, `rows` are a name and
    one text a column."""

    captions: tuple[str, ...]
    meanings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def layer_table(data: RunData) -> LayerTable:
    """Every layer that was measured in this run, a row for each strategy, window and model."""
    rows = rows_of(summarise(data.cells))
    known = [name for name in _METRICS if any(not numbers.is_missing(row[name]) for row in rows)]
    squares = _quadrants(data)
    shown = QUADRANTS if squares else ()
    is_multiple = has_several(rows)
    return LayerTable(
        (
            *(metric(name).caption for name in known),
            *(_QUADRANT_CAPTIONS[name] for name in shown),
        ),
        (
            *(metric(name).meaning for name in known),
            *(_QUADRANT_MEANINGS[name] for name in shown),
        ),
        tuple(
            (
                name_of(row, is_multiple=is_multiple),
                (
                    *(numbers.share(row[name]) for name in known),
                    *(_count(squares.get(_key(row), {}), name) for name in shown),
                ),
            )
            for row in rows
        ),
    )


def _quadrants(data: RunData) -> dict[tuple[Any, ...], dict[str, int]]:
    """How many facts fell where, by strategy, window and model; empty without readers.

    Of opaque state half of it is unknown: what was answered, but not whether it was there.
    """
    facts = readable(data, counted(data))
    facts = facts[facts["quadrant"] != ""]
    counts: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in rows_of(facts[["strategy", "window_asked", "model", "quadrant"]]):
        own = counts.setdefault(_key(row), dict.fromkeys(QUADRANTS, 0))
        own[row["quadrant"]] += 1
    return counts


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["strategy"], row["window_asked"], row["model"]


def _count(square: dict[str, int], name: str) -> str:
    return numbers.count(square[name]) if square else numbers.MISSING


INVENTIONS_SHOWN = 10


def invention_lines(data: RunData) -> list[str]:
    """What was invented, with its place, as sentences; each once for a strategy and session."""
    rows = data.inventions.drop_duplicates(["session", "strategy", "kind", "text"])
    return [
        f"{row['strategy']} in {row['session']}: {row['kind']} {row['text']}, at character "
        f"{row['start']} of the text for events {row['first_seq']} to {row['last_seq']}, first "
        f"shown for event {row['at_seq']}: {row['line']}"
        for row in rows_of(rows.head(INVENTIONS_SHOWN))
    ]

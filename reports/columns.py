"""The columns of the summary table, the same in the page, in Markdown and in a terminal.

Captions and meanings come from the metric definitions of `bench`, so that they are said once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.metrics import metric
from reports import numbers
from reports.frames import RETRY_KINDS

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """`value` is what is sorted by, `text` what is shown; `short` heads narrow tables.

    `better` is "higher", "lower" or "neither", `meaning` one sentence.
    """

    name: str
    caption: str
    short: str
    meaning: str
    better: str
    value: Callable[[Row], Any]
    text: Callable[[Row], str]


def _of_metric(name: str, short: str, show: Callable[[Any], str]) -> Column:
    known = metric(name)
    return Column(
        name,
        known.caption,
        short,
        known.meaning,
        known.better,
        lambda row: row[name],
        lambda row: show(row[name]),
    )


def kept(row: Row) -> str:
    """Retention with its interval."""
    return _with_interval(row, "retention", "retention")


def answered(row: Row) -> str:
    """What a reader's answers come to, with its interval."""
    return _with_interval(row, "retention_recovered", "recovered")


def _with_interval(row: Row, name: str, ends: str) -> str:
    if numbers.is_missing(row.get(name)):
        return numbers.MISSING
    interval = numbers.interval(row[f"{ends}_low"], row[f"{ends}_high"])
    shown = numbers.share(row[name])
    # A control is 0 or 1 by construction: an interval would only look like a finding.
    return shown if interval == numbers.MISSING or row["is_control"] else f"{shown} {interval}"


def retries(row: Row) -> float:
    """All second tries of a row together; suppressed attempts were never made."""
    made = [row[kind] for kind in RETRY_KINDS if kind != "suppressed"]
    return float(sum(count for count in made if not numbers.is_missing(count)))


def _fired(row: Row) -> str:
    if row["is_control"]:
        return numbers.MISSING
    return f"{row['fired']} of {row['sessions_total']}"


def _compactions(row: Row) -> str:
    if row["is_control"] or numbers.is_missing(row["compactions"]):
        return numbers.MISSING
    return numbers.count(round(row["compactions"], 1))


COLUMNS: tuple[Column, ...] = (
    Column(
        "retention",
        metric("retention").caption,
        "kept",
        metric("retention").meaning + " In brackets the 95% interval over sessions.",
        "higher",
        lambda row: row["retention"],
        kept,
    ),
    _of_metric("retention_said_once", "said once", numbers.share),
    _of_metric("retention_re_readable", "re-readable", numbers.share),
    _of_metric("retention_recoverable", "or recoverable", numbers.share),
    _of_metric("retention_after_recorded", "after a recorded cut", numbers.share),
    _of_metric("retention_needed", "needed", numbers.share),
    Column(
        "retention_recovered",
        metric("retention_recovered").caption,
        "recovered",
        metric("retention_recovered").meaning + " In brackets the 95% interval over sessions.",
        "higher",
        lambda row: row["retention_recovered"],
        answered,
    ),
    _of_metric("stale", "stale", numbers.share),
    _of_metric("invented", "invented", numbers.share),
    _of_metric("tokens_saved", "saved", numbers.share),
    _of_metric("cost_ratio", "cost", numbers.ratio),
    Column(
        "fired",
        "Fired",
        "fired",
        "Sessions in which a compaction was accepted, of all sessions. Where a strategy never "
        "fired it isn't scored.",
        "neither",
        lambda row: row["fired"],
        _fired,
    ),
    Column(
        "compactions",
        metric("compactions").caption,
        "compactions",
        "Accepted compactions, mean over sessions.",
        "neither",
        lambda row: row["compactions"],
        _compactions,
    ),
    Column(
        "retries",
        "Retries",
        "retries",
        "Second tries of every kind: overflow recoveries, repairs, re-plans and transport.",
        "lower",
        retries,
        lambda row: numbers.count(retries(row)),
    ),
    Column(
        "stopped",
        "Stopped",
        "stopped",
        "Replays that ended early because a request couldn't be made to fit; what came after "
        "counts as lost.",
        "lower",
        lambda row: row["stopped"],
        lambda row: numbers.count(row["stopped"]),
    ),
    _of_metric("invalid_projections", "invalid", numbers.count),
)
# Shown only where a strategy has something to say there, since the table has to fit a laptop.
_BESIDE = {
    "retention_recoverable": "retention",
    "retention_after_recorded": None,
    "retention_recovered": "retention",
}
COLUMN: dict[str, Column] = {column.name: column for column in COLUMNS}


def columns_for(rows: Sequence[Row]) -> tuple[Column, ...]:
    """The columns of a table of these rows; those that would say nothing new are left out."""
    own = [row for row in rows if not row["is_control"]]

    def says_something(name: str) -> bool:
        usual = _BESIDE[name]
        known = [row for row in own if not numbers.is_missing(row.get(name))]
        return any(usual is None or row[name] != row[usual] for row in known)

    return tuple(
        column for column in COLUMNS if column.name not in _BESIDE or says_something(column.name)
    )


def name_of(row: Row, *, is_multiple: bool) -> str:
    """What a row is called; window and model are said where there are several."""
    from reports.style import label

    text = label(row["strategy"], 60)
    if is_multiple:
        text += f" · {label(row['window_asked'], 12)} · {label(row['model'], 24)}"
    return text


def has_several(rows: list[Row]) -> bool:
    """Whether rows differ in window or model, not only in the strategy."""
    return len({(row["window_asked"], row["model"]) for row in rows}) > 1

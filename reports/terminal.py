"""What a terminal shows at the end of a run: the sentences first, then the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.money import money_sentence
from bench.results import Results
from bench.verdict_table import RECOVERED
from reports.columns import COLUMN, Row, has_several, name_of
from reports.frames import rows_of
from reports.numbers import share
from reports.reading import cell_frame
from reports.summary import summarise
from reports.text import clean, excerpt

if TYPE_CHECKING:
    from rich.console import Console

_WARNINGS_MAX = 5
# Name, heading and width: together with 18 columns for the name they fit into 80.
_COLUMNS: tuple[tuple[str, str, int], ...] = (
    ("retention", "kept", 13),
    ("retention_said_once", "said\nonce", 5),
    ("retention_re_readable", "re-\nread", 5),
    ("tokens_saved", "saved", 5),
    ("cost_ratio", "cost", 5),
    ("fired", "fired", 8),
    ("retries", "second\ntries", 6),
)


# Where some strategy can only be asked, what readers answered stands beside; what fired has a line
# of its own above the table.
_ANSWERED = ("retention_recovered", "an-\nswered", 6)


def print_summary(source: Results | Path, console: Console | None = None) -> None:
    """Verdict, what it stands on, and the table, readable from 80 columns on.

    `source` is a run folder or what `results_of` made of it. Nothing is coloured where the output
    isn't a terminal, and no text of a session can colour or move anything.
    """
    from rich.console import Console
    from rich.text import Text

    results = source if isinstance(source, Results) else _results(source)
    console = console or Console(highlight=False)
    verdict = results.verdict
    for place, sentence in enumerate(verdict.sentences):
        console.print(Text(clean(sentence), style="bold" if place == 0 else ""))
    console.print()
    for line in (
        verdict.opaque,
        verdict.controls,
        verdict.fired,
        verdict.basis,
        money_sentence(results.money),
    ):
        if line:
            console.print(Text(clean(line)))
    _print_table(results, console)
    for warning in results.warnings[:_WARNINGS_MAX]:
        console.print(Text(f"Warning: {excerpt(warning, 300)}"))
    if len(results.warnings) > _WARNINGS_MAX:
        console.print(Text(f"and {len(results.warnings) - _WARNINGS_MAX} more in the report"))


def _results(folder: Path) -> Results:
    from bench.results import results_of
    from bench.store import Run

    with Run.open(folder) as run:
        return results_of(run)


def _print_table(results: Results, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    rows = rows_of(summarise(cell_frame(results.cells)))
    if not rows:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(Text("strategy"), overflow="fold", min_width=12)
    is_opaque = any(row["retention_layer"] == RECOVERED for row in rows)
    columns = _COLUMNS
    if is_opaque:
        others = [column for column in _COLUMNS[1:] if column[0] != "fired"]
        columns = (_COLUMNS[0], _ANSWERED, *others)
    for _, heading, width in columns:
        table.add_column(Text(heading), justify="right", min_width=width, vertical="bottom")
    is_multiple = has_several(rows)
    for row in rows:
        table.add_row(
            Text(name_of(row, is_multiple=is_multiple)),
            *(Text(_text(name, row)) for name, _, _ in columns),
            style="dim" if row["is_control"] else "",
        )
    console.print(table)
    legend = [
        "kept: share of what was needed, 95% interval over sessions",
        "said once: the part that is lost for good",
        "re-read: the part that a tool could show again",
        "saved, cost: against the full history",
        "fired: sessions with a compaction (a strategy that never fired isn't scored)",
    ]
    if is_opaque:
        legend[1:1] = [
            "answered: the share that a reader found in it, the only way to opaque state"
        ]
        legend.pop()
    console.print(Text(" · ".join(legend), style="dim"))


def _text(name: str, row: Row) -> str:
    # There is room for one interval in 80 columns.
    return share(row[name]) if name == _ANSWERED[0] else COLUMN[name].text(row)

"""Several runs side by side: a table and the trend over them, in the order in which they are given.

A strategy is followed through its prompts: `head_tail` and `head_tail(prompt=sha256:...)` are one
line, so that the trend over the versions of a prompt can be seen. Versions within one run follow
each other in the order of the run.

Nothing is tested here: `compare` and `gate` say whether a difference is real.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import UsageError
from bench.results import results_of
from bench.store import Run
from reports.charts.trend import draw
from reports.columns import COLUMN
from reports.frames import frame_of, rows_of
from reports.markdown import escaped
from reports.reading import cell_frame
from reports.style import in_order, label, places, to_png, to_svg
from reports.summary import SUMMARY, summarise

if TYPE_CHECKING:
    import pandas

TREND: dict[str, str] = {
    "run": "object",
    "run_rank": "int64",
    "has_other_sessions": "bool",  # than the run before
    "place": "int64",
    **SUMMARY,
    "line": "object",  # the strategy without its prompt
}
_PROMPT = re.compile(r"prompt=[^,()]+(?:, )?")
_COLUMNS = ("retention", "retention_said_once", "tokens_saved", "cost_ratio", "fired")


def trend_frame(runs: Sequence[tuple[str, pandas.DataFrame]]) -> pandas.DataFrame:
    """One row for each run and strategy (controls left out); `runs` are names and cells."""
    rows: list[dict[str, Any]] = []
    before: set[str] | None = None
    rank = 0
    for name, cells in runs:
        sessions = set(cells["session"])
        is_other = before is not None and sessions != before
        before = sessions
        own = [row for row in rows_of(summarise(cells)) if not row["is_control"]]
        versions: Counter[tuple[str, ...]] = Counter()
        for row in own:
            line = without_prompt(row["strategy"])
            setting = (line, row["window_asked"], row["model"])
            version = versions[setting]
            versions[setting] += 1
            rows.append(
                {
                    **row,
                    "line": line,
                    "run": name if version == 0 else f"{name} #{version + 1}",
                    "run_rank": rank + version,
                    "has_other_sessions": is_other and version == 0,
                }
            )
        rank += max(versions.values(), default=1)
    palette = places(in_order(row["line"] for row in rows))
    for row in rows:
        row["place"] = palette[row["line"]]
    return frame_of(rows, TREND)


def without_prompt(spec: str) -> str:
    """The spec of a strategy without its prompt: what a line of the trend follows."""
    bare = _PROMPT.sub("", spec).replace(", )", ")")
    return bare.removesuffix("()")


def write_trend(run_folders: Sequence[Path], to: Path) -> list[Path]:
    """Writes `trend.md`, `charts/trend.svg` and `.png` into `to`; returns the paths.

    Raises UsageError for a folder without a run or a place that can't be written.
    """
    runs = []
    for folder in run_folders:
        with Run.open(folder) as run:
            runs.append((folder.name or str(folder), cell_frame(results_of(run).cells)))
    frame = trend_frame(runs)
    figure = draw(frame)
    try:
        (to / "charts").mkdir(parents=True, exist_ok=True)
        written = [to / "trend.md", to / "charts" / "trend.svg", to / "charts" / "trend.png"]
        written[0].write_text(to_markdown(frame), encoding="utf-8")
        written[1].write_text(to_svg(figure), encoding="utf-8")
        written[2].write_bytes(to_png(figure))
    except OSError as error:
        raise UsageError(
            f"{to}: can't be written: {error.strerror or error}; give another folder with --to"
        ) from error
    return written


def to_markdown(frame: pandas.DataFrame) -> str:
    """The runs side by side as a Markdown table, grouped by strategy."""
    columns = [COLUMN[name] for name in _COLUMNS]
    lines = [
        "| Strategy | Run | n | " + " | ".join(column.caption for column in columns) + " |",
        "|:--|:--|--:|" + "--:|" * len(columns),
    ]
    rows = rows_of(frame)
    for strategy in in_order(row["strategy"] for row in rows):
        for row in rows:
            if row["strategy"] == strategy:
                shown = " | ".join(column.text(row) for column in columns)
                note = " (other sessions)" if row["has_other_sessions"] else ""
                lines.append(
                    f"| {escaped(label(strategy, 60))} | {escaped(label(row['run'], 40))}{note} | "
                    f"{row['sessions']} | {shown} |"
                )
    lines += ["", "![Retention over runs](charts/trend.png)"]
    return "\n".join(lines) + "\n"

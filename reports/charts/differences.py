"""Chart 6: a forest plot of paired differences, with the margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MARGIN = 0.10
_PAIRS_MAX = 28


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """One row for each pair: the difference of retention over shared sessions and its interval."""
    every = rows_of(frame)
    rows = every[:_PAIRS_MAX]
    if not rows:
        return style.empty_figure("No two strategies were scored on the same session.")
    figure = style.new_figure(9.6, 1.5 + 0.36 * len(rows))
    axes = figure.add_subplot()
    axes.axvspan(-MARGIN, MARGIN, color=style.GRID, alpha=0.5, linewidth=0, zorder=0)
    axes.axvline(0, color=style.INK, linewidth=1)
    reach = MARGIN * 1.6
    for place, row in enumerate(rows):
        has_interval = not is_missing(row["low"])
        is_clear = has_interval and (row["low"] > 0 or row["high"] < 0)
        ink = style.SERIES[0] if is_clear else style.MUTED
        if has_interval:
            axes.plot(
                [row["low"], row["high"]], [place, place], color=ink, linewidth=2.0, marker="|"
            )
            reach = max(reach, abs(row["low"]), abs(row["high"]))
        reach = max(reach, abs(row["difference"]))
        axes.plot(
            [row["difference"]],
            [place],
            marker="s" if is_clear else "o",
            markersize=7,
            markerfacecolor=ink if is_clear else style.PAPER,
            markeredgecolor=ink,
            linestyle="none",
        )
    axes.set_yticks(
        range(len(rows)),
        [f"{style.label(r['first'], 28)} − {style.label(r['second'], 28)}" for r in rows],
    )
    numbers = axes.secondary_yaxis("right")
    numbers.set_yticks(range(len(rows)), [_numbers(row) for row in rows])
    numbers.tick_params(length=0, labelsize=9)
    numbers.spines["right"].set_visible(False)
    axes.set_xlim(-min(1.5, reach) * 1.08, min(1.5, reach) * 1.08)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    hidden = len(every) - len(rows)
    more = f" ({hidden} more pairs in the tables)" if hidden > 0 else ""
    axes.set_xlabel(
        f"← second keeps more · difference of retention in points · first keeps more →{more}"
    )
    style.points_axis(axes.xaxis)
    axes.set_title(
        "filled: the interval excludes 0 (not corrected for the number of pairs) · "
        f"band: ±{MARGIN * 100:.0f} points",
        fontsize=9,
        color=style.MUTED,
    )
    return figure


def _numbers(row: dict[str, object]) -> str:
    difference = f"{100 * float(str(row['difference'])):+.0f}"
    if is_missing(row["low"]):
        return f"{difference} points, n={row['sessions']}"
    low, high = (100 * float(str(row[name])) for name in ("low", "high"))
    return f"{difference} [{low:+.0f}, {high:+.0f}], n={row['sessions']}"

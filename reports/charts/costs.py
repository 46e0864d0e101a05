"""Chart 5: where the tokens went, a waterfall for each strategy, with the break-even."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports import style
from reports.frames import rows_of
from reports.numbers import is_missing, ratio, tokens

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_STRATEGIES_MAX = 16


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """Three bars for each strategy: full history, what it dropped, what its summariser cost; the
    dark bar is what was sent in the end."""
    rows = [row for row in rows_of(frame) if not is_missing(row["sent"])][:_STRATEGIES_MAX]
    if not rows:
        return style.empty_figure("No strategy sent anything.")
    figure = style.new_figure(9.6, 1.4 + 0.8 * len(rows))
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        _waterfall(axes, place, row)
    axes.set_yticks(
        range(len(rows)), [f"{style.label(r['strategy'], 34)}\nn={r['sessions']}" for r in rows]
    )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max(max(r["baseline"], r["sent"]) for r in rows) * 1.42)
    axes.set_xlabel("mean input tokens a session, summed over its requests")
    style.token_axis(axes.xaxis)
    style.direction_note(axes, "better: shorter dark bar ←")
    _legend(figure)
    return figure


def _waterfall(axes: Any, place: int, row: dict[str, Any]) -> None:
    kept = row["baseline"] - row["dropped"]
    colour = style.colour(row["place"])
    line = {"edgecolor": style.INK, "linewidth": 0.7}
    axes.barh(place - 0.24, row["baseline"], 0.2, color="none", **line)
    axes.barh(place, row["dropped"], 0.2, left=kept, color=style.GRID, hatch="///", **line)
    axes.barh(place + 0.24, kept, 0.2, color=colour, **line)
    axes.barh(
        place + 0.24, row["summariser"], 0.2, left=kept, color=style.SERIES[4], hatch="xxx", **line
    )
    even = (
        f"ahead from request {row['break_even']:.0f} (in {row['broke_even']} of {row['sessions']})"
        if not is_missing(row["break_even"])
        else ("no summariser to pay back" if not row["summariser"] else "never breaks even")
    )
    cost = "" if is_missing(row["cost_ratio"]) else f", {ratio(row['cost_ratio'])} billed"
    axes.text(
        max(row["baseline"], row["sent"]) * 1.012,
        place,
        f"sent {tokens(row['sent'])} of {tokens(row['baseline'])}{cost}\n{even}",
        va="center",
        fontsize=8.5,
    )


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(facecolor="none", edgecolor=style.INK, label="full history"),
            Patch(facecolor=style.GRID, edgecolor=style.INK, hatch="///", label="dropped"),
            Patch(facecolor=style.MUTED, edgecolor=style.INK, label="requests"),
            Patch(facecolor=style.SERIES[4], edgecolor=style.INK, hatch="xxx", label="summariser"),
        ],
        loc="outside upper left",
        ncols=4,
    )

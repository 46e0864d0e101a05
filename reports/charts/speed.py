"""What replays cost beside a bare tiktoken pass, and how that grows with the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONDITIONS = {
    "cold": "nothing counted before",
    "cold_fast": "the same with the extra fast",
    "warm": "all texts counted by an earlier run",
}


@style.drawing
def draw(
    costs: Sequence[Mapping[str, Any]],
    growth: Sequence[Mapping[str, Any]],
    limits: Mapping[str, float],
) -> Figure:
    """Bars by strategy and condition with the limits as lines; lines by strategy and size.

    A row of `costs` has `name` and a ratio for each of `CONDITIONS`; one of `growth` has
    `strategy`, `events` and `growth`, the time an event by that of the first size (None: not told).
    """
    figure = style.new_figure(11.0, 4.8)
    bars, lines = figure.subplots(1, 2, width_ratios=(3, 2))
    _bars(bars, costs, limits)
    _lines(lines, [row for row in growth if row["growth"] is not None])
    figure.legend(*bars.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return figure


def _bars(axes: Axes, costs: Sequence[Mapping[str, Any]], limits: Mapping[str, float]) -> None:
    height = 0.8 / len(CONDITIONS)
    for number, (condition, label) in enumerate(CONDITIONS.items()):
        places = [row - 0.4 + height * (number + 0.5) for row in range(len(costs))]
        axes.barh(
            places,
            [row[condition] for row in costs],
            height=height * 0.9,
            color=style.colour(number),
            hatch=style.hatch(number),
            edgecolor=style.PAPER,
            linewidth=0,
            label=label,
        )
    for condition, limit in limits.items():
        if condition in CONDITIONS:
            number = list(CONDITIONS).index(condition)
            axes.axvline(limit, color=style.colour(number), linestyle=style.dash(1), linewidth=1)
    axes.set_yticks(range(len(costs)), [style.label(row["name"], 24) for row in costs])
    axes.invert_yaxis()
    axes.set_xlabel("replay of 20,000 events, in bare tiktoken passes; dashed: limits")
    style.direction_note(axes, "less is better")


def _lines(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    from matplotlib.ticker import NullFormatter

    strategies = style.in_order(row["strategy"] for row in rows)
    for number, strategy in enumerate(strategies):
        own = sorted(
            (row for row in rows if row["strategy"] == strategy), key=lambda row: row["events"]
        )
        axes.plot(
            [row["events"] for row in own],
            [row["growth"] for row in own],
            color=style.colour(number),
            marker=style.marker(number),
            linestyle=style.dash(number),
            markersize=6,
            label=style.label(strategy, 30),
        )
    axes.axhspan(0.9, 1.1, color=style.GRID, alpha=0.5, linewidth=0)
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    style.token_axis(axes.xaxis)
    axes.set_ylim(0, max([1.5, *(row["growth"] * 1.1 for row in rows)]))
    axes.set_xlabel("events; time an event by that at the first size")
    axes.legend(loc="lower right")

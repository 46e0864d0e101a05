"""Chart 10: regret against the best strategy of each session, and the spread over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports import style
from reports.frames import rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_STRATEGIES_MAX = 24


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """A filled marker for the mean with its interval, a hollow one for the worst session, and the
    figures as a table beside it."""
    rows = rows_of(frame)[:_STRATEGIES_MAX]
    if not rows:
        return style.empty_figure("No strategy was scored.")
    figure = style.new_figure(9.6, 1.3 + 0.42 * len(rows))
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        colour, shape = style.colour(row["place"]), style.marker(row["place"])
        axes.plot(
            [row["regret"], row["regret_worst"]], [place, place], color=style.GRID, linewidth=2
        )
        if not is_missing(row["regret_low"]):
            bounds = [max(0.0, row["regret_low"]), row["regret_high"]]
            axes.plot(bounds, [place, place], color=colour, linewidth=2)
        axes.plot(
            [row["regret_worst"]],
            [place],
            marker=shape,
            markerfacecolor=style.PAPER,
            markeredgecolor=colour,
            linestyle="none",
            label="worst session" if place == 0 else None,
        )
        axes.plot(
            [row["regret"]],
            [place],
            marker=shape,
            color=colour,
            markersize=7.5,
            linestyle="none",
            label="mean with 95% interval" if place == 0 else None,
        )
    axes.set_yticks(range(len(rows)), [style.label(row["strategy"], 34) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=-0.01)
    numbers = axes.secondary_yaxis("right")
    numbers.set_yticks(range(len(rows)), [_numbers(row) for row in rows])
    numbers.tick_params(length=0, labelsize=9)
    numbers.spines["right"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("points of retention less than the best strategy of the same session")
    style.plain_points_axis(axes.xaxis)
    style.direction_note(axes, "better: left ←")
    figure.legend(loc="outside upper left", ncols=2)
    return figure


def _numbers(row: dict[str, Any]) -> str:
    worst = style.label(row["worst_session"], 20)
    text = f"best in {row['best_in']} of {row['sessions']}, worst in {worst}"
    if row["seeds"] > 1 and not is_missing(row["seed_spread"]):
        return f"{text}\n{row['seeds']} seeds, {100 * row['seed_spread']:.0f} points apart"
    return f"{text}\none seed"

"""Chart 9: a dumbbell for each session: how far apart the strategies are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_SESSIONS_MAX = 40


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """One row for each session, a marker for each strategy; widest spread first."""
    rows = rows_of(frame)
    sessions = list(dict.fromkeys(row["session"] for row in rows))
    shown = sessions[:_SESSIONS_MAX]
    if not shown:
        return style.empty_figure("No session was replayed.")
    figure = style.new_figure(9.6, 1.5 + 0.3 * len(shown))
    axes = figure.add_subplot()
    at = {name: place for place, name in enumerate(shown)}
    _lines(axes, rows, at)
    for strategy in style.in_order(row["strategy"] for row in rows):
        own = [r for r in rows if r["strategy"] == strategy and r["session"] in at]
        scored = [r for r in own if not is_missing(r["retention"])]
        place = own[0]["place"] if own else 0
        axes.plot(
            [r["retention"] for r in scored],
            [at[r["session"]] for r in scored],
            marker=style.marker(place),
            color=style.colour(place),
            markersize=7,
            linestyle="none",
            label=f"{style.label(strategy, 28)}, n={len(scored)}",
        )
    _missing(axes, rows, at)
    axes.set_yticks(range(len(shown)), [style.label(name, 28) for name in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(-0.09, 1.03)
    hidden = len(sessions) - len(shown)
    more = f" ({hidden} sessions with less spread not shown)" if hidden > 0 else ""
    axes.set_xlabel(f"retention{more}")
    style.percent_axis(axes.xaxis)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    style.direction_note(axes, "better: right →")
    style.side_legend(figure, axes)
    return figure


def _lines(axes: object, rows: list[dict[str, object]], at: dict[object, int]) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    for session, place in at.items():
        values = [
            float(str(r["retention"]))
            for r in rows
            if r["session"] == session and not is_missing(r["retention"])
        ]
        if values:
            axes.plot(
                [min(values), max(values)],
                [place, place],
                color=style.MUTED,
                linewidth=1.2,
                zorder=1,
            )


def _missing(axes: object, rows: list[dict[str, object]], at: dict[object, int]) -> None:
    """Cells without a score stand in a column of their own left of 0, never at a value."""
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    left: dict[int, int] = {}
    is_named = False
    for row in rows:
        if row["session"] in at and is_missing(row["retention"]):
            place = at[row["session"]]
            axes.plot(
                [-0.035 - 0.018 * left.get(place, 0)],
                [place],
                marker=style.marker(int(str(row["place"]))),
                markerfacecolor=style.PAPER,
                markeredgecolor=style.MUTED,
                linestyle="none",
                clip_on=False,
                label=None if is_named else "hollow: not exercised",
            )
            is_named = True
            left[place] = left.get(place, 0) + 1

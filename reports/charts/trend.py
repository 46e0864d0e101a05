"""Chart 11: retention over runs, for example one run for each version of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import groups_of, rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_RUNS_NAMED_MAX = 24


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """One line for each strategy, whatever its prompt, over the runs in the order given.

    A run that lacks a strategy leaves a gap. Triangles along the axis mark runs whose sessions
    aren't those of the run before: across such a step the lines can't be compared.
    """
    if frame.empty:
        return style.empty_figure("No run holds a scored strategy.")
    runs = [name for _, name in sorted({(r["run_rank"], r["run"]) for r in rows_of(frame)})]
    figure = style.new_figure(9.6, 4.8)
    axes = figure.add_subplot()
    strategies = style.in_order(frame["line"])
    step = min(0.06, 0.5 / len(strategies))
    for number, strategy in enumerate(strategies):
        shift = (number - (len(strategies) - 1) / 2) * step
        own = sorted(rows_of(frame[frame["line"] == strategy]), key=lambda row: row["run_rank"])
        place = own[0]["place"]
        values = {row["run_rank"]: row["retention"] for row in own}
        axes.plot(
            [rank + shift for rank in range(len(runs))],
            [values.get(rank, float("nan")) for rank in range(len(runs))],
            color=style.colour(place),
            marker=style.marker(place),
            linestyle=style.dash(place),
            label=style.label(strategy, 34),
        )
        for row in own:
            if not is_missing(row["retention_low"]):
                bounds = [row["retention_low"], row["retention_high"]]
                axes.plot(
                    [row["run_rank"] + shift] * 2, bounds, color=style.colour(place), linewidth=1
                )
    sessions = {rank: int(part["sessions"].max()) for rank, part in groups_of(frame, "run_rank")}
    every = max(1, -(-len(runs) // _RUNS_NAMED_MAX))
    named = range(0, len(runs), every)
    labels = [f"{style.label(runs[rank], 22)}\nn={sessions.get(rank, 0)}" for rank in named]
    is_crowded = len(labels) > 6
    axes.set_xticks(
        list(named),
        labels,
        rotation=30 if is_crowded else 0,
        ha="right" if is_crowded else "center",
    )
    changed = sorted({row["run_rank"] for row in rows_of(frame) if row["has_other_sessions"]})
    if changed:
        axes.plot(
            [rank - 0.5 for rank in changed],
            [0.0] * len(changed),
            marker="^",
            linestyle="none",
            color=style.INK,
            clip_on=False,
            label="other sessions from here on",
        )
    axes.set_ylim(0, 1.03)
    axes.set_xlim(-0.5, len(runs) - 0.5)
    axes.set_ylabel("retention")
    style.percent_axis(axes.yaxis)
    style.direction_note(axes, "better: up ↑ · bars: 95% over sessions")
    style.side_legend(figure, axes)
    return figure

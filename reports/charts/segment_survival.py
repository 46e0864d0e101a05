"""Survival of a first summary: segments against repeated re-summarising, a panel a kind of cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_TITLES = {
    "turns": "compacted between turns",
    "even": "compacted anywhere, mostly inside turns",
}


@style.drawing
def draw(rows: Sequence[Mapping[str, Any]], chance: float) -> Figure:
    """A line with its interval for each arm, the numbers at risk under it.

    A row has `place`, `strategy`, `generation` (from 1), `share`, `low` and `high` (None without
    an interval), `sessions` and `at_risk`. `chance` is that of the coin at each rewrite: dotted is
    what it alone would leave of a text that is rewritten every time.
    """
    known = [row for row in rows if row["share"] is not None]
    if not known:
        return style.empty_figure("Nothing of a first summary was at risk.")
    places = [place for place in _PANEL_TITLES if any(row["place"] == place for row in known)]
    strategies = style.in_order(row["strategy"] for row in known)
    figure = style.new_figure(5.4 * len(places) + 0.4, 4.6 + 0.18 * len(strategies))
    panels = figure.subplots(1, len(places), sharey=True, squeeze=False)[0]
    for place, axes in zip(places, panels, strict=True):
        _panel(axes, [row for row in known if row["place"] == place], strategies, chance)
        axes.set_title(_PANEL_TITLES[place])
    style.direction_note(panels[-1], "bands: 95% over sessions")
    panels[0].set_ylabel("of the first summary, still in one")
    style.percent_axis(panels[0].yaxis)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=2)
    return figure


def _panel(
    axes: Axes, rows: Sequence[Mapping[str, Any]], strategies: Sequence[str], chance: float
) -> None:
    from matplotlib.ticker import MaxNLocator

    numbers = style.places(strategies)
    for strategy in strategies:
        own = sorted(
            (row for row in rows if row["strategy"] == strategy), key=lambda row: row["generation"]
        )
        if not own:
            continue
        number = numbers[strategy]
        x = [row["generation"] for row in own]
        axes.plot(
            x,
            [row["share"] for row in own],
            color=style.colour(number),
            marker=style.marker(number),
            linestyle=style.dash(number),
            markersize=6,
            linewidth=1.4,
            label=style.label(strategy, 30),
        )
        bounded = [row for row in own if row["low"] is not None]
        axes.fill_between(
            [row["generation"] for row in bounded],
            [row["low"] for row in bounded],
            [row["high"] for row in bounded],
            color=style.colour(number),
            alpha=0.1,
            linewidth=0,
        )
    generations = sorted({row["generation"] for row in rows})
    axes.plot(
        generations,
        [chance ** (generation - 1) for generation in generations],
        color=style.MUTED,
        linestyle=(0, (1, 2)),
        linewidth=1.2,
        label=f"the coin alone, every time: {chance:g}^(k-1)",
    )
    axes.set_ylim(-0.03, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(
        _at_risk(rows, strategies, generations),
        fontsize=8,
        loc="left",
        family="DejaVu Sans Mono",
    )


def _at_risk(
    rows: Sequence[Mapping[str, Any]], strategies: Sequence[str], generations: Sequence[int]
) -> str:
    """What stands behind every point, as a small table under the axis."""
    cells = {(row["strategy"], row["generation"]): row for row in rows}
    lines = ["number of the compaction; entities at risk (mean over seeds):"]
    lines.append(f"{'':<26}" + "".join(f"{generation:>5}" for generation in generations))
    for strategy in strategies:
        known = [cells.get((strategy, generation)) for generation in generations]
        numbers = "".join(f"{row['at_risk'] if row else 0:>5.0f}" for row in known)
        lines.append(f"{style.label(strategy, 25):<26}{numbers}")
    sessions = [
        max((row["sessions"] for row in rows if row["generation"] == generation), default=0)
        for generation in generations
    ]
    lines.append(f"{'sessions':<26}" + "".join(f"{count:>5}" for count in sessions))
    return "\n".join(lines)

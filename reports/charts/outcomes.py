"""Chart 8: what became of every fact, stacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import OUTCOMES, rows_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_STRATEGIES_MAX = 24
_LEGEND_COLUMNS = 4
_LIGHT = ("attention_loss", "stale", "lost_re_readable", "contradicted", "unreadable")


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """One bar for each strategy, 100% of its facts; colours and hatches say what became of them."""
    rows = rows_of(frame)
    strategies = style.in_order(row["strategy"] for row in rows)
    shown = strategies[:_STRATEGIES_MAX]
    if not shown:
        return style.empty_figure("No fact was looked for.")
    figure = style.new_figure(9.6, 1.8 + 0.42 * len(shown))
    axes = figure.add_subplot()
    used = [name for name in OUTCOMES if any(r["outcome"] == name and r["facts"] for r in rows)]
    start = dict.fromkeys(shown, 0.0)
    for outcome in used:
        own = {r["strategy"]: r for r in rows if r["outcome"] == outcome}
        shares = [own[name]["share"] if name in own else 0.0 for name in shown]
        axes.barh(
            range(len(shown)),
            shares,
            left=[start[name] for name in shown],
            height=0.68,
            color=style.OUTCOME_COLOURS[outcome],
            hatch=style.OUTCOME_HATCHES[outcome],
            edgecolor=style.PAPER,
            linewidth=0.8,
            label=style.OUTCOME_NAMES[outcome],
        )
        for row, (name, share) in enumerate(zip(shown, shares, strict=True)):
            if share >= 0.05:
                axes.text(
                    start[name] + share / 2,
                    row,
                    f"{share:.0%}",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="#000000" if outcome in _LIGHT else "#ffffff",
                    bbox={"boxstyle": "round,pad=0.15", "linewidth": 0,
                          "facecolor": style.OUTCOME_COLOURS[outcome]},
                )  # fmt: skip
            start[name] += share
    totals = {name: sum(r["facts"] for r in rows if r["strategy"] == name) for name in shown}
    axes.set_yticks(
        range(len(shown)), [f"{style.label(name, 34)}  n={totals[name]:,}" for name in shown]
    )
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("share of facts at the request that needed them")
    style.percent_axis(axes.xaxis)
    if used:
        figure.legend(loc="outside upper left", ncols=min(_LEGEND_COLUMNS, len(used)))
    return figure

"""Chart 2: survival over compaction generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports import style
from reports.frames import rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KINDS_MAX = 6
_GENERATIONS_MAX = 20


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """Left all kinds together with the numbers at risk, right a small panel for each kind."""
    rows = [row for row in rows_of(frame) if row["generation"] <= _GENERATIONS_MAX]
    if not rows:
        return style.empty_figure("No compaction was accepted, or nothing was in use before one.")
    totals: dict[str, int] = {}
    for row in rows:
        if row["kind"] != "all":
            totals[row["kind"]] = totals.get(row["kind"], 0) + row["facts"]
    kinds = sorted(totals, key=lambda kind: (-totals[kind], kind))[:_KINDS_MAX]
    strategies = style.in_order(row["strategy"] for row in rows)
    figure = style.new_figure(9.6, 4.2 + 0.2 * len(strategies))
    layout = [["all", "all", *kinds[:2]], ["all", "all", *kinds[2:4]], ["all", "all", *kinds[4:6]]]
    mosaic: list[list[Any]] = [
        line + ["."] * (4 - len(line)) for line in layout[: max(1, -(-len(kinds) // 2))]
    ]
    panels = figure.subplot_mosaic(mosaic, sharey=True)
    for kind, axes in panels.items():
        _panel(axes, [r for r in rows if r["kind"] == kind], is_main=kind == "all")
        count = totals.get(kind, sum(totals.values()))
        axes.set_title(f"{style.label(kind, 22)}, n={count:,}", fontsize=10)
    main = panels["all"]
    main.set_ylabel("survived the compaction")
    main.set_xlabel(_at_risk(rows, strategies), fontsize=8.5, loc="left", family="DejaVu Sans Mono")
    style.percent_axis(main.yaxis)
    handles, names = main.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=3)
    return figure


def _panel(axes: Axes, rows: list[dict[str, object]], *, is_main: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    for strategy in style.in_order(str(row["strategy"]) for row in rows):
        own = sorted(
            (r for r in rows if r["strategy"] == strategy), key=lambda r: int(str(r["generation"]))
        )
        place = int(str(own[0]["place"]))
        x = [int(str(r["generation"])) for r in own]
        axes.plot(
            x,
            [float(str(r["retention"])) for r in own],
            color=style.colour(place),
            marker=style.marker(place),
            linestyle=style.dash(place),
            markersize=6 if is_main else 4,
            linewidth=1.4 if is_main else 1.0,
            label=style.label(strategy, 30),
        )
        bounds = [(r["retention_low"], r["retention_high"]) for r in own]
        if is_main and not any(is_missing(value) for bound in bounds for value in bound):
            axes.fill_between(
                x,
                [max(0.0, float(str(low))) for low, _ in bounds],
                [min(1.0, float(str(high))) for _, high in bounds],
                color=style.colour(place),
                alpha=0.1,
                linewidth=0,
            )
    axes.set_ylim(-0.03, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8 if is_main else 4))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))


def _at_risk(rows: list[dict[str, object]], strategies: list[str]) -> str:
    """The facts behind every point, as a small table under the axis."""
    generations = sorted({int(str(r["generation"])) for r in rows})[:9]
    counts = {
        (r["strategy"], r["generation"]): int(str(r["facts"])) for r in rows if r["kind"] == "all"
    }
    lines = ["number of the compaction in its session; entities at risk:"]
    lines.append(f"{'':<18}" + "".join(f"{generation:>6}" for generation in generations))
    for strategy in strategies[:10]:
        numbers = "".join(f"{counts.get((strategy, g), 0):>6}" for g in generations)
        lines.append(f"{style.label(strategy, 17):<18}{numbers}")
    return "\n".join(lines)

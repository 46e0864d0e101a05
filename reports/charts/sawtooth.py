"""Chart 3: the saw-tooth of tokens per request, one panel for each strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.numbers import tokens

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS_MAX = 8
_POINTS_MAX = 1_500


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """Tokens of every request of one session: cached and new input stacked, the window dashed.

    Triangles mark accepted compactions, crosses refused requests.
    """
    strategies = style.in_order(frame["strategy"])
    shown = strategies[:_PANELS_MAX]
    if not shown:
        return style.empty_figure("No request was made.")
    figure = style.new_figure(9.0, 1.2 + 1.25 * len(shown))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    window = frame["window"].max()
    # The full history would dwarf everything else where it is many windows long.
    others = frame[frame["strategy"] != "keep_all"]["tokens"]
    top = max(window if window == window else 0, others.max() if len(others) else 0)
    top = top if top else frame["tokens"].max()
    for panel, strategy in zip(panels, shown, strict=True):
        _panel(panel, frame[frame["strategy"] == strategy], strategy, max(1.0, float(top)) * 1.12)
    panels[-1].set_xlabel("request")
    _legend(figure)
    session = style.label(frame["session"].iloc[0], 60)
    more = f" · {len(strategies) - len(shown)} more strategies not shown" if strategies[8:] else ""
    figure.supylabel(f"input tokens · {session}{more}", fontsize=10)
    return figure


def _panel(axes: Axes, part: pandas.DataFrame, strategy: str, top: float) -> None:
    part = _thinned(part.sort_values("index"))
    index, total = part["index"].to_numpy(), part["tokens"].to_numpy()
    cached = part["cached_tokens"].to_numpy()
    place = int(part["place"].iloc[0])
    ink = style.MUTED if place < 0 else style.colour(place)
    axes.fill_between(index, 0, cached, step="mid", color=ink, alpha=0.25, linewidth=0)
    axes.fill_between(index, cached, total, step="mid", color=ink, alpha=0.95, linewidth=0)
    axes.step(index, total, where="mid", color=ink, linewidth=0.9)
    window = part["window"].iloc[0]
    if window == window:
        axes.axhline(window, color=style.INK, linestyle="--", linewidth=1)
    compacted = part[part["is_compacted"]]
    refused = part[~part["is_served"]]
    for marked, shape, fill in ((compacted, "v", style.INK), (refused, "X", style.SERIES[1])):
        if len(marked):
            axes.plot(
                marked["index"],
                marked["tokens"].clip(upper=top),
                marker=shape,
                linestyle="none",
                markersize=6.5,
                color=fill,
                markeredgecolor=style.INK,
                markeredgewidth=0.7,
                clip_on=False,
            )
    axes.set_ylim(0, top)
    style.token_axis(axes.yaxis)
    axes.locator_params(axis="y", nbins=4)
    axes.set_title(
        f"{style.label(strategy, 48)} · {len(part)} requests, {len(compacted)} compactions, "
        f"peak {tokens(float(total.max()))}" + (" (cut off here)" if total.max() > top else ""),
        fontsize=9.5,
    )


def _thinned(part: pandas.DataFrame) -> pandas.DataFrame:
    """At most so many points; peaks, compactions and refusals always stay."""
    if len(part) <= _POINTS_MAX:
        return part
    step = -(-len(part) // _POINTS_MAX)
    bins = part["index"].rank(method="first").astype(int) // step
    keep = set(part.groupby(bins)["tokens"].idxmax()) | set(part.groupby(bins)["tokens"].idxmin())
    marked = part["is_compacted"] | ~part["is_served"]
    return part[part.index.isin(keep) | marked]


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(color=style.MUTED, alpha=0.95, label="new input"),
            Patch(color=style.MUTED, alpha=0.25, label="read from cache"),
            Line2D([], [], color=style.INK, linestyle="--", linewidth=1, label="window"),
            Line2D([], [], color=style.INK, marker="v", linestyle="none", label="compaction"),
            Line2D([], [], color=style.SERIES[1], marker="X", linestyle="none", label="refused"),
        ],
        loc="outside upper left",
        ncols=5,
    )

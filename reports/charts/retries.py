"""Chart 12: re-reads and retries for each compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import RETRY_KINDS, rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_STRATEGIES_MAX = 20
_NAMES = {
    "re-read": "facts to read again",
    "overflow": "overflow recoveries",
    "repair": "repairs",
    "replan": "re-plans",
    "transport": "transport retries",
    "suppressed": "suppressed attempts",
}


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """Left facts that must be read again, right retries stacked by kind, both per compaction."""
    rows = rows_of(frame)
    strategies = style.in_order(row["strategy"] for row in rows)[:_STRATEGIES_MAX]
    if not strategies:
        return style.empty_figure("No strategy was replayed.")
    figure = style.new_figure(9.6, 1.7 + 0.42 * len(strategies))
    left, right = figure.subplots(1, 2, sharey=True)
    at = {name: place for place, name in enumerate(strategies)}
    start = [0.0] * len(strategies)
    found = {(r["strategy"], r["kind"]): r for r in rows}
    for kind in ("re-read", *RETRY_KINDS):
        axes = left if kind == "re-read" else right
        own = [found.get((name, kind)) for name in strategies]
        values = [
            0.0 if r is None or is_missing(r["per_compaction"]) else r["per_compaction"]
            for r in own
        ]
        place = ("re-read", *RETRY_KINDS).index(kind)
        if kind != "re-read" and not any(values):
            continue
        axes.barh(
            range(len(strategies)),
            values,
            left=start if kind != "re-read" else None,
            height=0.62,
            color=style.SERIES[place % len(style.SERIES)],
            hatch=style.hatch(place),
            edgecolor=style.PAPER,
            label=_NAMES[kind],
        )
        if kind != "re-read":
            start = [a + b for a, b in zip(start, values, strict=True)]
    left.set_yticks(
        range(len(strategies)),
        [f"{style.label(n, 28)}\n{_compactions(rows, n)} compactions" for n in at],
        fontsize=9,
    )
    left.invert_yaxis()
    for axes, name in (
        (left, "facts to read again per compaction"),
        (right, "retries per compaction"),
    ):
        axes.set_xlabel(name)
        axes.set_xlim(left=0, right=None if axes.get_xlim()[1] > 0.06 else 1)
        axes.grid(visible=False, axis="y")
    _counts(right, rows, strategies, start)
    style.direction_note(right, "better: shorter ←")
    figure.legend(loc="outside upper left", ncols=4)
    return figure


def _compactions(rows: list[dict[str, object]], strategy: str) -> str:
    return f"{max(float(str(r['compactions'])) for r in rows if r['strategy'] == strategy):,.0f}"


def _counts(
    axes: object, rows: list[dict[str, object]], strategies: list[str], ends: list[float]
) -> None:
    """The absolute numbers behind the bars: without them a rate of few compactions misleads."""
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    for place, name in enumerate(strategies):
        counts = {r["kind"]: float(str(r["count"])) for r in rows if r["strategy"] == name}
        # A suppressed attempt wasn't made: the table doesn't count it as a retry either.
        total = sum(counts.get(kind, 0) for kind in RETRY_KINDS if kind != "suppressed")
        suppressed = counts.get("suppressed", 0)
        more = f" + {suppressed:,.0f} suppressed" if suppressed else ""
        axes.annotate(
            f"{total:,.0f} in all{more}",
            (ends[place], place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axes.set_xlim(right=max(axes.get_xlim()[1], max(ends, default=0) * 1.45))

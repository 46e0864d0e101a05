"""Chart 7: retention by age since the last mention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import rows_of
from reports.numbers import is_missing

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """A dodged point with its interval for each strategy and age, joined by a line."""
    rows = rows_of(frame)
    if not rows:
        return style.empty_figure("No fact of known age was needed.")
    figure = style.new_figure(9.6, 4.8)
    axes = figure.add_subplot()
    strategies = style.in_order(row["strategy"] for row in rows)
    ages = sorted({(row["age_rank"], row["age"]) for row in rows})
    spread = min(0.6, 0.12 * len(strategies))
    for number, strategy in enumerate(strategies):
        own = sorted((r for r in rows if r["strategy"] == strategy), key=lambda r: r["age_rank"])
        place = own[0]["place"]
        shift = (number - (len(strategies) - 1) / 2) * spread / max(1, len(strategies))
        x = [ages.index((r["age_rank"], r["age"])) + shift for r in own]
        axes.plot(
            x,
            [r["retention"] for r in own],
            color=style.colour(place),
            marker=style.marker(place),
            linestyle=style.dash(place),
            markersize=7,
            linewidth=1.3,
            label=style.label(strategy, 30),
        )
        for at, row in zip(x, own, strict=True):
            if not is_missing(row["retention_low"]):
                low, high = max(0.0, row["retention_low"]), min(1.0, row["retention_high"])
                axes.plot([at, at], [low, high], color=style.colour(place), linewidth=1.1)
    axes.set_xticks(
        range(len(ages)),
        [f"{name}\n{_counts(rows, rank)}" for rank, name in ages],
    )
    axes.set_xlim(-0.5, len(ages) - 0.5)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("tokens since the last mention")
    axes.set_ylabel("there when it was needed")
    style.percent_axis(axes.yaxis)
    style.direction_note(axes, "better: up ↑ · bars: 95% over sessions")
    style.side_legend(figure, axes)
    return figure


def _counts(rows: list[dict[str, object]], rank: int) -> str:
    """The facts of one age: the same for all strategies unless some weren't exercised."""
    facts = [int(str(r["facts"])) for r in rows if r["age_rank"] == rank]
    sessions = max(int(str(r["sessions"])) for r in rows if r["age_rank"] == rank)
    low, high = min(facts), max(facts)
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"n={each} facts\n{sessions} sessions"

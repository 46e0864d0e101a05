"""Chart 4: heatmaps of retention, kind of fact against strategy or place in the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import style
from reports.frames import rows_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

_COLUMNS_MAX = 16
_KINDS_MAX = 24
_SMALL_FACTS = 5


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """A cell for each kind (row) and column, with its share and n; cells of few facts are pale."""
    rows = rows_of(frame)
    columns = [name for _, name in sorted({(r["column_rank"], r["column"]) for r in rows})]
    kinds = sorted({r["kind"] for r in rows})[:_KINDS_MAX]
    columns = columns[:_COLUMNS_MAX]
    if not kinds:
        return style.empty_figure("No fact was looked for.")
    figure = style.new_figure(max(5.5, 2.4 + 1.15 * len(columns)), 1.5 + 0.5 * len(kinds))
    axes = figure.add_subplot()
    for row in rows:
        if row["kind"] not in kinds or row["column"] not in columns:
            continue
        x, y, share = columns.index(row["column"]), kinds.index(row["kind"]), row["retention"]
        red, green, blue = _shade(share)
        axes.add_patch(_cell(x, y, (red, green, blue), is_small=row["facts"] < _SMALL_FACTS))
        is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
        axes.text(
            x,
            y,
            f"{share:.0%}\nn={row['facts']:,}",
            ha="center",
            va="center",
            fontsize=8,
            color="#ffffff" if is_dark and row["facts"] >= _SMALL_FACTS else "#000000",
        )
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(kinds) - 0.5, -0.5)
    axes.set_xticks(
        range(len(columns)),
        [style.label(name, 18) for name in columns],
        rotation=30 if max(map(len, columns)) > 12 and len(columns) > 3 else 0,
        ha="right" if max(map(len, columns)) > 12 and len(columns) > 3 else "center",
    )
    axes.set_yticks(range(len(kinds)), [style.label(kind, 24) for kind in kinds])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    style.direction_note(axes, f"better: dark · pale: fewer than {_SMALL_FACTS} facts")
    return figure


def _shade(share: float) -> tuple[float, float, float]:
    """From nearly white to dark blue: one hue, so that grey shows the same order."""
    low, high = (0.93, 0.96, 0.98), (0.03, 0.25, 0.45)
    part = min(1.0, max(0.0, share))
    red, green, blue = (a + (b - a) * part for a, b in zip(low, high, strict=True))
    return red, green, blue


def _cell(x: int, y: int, shade: tuple[float, float, float], *, is_small: bool) -> Rectangle:
    from matplotlib.patches import Rectangle

    face = tuple(0.75 + 0.25 * value for value in shade) if is_small else shade
    return Rectangle(
        (x - 0.48, y - 0.47), 0.96, 0.94, facecolor=face, edgecolor=style.GRID, linewidth=0.8
    )

"""Chart 1: retention against tokens saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports import style
from reports.frames import rows_of
from reports.numbers import number, share

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABELS_MAX = 24


@style.drawing
def draw_answered(frame: pandas.DataFrame) -> Figure:
    """The same of what a reader answered."""
    if not len(frame) or frame["retention"].isna().all():
        return style.empty_figure("No reader was asked.")
    return _drawn(frame, "questions answered (100% = full history, 0% = empty)", "answered")


@style.drawing
def draw(frame: pandas.DataFrame) -> Figure:
    """One point for each strategy: up is more kept, right is more saved.

    Intervals are crosses, settings of one strategy are joined by a line, dominated points are grey
    and controls hollow. What wasn't exercised or scored is listed below, never plotted.
    """
    return _drawn(frame, "retention (100% = full history, 0% = empty)", "kept")


def _drawn(frame: pandas.DataFrame, caption: str, verb: str) -> Figure:
    rows: list[dict[str, Any]] = rows_of(frame)
    shown = [r for r in rows if number(r["retention"]) is not None and _known(r["tokens_saved"])]
    left_out = [r for r in rows if r not in shown and not r["is_control"]]
    if not shown:
        return style.empty_figure(_left_out_note(left_out) or "No strategy was scored.")
    figure = style.new_figure(9.6, 5.2)
    axes = figure.add_subplot()
    _sweeps(axes, shown)
    for row in shown:
        _point(axes, row)
    _name_controls(axes, shown)
    axes.set_xlabel("tokens saved against the full history (summariser included)")
    axes.set_ylabel(caption)
    style.percent_axis(axes.xaxis)
    style.percent_axis(axes.yaxis)
    style.direction_note(axes, "better: up and to the right ↗")
    axes.margins(x=0.1, y=0.08)
    _legend(axes, shown, verb)
    if note := _left_out_note(left_out):
        figure.supxlabel(note, fontsize=9, color=style.MUTED, x=0.01, ha="left")
    return figure


def _known(value: object) -> bool:
    return number(value) is not None  # type: ignore[arg-type]


def _ink(row: dict[str, Any]) -> str:
    if row["is_control"]:
        return style.INK
    return style.MUTED if row["is_dominated"] else style.colour(row["place"])


def _sweeps(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Join the settings of one strategy, in the order of tokens saved."""
    sweeps: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if not row["is_control"]:
            key = (row["family"], row["window_asked"], row["model"])
            sweeps.setdefault(key, []).append(row)
    for points in sweeps.values():
        if len(points) > 1:
            points.sort(key=lambda r: (r["tokens_saved"], r["retention"]))
            axes.plot(
                [r["tokens_saved"] for r in points],
                [r["retention"] for r in points],
                color=style.MUTED,
                linewidth=1.2,
                linestyle=style.dash(points[0]["place"]),
                zorder=1,
            )


def _point(axes: Axes, row: dict[str, Any]) -> None:
    x, y, ink = row["tokens_saved"], row["retention"], _ink(row)
    for low, high, is_vertical in (
        (row["retention_low"], row["retention_high"], True),
        (row["tokens_saved_low"], row["tokens_saved_high"], False),
    ):
        if _known(low) and _known(high) and not row["is_control"]:
            line = ([x, x], [low, high]) if is_vertical else ([low, high], [y, y])
            axes.plot(*line, color=ink, linewidth=1.4, solid_capstyle="butt", zorder=2)
    axes.plot(
        [x],
        [y],
        marker="*" if row["is_control"] else style.marker(row["place"]),
        markersize=11 if row["is_control"] else 8.5,
        markerfacecolor=style.PAPER if row["is_control"] else ink,
        markeredgecolor=ink,
        markeredgewidth=1.2,
        linestyle="none",
        zorder=4 if row["is_control"] else 3,
    )


def _name_controls(axes: Axes, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["is_control"]:
            is_right = row["tokens_saved"] > 0.5
            axes.annotate(
                style.label(row["strategy"]),
                (row["tokens_saved"], row["retention"]),
                xytext=(-9 if is_right else 9, 0),
                textcoords="offset points",
                ha="right" if is_right else "left",
                va="center",
                fontsize=9,
            )


def _legend(axes: Axes, rows: list[dict[str, Any]], verb: str) -> None:
    """Names beside the chart, the best first, with the numbers: names inside would overlap."""
    from matplotlib.lines import Line2D

    is_multiple = len({(r["window_asked"], r["model"]) for r in rows}) > 1
    named = sorted(
        (r for r in rows if not r["is_control"]), key=lambda r: (-r["retention"], r["strategy"])
    )
    handles = [
        Line2D([], [], marker=style.marker(r["place"]), color=_ink(r), markersize=8,
               linestyle="none", label=_name(r, is_multiple, verb))
        for r in named[:_LABELS_MAX]
    ]  # fmt: skip
    if len(named) > _LABELS_MAX:
        rest = f"and {len(named) - _LABELS_MAX} more"
        handles.append(Line2D([], [], linestyle="none", label=rest))
    if any(r["is_control"] for r in rows):
        handles.append(
            Line2D([], [], marker="*", color=style.INK, markerfacecolor=style.PAPER,
                   markersize=10, linestyle="none", label="controls")
        )  # fmt: skip
    axes.figure.legend(
        handles=handles,
        loc="outside right upper",
        title="crosses: 95% intervals over sessions\ngrey: dominated",
        title_fontproperties={"size": 9},
        alignment="left",
        labelspacing=0.9,
    )


def _name(row: dict[str, Any], is_multiple: bool, verb: str) -> str:
    text = style.label(row["strategy"], 30)
    if is_multiple:
        text += f" · {row['window_asked']} · {style.label(row['model'], 16)}"
    of_all = f" of {row['sessions_total']}" if row["sessions"] < row["sessions_total"] else ""
    return (
        f"{text}\n{share(row['retention'])} {verb}, {share(row['tokens_saved'])} saved, "
        f"n={row['sessions']}{of_all}"
    )


def _left_out_note(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    names = [style.label(row["strategy"], 34) for row in rows[:6]]
    more = f" and {len(rows) - 6} more" if len(rows) > 6 else ""
    return "not exercised or not scored, so not plotted: " + ", ".join(names) + more

"""How charts look: colours, markers, hatches, fonts, and the bytes they are saved as.

Colours are Okabe and Ito's, which people with any colour vision tell apart; markers, dashes and
hatches differ too, so that a chart still reads on a grey printer. Ink, grid and series colours are
fixed values that the page swaps for its own variables, which is how one drawing serves light and
dark.
"""

from __future__ import annotations

import functools
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from bench.plan import CONTROLS
from reports.text import clean, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Parameters = ParamSpec("Parameters")

INK = "#1f2328"
MUTED = "#6a737d"
GRID = "#d8dee4"
PAPER = "#fefefe"
SERIES: tuple[str, ...] = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#cc79a7",  # pink
    "#e69f00",  # orange
    "#56b4e9",  # sky
    "#8c6d31",  # brown, beyond the seven of the palette
    "#5e4fa2",  # violet
)
MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P", "X", "h")
DASHES: tuple[str, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), "-", "--")  # type: ignore[assignment]
HATCHES: tuple[str, ...] = ("", "///", "xxx", "\\\\\\", "---", "|||", "+++", "//")
OUTCOME_COLOURS: dict[str, str] = {
    # Not the very values of the series: these stay as they are on a dark page.
    "recovered": "#005a8c",
    "present": "#0071b1",
    "attention_loss": "#7ab8dc",
    "inferred": "#009e74",
    "stale": "#f0e442",
    "contradicted": "#cc78a6",
    "lost_re_readable": "#e69e01",
    "lost_said_once": "#c44f00",
    "unserved": "#4d4d4d",
    "unreadable": "#b0b6bd",
}
OUTCOME_NAMES: dict[str, str] = {
    "recovered": "recovered by a reader",
    "present": "present",
    "attention_loss": "present, not found by a reader",
    "inferred": "absent, inferred or guessed",
    "stale": "stale value only",
    "contradicted": "contradicted",
    "lost_re_readable": "lost, re-readable",
    "lost_said_once": "lost for good (said once)",
    "unserved": "replay had stopped",
    "unreadable": "unreadable (opaque state)",
}
OUTCOME_HATCHES: dict[str, str] = {
    "recovered": "||",
    "present": "",
    "attention_loss": "oo",
    "inferred": "**",
    "stale": "\\\\",
    "contradicted": "xx",
    "lost_re_readable": "//",
    "lost_said_once": "++",
    "unserved": "..",
    "unreadable": "--",
}

_ORDER: tuple[str, ...] = ("head_tail", "layered", "prune", "native")
_CJK_FAMILIES: tuple[str, ...] = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "Arial Unicode MS",
)
_CJK_FILES: tuple[str, ...] = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc",
)


@functools.cache
def _families() -> tuple[str, ...]:
    """DejaVu Sans, which matplotlib brings, and the first family with Chinese that is there."""
    from matplotlib import font_manager

    known = {font.name for font in font_manager.fontManager.ttflist}
    found = next((family for family in _CJK_FAMILIES if family in known), None)
    if found is None:
        # matplotlib's list of fonts is cached for good; a font installed since isn't on it.
        for file in _CJK_FILES:
            if Path(file).is_file():
                font_manager.fontManager.addfont(file)
                found = font_manager.FontProperties(fname=file).get_name()
                break
    return ("DejaVu Sans", found) if found else ("DejaVu Sans",)


def _settings() -> dict[str, object]:
    return {
        "font.family": list(_families()),
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": MUTED,
        "axes.titlecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.facecolor": "none",
        "figure.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "hatch.linewidth": 0.6,
        "hatch.color": INK,
        # Labels are data: a dollar sign in one must not start a formula.
        "text.parse_math": False,
        "axes.unicode_minus": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "compaction-bench",
        "path.simplify": True,
    }


@contextmanager
def styled() -> Iterator[None]:
    """Settings and silence for drawing and saving: a glyph no font has is a box, not a warning."""
    import matplotlib as mpl

    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    with mpl.rc_context(_settings()), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def drawing(draw: Callable[Parameters, Figure]) -> Callable[Parameters, Figure]:
    """Decorates a chart: draws it in the house style whatever matplotlib is set to."""

    @functools.wraps(draw)
    def styled_draw(*arguments: Parameters.args, **options: Parameters.kwargs) -> Figure:
        with styled():
            figure = draw(*arguments, **options)
            # The layout is found once, not again for every format that is saved.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return styled_draw


def new_figure(width_inches: float = 9.0, height_inches: float = 4.6) -> Figure:
    """An empty figure outside of any global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_inches, height_inches), layout="constrained")
    # Room at the edges: text is a little wider in one format than in another.
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    return figure


def empty_figure(sentence: str, width_inches: float = 9.0) -> Figure:
    """A figure that says why there is nothing to see."""
    figure = new_figure(width_inches, 1.6)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", color=MUTED, transform=axes.transAxes)
    return figure


def to_svg(figure: Figure) -> str:
    """The figure as SVG text: the same figure gives the same bytes."""
    buffer = io.StringIO()
    with styled():
        figure.savefig(
            buffer,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    # Columns of numbers are set with blanks, which SVG would fold into one.
    text = buffer.getvalue().replace(
        "*{stroke-linejoin", "text{white-space:pre}*{stroke-linejoin", 1
    )
    # Matplotlib ends some lines in blanks, which version control systems complain about.
    return re.sub(r"[ \t]+\n", "\n", text)


def to_png(figure: Figure, dots_per_inch: int = 150) -> bytes:
    """The figure as PNG: the same figure gives the same bytes."""
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format="png", dpi=dots_per_inch, metadata={"Software": None})
    return buffer.getvalue()


def family(strategy: str) -> str:
    """The name of a strategy without its parameters."""
    return strategy.split("(", 1)[0]


def label(strategy: object, characters_max: int = 44) -> str:
    """A strategy, kind or session as a label: harmless and short."""
    return shorten(clean(strategy), characters_max)


def in_order(strategies: Iterable[str]) -> list[str]:
    """Each strategy once: built-in ones first, controls last, others by name."""

    def rank(strategy: str) -> tuple[int, int, str]:
        name = family(strategy)
        if strategy in CONTROLS:
            return (2, CONTROLS.index(strategy), strategy)
        return (0, _ORDER.index(name), strategy) if name in _ORDER else (1, 0, strategy)

    return sorted(dict.fromkeys(strategies), key=rank)


def places(strategies: Sequence[str]) -> dict[str, int]:
    """A place in the palette for each strategy that is no control, the same in every chart."""
    own = [name for name in in_order(strategies) if name not in CONTROLS]
    return {name: place for place, name in enumerate(own)}


def colour(place: int) -> str:
    """The colour of a place; after the last one they start again."""
    return SERIES[place % len(SERIES)]


def marker(place: int) -> str:
    """The marker of a place, shifted by one each time the colours start again."""
    return MARKERS[(place + place // len(SERIES)) % len(MARKERS)]


def dash(place: int) -> str:
    """The line style of a place."""
    return DASHES[place % len(DASHES)]


def hatch(place: int) -> str:
    """The hatch of a place."""
    return HATCHES[place % len(HATCHES)]


def percent_axis(axis: object) -> None:
    """Write an axis that holds shares as percentages."""
    from matplotlib.axis import Axis
    from matplotlib.ticker import PercentFormatter

    assert isinstance(axis, Axis)
    axis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))


def points_axis(axis: object) -> None:
    """Write an axis that holds differences of shares as points, with their sign."""
    from matplotlib.axis import Axis
    from matplotlib.ticker import FuncFormatter

    assert isinstance(axis, Axis)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.0f}"))


def plain_points_axis(axis: object) -> None:
    """Write an axis that holds differences that have no sign as points."""
    from matplotlib.axis import Axis
    from matplotlib.ticker import FuncFormatter

    assert isinstance(axis, Axis)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}"))


def token_axis(axis: object) -> None:
    """Write an axis that holds tokens as 12k, 1.5M."""
    from matplotlib.axis import Axis
    from matplotlib.ticker import FuncFormatter

    from reports.numbers import tokens

    assert isinstance(axis, Axis)
    axis.set_major_formatter(FuncFormatter(lambda value, _: tokens(value)))


def direction_note(axes: Axes, text: str) -> None:
    """A small note in the upper right corner on which way is better."""
    axes.set_title(text, loc="right", fontsize=9, color=MUTED)


def side_legend(figure: Figure, axes: Axes) -> None:
    """The legend right of the chart, where it covers nothing."""
    handles, names = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles[:24], names[:24], loc="outside right upper", labelspacing=0.8)

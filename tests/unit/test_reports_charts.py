"""Every chart is drawn from nothing, from one row and from a lot, whatever the labels hold."""

from __future__ import annotations

from dataclasses import fields, replace

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from reports.chart_frames import frontier
from reports.charts import CHARTS, Chart, first_session
from reports.charts.frontier import draw as draw_frontier
from reports.frames import RunData
from reports.style import in_order, label, places, to_png, to_svg
from tests.report_samples import STRATEGIES, empty_run, sample_run

every_chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
HOSTILE = ("$x_{", "<script>alert(1)</script>", "\x1b[31m端口\u202e", "a" * 3_000, "%s {0} \\frac")


def _texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.fixture(scope="module")
def sample() -> RunData:
    return sample_run()


@pytest.fixture(scope="module")
def large() -> RunData:
    grid = tuple(f"layered(segments={number})" for number in range(24))
    return sample_run(45, (*STRATEGIES, *grid), requests=12, facts=3)


@every_chart
def test_drawn_from_nothing(chart: Chart) -> None:
    figure = chart.draw(chart.frame(empty_run()))
    assert to_svg(figure).count("<svg") == 1
    assert _texts(figure).strip(), "an empty chart says why"


@every_chart
def test_drawn_from_one_row(chart: Chart, sample: RunData) -> None:
    frame = chart.frame(sample)
    own = frame[frame["strategy"] == "layered"] if "strategy" in frame else frame
    to_png(chart.draw(own.head(1)), 40)


@every_chart
def test_drawn_from_one_session_of_one_strategy(chart: Chart) -> None:
    to_png(chart.draw(chart.frame(sample_run(1, ("layered",), requests=3, facts=1))), 40)


@every_chart
def test_drawn_from_a_lot(chart: Chart, large: RunData) -> None:
    figure = chart.draw(chart.frame(large))
    assert figure.get_figheight() < 40
    assert len(to_svg(figure)) < 1_500_000


@every_chart
def test_labels_are_data(chart: Chart, sample: RunData) -> None:
    def hostile(name: str) -> str:
        return HOSTILE[len(name) % len(HOSTILE)] + name[:2]

    frames = {}
    for field in fields(sample):
        frame = getattr(sample, field.name)
        if field.name == "about":
            continue
        for column in {"session", "strategy", "kind", "text"} & set(frame.columns):
            names = {name: hostile(str(name)) for name in frame[column].unique()}
            frame = frame.assign(**{column: frame[column].map(names).astype(object)})
        frames[field.name] = frame
    figure = chart.draw(chart.frame(replace(sample, **frames)))
    drawing = to_svg(figure)
    to_png(figure, 40)
    assert "<script" not in drawing
    assert "\x1b" not in drawing
    assert "\u202e" not in drawing


@every_chart
def test_the_same_bytes_again(chart: Chart, sample: RunData) -> None:
    first, second = (chart.draw(chart.frame(sample)) for _ in range(2))
    assert to_svg(first) == to_svg(second)
    assert to_png(first, 40) == to_png(second, 40)
    assert "date" not in to_svg(first).lower()


def test_settings_of_the_caller_stay(sample: RunData) -> None:
    before = dict(mpl.rcParams)
    to_svg(draw_frontier(frontier(sample)))
    assert dict(mpl.rcParams) == before


def test_n_and_intervals_are_shown(sample: RunData) -> None:
    shown = _texts(draw_frontier(frontier(sample)))
    assert "n=7 of 8" in shown
    assert "95% intervals" in shown


def test_not_exercised_is_named_and_not_plotted(sample: RunData) -> None:
    idle = sample.cells["strategy"] == "prune"
    cells = sample.cells.assign(
        status=sample.cells["status"].where(~idle, "not_exercised"),
        retention=sample.cells["retention"].where(~idle),
        compactions=sample.cells["compactions"].where(~idle, 0),
    )
    frame = frontier(replace(sample, cells=cells))
    figure = draw_frontier(frame)
    assert "not plotted: prune" in _texts(figure)
    assert "prune\n" not in _texts(figure).replace("not plotted: prune", "")


def test_a_score_without_a_compaction_is_not_plotted(sample: RunData) -> None:
    idle = sample.cells["strategy"] == "prune"
    cells = sample.cells.assign(
        compactions=sample.cells["compactions"].where(~idle, 0),
        retention=sample.cells["retention"].where(~idle, 1.0),
    )
    frame = frontier(replace(sample, cells=cells)).set_index("strategy")
    assert frame["retention"].isna()["prune"]


def test_colours_are_the_same_in_every_chart(sample: RunData) -> None:
    expected = places(list(STRATEGIES))
    for chart in CHARTS:
        frame = chart.frame(sample)
        if "place" in frame:
            for strategy, place in set(zip(frame["strategy"], frame["place"], strict=True)):
                assert place == expected.get(strategy, -1)


def test_order_puts_built_in_first_and_controls_last() -> None:
    assert in_order(["empty", "mine", "prune", "keep_all", "head_tail", "prune"]) == [
        "head_tail",
        "prune",
        "mine",
        "keep_all",
        "empty",
    ]


def test_labels_are_short_and_harmless() -> None:
    assert len(label("x" * 500)) <= 44
    assert label("a\x1b[2Jb") == "ab"


def test_the_first_saw_tooth_is_the_one_with_most_compactions(sample: RunData) -> None:
    counts = sample.requests[sample.requests["is_compacted"]]["session"].value_counts()
    assert counts[first_session(sample)] == counts.max()
    assert first_session(empty_run()) == ""

"""Several runs side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import UsageError
from reports.charts.trend import draw
from reports.frames import CELLS, frame_of
from reports.style import to_png, to_svg
from reports.trend import to_markdown, trend_frame, write_trend
from tests.report_samples import sample_run
from tests.stored_runs import store_run, working_session

NOTHING = frame_of([], CELLS)


def test_the_trend_keeps_the_order_and_says_where_sessions_change() -> None:
    runs = [(f"prompt {n}", sample_run(4, seed=n).cells) for n in (3, 1, 2)]
    runs.append(("more sessions", sample_run(5, seed=9).cells))
    frame = trend_frame(runs)
    own = frame[frame["strategy"] == "layered"]
    assert list(own["run"]) == ["prompt 3", "prompt 1", "prompt 2", "more sessions"]
    assert list(own["has_other_sessions"]) == [False, False, False, True]
    assert set(frame["strategy"]).isdisjoint({"keep_all", "empty"})
    assert "other sessions from here on" in to_svg(draw(frame))
    assert "more sessions (other sessions)" in to_markdown(frame)


@pytest.mark.parametrize("count", [0, 1, 60])
def test_drawn_from_any_number_of_runs(count: int) -> None:
    frame = trend_frame([(f"$run {n}</svg>", sample_run(3, seed=n).cells) for n in range(count)])
    assert "</svg> " not in to_svg(draw(frame))
    to_png(draw(frame), 40)


def test_a_run_without_a_strategy_leaves_a_gap() -> None:
    runs = [("a", sample_run(3).cells), ("b", NOTHING), ("c", sample_run(3).cells)]
    frame = trend_frame(runs)
    assert set(frame["run_rank"]) == {0, 2}
    draw(frame)


def test_stored_runs_are_written_side_by_side(tmp_path: Path) -> None:
    sessions = [working_session("one"), working_session("two", steps=30)]
    folders = [store_run(tmp_path / name, sessions) for name in ("first", "second")]
    written = write_trend(folders, tmp_path / "out")
    text = written[0].read_text(encoding="utf-8")
    assert text.count("| head_tail |") == 2
    assert all(path.stat().st_size for path in written)
    with pytest.raises(UsageError, match="there is no run here"):
        write_trend([tmp_path / "none"], tmp_path / "out")

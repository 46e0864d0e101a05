"""Several runs side by side."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

from bench.errors import UsageError
from reports.charts.trend import draw
from reports.frames import CELLS, frame_of
from reports.style import to_png, to_svg
from reports.trend import to_markdown, trend_frame, without_prompt, write_trend
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


def test_a_strategy_is_followed_through_the_versions_of_its_prompt() -> None:
    first = sample_run(6, ("layered", "keep_all", "empty")).cells
    old = first.assign(strategy=first["strategy"].replace("layered", "head_tail"))
    prompt = "head_tail(preserve_last=4, prompt=sha256:44d552057f4e5bc3)"
    new = old.assign(strategy=old["strategy"].replace("head_tail", prompt))
    both = pandas.concat([old, new[new["strategy"] == prompt]], ignore_index=True)
    bare = old.assign(strategy=old["strategy"].replace("head_tail", "head_tail(preserve_last=4)"))
    frame = trend_frame([("bare", bare), ("new", new), ("both", both)])
    seen = [(row["line"], row["run"], row["run_rank"]) for row in frame.to_dict("records")]
    assert seen == [
        ("head_tail(preserve_last=4)", "bare", 0),
        ("head_tail(preserve_last=4)", "new", 1),
        ("head_tail", "both", 2),
        ("head_tail(preserve_last=4)", "both", 2),
    ]
    assert frame["place"].nunique() == 2


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("head_tail", "head_tail"),
        ("head_tail(prompt=sha256:44d5)", "head_tail"),
        ("head_tail(preserve_last=4, prompt=sha256:44d5)", "head_tail(preserve_last=4)"),
        ("x(prompt=sha256:44d5, threshold=0.7)", "x(threshold=0.7)"),
        ("./mine.py:Mine(groups=2)", "./mine.py:Mine(groups=2)"),
    ],
)
def test_line_of_a_spec(spec: str, line: str) -> None:
    assert without_prompt(spec) == line


def test_two_prompts_in_one_run_follow_each_other() -> None:
    cells = sample_run(6, ("layered", "keep_all", "empty")).cells
    one = cells.assign(strategy=cells["strategy"].replace("layered", "a(prompt=sha256:1111)"))
    two = cells.assign(strategy=cells["strategy"].replace("layered", "a(prompt=sha256:2222)"))
    mixed = pandas.concat([one, two[two["strategy"] == "a(prompt=sha256:2222)"]])
    frame = trend_frame([("r", mixed.reset_index(drop=True))])
    assert [(row["run"], row["run_rank"]) for row in frame.to_dict("records")] == [
        ("r", 0),
        ("r #2", 1),
    ]
    draw(frame)

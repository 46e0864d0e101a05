"""Which cells a run has, and which windows it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.plan import PlannedSession, auto_window, cell_identity, make_plan, parse_window

ONE = PlannedSession(id="one", digest="d1", floor_tokens=2_000, peak_tokens=60_000)
TWO = PlannedSession(id="two", digest="d2", floor_tokens=9_000, peak_tokens=10_000)


@pytest.mark.parametrize(
    ("floor", "peak", "window"),
    [
        (2_000, 60_000, 30_000),
        (2_000, 60_001, 30_500),
        (9_000, 10_000, 11_500),  # 1.25 x 9,000 = 11,250
        (8_000, 20_000, 10_000),  # both give 10,000
        (0, 0, 500),
    ],
)
def test_the_automatic_window(floor: int, peak: int, window: int) -> None:
    assert auto_window(floor, peak) == window


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_automatic_window_is_the_smallest_step_that_holds_both(floor: int, peak: int) -> None:
    window = auto_window(floor, peak)
    assert window % 500 == 0
    assert 4 * window >= 5 * floor
    assert 2 * window >= peak
    smaller = window - 500
    assert smaller == 0 or 4 * smaller < 5 * floor or 2 * smaller < peak


def test_a_plan_is_the_product_with_the_controls_last() -> None:
    plan = make_plan(
        [ONE, TWO],
        ["prune", "empty", "head_tail(preserve_last=6)", "prune"],
        windows=[None, 20_000],
        models=["offline", "lossy(0.9)"],
        seeds=[0, 1, 2],
    )
    assert len(plan.cells) == 2 * 4 * 2 * 2 * 3
    specs = list(dict.fromkeys(cell.spec for cell in plan.cells))
    assert specs == ["prune", "head_tail(preserve_last=6)", "empty", "keep_all"]
    assert [cell.position for cell in plan.cells] == list(range(len(plan.cells)))
    assert len({cell.identity for cell in plan.cells}) == len(plan.cells)
    assert {cell.spec for cell in plan.cells if cell.is_control} == {"keep_all", "empty"}


def test_one_window_for_each_session_under_auto() -> None:
    plan = make_plan([ONE, TWO], ["prune"])
    windows = {(cell.session, cell.window, cell.window_asked) for cell in plan.cells}
    assert windows == {("one", 30_000, "auto"), ("two", 11_500, "auto")}


def test_the_same_window_twice_is_planned_once() -> None:
    plan = make_plan([ONE], ["prune"], windows=[None, 30_000, 30_000])
    assert len(plan.cells) == 3


def test_controls_are_always_there() -> None:
    assert [cell.spec for cell in make_plan([ONE], []).cells] == ["keep_all", "empty"]


def test_an_identity_speaks_of_everything_that_the_result_rests_on() -> None:
    parts = {
        "digest": "d",
        "spec": "prune",
        "window": 1,
        "model": "offline",
        "seed": 0,
        "fact_version": "1",
    }
    first = cell_identity(**parts)  # type: ignore[arg-type]
    assert cell_identity(**parts) == first  # type: ignore[arg-type]
    for name, value in parts.items():
        other = {**parts, name: value + 1 if isinstance(value, int) else f"{value}x"}
        assert cell_identity(**other) != first  # type: ignore[arg-type]


def test_a_copy_of_a_session_counts_once_and_is_said() -> None:
    plan = make_plan([ONE, replace(ONE, id="copy")], ["prune"])
    assert {cell.session for cell in plan.cells} == {"one"}
    assert plan.warnings == ("session copy has the same content as one: it counts once",)


def test_two_sessions_of_one_id_are_refused() -> None:
    with pytest.raises(UsageError, match="two different sessions have the id one"):
        make_plan([ONE, replace(TWO, id="one")], ["prune"])


def test_a_window_below_the_floor_is_refused_with_session_window_and_floor() -> None:
    with pytest.raises(UsageError) as caught:
        make_plan([ONE, TWO], ["prune"], windows=[40_000, 8_999])
    assert str(caught.value) == (
        "--window 8999: session two can't be cut below 9,000 tokens (system prompt, tools and "
        "newest request); give --window auto or at least 11500"
    )
    make_plan([ONE, TWO], ["prune"], windows=[9_000])
    with pytest.raises(UsageError, match=r"\(2 sessions don't fit\)"):
        make_plan([ONE, TWO], ["prune"], windows=[100])


@pytest.mark.parametrize(
    ("text", "window"), [("auto", None), ("8000", 8_000), ("8_000", 8_000), ("128,000", 128_000)]
)
def test_windows_are_read(text: str, window: int | None) -> None:
    assert parse_window(text) == window


@pytest.mark.parametrize("text", ["", "0", "-5", "8k", "８０", "1e4", "Auto"])
def test_other_windows_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no window; write a number of tokens or auto"):
        parse_window(text)

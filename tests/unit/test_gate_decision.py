"""Pass, regressed, inconclusive, refused: each by its rule, and what a missing cell may not do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.gate.calibration import calibrate
from bench.gate.decision import Decision, adjusted, decide, sessions_min, worst
from bench.gate.pairing import Paired, SessionPair, metric_to_compare, pair_up
from bench.metrics import metric
from tests.gate_parts import cell, record, run_of, sides

RETENTION = metric("retention")
EIGHT = [0.60, 0.70, 0.65, 0.72, 0.68, 0.75, 0.62, 0.70]


def decision(
    baseline: list[float | None], candidate: list[float | None], **options: object
) -> Decision:
    pair = sides(run_of(baseline, "a"), run_of(candidate, "b"))
    return decide(pair_up(pair, RETENTION), RETENTION, **options)  # type: ignore[arg-type]


def lowered(values: list[float], *drops: float) -> list[float]:
    return [value - drops[at % len(drops)] for at, value in enumerate(values)]


def test_no_difference_passes() -> None:
    found = decision([*EIGHT], [*EIGHT])
    assert (found.verdict, found.difference, found.interval) == ("pass", 0, (0, 0))


def test_a_clear_drop_beyond_the_margin_regressed() -> None:
    found = decision([*EIGHT], [*lowered(EIGHT, 0.15, 0.25)])
    assert found.verdict == "regressed"
    assert found.difference == pytest.approx(-0.2)
    assert found.p == 2 / 256
    assert found.mean_baseline == pytest.approx(sum(EIGHT) / 8)


def test_a_clear_drop_within_the_margin_passes_and_says_so() -> None:
    found = decision([*EIGHT], [*lowered(EIGHT, 0.04, 0.06)])
    assert found.verdict == "pass"
    assert "there is a drop" in found.reason
    assert decision([*EIGHT], [*lowered(EIGHT, 0.04, 0.06)], margin_points=2).verdict == "regressed"


def test_a_drop_that_may_be_chance_is_inconclusive_and_says_how_many_sessions_it_takes() -> None:
    found = decision([*EIGHT], [*lowered(EIGHT, 0.5, -0.35)])
    assert found.verdict == "inconclusive"
    assert found.smallest_detectable is not None and found.smallest_detectable > 0.1
    assert found.sessions_needed is not None and found.sessions_needed > 8


def test_more_is_better_for_some_metrics_and_less_for_others() -> None:
    stale = metric_to_compare("stale")
    pairs = tuple(SessionPair(f"s{at}", (0.1, 0.1), (0.4, 0.4)) for at in range(8))
    worse = decide(Paired(pairs), stale)
    assert (worse.verdict, worse.difference) == ("regressed", pytest.approx(-0.3))
    assert decide(Paired(pairs), RETENTION).verdict == "pass"


def test_tokens_are_compared_as_a_share_of_the_baseline() -> None:
    sent = metric_to_compare("tokens_sent")
    pairs = tuple(SessionPair(f"s{at}", (1e6, 1e6), (1.3e6, 1.3e6)) for at in range(8))
    assert decide(Paired(pairs), sent).difference == pytest.approx(-0.3)
    nothing = tuple(SessionPair(f"s{at}", (0, 0), (0, 0)) for at in range(8))
    assert decide(Paired(nothing), sent).verdict == "refused"


def test_savings_are_a_ratio_of_sums() -> None:
    saved = metric_to_compare("tokens_saved")
    short = [SessionPair(f"s{at}", (0.5, 0.5), (0.5, 0.5), weight=1) for at in range(7)]
    long = SessionPair("long", (0.5, 0.5), (0.4, 0.4), weight=93)
    assert decide(Paired((*short, long)), saved).difference == pytest.approx(-0.093)


@pytest.mark.parametrize(("comparisons", "sessions"), [(1, 6), (2, 7), (3, 7), (4, 8)])
def test_fewer_sessions_than_the_test_needs_are_refused(comparisons: int, sessions: int) -> None:
    assert sessions_min(comparisons) == sessions
    few = lowered(EIGHT, 0.3)[: sessions - 1]
    found = decision([*EIGHT[: sessions - 1]], [*few], comparisons=comparisons)
    assert found.verdict == "refused"
    assert f"at least {sessions} are needed" in found.reason


def test_sessions_of_one_project_count_as_one() -> None:
    clusters = {f"s{at}": at // 4 for at in range(8)}
    found = decision([*EIGHT], [*lowered(EIGHT, 0.3)], clusters=clusters)
    assert found.verdict == "refused"
    assert (found.sessions, found.units) == (8, 2)


def test_nothing_measured_is_refused_with_the_reason() -> None:
    blank = run_of([None] * 8, reason="no fact was planted")
    found = decide(pair_up(sides(blank, blank), RETENTION), RETENTION)
    assert (found.verdict, found.reason) == ("refused", "nothing was measured: no fact was planted")
    one_sided = decision([*EIGHT], [None] * 8)
    assert one_sided.verdict == "refused"
    assert "candidate" in one_sided.reason


@given(st.lists(st.integers(0, 20).map(lambda points: points / 20), min_size=8, max_size=12))
def test_a_missing_cell_never_shrinks_the_denominator(values: list[float]) -> None:
    """Whatever it would have held, it doesn't turn what is decided with it missing around."""
    known = run_of([*values], "a")
    gap = replace(known.cells[0], status="error", reason="boom", values={})
    holey = replace(known, name="b", cells=(gap, *known.cells[1:]))
    paired = pair_up(sides(known, holey), RETENTION)
    assert len(paired.pairs) == len(values)
    found = decide(paired, RETENTION, has_power=False)
    for held in (0.0, 0.5, 1.0):
        full = decision([*values], [held, *values[1:]], has_power=False)
        assert {full.verdict, found.verdict} != {"pass", "regressed"}


def test_a_missing_cell_can_keep_a_run_from_passing() -> None:
    # Seven equal sessions pass; an eighth that may have lost everything doesn't let them.
    equal: list[float | None] = [0.9] * 8
    known = run_of(equal, "a")
    gap = replace(known.cells[0], status="error", reason="boom", values={})
    holey = replace(known, name="b", cells=(gap, *known.cells[1:]))
    found = decide(pair_up(sides(known, holey), RETENTION), RETENTION)
    assert found.verdict == "inconclusive"
    assert "1 cell missing, the first: s0 (candidate: boom)" in found.reason


def test_a_cell_that_is_missing_on_both_sides_counts_too() -> None:
    known = run_of([0.9] * 8, "a")
    gap = replace(known.cells[0], status="error", reason="boom", values={})
    holey = replace(known, cells=(gap, *known.cells[1:]))
    paired = pair_up(sides(holey, holey), RETENTION)
    assert (len(paired.pairs), paired.unmeasured) == (8, {})
    assert paired.pairs[0].baseline == paired.pairs[0].candidate == (0, 1)
    assert decide(paired, RETENTION).verdict == "inconclusive"


def test_costs_have_no_bounds_so_a_gap_is_refused() -> None:
    saved = metric_to_compare("cost_ratio")
    values = [{"cost_ratio": 0.8}] * 7 + [{"cost_ratio": None}]
    one = record([cell(f"s{at}", values={"cost_ratio": 0.8}) for at in range(8)], "a")
    two = record([cell(f"s{at}", values=each) for at, each in enumerate(values)], "b")
    assert decide(pair_up(sides(one, two), saved), saved).verdict == "refused"


def test_draws_are_averaged_before_anything_else() -> None:
    one = record([cell(f"s{at}", 0.5) for at in range(8)], "a")
    two = record(
        [
            cell(f"s{at}", value, seed=seed)
            for at in range(8)
            for seed, value in ((0, 0.3), (1, 0.7))
        ],
        "b",
    )
    found = decide(pair_up(sides(one, two), RETENTION), RETENTION)
    assert (found.sessions, found.difference) == (8, pytest.approx(0))


def test_holm_takes_back_a_verdict_that_may_be_chance_among_several() -> None:
    clear = decision([*EIGHT], [*lowered(EIGHT, 0.15, 0.25)])
    close = replace(clear, p=0.04)
    assert [one.verdict for one in adjusted([clear, close])] == ["regressed", "regressed"]
    others = [close, close, replace(clear, verdict="pass", p=0.9)]
    assert [one.verdict for one in adjusted(others)] == ["inconclusive", "inconclusive", "pass"]


def test_the_worst_of_several_is_what_they_came_to() -> None:
    assert worst(["pass", "inconclusive", "refused"]) == "refused"
    assert worst(["pass", "refused", "regressed"]) == "regressed"


def test_a_thing_compared_with_itself_seldom_alarms() -> None:
    draws = {f"s{at}": (value, value + (-1) ** at * 0.08) for at, value in enumerate(EIGHT)}
    found = calibrate(draws, RETENTION, comparisons=200)
    assert found.is_in_line
    assert found.spread == pytest.approx(0.08)
    assert sum(found.verdicts.values()) == 200
    same = calibrate(
        {name: (one, one) for name, (one, _) in draws.items()}, RETENTION, comparisons=9
    )
    assert (same.alarms, same.spread) == (0, 0)

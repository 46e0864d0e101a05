"""Statistics with the session as the unit, against values worked out by hand or published."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics import (
    compare_paired,
    holm,
    mean_interval,
    power_of,
    ratio_interval,
    sessions_needed,
    share_interval,
    sign_flip_p,
    smallest_detectable,
    wilson_interval,
)

DIFFERENCES = st.lists(
    st.integers(-100, 100).map(lambda points: points / 100), min_size=6, max_size=12
)


def test_p_of_six_equal_signs_is_two_patterns_of_sixty_four() -> None:
    assert sign_flip_p([0.1, 0.2, 0.3, 0.1, 0.2, 0.3]) == 2 / 64


def test_p_with_one_small_difference_of_the_other_sign() -> None:
    # As extreme as +1+2+4+8+16-1/2: all positive, the observed one, and their opposites.
    assert sign_flip_p([1, 2, 4, 8, 16, -0.5]) == 4 / 64


def test_ties_that_differ_in_the_last_digits_count() -> None:
    # 0.1 + 0.2 - 0.3 isn't 0 in floating point; flipping the three together changes nothing.
    values = [0.1, 0.2, -0.3, 1.0, 1.0, 1.0]
    whole = [1, 2, -3, 10, 10, 10]
    assert sign_flip_p(values) == sign_flip_p(whole)


def test_too_few_sessions_have_no_p() -> None:
    assert sign_flip_p([0.5] * 5) is None
    assert sign_flip_p([0.5] * 12, clusters=[i // 3 for i in range(12)]) is None


def test_groups_are_flipped_as_a_whole() -> None:
    clusters = [i // 2 for i in range(12)]
    assert sign_flip_p([0.1] * 12, clusters=clusters) == 2 / 64
    assert sign_flip_p([0.1] * 12) == 2 / 4096


@given(DIFFERENCES)
def test_p_is_a_probability_that_is_never_zero(differences: list[float]) -> None:
    p = sign_flip_p(differences)
    assert p is not None
    assert 2 / 2 ** len(differences) <= p <= 1


@given(DIFFERENCES, st.randoms())
def test_p_depends_on_neither_direction_nor_order_nor_scale(
    differences: list[float], shuffler: random.Random
) -> None:
    p = sign_flip_p(differences)
    assert sign_flip_p([-d for d in differences]) == p
    assert sign_flip_p([100 * d for d in differences]) == p
    shuffled = list(differences)
    shuffler.shuffle(shuffled)
    assert sign_flip_p(shuffled) == p


@given(st.lists(st.integers(1, 40).map(float), min_size=6, max_size=7))
def test_false_alarms_stay_at_or_below_nominal(sizes: list[float]) -> None:
    """Without a difference every sign pattern is equally likely: count those that would alarm."""
    patterns = list(product((1, -1), repeat=len(sizes)))
    alarms = 0
    for pattern in patterns:
        p = sign_flip_p([sign * size for sign, size in zip(pattern, sizes, strict=True)])
        alarms += p is not None and p <= 0.05
    assert alarms / len(patterns) <= 0.05


def test_drawn_patterns_agree_with_all_patterns() -> None:
    source = random.Random(4)
    values = [source.gauss(0.4, 1) for _ in range(16)]
    exact = sign_flip_p(values)
    # A seventeenth session without a difference changes nothing but the method.
    drawn = sign_flip_p([*values, 0.0], seed=1)
    assert exact is not None
    assert drawn is not None
    assert drawn == pytest.approx(exact, abs=0.012)
    assert sign_flip_p([*values, 0.0], seed=1) == drawn
    assert sign_flip_p([1.0] * 40) == 1 / 20_001


def test_the_interval_of_a_mean_by_hand() -> None:
    # Mean 3, deviation sqrt(2.5), t(0.975, 4) = 2.776445: 3 -+ 2.776445 * sqrt(2.5 / 5).
    low, high = mean_interval([1, 2, 3, 4, 5]) or (0, 0)
    assert low == pytest.approx(1.036757, abs=1e-5)
    assert high == pytest.approx(4.963243, abs=1e-5)


def test_the_interval_of_a_ratio_by_hand() -> None:
    # Ratio 6/12; residuals 1 - 2/2 = 0, 3 - 4/2 = 1, 2 - 6/2 = -1; mean denominator 4, so the
    # deviation is sqrt(2 / 2) / 4 = 0.25 and the half width 4.302653 * 0.25 / sqrt(3).
    low, high = ratio_interval([1, 3, 2], [2, 4, 6]) or (0, 0)
    assert (low + high) / 2 == pytest.approx(0.5)
    assert (high - low) / 2 == pytest.approx(4.302653 * 0.25 / math.sqrt(3), abs=1e-6)


def test_an_interval_of_shares_stays_in_the_possible() -> None:
    low, high = mean_interval([0.6, 0.9, 1.0]) or (0, 0)
    assert high > 1
    assert share_interval([0.6, 0.9, 1.0]) == (low, 1.0)
    # Values outside say that the bounds aren't 0 and 1.
    assert share_interval([0.6, 0.9, 1.2]) == mean_interval([0.6, 0.9, 1.2])
    assert share_interval([0.5]) is None


def test_groups_widen_the_interval() -> None:
    values = [0.1, 0.1, 0.1, 0.5, 0.5, 0.5, 0.9, 0.9, 0.9]
    alone = mean_interval(values) or (0, 0)
    grouped = mean_interval(values, clusters=[i // 3 for i in range(9)]) or (0, 0)
    # As if the three groups were three sessions.
    assert grouped == pytest.approx(mean_interval([0.1, 0.5, 0.9]))
    assert grouped[0] < alone[0] < alone[1] < grouped[1]


def test_intervals_that_cannot_be_told() -> None:
    assert mean_interval([]) is None
    assert mean_interval([0.4]) is None
    assert mean_interval([0.4] * 3, clusters=["a"] * 3) is None
    assert ratio_interval([1, 2], [0, 0]) is None
    assert mean_interval([0.25] * 30) == (0.25, 0.25)


@given(DIFFERENCES)
def test_small_samples_have_symmetric_intervals_around_the_mean(differences: list[float]) -> None:
    low, high = mean_interval(differences) or (0, 0)
    mean = math.fsum(differences) / len(differences)
    assert low <= mean + 1e-12
    assert high >= mean - 1e-12
    mirrored = mean_interval([-d for d in differences]) or (0, 0)
    assert mirrored == pytest.approx((-high, -low))


@given(st.lists(st.integers(0, 100).map(lambda p: p / 100), min_size=20, max_size=30))
def test_large_samples_have_intervals_inside_the_range(values: list[float]) -> None:
    low, high = mean_interval(values) or (9, -9)
    assert low <= high
    if min(values) < max(values):
        assert min(values) - 0.05 <= low
        assert high <= max(values) + 0.05
    assert mean_interval(values) == (low, high)


def test_the_bootstrap_follows_a_skewed_sample() -> None:
    values = [0.0] * 20 + [0.1, 0.2, 0.4, 0.9]
    low, high = mean_interval(values) or (0, 0)
    mean = sum(values) / len(values)
    assert 0 <= low < mean < high
    assert high - mean > 1.3 * (mean - low)


def test_most_intervals_hold_the_truth() -> None:
    source = random.Random(11)
    held = 0
    for _ in range(600):
        low, high = mean_interval([source.gauss(0.3, 1) for _ in range(8)]) or (0, 0)
        held += low <= 0.3 <= high
    assert 0.92 <= held / 600 <= 0.98


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0.0001, 1), max_size=8))
def test_holm_never_makes_p_smaller_and_keeps_the_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(a >= p for a, p in zip(adjusted, values, strict=True))
    assert all(a <= 1 for a in adjusted)
    ranked = sorted(zip(values, adjusted, strict=True))
    assert [a for _, a in ranked] == sorted(adjusted)


def test_wilson_of_no_failures_in_thirty() -> None:
    # z^2 / (30 + z^2) with z = 1.96.
    assert wilson_interval(0, 30) == pytest.approx((0.0, 3.841459 / 33.841459), abs=1e-6)
    assert wilson_interval(5, 10) == pytest.approx((0.236593, 0.763407), abs=1e-6)
    assert wilson_interval(0, 0) is None


@pytest.mark.parametrize(("effect", "sessions"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_sessions_needed_agree_with_published_tables(effect: float, sessions: int) -> None:
    """The sizes that power tables give for a paired t test at 5% and 80% power."""
    assert sessions_needed(effect, 1.0) == sessions
    assert sessions_needed(-10 * effect, 10.0) == sessions


def test_sessions_needed_at_the_edges() -> None:
    assert sessions_needed(0.0, 1.0) is None
    assert sessions_needed(1e-6, 1.0) is None
    assert sessions_needed(9.0, 0.1) == 6
    assert sessions_needed(0.1, 0.0) == 6


@given(st.integers(6, 80), st.floats(0.01, 0.5))
def test_the_smallest_detectable_difference_has_the_power_it_claims(
    sessions: int, deviation: float
) -> None:
    smallest = smallest_detectable(deviation, sessions)
    assert smallest is not None
    assert power_of(smallest, deviation, sessions) == pytest.approx(0.8, abs=1e-4)


def test_the_smallest_detectable_difference_at_the_edges() -> None:
    assert smallest_detectable(0.2, 5) is None
    assert smallest_detectable(0.0, 9) == 0.0


def test_a_comparison_as_a_whole() -> None:
    comparison = compare_paired([0.1, 0.2, 0.15, 0.05, 0.12, 0.3, 0.0, 0.11])
    assert comparison.sessions == 8
    assert comparison.difference == pytest.approx(0.12875)
    # The zero may carry either sign: 4 patterns of 256.
    assert comparison.p == 4 / 256
    assert comparison.interval == pytest.approx((0.05207, 0.20543), abs=1e-5)
    assert comparison.sessions_needed is not None
    assert comparison.smallest_detectable == pytest.approx(0.10603, abs=1e-4)
    with pytest.raises(ValueError, match="at least one difference"):
        compare_paired([])


def test_sessions_needed_count_sessions_even_in_groups() -> None:
    values = [0.1, 0.12, 0.3, 0.28, -0.1, -0.12, 0.2, 0.22, 0.1, 0.1, 0.4, 0.38]
    grouped = compare_paired(values, clusters=[i // 2 for i in range(12)])
    single = compare_paired(values[::2])
    assert grouped.sessions_needed == pytest.approx(2 * (single.sessions_needed or 0), abs=2)

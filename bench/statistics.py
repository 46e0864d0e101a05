"""Judgement: what a difference between strategies is worth, with the session as the unit.

Facts and seeds nest inside sessions: tests pooled over facts are wrong, since they raise false
alarms of 16 to 39% at a nominal 5% (scoring.md, "Statistics"). Everything is in the unit of the
values that are passed (shares: 0.10 is 10 points) and deterministic under a seed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Interval: TypeAlias = tuple[float, float]

LEVEL = 0.95
POWER = 0.8
SESSIONS_MIN_FOR_P = 6  # 2 of the 2**6 sign patterns are the most extreme: p can reach 0.03.
UNITS_MIN_FOR_BOOTSTRAP = 20
_UNITS_MAX_FOR_ENUMERATION = 16
_DRAWS = 20_000
_RESAMPLES = 10_000
_SESSIONS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison over `sessions` sessions: mean difference, 95% interval and p.

    `interval` is None below two sessions, `p` None below six (it couldn't reach 0.05).
    `smallest_detectable` is the difference that so many sessions show with 80% power given their
    spread, `sessions_needed` how many would show the observed difference; None: can't be told.
    `units` counts what is independent (sessions, or groups of them), `deviation` is the standard
    deviation of the differences over units.
    """

    sessions: int
    difference: float
    interval: Interval | None
    p: float | None
    smallest_detectable: float | None
    sessions_needed: int | None
    units: int = 0
    deviation: float = 0.0

    def sessions_to_see(self, difference: float) -> int | None:
        """How many sessions of this spread would show `difference` with 80% power."""
        units = sessions_needed(difference, self.deviation)
        if units is None or not self.units:
            return None
        return math.ceil(units * self.sessions / self.units)


def compare_paired(
    differences: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    has_power: bool = True,
) -> Comparison:
    """Compares two strategies by one difference for each session; raises ValueError for none.

    With `weights` (positive, one for each session) the difference is their weighted mean, as a
    ratio of sums. `clusters` names the group (project, template) that each session belongs to:
    sessions of one group aren't independent, so groups are flipped and resampled as a whole.
    Without `has_power` the two figures about power, which take longest, are None.
    """
    if not differences:
        raise ValueError("a comparison needs at least one difference")
    shares = [1.0] * len(differences) if weights is None else list(weights)
    parts = [value * weight for value, weight in zip(differences, shares, strict=True)]
    units = _units(list(zip(parts, shares, strict=True)), clusters)
    deviation = _deviation(units)
    difference = math.fsum(parts) / math.fsum(shares)
    units_needed = sessions_needed(difference, deviation) if has_power else None
    per_unit = len(differences) / len(units)
    return Comparison(
        sessions=len(differences),
        difference=difference,
        interval=ratio_interval(parts, shares, clusters=clusters, seed=seed),
        p=sign_flip_p(parts, clusters=clusters, seed=seed),
        smallest_detectable=smallest_detectable(deviation, len(units)) if has_power else None,
        sessions_needed=None if units_needed is None else math.ceil(units_needed * per_unit),
        units=len(units),
        deviation=deviation,
    )


def sign_flip_p(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> float | None:
    """Two-sided p of the sign-flip permutation test; None below six units.

    If the strategies didn't differ, each difference could as well have had the other sign. All
    sign patterns are tried up to 16 units, 20,000 drawn ones above (then p = (1 + hits) / (1 +
    draws), which never is 0).
    """
    import numpy

    sums = numpy.array([total for total, _ in _units([(d, 1.0) for d in differences], clusters)])
    count = len(sums)
    if count < SESSIONS_MIN_FOR_P:
        return None
    observed = abs(float(sums.sum()))
    # Sums in another order differ in the last digits: what is as extreme must count as such.
    enough = observed - 1e-9 * max(float(numpy.abs(sums).sum()), 1e-300)
    if count <= _UNITS_MAX_FOR_ENUMERATION:
        # The first sign may stay: a pattern and its opposite are equally extreme.
        patterns = numpy.arange(2 ** (count - 1))[:, None] >> numpy.arange(count)[None, :] & 1
        extreme = numpy.abs((1 - 2 * patterns) @ sums) >= enough
        return float(extreme.mean())
    # Which units keep their sign: a sum of signed units is twice the kept ones less all.
    kept = numpy.random.default_rng(seed).integers(0, 2, size=(_DRAWS, count), dtype=numpy.int8)
    hits = int((numpy.abs(2 * (kept @ sums) - sums.sum()) >= enough).sum())
    return (1 + hits) / (1 + _DRAWS)


def mean_interval(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Interval | None:
    """The 95% interval of the mean over sessions; None below two independent units."""
    return ratio_interval(values, [1.0] * len(values), clusters=clusters, seed=seed)


def share_interval(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Interval | None:
    """The 95% interval of a mean share: as `mean_interval`, cut to 0..1 when all values lie there.

    A mean of shares can't lie outside, so what is cut off could not have been true.
    """
    interval = mean_interval(values, clusters=clusters, seed=seed)
    if interval is None or min(values) < 0 or max(values) > 1:
        return interval
    return max(0.0, interval[0]), min(1.0, interval[1])


def ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Interval | None:
    """The 95% interval of sum(numerators) / sum(denominators), each pair from one session.

    By t on the linearised ratio below 20 units, by BCa bootstrap (Efron 1987) from 20 on. None
    below two independent units or when the denominators sum to 0.
    """
    units = _units(list(zip(numerators, denominators, strict=True)), clusters)
    total = math.fsum(denominator for _, denominator in units)
    if len(units) < 2 or total == 0:
        return None
    estimate = math.fsum(numerator for numerator, _ in units) / total
    deviation = _deviation(units)
    if deviation <= 1e-12 * max(abs(estimate), 1.0):
        return estimate, estimate
    if len(units) >= UNITS_MIN_FOR_BOOTSTRAP:
        interval = _bootstrap_interval(units, seed)
        # One outlier among equals can leave the correction undefined.
        if all(math.isfinite(end) for end in interval):
            return interval
    from scipy import stats

    half = float(stats.t.ppf((1 + LEVEL) / 2, len(units) - 1)) * deviation / math.sqrt(len(units))
    return estimate - half, estimate + half


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted for their number by Holm (1979), in the order they came."""
    count = len(p_values)
    adjusted = [0.0] * count
    highest = 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda place: p_values[place])):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def wilson_interval(successes: int, trials: int) -> Interval | None:
    """The 95% interval of a share by Wilson (1927); None without trials.

    0 of 30 still allows 11%.
    """
    if trials == 0:
        return None
    z = 1.959963984540054
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def power_of(difference: float, deviation: float, sessions: int) -> float:
    """The chance that a two-sided paired t test at 5% sees `difference` in so many sessions.

    It stands in for the permutation test, whose power is close to it.
    """
    from scipy import stats

    if sessions < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if difference else 0.0
    shift = abs(difference) / deviation * math.sqrt(sessions)
    # Far out the noncentral t loses its digits, and nothing is left to be learnt there.
    if shift > 30:
        return 1.0
    freedom = sessions - 1
    critical = float(stats.t.ppf((1 + LEVEL) / 2, freedom))
    upper = float(stats.nct.sf(critical, freedom, shift))
    lower = float(stats.nct.cdf(-critical, freedom, shift))
    return min(1.0, upper + (lower if math.isfinite(lower) else 0.0))


def smallest_detectable(deviation: float, sessions: int) -> float | None:
    """The smallest difference seen with 80% power by so many sessions; None below six.

    `deviation` is the standard deviation of the differences over sessions.
    """
    if sessions < SESSIONS_MIN_FOR_P:
        return None
    if deviation == 0:
        return 0.0
    low, high = 0.0, 8.0 * deviation
    for _ in range(50):
        middle = (low + high) / 2
        if power_of(middle, deviation, sessions) < POWER:
            low = middle
        else:
            high = middle
    return high


def sessions_needed(difference: float, deviation: float) -> int | None:
    """How many sessions (at least six) would show this difference with 80% power.

    None when there is no difference to show, or no end of sessions (100,000) would do.
    """
    if difference == 0 or power_of(difference, deviation, _SESSIONS_MAX) < POWER:
        return None
    low, high = SESSIONS_MIN_FOR_P - 1, _SESSIONS_MAX
    while high - low > 1:
        middle = (low + high) // 2
        if power_of(difference, deviation, middle) < POWER:
            low = middle
        else:
            high = middle
    return high


def _units(
    pairs: Sequence[tuple[float, float]], clusters: Sequence[Hashable] | None
) -> list[tuple[float, float]]:
    """Sums of numerators and denominators for each independent unit, in order of appearance."""
    if clusters is None:
        return list(pairs)
    sums: dict[Hashable, tuple[float, float]] = {}
    for (numerator, denominator), cluster in zip(pairs, clusters, strict=True):
        before = sums.get(cluster, (0.0, 0.0))
        sums[cluster] = before[0] + numerator, before[1] + denominator
    return list(sums.values())


def _deviation(units: Sequence[tuple[float, float]]) -> float:
    """The standard deviation of the linearised ratio over units; for plain means that of values.

    With it the standard error of the ratio is deviation / sqrt(units) (Cochran 1977, 6.4).
    """
    count = len(units)
    total = math.fsum(denominator for _, denominator in units)
    if count < 2 or total == 0:
        return 0.0
    ratio = math.fsum(numerator for numerator, _ in units) / total
    mean_denominator = total / count
    squares = math.fsum((numerator - ratio * denominator) ** 2 for numerator, denominator in units)
    return math.sqrt(squares / (count - 1)) / abs(mean_denominator)


def _bootstrap_interval(units: Sequence[tuple[float, float]], seed: int) -> Interval:
    import numpy
    from scipy import stats

    numerators, denominators = (numpy.array(column) for column in zip(*units, strict=True))

    def ratio(top: numpy.ndarray, bottom: numpy.ndarray, axis: int = -1) -> numpy.ndarray:
        return numpy.asarray(top.sum(axis=axis) / bottom.sum(axis=axis))

    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = stats.bootstrap(
            (numerators, denominators),
            ratio,
            paired=True,
            vectorized=True,
            n_resamples=_RESAMPLES,
            batch=1_000,
            confidence_level=LEVEL,
            method="BCa",
            rng=numpy.random.default_rng(seed),
        )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)

"""Judgement: pass, regressed, inconclusive or refused, with one metric and margin named before.

Non-inferiority with the session as the unit (scoring.md, "Statistics"): pass when the lower end of
the 95% interval is above -margin; regressed when its upper end is below 0 and chance is no
explanation (sign-flip permutation, adjusted by Holm where several are compared); else inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from bench.gate.pairing import Paired
from bench.metrics import Metric
from bench.statistics import Comparison, compare_paired, holm

Verdict: TypeAlias = Literal["pass", "regressed", "inconclusive", "refused"]

LEVEL_OF_P = 0.05
DEFAULT_MARGIN_POINTS = 10.0
# What a set of comparisons came to is what its worst member came to.
_WORST_FIRST: tuple[Verdict, ...] = ("regressed", "refused", "inconclusive", "pass")


@dataclass(frozen=True, slots=True)
class Decision:
    """What one comparison came to, and why.

    Differences are candidate less baseline, turned so that more is better: shares as they are
    (0.10 is 10 points), token counts as a share of the baseline's mean. `smallest_detectable` is
    the drop that this many sessions show with 80% power, `sessions_needed` how many would show one
    of the margin. Means are as the metric counts.
    """

    verdict: Verdict
    reason: str
    sessions: int = 0
    units: int = 0
    mean_baseline: float | None = None
    mean_candidate: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    smallest_detectable: float | None = None
    sessions_needed: int | None = None


def sessions_min(comparisons: int = 1) -> int:
    """The fewest independent sessions whose p can get below 0.05, adjusted for `comparisons`."""
    units = 1
    while comparisons * 2 / 2**units >= LEVEL_OF_P:
        units += 1
    return units


def refused(reason: str) -> Decision:
    """No verdict."""
    return Decision("refused", reason)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """What several comparisons came to together."""
    return min(verdicts, key=_WORST_FIRST.index)


def decide(
    paired: Paired,
    wanted: Metric,
    *,
    margin_points: float = DEFAULT_MARGIN_POINTS,
    clusters: Mapping[str, Hashable] | None = None,
    comparisons: int = 1,
    seed: int = 0,
    has_power: bool = True,
) -> Decision:
    """The decision about one pair of sides, p not yet adjusted (see `adjusted`).

    Without `has_power` the figures about power, which take longest, are None.
    """
    if not paired.pairs:
        reasons = list(dict.fromkeys(paired.unmeasured.values()))
        return refused(f"nothing was measured: {'; '.join(reasons[:2]) or 'there are no sessions'}")
    for side in ("candidate", "baseline"):
        if all(_is_gap(getattr(pair, side)) for pair in paired.pairs):
            return refused(f"nothing was measured of the {side}: {_gaps(paired)}")
    if wanted.layer == "cost" and paired.has_gaps:
        return refused(f"{wanted.name} isn't known everywhere: {_gaps(paired)}")
    groups = [(clusters or {}).get(pair.session, pair.session) for pair in paired.pairs]
    lowest = highest = _compared(paired, wanted, groups, seed, has_power=has_power)
    if paired.has_gaps:
        highest = _compared(paired, wanted, groups, seed, has_power=False, is_best=True)
    if lowest is None or highest is None:
        return refused(f"the baseline's {wanted.name} is 0 everywhere: nothing to compare with")
    needed = sessions_min(comparisons)
    margin = margin_points / 100
    base = _described(paired, lowest, margin if has_power else None)
    if lowest.units < needed:
        what = "sessions" if lowest.units == lowest.sessions else "independent groups of sessions"
        reason = (
            f"{lowest.units} {what} can't tell a loss from chance: at least {needed} are needed"
        )
        return replace(base, verdict="refused", reason=reason)
    return _verdict_of(base, lowest, highest, margin, paired)


def adjusted(decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions with p adjusted by Holm; one that isn't clear any more is inconclusive.

    All have to pass, so passing needs no adjustment; any may fail, so failing does.
    """
    places = [place for place, one in enumerate(decisions) if one.p is not None]
    values = holm([decisions[place].p or 0.0 for place in places])
    found = list(decisions)
    for place, p in zip(places, values, strict=True):
        one = replace(found[place], p=p)
        if one.verdict == "regressed" and p >= LEVEL_OF_P:
            reason = f"the drop may be chance among {len(places)} comparisons (p = {p:.2g})"
            one = replace(one, verdict="inconclusive", reason=reason)
        found[place] = one
    return found


def _compared(
    paired: Paired,
    wanted: Metric,
    groups: Sequence[Hashable],
    seed: int,
    *,
    has_power: bool,
    is_best: bool = False,
) -> Comparison | None:
    """The comparison when every gap held the worst, or with `is_best` the best, for the candidate.

    None where the differences have no scale: a baseline of no tokens at all.
    """
    sign = -1.0 if wanted.better == "lower" else 1.0
    differences: list[float] = []
    for pair in paired.pairs:
        ends = [sign * (one - other) for one in pair.candidate for other in pair.baseline]
        differences.append(max(ends) if is_best else min(ends))
    if wanted.format == "tokens":
        scale = math.fsum(pair.baseline[0] for pair in paired.pairs) / len(paired.pairs)
        if scale <= 0:
            return None
        differences = [difference / scale for difference in differences]
    # Savings are a ratio of sums, so a long session counts for more.
    weights = [pair.weight for pair in paired.pairs] if wanted.name == "tokens_saved" else None
    return compare_paired(
        differences, weights=weights, clusters=groups, seed=seed, has_power=has_power
    )


def _is_gap(ends: tuple[float, float]) -> bool:
    return ends[0] != ends[1]


def _described(paired: Paired, lowest: Comparison, margin: float | None) -> Decision:
    count = len(paired.pairs)
    return Decision(
        verdict="inconclusive",
        reason="",
        sessions=lowest.sessions,
        units=lowest.units,
        mean_baseline=math.fsum(sum(pair.baseline) / 2 for pair in paired.pairs) / count,
        mean_candidate=math.fsum(sum(pair.candidate) / 2 for pair in paired.pairs) / count,
        difference=lowest.difference,
        interval=lowest.interval,
        p=lowest.p,
        smallest_detectable=lowest.smallest_detectable,
        sessions_needed=None if margin is None else lowest.sessions_to_see(margin),
    )


def _verdict_of(
    base: Decision, lowest: Comparison, highest: Comparison, margin: float, paired: Paired
) -> Decision:
    points = f"{100 * margin:g} points"
    if lowest.interval is None or highest.interval is None:
        return replace(base, verdict="refused", reason="no interval can be given")
    if lowest.interval[0] > -margin:
        reason = f"a drop of {points} or more can be ruled out"
        if lowest.interval[1] < 0:
            reason = f"there is a drop, but one of {points} or more can be ruled out"
        return replace(base, verdict="pass", reason=reason)
    is_clear = highest.p is not None and highest.p < LEVEL_OF_P
    if highest.interval[1] < 0 and is_clear:
        reason = "the drop is no chance, and it may be larger than the margin"
        return replace(base, verdict="regressed", reason=reason)
    if paired.has_gaps:
        return replace(base, reason=f"what is missing could change it: {_gaps(paired)}")
    reason = f"neither can a drop of {points} be ruled out nor is there clearly one"
    return replace(base, reason=reason)


def _gaps(paired: Paired) -> str:
    parts: list[str] = []
    for what, found in (("missing", paired.missing), ("not scored", paired.unknown)):
        if found:
            cells = "cell" if len(found) == 1 else "cells"
            parts.append(f"{len(found)} {cells} {what}, the first: {found[0]}")
    return "; ".join(parts)

"""Simulated comparisons: sessions of 20 facts in which a candidate loses so many points more.

A fact is kept with the chance of its session, which differs from strategy to strategy (`FIXED`) and
from draw to draw (`DRAWN`: a summary that goes wrong loses many facts at once), beside the coin of
each fact. The three together give paired differences a standard deviation of about 0.21, which is
what the table of detectable differences in the README stands on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from bench.gate.decision import Verdict, decide
from bench.gate.pairing import Paired, SessionPair
from bench.metrics import metric

KEPT = 0.65
SESSION = 0.12
FIXED = 0.065
DRAWN = 0.095
FACTS = 20
RETENTION = metric("retention")


def kept_shares(
    source: numpy.random.Generator,
    simulations: int,
    sessions: int,
    loss: float = 0.0,
    seeds: int = 1,
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Shares of facts kept by baseline and candidate: arrays of simulations x sessions."""
    size = (simulations, sessions)
    ease = source.normal(KEPT, SESSION, size)
    sides = []
    for lost in (0.0, loss):
        own = ease - lost + source.normal(0, FIXED, size)
        draws = own[..., None] + source.normal(0, DRAWN, (*size, seeds))
        kept = source.binomial(FACTS, numpy.clip(draws, 0, 1)) / FACTS
        sides.append(kept.mean(axis=-1))
    return sides[0], sides[1]


# A drop inside the margin passes, however clearly it is seen: without a margin all are told.
NO_MARGIN_POINTS = 0.001


def verdict_of(
    baseline: Sequence[float], candidate: Sequence[float], margin_points: float
) -> Verdict:
    """What the gate says to these sessions."""
    pairs = tuple(
        SessionPair(f"s{place}", (float(one), float(one)), (float(two), float(two)))
        for place, (one, two) in enumerate(zip(baseline, candidate, strict=True))
    )
    paired = Paired(pairs)
    return decide(paired, RETENTION, margin_points=margin_points, has_power=False).verdict


def regressed_share(
    baseline: numpy.ndarray, candidate: numpy.ndarray, margin_points: float = NO_MARGIN_POINTS
) -> float:
    """In how many of the simulations the gate says regressed.

    Where the mean is less than 1.5 standard errors below 0 it can't: the permutation test needs
    about 1.9. Those aren't asked, which saves most of the time where nothing is lost.
    """
    differences = candidate - baseline
    error = differences.std(axis=1, ddof=1) / numpy.sqrt(differences.shape[1])
    asked = numpy.nonzero(differences.mean(axis=1) < -1.5 * error)[0]
    alarms = sum(
        verdict_of(baseline[place], candidate[place], margin_points) == "regressed"
        for place in asked
    )
    return alarms / len(differences)

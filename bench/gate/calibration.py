"""Judgement: A/A: the same thing compared with itself, to see how often the gate cries wolf.

Two draws of the same cells differ by chance alone, so which of the two is called the baseline can
be chosen by coin for each session: every choice is a comparison without a difference.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from bench.gate.decision import DEFAULT_MARGIN_POINTS, Verdict, decide
from bench.gate.pairing import Paired, SessionPair
from bench.metrics import Metric
from bench.statistics import Interval, wilson_interval

COMPARISONS_DEFAULT = 400
# Half of the 5% of a two-sided 95% interval lies on the side of a loss.
NOMINAL_ALARMS = 0.025


@dataclass(frozen=True, slots=True)
class Calibration:
    """What so many comparisons of a thing with itself came to.

    `alarms` is the share that came out as regressed, with its 95% interval; `nominal` is what it
    may be. `spread` is the mean absolute difference between the two draws of a session: 0 means
    that draws don't differ, so that nothing can be learnt.
    """

    comparisons: int
    sessions: int
    verdicts: Mapping[Verdict, int]
    alarms: float
    interval: Interval
    spread: float
    nominal: float = NOMINAL_ALARMS

    @property
    def is_in_line(self) -> bool:
        """True when the false alarms may well be at or below nominal."""
        return self.interval[0] <= self.nominal


def calibrate(
    draws: Mapping[str, tuple[float, float]],
    wanted: Metric,
    *,
    margin_points: float = DEFAULT_MARGIN_POINTS,
    clusters: Mapping[str, Hashable] | None = None,
    comparisons: int = COMPARISONS_DEFAULT,
    seed: int = 0,
) -> Calibration:
    """Decides `comparisons` times about two draws of each session, named by coin.

    Raises ValueError without sessions.
    """
    if not draws:
        raise ValueError("a calibration needs at least one session")
    source = random.Random(seed)
    verdicts: Counter[Verdict] = Counter()
    for _ in range(comparisons):
        paired = Paired(tuple(_named_by_coin(draws, source)))
        decision = decide(
            paired, wanted, margin_points=margin_points, clusters=clusters, has_power=False
        )
        verdicts[decision.verdict] += 1
    alarms = verdicts["regressed"]
    return Calibration(
        comparisons=comparisons,
        sessions=len(draws),
        verdicts=dict(verdicts),
        alarms=alarms / comparisons,
        interval=wilson_interval(alarms, comparisons) or (0.0, 1.0),
        spread=sum(abs(one - other) for one, other in draws.values()) / len(draws),
    )


def _named_by_coin(
    draws: Mapping[str, tuple[float, float]], source: random.Random
) -> Sequence[SessionPair]:
    pairs: list[SessionPair] = []
    for session, (one, other) in draws.items():
        first, second = (one, other) if source.random() < 0.5 else (other, one)
        pairs.append(SessionPair(session, (first, first), (second, second)))
    return pairs

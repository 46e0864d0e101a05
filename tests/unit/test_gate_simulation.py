"""How often the gate is wrong: false alarms without a difference, power under a known loss.

More simulations of the same: `python tests/benchmarks/gate_power.py`.
"""

import math

import numpy
import pytest

from bench.statistics import smallest_detectable
from tests.gate_simulation import kept_shares, regressed_share

NOMINAL = 0.025  # half of the 5% of a 95% interval lies on the side of a loss


@pytest.mark.parametrize(("sessions", "simulations"), [(8, 2000), (20, 1200), (50, 600)])
def test_false_alarms_stay_at_or_below_nominal(sessions: int, simulations: int) -> None:
    """Without a margin, under which a gate alarms most: one of 10 points only takes alarms away."""
    source = numpy.random.default_rng(sessions)
    alarms = regressed_share(*kept_shares(source, simulations, sessions))
    chance = 2.5 * math.sqrt(NOMINAL * (1 - NOMINAL) / simulations)
    # A gate that never alarms would be of no use.
    assert 0 < alarms <= NOMINAL + chance


@pytest.mark.parametrize(
    ("sessions", "loss", "simulations"), [(8, 0.27, 600), (20, 0.15, 120), (50, 0.09, 60)]
)
def test_a_known_loss_is_seen_four_times_in_five(
    sessions: int, loss: float, simulations: int
) -> None:
    source = numpy.random.default_rng(sessions)
    seen = regressed_share(*kept_shares(source, simulations, sessions, loss))
    chance = 2.5 * math.sqrt(0.8 * 0.2 / simulations)
    assert 0.8 - chance <= seen <= 0.95


@pytest.mark.parametrize(("sessions", "table"), [(8, 0.27), (20, 0.15), (50, 0.09), (100, 0.06)])
def test_what_a_verdict_says_it_could_have_seen_is_what_is_seen(
    sessions: int, table: float
) -> None:
    """The figure that every verdict opens with, from the spread of such sessions."""
    source = numpy.random.default_rng(1)
    baseline, candidate = kept_shares(source, 2000, sessions)
    spread = float((candidate - baseline).std())
    assert smallest_detectable(spread, sessions) == pytest.approx(table, abs=0.025)


def test_three_draws_a_session_help_by_a_third_and_more_facts_hardly() -> None:
    source = numpy.random.default_rng(2)
    spreads = []
    for seeds in (1, 3):
        baseline, candidate = kept_shares(source, 2000, 20, seeds=seeds)
        spreads.append(float((candidate - baseline).std()))
    assert spreads[1] / spreads[0] == pytest.approx(2 / 3, abs=0.05)

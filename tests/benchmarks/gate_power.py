"""False alarms and detectable losses of the gate by simulation: the table of the README.

    python tests/benchmarks/gate_power.py [SIMULATIONS]

Takes some minutes: each simulated verdict from 20 sessions on is a bootstrap.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.gate_simulation import kept_shares, regressed_share

TABLE = ((8, 0.27), (20, 0.15), (50, 0.09), (100, 0.06))


def main() -> None:
    """Prints one line for each number of sessions."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    source = numpy.random.default_rng(3)
    print("sessions  false alarms  a loss of  is seen in")
    for sessions, loss in TABLE:
        alarms = regressed_share(*kept_shares(source, simulations, sessions))
        seen = regressed_share(*kept_shares(source, simulations // 4, sessions, loss))
        print(f"{sessions:8}  {alarms:12.1%}  {100 * loss:4.0f} points  {seen:10.0%}", flush=True)


if __name__ == "__main__":
    main()

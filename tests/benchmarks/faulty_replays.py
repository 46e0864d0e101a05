"""What replays under faults cost: short sessions, every strategy, every fault, drawn by a seed.

python -m tests.benchmarks.faulty_replays --replays 5000
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from bench.errors import RunHalted
from bench.models import Model, OfflineModel
from bench.providers.simulated import SimulatedProvider
from bench.providers.simulated_faults import FAULTS, FaultPlan, FaultyModel
from bench.registry import make_strategy
from bench.replay import replay
from tests.builders import long_session

STRATEGIES = ("head_tail", "layered", "layered(compactor=native)", "prune", "native")
WINDOW_TOKENS = 700
CHANCE = 0.3


def measure(replays: int, *, has_faults: bool = True) -> str:
    """Milliseconds of one core for a replay, and what the compactions came to."""
    session = long_session(6, words_per_result=60)
    strategies = [make_strategy(spec).strategy for spec in STRATEGIES]
    outcomes: Counter[str] = Counter()
    halted = requests = 0
    started = time.process_time()
    for number in range(replays):
        model: Model = OfflineModel()
        if has_faults:
            plan = FaultPlan(faults=tuple(sorted(FAULTS)), chance=CHANCE, seed=number)
            model = FaultyModel(OfflineModel(), plan)
        try:
            provider = SimulatedProvider(model, WINDOW_TOKENS)
            seen = replay(session, strategies[number % len(strategies)], provider)
            outcomes.update(one.outcome for one in seen.compactions)
        except RunHalted:
            halted += 1
        requests += getattr(model, "requests", 0)
    seconds = time.process_time() - started
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(outcomes.items()))
    return (
        f"{'with' if has_faults else 'without'} faults: {replays:,} replays in {seconds:.1f} s of "
        f"one core, {1_000 * seconds / max(1, replays):.2f} ms each; {requests:,} requests on the "
        f"line; compactions {told}; halted {halted}"
    )


def main() -> None:
    """Prints both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=2_000)
    replays = parser.parse_args().replays
    measure(10)
    print(measure(replays, has_faults=False))
    print(measure(replays))


if __name__ == "__main__":
    main()

"""F6.1 at work: facts of the first turn, summarised once a segment or again every time.

True by construction: a stand-in that forgets by coin at every rewrite forgets less where less is
rewritten. What is shown is that the strategy really rewrites less, at no more summary tokens.
"""

from __future__ import annotations

import pytest

from bench.events import Session
from bench.models import make_model
from bench.projection import Written
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.tokens import count
from strategies.layered import Layered
from tests.builders import session

PATHS = [f"src/area_{number}/setting_{number}.yaml" for number in range(40)]
COMPACTIONS = 12


def told() -> Session:
    rules = "\n".join(f"- never change {path}" for path in PATHS)
    lines = [f"user: {rules}", "assistant: Noted."]
    for turn in range(14):
        lines += [
            f"user: check lib/part_{turn}/main_{turn}.py",
            f"call c{turn}",
            f"result c{turn}: " + f"row {turn} " * 200,
            f"assistant: decided to keep retry_{turn} at {turn + 3}.",
        ]
    return session(*lines, "user: now", "assistant: done")


def outcome(strategy: Layered, seed: int) -> tuple[int, int, int]:
    """Rules that are still visible, tokens of the last checkpoint, tokens of all summaries."""
    provider = SimulatedProvider(make_model("lossy(0.9)"), 200_000, seed=seed)
    seen = replay(told(), strategy, provider, cuts=COMPACTIONS)
    assert sum(each.outcome == "accepted" for each in seen.compactions) == COMPACTIONS
    assert seen.final is not None
    text = "\n".join(message.text for message in seen.final.messages)
    written = sum(
        count(item.message.text) for item in seen.final.items if isinstance(item, Written)
    )
    answered = sum(each.ask_output_tokens for each in seen.compactions)
    return sum(path in text for path in PATHS), written, answered


@pytest.mark.parametrize("seed", range(3))
def test_f6_1_early_facts_survive_in_segments_at_no_more_summary_tokens(seed: int) -> None:
    segmented = outcome(Layered(summary_tokens_max=1_000), seed)
    rewritten = outcome(Layered(summary_tokens_max=4_000, mode="resummarise"), seed)
    assert segmented[0] > rewritten[0] + 5
    assert segmented[1] <= rewritten[1]
    assert segmented[2] <= rewritten[2]

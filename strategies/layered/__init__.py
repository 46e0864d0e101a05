"""Layered segments, the strategy `layered`: a checkpoint of the history's prefix, in segments.

Read in this order: `planner` (what may be covered), `questions` and `summary` (what is asked and
what is good enough), `compactor` (a whole try), `checkpoint` and `acceptance` (what is kept),
`bounding` and `history_read` (large results), `strategy`. What it costs is kept low by `told` (each
try costs what is new), `encoded` (a message is quoted once) and `newest` (records known again).
"""

from __future__ import annotations

from collections.abc import Callable

from bench.strategy import Strategy
from strategies.layered.bounding import RESULT_TOKENS_MAX
from strategies.layered.budget import SUMMARY_OUTPUT_TOKENS
from strategies.layered.divergences import DIVERGENCES
from strategies.layered.history_read import tools_for
from strategies.layered.strategy import Layered

__all__ = ["DIVERGENCES", "PRESETS", "STRATEGIES", "Layered", "tools_for"]

STRATEGIES: dict[str, Callable[..., Strategy]] = {"layered": Layered}
PRESETS: dict[str, Strategy] = {
    "foya": Layered(
        result_tokens_max=RESULT_TOKENS_MAX,
        summary_tokens_max=SUMMARY_OUTPUT_TOKENS,
        overflow="substrings",
        as_original=True,
    ),
}

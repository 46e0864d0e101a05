"""Pruning alone, the strategy `prune`: stale tool results give way, no model is ever asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from bench.projection import Projection
from bench.strategy import Ask, Budget, Policy, Stage, Strategy
from strategies.head_tail.estimate import estimator, text_measure
from strategies.head_tail.prune import BODY_TOKENS_MIN, check_limits, limits_for_window, prune

_SEARCH_FROM = "search_from_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Replace the bodies of stale large tool results by a line that names tool and size (Z7).

    The newest tool results up to `protect` tokens stay whole, none = min(40000, window / 5).
    Pruning happens only where it frees `reclaim` tokens, none = min(20000, window / 10).
    A tool result of fewer than `min_body` tokens is never pruned.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    Its measure, the `estimator`, is bytes (bytes that aren't blank / 4) or chars (characters / 4).

    Source: the first stage of Zero, internal/agent/compaction.go, run by itself.
    """

    summary: ClassVar[str] = "stale large tool results give way to one line each, no summary"
    source: ClassVar[str] = "Zero (Gitlawb/zero), internal/agent/compaction.go, first stage"

    protect: int | None = None
    reclaim: int | None = None
    min_body: int = BODY_TOKENS_MIN
    threshold: float = 0.8
    estimator: Literal["bytes", "chars"] = "bytes"

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold={self.threshold} is no fraction of the window (0 to 1)")
        check_limits(self.protect, self.reclaim, self.min_body, 0)

    @property
    def policy(self) -> Policy:
        """One stage above the threshold; the same again after an overflow."""
        return Policy(
            stages=(Stage("prune"),),
            recovery_stages=(Stage("prune"),),
            threshold_fraction=self.threshold,
            estimator=estimator(self.estimator),
        )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """The view without stale bodies; as it is (or None) when there aren't enough of them.

        Above the threshold every request asks, yet a search costs O(view). So after one in vain it
        remembers the size from which on the next is worth while: an eighth of `reclaim` more, and
        a fiftieth of the view.
        """
        memory = view.memory if isinstance(view.memory, dict) else {}
        if budget.trigger == "budget" and budget.size_tokens < memory.get(_SEARCH_FROM, 0):
            return None
        limits = limits_for_window(budget.window, self.protect, self.reclaim, self.min_body)
        pruned = prune(view, limits, text_measure(self.estimator))
        if pruned is None:
            growth_tokens = max(limits.reclaim // 8, budget.size_tokens // 50)
            return view.remember({_SEARCH_FROM: budget.size_tokens + growth_tokens})
        return pruned.remember(None)


STRATEGIES: dict[str, Callable[..., Strategy]] = {"prune": Prune}

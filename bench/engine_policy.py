"""Judgement: what a strategy says of when it fires, and what holds where it says nothing."""

from __future__ import annotations

from bench.estimators import CHARACTERS
from bench.strategy import Estimator, Policy, Strategy

DEFAULT_POLICY = Policy()


def policy_of(strategy: Strategy) -> Policy:
    """When this strategy fires; the defaults where it doesn't say."""
    policy = getattr(strategy, "policy", DEFAULT_POLICY)
    return policy if isinstance(policy, Policy) else DEFAULT_POLICY


def estimator_of(strategy: Strategy) -> Estimator:
    """How this strategy guesses sizes; characters/4 where it doesn't say."""
    estimator = policy_of(strategy).estimator or getattr(strategy, "estimator", CHARACTERS)
    return estimator if isinstance(estimator, Estimator) else CHARACTERS


def threshold_of(policy: Policy, window: int) -> int:
    """The size above which (strictly) the stages are tried, in the strategy's own tokens."""
    if policy.reserve_tokens is not None:
        reserve = policy.reserve_tokens
        if policy.reserve_fraction is not None:
            reserve = min(reserve, max(1, int(window * policy.reserve_fraction)))
        return max(0, window - reserve)
    if policy.threshold_tokens is not None:
        return policy.threshold_tokens
    return int(window * policy.threshold_fraction)

"""Judgement: what a replay costs, in tokens and in money relative to plain input tokens.

A cache read, a cache write and an output token are priced as multiples of a plain input token; the
default multiples are those of Anthropic's five-minute cache (vendor price page).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.observations import Replay, RequestObservation


@dataclass(frozen=True, slots=True)
class CachePrices:
    """Multiples of the price of a plain input token."""

    read: float = 0.1
    write: float = 1.25
    output: float = 5.0


DEFAULT_PRICES = CachePrices()


@dataclass(frozen=True, slots=True)
class Costs:
    """`tokens_sent`: input of every request made, plus what the summariser read and wrote.

    `tokens_baseline` is `keep_all` over the same requests. `tokens_saved` = 1 - sent / baseline,
    negative when compaction cost more than it saved. `cost_ratio` is billed over baseline billed,
    both with cache reads and writes. None where there is no baseline.
    """

    tokens_sent: int
    tokens_cached: int
    tokens_summariser: int
    tokens_baseline: int
    tokens_peak: int
    tokens_saved: float | None
    cost_ratio: float | None


def costs(replay: Replay, ceiling: Replay, prices: CachePrices = DEFAULT_PRICES) -> Costs:
    """The costs of `replay` beside those of `ceiling`, the `keep_all` replay of the session."""
    made = [request for request in replay.requests if request.is_served]
    baseline = ceiling.requests[: len(made)]
    summariser = replay.summariser_tokens
    sent = sum(request.tokens for request in made) + summariser
    tokens_baseline = sum(request.tokens for request in baseline)
    asked = sum(
        compaction.ask_input_tokens + prices.output * compaction.ask_output_tokens
        for compaction in replay.compactions
    )
    billed_baseline = _billed(baseline, prices)
    return Costs(
        tokens_sent=sent,
        tokens_cached=sum(request.cached_tokens for request in made),
        tokens_summariser=summariser,
        tokens_baseline=tokens_baseline,
        tokens_peak=max((request.tokens for request in made), default=0),
        tokens_saved=1 - sent / tokens_baseline if tokens_baseline else None,
        cost_ratio=(_billed(made, prices) + asked) / billed_baseline if billed_baseline else None,
    )


def _billed(requests: Sequence[RequestObservation], prices: CachePrices) -> float:
    return sum(
        request.cached_tokens * prices.read
        + (request.tokens - request.cached_tokens) * prices.write
        for request in requests
    )

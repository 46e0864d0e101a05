"""Judgement: what a replay costs, in tokens and in money relative to plain input tokens.

A cache read, a cache write and an output token are priced as multiples of a plain input token, by
vendor (`bench.cache_prices`). A compaction rewrites the prefix, so what it saves in tokens it may
lose again in the cache until enough requests have gone by.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from bench.cache_prices import CACHE_PRICES, DEFAULT, CachePrices
from bench.observations import Replay, RequestObservation

DEFAULT_PRICES = DEFAULT


@dataclass(frozen=True, slots=True)
class Costs:
    """`tokens_sent`: input of every request made, plus what the summariser read and wrote.

    `tokens_baseline` is `keep_all` over the same requests. `tokens_saved` = 1 - sent / baseline,
    negative when compaction cost more than it saved; `summariser_share` is the summariser's part of
    what was sent. `cost_ratio` is billed over baseline billed, both with cache reads and writes.
    `break_even_requests` counts the requests after the first compaction until the bill stays below
    the baseline's for good, None when it never does. None where there is no baseline.
    """

    tokens_sent: int
    tokens_cached: int
    tokens_summariser: int
    tokens_baseline: int
    tokens_peak: int
    tokens_saved: float | None
    cost_ratio: float | None
    summariser_share: float | None
    break_even_requests: int | None


def costs(replay: Replay, ceiling: Replay, prices: CachePrices = DEFAULT_PRICES) -> Costs:
    """The costs of `replay` beside those of `ceiling`, the `keep_all` replay of the session."""
    made = [request for request in replay.requests if request.is_served]
    baseline = ceiling.requests[: len(made)]
    summariser = replay.summariser_tokens
    sent = sum(request.tokens for request in made) + summariser
    tokens_baseline = sum(request.tokens for request in baseline)
    return Costs(
        tokens_sent=sent,
        tokens_cached=sum(request.cached_tokens for request in made),
        tokens_summariser=summariser,
        tokens_baseline=tokens_baseline,
        tokens_peak=max((request.tokens for request in made), default=0),
        tokens_saved=1 - sent / tokens_baseline if tokens_baseline else None,
        cost_ratio=cost_ratio(replay, ceiling, prices),
        summariser_share=summariser / sent if sent else None,
        break_even_requests=break_even(replay, ceiling, prices),
    )


def cost_ratio(replay: Replay, ceiling: Replay, prices: CachePrices) -> float | None:
    """What a replay is billed over what the full history would have been; None without one."""
    made = [request for request in replay.requests if request.is_served]
    baseline = sum(billed(request, prices) for request in ceiling.requests[: len(made)])
    own = sum(billed(request, prices) for request in made)
    return (own + sum(_asked(replay, prices).values())) / baseline if baseline else None


def cost_ratios(replay: Replay, ceiling: Replay) -> dict[str, float | None]:
    """The cost ratio under every row of the table of cache prices, by name."""
    return {row.name: cost_ratio(replay, ceiling, row) for row in CACHE_PRICES}


def break_even(replay: Replay, ceiling: Replay, prices: CachePrices) -> int | None:
    """Requests from the first accepted compaction until its bill stays below the baseline's."""
    made = [request for request in replay.requests if request.is_served]
    baseline = ceiling.requests[: len(made)]
    accepted = [one.request for one in replay.compactions if one.outcome == "accepted"]
    if not accepted or len(baseline) < len(made):
        return None
    asked = _asked(replay, prices)
    own = accumulate(billed(one, prices) + asked.get(one.index, 0.0) for one in made)
    full = accumulate(billed(one, prices) for one in baseline)
    is_ahead = [ours < theirs for ours, theirs in zip(own, full, strict=True)]
    if not is_ahead or not is_ahead[-1]:
        return None
    # Behind for the last time at this place; ahead from the next one on.
    last_behind = max((place for place, ahead in enumerate(is_ahead) if not ahead), default=-1)
    return max(0, last_behind + 1 - accepted[0])


def billed(request: RequestObservation, prices: CachePrices) -> float:
    """One request in plain input tokens: reads, writes, and the tier for long contexts."""
    cached = request.cached_tokens if request.cached_tokens >= prices.prefix_tokens_min else 0
    units = cached * prices.read + (request.tokens - cached) * prices.write
    is_long = prices.tier_tokens is not None and request.tokens > prices.tier_tokens
    return units * prices.tier_multiple if is_long else units


def _asked(replay: Replay, prices: CachePrices) -> dict[int, float]:
    """What the summariser is billed, by the request that it was asked for."""
    found: dict[int, float] = {}
    for one in replay.compactions:
        # Only a provider's own compaction reads the agent's cache; other prompts share no prefix.
        cached = one.ask_cached_tokens if one.ask_cached_tokens >= prices.prefix_tokens_min else 0
        units = one.ask_input_tokens - cached + prices.read * cached
        units += prices.output * one.ask_output_tokens
        found[one.request] = found.get(one.request, 0.0) + units
    return found

"""Judgement: what caching does to a bill, vendor by vendor: a table, no code.

Multiples of the price of a plain input token, read off public price lists on the date below. A
prefix that two requests share is read from the cache, everything else is written to it. Where a
vendor bills writes as plain input the multiple is 1. Above `tier_tokens` of one request its whole
input side costs `tier_multiple` as much. Dollar prices are in `bench.prices`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

READ_ON = "2026-11-30"
# Output costs about five times as much as input with most vendors; it is billed once a summary.
_OUTPUT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePrices:
    """One row: `read`, `write` and `output` are multiples of a plain input token.

    A shared prefix below `prefix_tokens_min` isn't cached. `models` is a pattern over names
    of models, empty for rows that are chosen by name alone.
    """

    name: str
    read: float
    write: float
    output: float = _OUTPUT
    prefix_tokens_min: int = 1_024
    tier_tokens: int | None = None
    tier_multiple: float = 1.0
    models: str = ""


# The first whose pattern is found in the model's name wins, so newer models stand first.
CACHE_PRICES: tuple[CachePrices, ...] = (
    CachePrices(name="anthropic", read=0.1, write=1.25, models=r"claude(?!.*(?:5[.-]5|5[.-]1))"),
    CachePrices(name="anthropic_1h", read=0.1, write=2.0),
    CachePrices(
        name="anthropic_5_5",
        read=0.05,
        write=1.25,
        prefix_tokens_min=512,
        models=r"claude-(?:opus|sonnet)-5[.-]5",
    ),
    CachePrices(
        name="anthropic_5_1",
        read=0.025,
        write=1.25,
        prefix_tokens_min=512,
        models=r"claude-(?:fable|mythos)-5[.-]1",
    ),
    CachePrices(
        name="openai",
        read=0.1,
        write=1.25,
        tier_tokens=272_000,
        tier_multiple=2.0,
        models=r"gpt-(?:5[.-][6-9]|6)",
    ),
    CachePrices(
        name="openai_5_4",
        read=0.1,
        write=1.0,
        tier_tokens=272_000,
        tier_multiple=2.0,
        models=r"gpt-5[.-][45]",
    ),
    CachePrices(name="openai_5", read=0.1, write=1.0, models=r"gpt-5"),
    CachePrices(name="openai_4_1", read=0.25, write=1.0, models=r"gpt-4\.1|\bo[134]\b"),
    CachePrices(name="openai_4o", read=0.5, write=1.0, models=r"gpt-4o"),
    CachePrices(
        name="gemini_pro",
        read=0.1,
        write=1.0,
        prefix_tokens_min=2_048,
        tier_tokens=200_000,
        tier_multiple=2.0,
        models=r"gemini-2\.5-pro",
    ),
    CachePrices(name="gemini", read=0.1, write=1.0, prefix_tokens_min=4_096, models=r"gemini"),
    CachePrices(name="bedrock_nova", read=0.25, write=1.0, models=r"nova"),
    CachePrices(name="deepseek", read=0.1, write=1.0, models=r"deepseek"),
    CachePrices(
        name="xai",
        read=0.25,
        write=1.0,
        prefix_tokens_min=128,
        tier_tokens=200_000,
        tier_multiple=2.0,
        models=r"grok",
    ),
    CachePrices(name="groq", read=0.5, write=1.0, models=r"gpt-oss"),
    CachePrices(name="moonshot", read=0.17, write=1.0, models=r"kimi|moonshot"),
    CachePrices(name="zhipu", read=0.19, write=1.0, models=r"glm"),
    CachePrices(
        name="minimax",
        read=0.1,
        write=1.25,
        tier_tokens=512_000,
        tier_multiple=2.0,
        models=r"minimax",
    ),
    CachePrices(name="qwen", read=0.2, write=1.0, models=r"qwen"),
    CachePrices(name="mistral", read=0.1, write=1.0, models=r"mistral|codestral|devstral"),
    CachePrices(name="no_cache", read=1.0, write=1.0),
)
DEFAULT = CACHE_PRICES[0]


def prices_by_name(name: str) -> CachePrices:
    """The row of that name; raises KeyError naming those there are."""
    for row in CACHE_PRICES:
        if row.name == name:
            return row
    raise KeyError(f"no cache prices {name!r}, there are: {', '.join(names())}")


def prices_for(model: str) -> CachePrices:
    """The row for a model; that of Anthropic's five-minute cache for stand-ins and unknown ones."""
    name = model.partition(":")[2] or model
    for row in CACHE_PRICES:
        if row.models and re.search(row.models, name.lower()):
            return row
    return DEFAULT


def names() -> Sequence[str]:
    """The names of all rows."""
    return [row.name for row in CACHE_PRICES]

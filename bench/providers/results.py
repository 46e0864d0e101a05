"""Edges: what a real model answered, in detail. What the provider didn't say is None, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from bench.events import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """The tokens of one call as the provider counted them; None where it said nothing.

    `input_tokens` is the whole input: it includes what was read from a cache (`cached_tokens`) and
    written to one (`cache_write_tokens`). `output_tokens` includes `reasoning_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


NOTHING_USED = CallUsage(
    input_tokens=0, output_tokens=0, cached_tokens=0, cache_write_tokens=0, reasoning_tokens=0
)


def summed(usages: Iterable[CallUsage]) -> CallUsage:
    """Usages of several passes added up; a figure that no pass has stays None."""
    every = list(usages)
    totals: dict[str, int | None] = {}
    for field in fields(CallUsage):
        known = [value for one in every if (value := getattr(one, field.name)) is not None]
        totals[field.name] = sum(known) if known else None
    return CallUsage(**totals)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailedResult:
    """One answer: its text, the provider's own finish reason and its usage.

    `calls` are the tool calls that it wants made. `refusal` is what the model said where it
    declined to answer. `window_tokens` is the size of the input that the answer itself was made
    from, where that isn't `usage.input_tokens`.
    """

    text: str
    finish_reason: str
    usage: CallUsage
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    window_tokens: int | None = None

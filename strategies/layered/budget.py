"""Limits of a request and where its pressure comes from (F2.1, constants page)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.events import Message
from strategies.layered.encoding import tokens, units
from strategies.layered.estimate import (
    ToolText,
    context_state_json,
    messages_tokens,
    next_input_tokens,
    request_units,
)
from strategies.layered.message_json import raw_json

RESERVE_TOKENS_MAX = 16_384
RESERVE_WINDOW_SHARE = 4
RESERVE_TOKENS_MIN_SEEN = 1_024
RESERVE_TOKENS_MAX_SEEN = 8_192
RESERVE_OUTPUTS_SEEN = 2
UNKNOWN_WINDOW_HISTORY_TOKENS = 32_000
SUMMARY_OUTPUT_TOKENS = 4_096
SUMMARY_OUTPUT_TOKENS_MAX = 8_192

Pressure = Literal["none", "history", "working_set", "fixed"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Token limits of one request. `is_estimated` is true when the window is unknown."""

    window: int
    reserve_tokens: int
    high_water: int
    input_limit: int
    is_estimated: bool


@dataclass(frozen=True, slots=True)
class Prior:
    """What a provider counted for the request before, with the units of that request."""

    input_tokens: int = 0
    units: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Layers:
    """Estimated tokens by what they are for."""

    pinned: int
    history: int
    working_set: int
    tool_schema: int
    native_state: int


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the next request is over its limit, and which layer presses most."""

    limits: Limits
    payload_units: int
    estimated_tokens: int
    needs_compaction: bool
    pressure: Pressure
    layers: Layers


def reserve_tokens(window: int, prior_output_tokens: int = 0) -> int:
    """The part of a known window that is left for the answer.

    A quarter up to 16,384; once an output was seen, twice that within 1,024..8,192, even if the
    window is smaller.
    """
    if prior_output_tokens > 0:
        wanted = RESERVE_OUTPUTS_SEEN * prior_output_tokens
        return min(max(wanted, RESERVE_TOKENS_MIN_SEEN), RESERVE_TOKENS_MAX_SEEN)
    return max(1, min(window // RESERVE_WINDOW_SHARE, RESERVE_TOKENS_MAX))


def limits(window: int, max_input_tokens: int = 0, prior_output_tokens: int = 0) -> Limits:
    """The limits of a request; a window or a maximal input of 0 or less is unknown."""
    is_known = window > 0
    if is_known:
        reserve = reserve_tokens(window, prior_output_tokens)
        high_water = max(1, window - reserve)
    else:
        reserve = RESERVE_TOKENS_MAX
        high_water = UNKNOWN_WINDOW_HISTORY_TOKENS
        window = high_water + reserve
    input_limit = min(high_water, max_input_tokens) if max_input_tokens > 0 else high_water
    return Limits(window, reserve, high_water, input_limit, not is_known)


def summary_output_tokens(configured: int = 0) -> int:
    """The output limit of a summary: 4,096 unless configured, never more than 8,192."""
    if configured <= 0:
        return SUMMARY_OUTPUT_TOKENS
    return min(configured, SUMMARY_OUTPUT_TOKENS_MAX)


def layers(messages: Sequence[Message], tools: Sequence[ToolText], state_data: str = "") -> Layers:
    """The request by layers: a first system message, history, and from the last user message on."""
    first = 1 if messages and messages[0].role == "system" else 0
    last_user = max(
        (index for index, each in enumerate(messages) if each.role == "user"), default=len(messages)
    )

    def part(start: int, stop: int) -> int:
        return messages_tokens(messages[start:stop], original=True) if start < stop else 0

    return Layers(
        pinned=part(0, first),
        history=part(first, last_user),
        working_set=part(last_user, len(messages)),
        tool_schema=tokens(request_units((), tools, original=True)) if tools else 0,
        native_state=tokens(units(f'{{"data":{raw_json(state_data)}}}')) if state_data else 0,
    )


def decide(
    messages: Sequence[Message],
    tools: Sequence[ToolText],
    bounds: Limits,
    prior: Prior,
    state_kind: str = "",
    state_data: str = "",
) -> Decision:
    """Compare the next request with its limit (strictly `>`) and name the pressure.

    `state_kind` and `state_data` (raw JSON) are the native state that the request carries.
    Ties favour history, then the working set: those are what a compaction can shrink.
    """
    state = context_state_json(state_kind, state_data) if state_data else ""
    payload = request_units(messages, tools, state, original=True)
    estimated = next_input_tokens(prior.input_tokens, prior.units, payload)
    found = layers(messages, tools, state_data)
    fixed = found.pinned + found.tool_schema + found.native_state
    pressure: Pressure = "none"
    if estimated > bounds.input_limit:
        sizes: tuple[tuple[Pressure, int], ...] = (
            ("history", found.history),
            ("working_set", found.working_set),
            ("fixed", fixed),
        )
        pressure = max(sizes, key=lambda named: named[1])[0]
    return Decision(bounds, payload, estimated, estimated > bounds.input_limit, pressure, found)

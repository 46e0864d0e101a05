"""The one shape of head/tail compaction: system messages, a summary of the middle, the newest tail.

Pure functions over messages (Z1 to Z5, Z13); the strategy maps them to items of a projection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.events import Message
from strategies.head_tail.go_text import trim
from strategies.head_tail.state import STATE_HEADING, SUMMARY_LABEL, lift_state

Summariser: TypeAlias = Callable[[Sequence[Message]], str]


class ContextLimitError(Exception):
    """The summariser's own request was too long for the window."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The message that stands for the messages start..stop-1."""

    start: int
    stop: int
    message: Message


def middle(messages: Sequence[Message], preserve_last: int) -> tuple[int, int]:
    """Start and stop of what gets summarised; both are equal when there is nothing.

    Leading system messages stay (Z2), so do the last `preserve_last` messages (Z4) and what the
    boundary passes on its way back to an assistant message, which keeps tool groups whole (Z13).
    """
    start = 0
    while start < len(messages) and messages[start].role == "system":
        start += 1
    stop = max(start, len(messages) - preserve_last)
    while stop > start and (stop == len(messages) or messages[stop].role != "assistant"):
        stop -= 1
    return start, stop


def replacement(
    messages: Sequence[Message], preserve_last: int, summarise: Summariser | None
) -> Replacement | None:
    """What `compact` puts in the place of the middle; None when there is no middle (Z1, Z3).

    Whatever `summarise` raises is passed on. Raises ValueError when there is no summariser.
    """
    if summarise is None:
        raise ValueError("head_tail: there is no summariser to ask")
    start, stop = middle(messages, preserve_last)
    if start == stop:
        return None
    covered = messages[start:stop]
    return Replacement(start, stop, summary_message(summarise(covered), covered))


def summary_message(summary: str, covered: Sequence[Message]) -> Message:
    """The labelled user message that stands for `covered`, its state appended (Z3, Z5)."""
    text = f"{SUMMARY_LABEL}\n{trim(summary)}"
    state = lift_state(covered).to_json()
    return Message("user", f"{text}\n\n{STATE_HEADING}\n{state}" if state else text)


def summarise_in_halves(messages: Sequence[Message], summarise: Summariser) -> str:
    """A summary even where the summariser's own window is too small for `messages`.

    On ContextLimitError each half is summarised, by this same rule, then both summaries into one;
    if that overflows too they are joined. Two messages is the least that can be halved.
    """
    try:
        return summarise(messages)
    except ContextLimitError:
        if len(messages) < 2:
            raise
    half = len(messages) // 2
    parts = [summarise_in_halves(part, summarise) for part in (messages[:half], messages[half:])]
    try:
        return summarise([Message("user", part) for part in parts])
    except ContextLimitError:
        return "\n\n".join(parts)

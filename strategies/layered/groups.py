"""Messages that are covered together or not at all (F1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bench.history import History
from strategies.layered.source import SourceMessage


class Group(NamedTuple):
    """Messages start..stop-1 that are covered together or not at all (F1.4).

    `is_complete` False means that an answer is still missing, so nothing may cover it (F3.5).
    """

    start: int
    stop: int
    is_complete: bool


def groups_as_original(messages: Sequence[SourceMessage], start: int = 0) -> tuple[Group, ...]:
    """An assistant message with calls and the tool messages directly behind it; others alone.

    Complete when each call id was answered. A tool message elsewhere is never complete, and so
    blocks everything behind it for good (divergence `dead_calls`). Those from `start` on are
    grouped, where a group must begin.
    """
    found: list[Group] = []
    while start < len(messages):
        message = messages[start].message
        stop = start + 1
        is_complete = message.role != "tool"
        if message.role == "assistant" and message.calls:
            while stop < len(messages) and messages[stop].message.role == "tool":
                stop += 1
            answered = {each.message.call_id or "" for each in messages[start + 1 : stop]}
            is_complete = {call.id for call in message.calls} <= answered
        found.append(Group(start, stop, is_complete))
        start = stop
    return tuple(found)


def groups_of(history: History, stop: int, start: int = 0) -> tuple[Group, ...]:
    """The groups of a harness history; one with a *dead* call is complete (H5).

    A call is pending while no user or assistant message follows it, and dead afterwards: nothing
    can answer it any more, so it mustn't block compaction for ever. The same holds for a result
    that answers nothing. Those from `start` on are grouped, where a group must begin.
    """
    found: list[Group] = []
    pending = _pending_position(history, start, stop)
    own: int | None = history.group_start(start) if start < stop else None
    for position in range(start + 1, stop + 1):
        following = history.group_start(position) if position < stop else None
        if following == own:
            continue
        found.append(Group(start, position, not start <= pending < position))
        start, own = position, following
    return tuple(found)


def _pending_position(history: History, start: int, stop: int) -> int:
    """The only message from `start` on that may be pending: it has nothing but results behind it.

    -1 when it isn't.
    """
    position = stop - 1
    while position >= start and history.message(position).role == "tool":
        position -= 1
    return position if position >= start and history.is_pending(position, stop) else -1

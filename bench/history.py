"""Words: the append-only log of one session while it is replayed, and its indivisible groups.

A group is an assistant message with all its results; a lone message is a group of one. A group
closes when the next assistant message arrives, so what a request sees is never regrouped later.
Results pair with calls of the round that is open, in the order of the calls: an id that is used
again in a later round is another call (H1, F1.4, Z13).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from bench.events import Event, Message, ToolCall


@dataclass(frozen=True, slots=True)
class Kept:
    """An event exactly as it is in the history: the most common item of a projection."""

    event: Event

    @property
    def message(self) -> Message:
        """What the model is shown."""
        return self.event.message

    @property
    def seqs(self) -> tuple[int, int]:
        """First and last seq that this item stands for."""
        return self.event.seq, self.event.seq


class CallState(NamedTuple):
    """A call and the seq of its result; `result_seq` None means that no result came."""

    call: ToolCall
    wire_id: str
    result_seq: int | None


_NO_CALLS: list[int | None] = []


class History:
    """The log as far as it has been told. It only grows; what was told never changes (H3).

    Positions are indexes into the log (seq - 1). The future isn't in here, so nothing that holds
    a history can look ahead.
    """

    __slots__ = (
        "__weakref__",
        "_events",
        "_ids_used",
        "_kept",
        "_leading_system",
        "_open_round",
        "_result_seqs",
        "_result_wire_ids",
        "_start_of",
        "_turn_starts",
        "_wire_ids",
    )

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: list[Event] = []
        self._start_of: list[int] = []
        # Of the calls of an assistant message by its position: their ids, the seqs of results.
        self._wire_ids: dict[int, list[str]] = {}
        self._result_seqs: dict[int, list[int | None]] = {}
        self._result_wire_ids: dict[int, str] = {}
        self._ids_used: dict[str, int] = {}
        self._open_round: int | None = None
        self._turn_starts: list[int] = []
        self._kept: list[Kept] = []
        self._leading_system = 0
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, position: int) -> Event:
        return self._events[position]

    def append(self, event: Event) -> None:
        """Tell the next event. Amortised constant time."""
        position = len(self._events)
        if event.seq != position + 1:
            raise ValueError(
                f"event seq {event.seq} after {position} events: expected {position + 1}"
            )
        self._events.append(event)
        message = event.message
        role = message.role
        start = position
        if role == "tool":
            opened = self._open_round
            if opened is not None and self._pair(message, event.seq, opened):
                start = opened
                # A user who typed while a tool ran now stands inside its group.
                earlier = position - 1
                while earlier >= start and self._start_of[earlier] != start:
                    self._start_of[earlier] = start
                    earlier -= 1
        elif role == "assistant":
            self._open_round = position
            calls = message.calls
            if calls:
                self._wire_ids[position] = [self._wire_id(call.id) for call in calls]
                self._result_seqs[position] = [None] * len(calls)
        elif role == "user":
            if event.starts_turn:
                self._turn_starts.append(position)
        elif self._leading_system == position:
            self._leading_system += 1
        self._start_of.append(start)

    def _wire_id(self, call_id: str) -> str:
        if call_id and call_id not in self._ids_used:
            self._ids_used[call_id] = 1
            return call_id
        times_used = self._ids_used.get(call_id, 0)
        self._ids_used[call_id] = times_used + 1
        candidate = f"{call_id or 'call'}~{times_used + 1}"
        return self._wire_id(candidate) if candidate in self._ids_used else candidate

    def _pair(self, message: Message, seq: int, opened: int) -> bool:
        """Whether a result answers a call of the open round, which then knows it."""
        result_seqs = self._result_seqs.get(opened)
        if result_seqs is None:
            return False
        call_id = message.call_id or ""
        for index, call in enumerate(self._events[opened].message.calls):
            if result_seqs[index] is None and call.id == call_id:
                result_seqs[index] = seq
                self._result_wire_ids[seq - 1] = self._wire_ids[opened][index]
                return True
        return False

    @property
    def open_round_start(self) -> int:
        """The position from which results may still join a group: everything before is settled."""
        return len(self._events) if self._open_round is None else self._open_round

    def group_start(self, position: int) -> int:
        """The position of the first event of the group that holds `position`."""
        return self._start_of[position]

    def group_starts(self, start: int, stop: int) -> list[int]:
        """The `group_start` of each position from `start` up to, not including, `stop`."""
        return self._start_of[start:stop]

    def calls_at(self, position: int) -> tuple[CallState, ...]:
        """The calls of the assistant message at `position`, with what became of them."""
        if position not in self._wire_ids:
            return ()
        calls = self._events[position].message.calls
        states = zip(calls, self._wire_ids[position], self._result_seqs[position], strict=True)
        return tuple(map(CallState._make, states))

    def unanswered(self, position: int) -> int:
        """How many calls of the message at `position` have no result so far."""
        return self._result_seqs.get(position, _NO_CALLS).count(None)

    def result_wire_id(self, position: int) -> str | None:
        """The unique call id that the result at `position` answers; None for an orphan result."""
        return self._result_wire_ids.get(position)

    def is_result(self, position: int) -> bool:
        """Whether the event at `position` answers a call."""
        return position in self._result_wire_ids

    def is_pending(self, position: int, stop: int) -> bool:
        """True when unanswered calls at `position` may still be answered, seen from `stop`.

        A call is pending while no user or assistant message follows it, afterwards it is dead (H5).
        """
        if None not in self._result_seqs.get(position, _NO_CALLS):
            return False
        following = range(position + 1, stop)
        return all(self._events[index].message.role == "tool" for index in following)

    def last_turn_start(self, stop: int) -> int | None:
        """The position of the newest event before `stop` that starts a turn; None without any."""
        index = bisect_left(self._turn_starts, stop)
        return self._turn_starts[index - 1] if index else None

    def events(self, start: int = 0, stop: int | None = None) -> tuple[Event, ...]:
        """The events from position `start` up to, not including, `stop`."""
        return tuple(self._events[start:stop])

    def kept(self, start: int, stop: int) -> tuple[Kept, ...]:
        """The events from `start` up to, not including, `stop` as items of projections.

        Each event has one such item for good, so that projections which share events share items,
        and who compares them needn't look inside.
        """
        kept = self._kept
        if len(kept) < stop:
            kept.extend(map(Kept, self._events[len(kept) : stop]))
        return tuple(kept[start:stop])

    @property
    def leading_system(self) -> int:
        """How many system messages open the log."""
        return self._leading_system

    def message(self, position: int) -> Message:
        """The message of the event at `position`."""
        return self._events[position].message

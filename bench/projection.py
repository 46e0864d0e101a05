"""Words: the projection, what the model would be shown instead of the whole history.

A projection is a row of items that each say where they came from. It is stored as a short `head`
and a verbatim tail of the history, so that a step without compaction costs O(new events).
The operations that a strategy is given cut only between groups and keep what is pinned: the
leading system messages and the current user request (H1, H4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import is_
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from bench.events import Event, Message, Role, with_text
from bench.history import History
from bench.history import Kept as Kept

Json: TypeAlias = Any
Value = TypeVar("Value")

_UNREADABLE = Message("user")


@dataclass(frozen=True, slots=True)
class Shortened:
    """An event whose text was cut or replaced; role, calls and call id stay.

    `reference` names where the whole text can be read again (F10.2), None when nowhere.
    """

    event: Event
    message: Message
    reference: Json = None

    @property
    def seqs(self) -> tuple[int, int]:
        """First and last seq that this item stands for."""
        return self.event.seq, self.event.seq


@dataclass(frozen=True, slots=True)
class Written:
    """Text that a strategy wrote instead of the events first_seq..last_seq.

    A written call is answered by a written result directly behind it, as on the wire (H1).
    """

    message: Message
    first_seq: int
    last_seq: int

    @property
    def seqs(self) -> tuple[int, int]:
        """First and last seq that this item stands for."""
        return self.first_seq, self.last_seq


@dataclass(frozen=True, slots=True)
class Native:
    """Opaque state that a provider made; it means something on `route` only (F7.2, F7.3).

    `state` is JSON text, `tokens` what its maker says that it costs.
    """

    route: str
    state: str
    first_seq: int
    last_seq: int
    tokens: int

    @property
    def message(self) -> Message:
        """An empty stand-in: nothing of the state can be read."""
        return _UNREADABLE

    @property
    def seqs(self) -> tuple[int, int]:
        """First and last seq that this item stands for."""
        return self.first_seq, self.last_seq


Item: TypeAlias = Kept | Shortened | Written | Native


def same_at_start(one: Sequence[Item], other: Sequence[Item]) -> int:
    """How many items at the start are the very same objects in both."""
    same = list(map(is_, one, other))
    return len(same) if all(same) else same.index(False)


class ItemGroup(NamedTuple):
    """An indivisible run of items: positions start..stop-1 of `Projection.items`.

    `is_pending` is true when a call in it may still be answered; `is_pinned` when it holds a
    leading system message or the current user request.
    """

    start: int
    stop: int
    items: tuple[Item, ...]
    is_pending: bool = False
    is_pinned: bool = False


class _Once(Generic[Value]):
    """A property that is worked out once, as `cached_property`, yet without its lock.

    What is asked for of each of thousands of projections is cheaper than taking a lock for it.
    """

    def __init__(self, work_out: Callable[[Any], Value]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    def __get__(self, projection: Any, owner: type) -> Value:
        if projection is None:
            raise AttributeError(self._name)
        value = projection.__dict__[self._name] = self._work_out(projection)
        return value


@dataclass(frozen=True)
class Projection:
    """What is shown of the first `stop` events: the items `head`, then events from `tail_start`.

    `memory` is the JSON value that the strategy left with `remember`.
    """

    history: History
    head: tuple[Item, ...] = ()
    tail_start: int = 0
    stop: int = 0
    memory: Json = None

    def __init__(
        self,
        history: History,
        head: tuple[Item, ...] = (),
        tail_start: int = 0,
        stop: int = 0,
        memory: Json = None,
    ) -> None:
        # What dataclasses write for frozen ones takes three times as long, and one of these is
        # made for every request.
        values = self.__dict__
        values["history"] = history
        values["head"] = head
        values["tail_start"] = tail_start
        values["stop"] = stop
        values["memory"] = memory

    @classmethod
    def whole(cls, history: History, stop: int | None = None, memory: Json = None) -> Projection:
        """The projection that shows everything."""
        return cls(history, (), 0, len(history) if stop is None else stop, memory)

    @classmethod
    def of_items(
        cls, history: History, items: Sequence[Item], stop: int, memory: Json = None
    ) -> Projection:
        """A projection of any items; the verbatim events at its end become the tail."""
        verbatim = 0
        told = history.kept(max(0, stop - len(items)), stop)
        for item, own in zip(reversed(items), reversed(told), strict=False):
            if item is not own and not (isinstance(item, Kept) and item.event is own.event):
                break
            verbatim += 1
        head = tuple(items[: len(items) - verbatim])
        return cls(history, head, stop - verbatim, stop, memory)

    def advance(self) -> Projection:
        """The same projection with everything shown that was said since."""
        return Projection(self.history, self.head, self.tail_start, len(self.history), self.memory)

    @property
    def events(self) -> tuple[Event, ...]:
        """The whole history so far, as it was told: what a planner may read."""
        return self.history.events(0, self.stop)

    @_Once
    def items(self) -> tuple[Item, ...]:
        """All items in order, the tail included."""
        return self.head + self.history.kept(self.tail_start, self.stop)

    def shows_the_same_as(self, other: Projection) -> bool:
        """True when both have equal items; most are told apart by their number."""
        sizes = [len(each.head) + each.stop - each.tail_start for each in (self, other)]
        return sizes[0] == sizes[1] and self.items == other.items

    @_Once
    def messages(self) -> tuple[Message, ...]:
        """The messages of all items, in order."""
        shown = [item.event.message if type(item) is Kept else item.message for item in self.head]
        told = self.history.events(self.tail_start, self.stop)
        return (*shown, *[event.message for event in told])

    @_Once
    def leading_system(self) -> int:
        """How many system messages open the history."""
        return min(self.stop, self.history.leading_system)

    @_Once
    def request_position(self) -> int | None:
        """The position of the current user request; None when there is none or it is answered.

        It counts as answered once an assistant message without calls ends the history (H4).
        """
        position = self.history.last_turn_start(self.stop)
        if position is None:
            return None
        last = self.history[self.stop - 1].message
        is_answered = last.role == "assistant" and not last.calls
        return None if is_answered else position

    def is_pinned(self, item: Item) -> bool:
        """True for a leading system message and for the current user request."""
        if isinstance(item, (Written, Native)):
            return False
        position = item.event.seq - 1
        return position < self.leading_system or position == self.request_position

    @_Once
    def groups(self) -> tuple[ItemGroup, ...]:
        """The items in indivisible groups."""
        return tuple(self._grouped())

    def _grouped(self) -> Iterator[ItemGroup]:
        items, history, leading = self.items, self.history, self.leading_system
        pending, request = self._pending_position(), self.request_position
        group_of_request = None if request is None else history.group_start(request)
        # The group of each item; made ones stand alone.
        owns: list[int | None] = [
            history.group_start(item.event.seq - 1) if isinstance(item, (Kept, Shortened)) else None
            for item in self.head
        ]
        owns += history.group_starts(self.tail_start, self.stop)
        start = 0
        for index in range(1, len(items) + 1):
            own = owns[start]
            if index < len(items) and own is not None and owns[index] == own:
                continue
            group = items[start:index]
            is_pending = is_pinned = False
            if own is not None and own in (pending, group_of_request):
                seqs = [item.seqs[0] for item in group]
                # Calls stand where a group begins, nowhere else.
                is_pending = own == pending and own + 1 in seqs
                is_pinned = request is not None and request + 1 in seqs
            if own is not None and own < leading:
                is_pinned = True
            yield ItemGroup(start, index, group, is_pending, is_pinned)
            start = index

    def _pending_position(self) -> int | None:
        """The only message with calls that may still be answered: nothing but results follow it."""
        position = self.stop - 1
        while position >= 0 and self.history.message(position).role == "tool":
            position -= 1
        is_pending = position >= 0 and self.history.is_pending(position, self.stop)
        return position if is_pending else None

    def with_items(self, items: Sequence[Item]) -> Projection:
        """This projection with other items. Nothing is checked here, the engine judges it."""
        return Projection.of_items(self.history, items, self.stop, self.memory)

    def keep(self, groups: Iterable[ItemGroup]) -> Projection:
        """Only these groups and what is pinned, in the order of the history."""
        wanted = {group.start for group in groups}
        return self.with_items(
            [
                item
                for group in self.groups
                if group.start in wanted or group.is_pinned
                for item in group.items
            ]
        )

    def drop(self, groups: Iterable[ItemGroup]) -> Projection:
        """Everything but these groups; what is pinned stays."""
        unwanted = {group.start for group in groups}
        return self.keep(group for group in self.groups if group.start not in unwanted)

    def summarise(
        self,
        groups: Sequence[ItemGroup],
        text: str,
        *,
        role: Role = "user",
        keep_pinned: bool = True,
    ) -> Projection:
        """One written message instead of neighbouring groups; pinned ones stay verbatim behind it.

        The summary stands behind all leading system messages. Raises ValueError when the groups
        are none or aren't neighbours.
        """
        if not groups or any(left.stop != right.start for left, right in pairwise(groups)):
            raise ValueError("summarise: groups must be one unbroken run of at least one group")
        first, last = groups[0].start, max(groups[-1].stop, self._system_items())
        covered = [item for group in groups for item in group.items]
        behind = self.items[groups[-1].stop : last]
        seqs = [item.seqs for item in covered]
        summary = Written(Message(role, text), min(a for a, _ in seqs), max(b for _, b in seqs))
        pinned = [
            item for group in groups if group.is_pinned and keep_pinned for item in group.items
        ]
        systems = [item for item in pinned if item.message.role == "system"]
        others = [item for item in pinned if item.message.role != "system"]
        items = [*self.items[:first], *systems, *behind, summary, *others, *self.items[last:]]
        return self.with_items(items)

    def _system_items(self) -> int:
        """How many items at the start are leading system messages."""
        limit = min(len(self.items), self.leading_system)
        return next((i for i in range(limit) if not self.is_pinned(self.items[i])), limit)

    def shorten(
        self, texts: dict[int, str], references: dict[int, Json] | None = None
    ) -> Projection:
        """Other text for the events with these seqs; unknown seqs are ignored."""
        known = references or {}

        items: list[Item] = list(self.items)
        for index, item in enumerate(items):
            if isinstance(item, (Kept, Shortened)) and item.event.seq in texts:
                event = item.event
                message = with_text(item.message, texts[event.seq])
                items[index] = Shortened(event, message, known.get(event.seq))
        return self.with_items(items)

    def remember(self, value: Json) -> Projection:
        """This projection with another memory; it comes back as `view.memory` next time."""
        return Projection(self.history, self.head, self.tail_start, self.stop, value)

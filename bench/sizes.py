"""Judgement: running sizes of projections, so that a step without compaction costs O(new events).

Any additive measure works: true tokens on the wire, or a strategy's own estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, takewhile
from typing import NamedTuple

from bench.events import Event, Message
from bench.history import History
from bench.projection import Item, Kept, Native, Projection, Shortened, same_at_start

# Heads are shared by all requests between two compactions; a few of the newest are enough.
_HEADS_REMEMBERED = 32
# What was written or shortened stands in many heads; several windows full are remembered.
_ITEMS_REMEMBERED = 4_096


def _tokens_of_native(native: Native) -> int:
    return native.tokens


class _Head(NamedTuple):
    """Items with the sums before each and behind all."""

    items: tuple[Item, ...]
    sums: list[int]


class ProjectionSizes:
    """Sums of one additive measure over projections of one history.

    `message_size` measures a message; `extra_size(history, position, message)` adds what an event
    costs beside its message (stub results, for one). `native_size` measures a provider's opaque
    state, by default its tokens. A message is measured once. So is an extra, except one above zero
    in the round that is still open, since a result may yet join it.
    """

    def __init__(
        self,
        message_size: Callable[[Message], int],
        extra_size: Callable[[History, int, Message], int] | None = None,
        native_size: Callable[[Native], int] = _tokens_of_native,
    ) -> None:
        self._message_size = message_size
        self._extra_size = extra_size
        self._native_size = native_size
        # What will be told next, and its sizes.
        self._expected: tuple[Event, ...] = ()
        self._expected_start = 0
        self._expected_sizes: list[int] = []
        self._start(None)

    def _start(self, history: History | None) -> None:
        self._history = history
        # Sums up to a position, extras included; extras that aren't zero, by position.
        self._sums: list[int] = [0]
        self._extras: dict[int, int] = {}
        # The first position whose extra may still change.
        self._unsettled: int | None = None
        self._heads: dict[int, _Head] = {}
        self._newest = _Head((), [0])
        # By identity; holding an item keeps its id from being used again.
        self._made: dict[int, tuple[Item, int]] = {}
        self._last: Projection | None = None
        self._last_total = 0

    def expect(self, events: Sequence[Event]) -> None:
        """These events are told next, so they are measured now: in one go is much faster."""
        measure = self._message_size
        try:
            sizes = [measure(event.message) for event in events]
        except Exception:
            # Where it was told, and only there, somebody can be told what is wrong with it.
            return
        self._expected, self._expected_sizes = tuple(events), sizes
        self._expected_start = events[0].seq - 1 if events else 0

    def total(self, projection: Projection) -> int:
        """The size of all items of `projection`."""
        # One request asks for the same projection several times; only its identity is compared.
        if projection is self._last and self._unsettled is None:
            return self._last_total
        self._follow(projection.history)
        sums = self._sums
        total = sums[projection.stop] - sums[projection.tail_start]
        head = projection.head
        if head:
            newest = self._newest
            total += (newest if newest.items is head else self._head(head)).sums[-1]
        self._last, self._last_total = projection, total
        return total

    def shared(self, before: Projection, after: Projection) -> int:
        """The size of the items at the start of `after` with which `before` starts too."""
        self._follow(after.history)
        head = self._head(after.head)
        count = _equal_at_start(before, after)
        if count <= len(head.items):
            return head.sums[count]
        stop = after.tail_start + count - len(head.items)
        return head.sums[-1] + self._sums[stop] - self._sums[after.tail_start]

    def _follow(self, history: History) -> None:
        """Starts anew with another history, and measures what was told since the last time."""
        if history is not self._history:
            self._start(history)
        sums = self._sums
        if len(history) < len(sums) and self._unsettled is None:
            return
        if self._unsettled is not None:
            del sums[self._unsettled + 1 :]
            self._heads.clear()
            self._newest = _Head((), [0])
            self._unsettled = self._last = None
        start = len(sums) - 1
        told = history.events(start)
        sizes, total = self._sizes_of(start, told), sums[-1]
        if self._extra_size is None:
            for size in sizes:
                total += size
                sums.append(total)
            return
        extra_size, position = self._extra_size, start
        for event, size in zip(told, sizes, strict=True):
            total += size
            extra = extra_size(history, position, event.message)
            if extra:
                total += extra
                self._extras[position] = extra
                if self._unsettled is None and position >= history.open_round_start:
                    self._unsettled = position
            elif position in self._extras:
                del self._extras[position]
            sums.append(total)
            position += 1

    def _sizes_of(self, start: int, told: tuple[Event, ...]) -> list[int]:
        """The sizes of the messages told from `start` on, without what they cost beside them."""
        first = start - self._expected_start
        stop = first + len(told)
        # At the same positions there may be those of another session.
        if first >= 0 and told == self._expected[first:stop]:
            return self._expected_sizes[first:stop]
        measure = self._message_size
        return [measure(event.message) for event in told]

    def _head(self, items: tuple[Item, ...]) -> _Head:
        known = self._heads.get(id(items))
        if known is not None and known.items is items:
            return known
        # Most heads begin as the newest one does.
        count = same_at_start(self._newest.items, items)
        told, made_size = self._sums, self._made_size
        sums = self._newest.sums[: count + 1]
        sums += accumulate(
            [
                told[item.event.seq] - told[item.event.seq - 1]
                if type(item) is Kept
                else made_size(item)
                for item in items[count:]
            ],
            initial=sums.pop(),
        )
        if len(self._heads) >= _HEADS_REMEMBERED:
            self._heads.clear()
        self._newest = self._heads[id(items)] = _Head(items, sums)
        return self._newest

    def _made_size(self, item: Item) -> int:
        """The size of an item that isn't an event as it is, measured once."""
        known = self._made.get(id(item))
        if known is not None:
            return known[1]
        if isinstance(item, Native):
            size = self._native_size(item)
        else:
            size = self._message_size(item.message)
            if isinstance(item, Shortened):
                position = item.event.seq - 1
                size += self._extras.get(position, 0)
                if self._unsettled is not None and position >= self._unsettled:
                    return size
        if len(self._made) >= _ITEMS_REMEMBERED:
            self._made.clear()
        self._made[id(item)] = (item, size)
        return size


def _equal_at_start(before: Projection, after: Projection) -> int:
    """How many items at the start are the same in both."""
    # Heads first: their items exist, those of a tail are made one by one.
    count = same_at_start(before.head, after.head)
    pairs = zip(before.head, after.head, strict=False)
    for one, other in islice(pairs, count, None):
        if one is not other and one != other:
            return count
        count += 1
    rest = zip(_items(before, count), _items(after, count), strict=False)
    return count + sum(1 for _ in takewhile(_are_equal, rest))


def _are_equal(pair: tuple[Item, Item]) -> bool:
    return pair[0] is pair[1] or pair[0] == pair[1]


def _items(projection: Projection, start: int) -> Iterator[Item]:
    """The items from the one at `start` on, those of the tail made only as somebody asks."""
    head, kept = projection.head, projection.history.kept
    tail = range(projection.tail_start + max(0, start - len(head)), projection.stop)
    return chain(head[start:], (kept(position, position + 1)[0] for position in tail))

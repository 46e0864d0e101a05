"""Judgement: running sizes of projections, so that a step without compaction costs O(new events).

Any additive measure works: true tokens on the wire, or a strategy's own estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice, takewhile
from typing import NamedTuple, cast

from bench.events import Message
from bench.history import History
from bench.projection import Item, Kept, Native, Projection, Shortened, same_at_start

# Heads are shared by all requests between two compactions; a few of the newest are enough.
_HEADS_REMEMBERED = 32
# An item stands in many heads, so each is measured once; several windows full are remembered.
_ITEMS_REMEMBERED = 8_192


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
        # By identity; holding the items keeps their ids from being used again.
        self._size_of: dict[int, int] = {}
        self._items: list[Item] = []
        self._last: Projection | None = None
        self._last_total = 0

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
        if self._unsettled is not None:
            del sums[self._unsettled + 1 :]
            self._heads.clear()
            self._newest = _Head((), [0])
            self._unsettled = self._last = None
        start = len(sums) - 1
        told = history.events(start)
        if not told:
            return
        measure, total = self._message_size, sums[-1]
        if self._extra_size is None:
            for event in told:
                total += measure(event.message)
                sums.append(total)
            return
        extra_size, position = self._extra_size, start
        for event in told:
            message = event.message
            total += measure(message)
            extra = extra_size(history, position, message)
            if extra:
                total += extra
                self._extras[position] = extra
                if self._unsettled is None and position >= history.open_round_start:
                    self._unsettled = position
            elif position in self._extras:
                del self._extras[position]
            sums.append(total)
            position += 1

    def _head(self, items: tuple[Item, ...]) -> _Head:
        known = self._heads.get(id(items))
        if known is not None and known.items is items:
            return known
        # Most heads begin as the newest one does.
        count = same_at_start(self._newest.items, items)
        rest = items[count:]
        sizes = list(map(self._size_of.get, map(id, rest)))
        filled = self._filled(rest, sizes) if None in sizes else cast("list[int]", sizes)
        sums = self._newest.sums[: count + 1]
        sums += accumulate(filled, initial=sums.pop())
        if len(self._heads) >= _HEADS_REMEMBERED:
            self._heads.clear()
        self._newest = self._heads[id(items)] = _Head(items, sums)
        return self._newest

    def _filled(self, items: Sequence[Item], sizes: Iterable[int | None]) -> list[int]:
        """The sizes, those that aren't known yet measured and remembered."""
        if len(self._items) >= _ITEMS_REMEMBERED:
            self._size_of.clear()
            self._items.clear()
        filled: list[int] = []
        for item, size in zip(items, sizes, strict=True):
            if size is None:
                size = self._measured(item)
                if self._unsettled is None or item.seqs[1] <= self._unsettled:
                    self._size_of[id(item)] = size
                    self._items.append(item)
            filled.append(size)
        return filled

    def _measured(self, item: Item) -> int:
        if isinstance(item, Kept):
            seq = item.event.seq
            return self._sums[seq] - self._sums[seq - 1]
        if isinstance(item, Native):
            return self._native_size(item)
        size = self._message_size(item.message)
        if isinstance(item, Shortened):
            size += self._extras.get(item.event.seq - 1, 0)
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

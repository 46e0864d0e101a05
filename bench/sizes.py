"""Judgement: running sizes of projections, so that a step without compaction costs O(new events).

Any additive measure works: true tokens on the wire, or a strategy's own estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from bench.events import Message
from bench.history import History
from bench.projection import Item, Kept, Native, Projection, Shortened, Written

# Heads are shared by all requests between two compactions; a few of the newest are enough.
_HEADS_REMEMBERED = 32
# Written and shortened messages stand in many heads, so each is measured once.
_MESSAGES_REMEMBERED = 4_096


def _tokens_of_native(native: Native) -> int:
    return native.tokens


class _Head(NamedTuple):
    """Items with the sums before each and behind all; the first `settled` sizes are final."""

    items: Sequence[Item]
    sums: list[int]
    settled: int


class ProjectionSizes:
    """Sums of one additive measure over projections of one history.

    `message_size` measures a message; `extra_size(history, position)` adds what an event costs
    beside its message (stub results, for one), zero when None. `native_size` measures a provider's
    opaque state, by default its tokens. A message is measured once; extras of the round that is
    still open are summed anew, since a result may yet join it.
    """

    def __init__(
        self,
        message_size: Callable[[Message], int],
        extra_size: Callable[[History, int], int] | None = None,
        native_size: Callable[[Native], int] = _tokens_of_native,
    ) -> None:
        self._message_size = message_size
        self._extra_size = extra_size
        self._native_size = native_size
        self._history: History | None = None
        # Sums up to a position: of the messages told, and of the extras of closed rounds.
        self._sums: list[int] = [0]
        self._extra_sums: list[int] = [0]
        self._heads: dict[int, _Head] = {}
        self._newest = _Head((), [0], 0)
        self._messages: dict[int, tuple[Message, int]] = {}
        self._last: tuple[Projection | None, int, int] = (None, 0, 0)

    def total(self, projection: Projection) -> int:
        """The size of all items of `projection`."""
        # One request asks for the same projection several times; only its identity is compared.
        history = projection.history
        last, last_told, last_total = self._last
        # Only extras depend on what was told behind a projection.
        if projection is last and (self._extra_size is None or len(history) == last_told):
            return last_total
        told = len(history)
        if told >= len(self._sums) or history is not self._history:
            self._follow(history)
        total = self._span(history, projection.tail_start, projection.stop)
        if projection.head:
            total += self._head(projection)
        self._last = (projection, told, total)
        return total

    def shared(self, before: Projection, after: Projection) -> int:
        """The size of the items at the start of `after` with which `before` starts too."""
        history = after.history
        self._follow(history)
        count = _equal_at_start(before, after)
        head = self._heads.get(id(after.head))
        if head is not None and head.items is after.head and count <= head.settled:
            return head.sums[count]
        return self._sums_of(history, list(islice(_items(after), count))).sums[-1]

    def item(self, history: History, item: Item) -> int:
        """The size of one item."""
        if isinstance(item, Kept):
            return self._event(history, item.event.seq - 1)
        if isinstance(item, Native):
            return self._native_size(item)
        size = self._measured(item.message)
        if self._extra_size is None or isinstance(item, Written):
            return size
        return size + self._extra(history, item.event.seq - 1)

    def _measured(self, message: Message) -> int:
        known = self._messages.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._messages) >= _MESSAGES_REMEMBERED:
            self._messages.clear()
        size = self._message_size(message)
        self._messages[id(message)] = (message, size)
        return size

    def _follow(self, history: History) -> None:
        """Starts anew with another history, and measures what was told since the last time."""
        if history is not self._history:
            self._history, self._sums, self._extra_sums, self._heads = history, [0], [0], {}
            self._newest = _Head((), [0], 0)
        sums = self._sums
        if len(sums) <= len(history):
            measure, total = self._message_size, sums[-1]
            for event in history.events(len(sums) - 1):
                total += measure(event.message)
                sums.append(total)
        if self._extra_size is not None:
            extra_sums, extra_size = self._extra_sums, self._extra_size
            total = extra_sums[-1]
            for position in range(len(extra_sums) - 1, history.open_round_start):
                total += extra_size(history, position)
                extra_sums.append(total)

    def _head(self, projection: Projection) -> int:
        head = projection.head
        known = self._heads.get(id(head))
        if known is None or known.items is not head:
            known = self._sums_of(projection.history, head)
            if len(self._heads) >= _HEADS_REMEMBERED:
                self._heads.clear()
            self._heads[id(head)] = self._newest = known
        return known.sums[-1]

    def _sums_of(self, history: History, items: Sequence[Item]) -> _Head:
        """These items with their sums; what the newest head begins with too isn't measured again.

        The size of verbatim ones, which are most, is known by their place.
        """
        sums, extras = self._sums, self._extra_sums
        # Extras of the round that is still open aren't settled.
        settled_seqs = len(sums) if self._extra_size is None else len(extras)
        has_extras = self._extra_size is not None
        newest = self._newest
        count = _same_at_start(newest.items, items, newest.settled)
        of_items = newest.sums[: count + 1]
        total, settled = of_items[-1], len(items)
        for item in islice(items, count, None):
            if isinstance(item, (Kept, Shortened)):
                seq = item.event.seq
                if seq < settled_seqs:
                    if isinstance(item, Kept):
                        total += sums[seq] - sums[seq - 1]
                    else:
                        total += self._measured(item.message)
                    if has_extras:
                        total += extras[seq] - extras[seq - 1]
                    of_items.append(total)
                    continue
                settled = min(settled, len(of_items) - 1)
            total += self.item(history, item)
            of_items.append(total)
        return _Head(items, of_items, settled)

    def _event(self, history: History, position: int) -> int:
        size = self._sums[position + 1] - self._sums[position]
        return size if self._extra_size is None else size + self._extra(history, position)

    def _extra(self, history: History, position: int) -> int:
        if self._extra_size is None:
            return 0
        sums = self._extra_sums
        if position + 1 < len(sums):
            return sums[position + 1] - sums[position]
        return self._extra_size(history, position)

    def _span(self, history: History, start: int, stop: int) -> int:
        size = self._sums[stop] - self._sums[start]
        if self._extra_size is None:
            return size
        sums = self._extra_sums
        closed = min(stop, len(sums) - 1)
        if start < closed:
            size += sums[closed] - sums[start]
            start = closed
        for position in range(start, stop):
            size += self._extra_size(history, position)
        return size


def _same_at_start(known: Sequence[Item], items: Sequence[Item], count_max: int) -> int:
    """How many items at the start, up to `count_max`, are the very same in both."""
    count = 0
    for one, other in zip(islice(known, count_max), items, strict=False):
        if one is not other:
            break
        count += 1
    return count


def _equal_at_start(before: Projection, after: Projection) -> int:
    """How many items at the start are the same in both."""
    count = 0
    # Heads first: their items exist, those of a tail are made one by one.
    for one, other in zip(before.head, after.head, strict=False):
        if one is not other and one != other:
            return count
        count += 1
    pairs = zip(_items(before), _items(after), strict=False)
    for one, other in islice(pairs, count, None):
        if one != other:
            break
        count += 1
    return count


def _items(projection: Projection) -> Iterator[Item]:
    """All items in order, those of the tail made only as far as somebody asks for them."""
    tail = range(projection.tail_start, projection.stop)
    kept = projection.history.kept
    return chain(projection.head, (kept(position, position + 1)[0] for position in tail))

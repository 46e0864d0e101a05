"""Judgement: running sizes of projections, so that a step without compaction costs O(new events).

Any additive measure works: true tokens on the wire, or a strategy's own estimate.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.events import Message
from bench.history import History
from bench.projection import Item, Kept, Native, Projection, Written

# Heads are shared by all requests between two compactions; a few of the newest are enough.
_HEADS_REMEMBERED = 32


class ProjectionSizes:
    """Sums of one additive measure over projections of one history.

    `message_size` measures a message; `extra_size(history, position)` adds what an event costs
    beside its message (stub results, for one), zero when None. Sums up to the round that is still
    open are remembered; the open round is summed anew, since a result may yet join it.
    """

    def __init__(
        self,
        message_size: Callable[[Message], int],
        extra_size: Callable[[History, int], int] | None = None,
    ) -> None:
        self._message_size = message_size
        self._extra_size = extra_size
        self._history: History | None = None
        self._sums: list[int] = [0]
        self._heads: dict[int, tuple[tuple[Item, ...], int]] = {}
        self._last: tuple[Projection | None, int, int] = (None, 0, 0)

    def total(self, projection: Projection) -> int:
        """The size of all items of `projection`."""
        # One request asks for the same projection several times; only its identity is compared.
        if projection is self._last[0] and len(projection.history) == self._last[1]:
            return self._last[2]
        history = projection.history
        if history is not self._history:
            self._history, self._sums, self._heads = history, [0], {}
        total = self._head(projection) + self._span(history, projection.tail_start, projection.stop)
        self._last = (projection, len(history), total)
        return total

    def item(self, history: History, item: Item) -> int:
        """The size of one item."""
        if isinstance(item, Native):
            return item.tokens
        size = self._message_size(item.message)
        if self._extra_size is None or isinstance(item, Written):
            return size
        return size + self._extra_size(history, item.event.seq - 1)

    def _head(self, projection: Projection) -> int:
        head = projection.head
        if not head:
            return 0
        known = self._heads.get(id(head))
        if known is not None and known[0] is head:
            return known[1]
        total = sum(self._head_item(projection.history, item) for item in head)
        if len(self._heads) >= _HEADS_REMEMBERED:
            self._heads.clear()
        self._heads[id(head)] = (head, total)
        return total

    def _head_item(self, history: History, item: Item) -> int:
        if isinstance(item, Kept) and item.event.seq < len(self._sums):
            return self._sums[item.event.seq] - self._sums[item.event.seq - 1]
        return self.item(history, item)

    def _event(self, history: History, position: int) -> int:
        size = self._message_size(history.message(position))
        return size if self._extra_size is None else size + self._extra_size(history, position)

    def _span(self, history: History, start: int, stop: int) -> int:
        sums = self._sums
        closed = min(stop, history.open_round_start)
        while len(sums) <= closed:
            sums.append(sums[-1] + self._event(history, len(sums) - 1))
        if start >= closed:
            return sum(self._event(history, position) for position in range(start, stop))
        open_part = sum(self._event(history, position) for position in range(closed, stop))
        return sums[closed] - sums[start] + open_part

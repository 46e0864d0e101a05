"""What was told so far, made ready once, so that a try costs what is new and not the history.

A history only grows and what was told never changes (H3). So sources, groups, sizes and the state
of the source digest stay right for the prefix that they were made of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice
from weakref import WeakKeyDictionary

from bench.events import Event
from bench.history import History
from strategies.layered.encoded import taken
from strategies.layered.groups import Group, groups_as_original, groups_of
from strategies.layered.prefix import Prefix
from strategies.layered.source import RunningDigest, SourceMessage

# A plan that retreats, or a checkpoint of a while ago, asks for the digest of less than the last.
_DIGESTS_REMEMBERED = 16
# Enough for all that a large window shows; what is let go is made anew where need be.
_JSON_BYTES_MAX = 16_000_000
_tuple = tuple.__new__


class _Encoded:
    """The JSON of the newest messages for the digest, made while they are measured."""

    def __init__(self) -> None:
        self._json: list[bytes] = []
        self._start = 0
        self._bytes = 0

    def add(self, json: Sequence[bytes]) -> None:
        """That of the messages behind the last; all is let go when there is too much."""
        self._json += json
        self._bytes += sum(map(len, json))
        if self._bytes > _JSON_BYTES_MAX:
            self.drop_until(self._start + len(self._json))

    def part(self, start: int, stop: int) -> list[bytes] | None:
        """That of the messages start..stop-1, None when some isn't there any more."""
        if start < self._start:
            return None
        return self._json[start - self._start : stop - self._start]

    def drop_until(self, stop: int) -> None:
        """Lets that before `stop` go."""
        gone = self._json[: max(0, stop - self._start)]
        self._bytes -= sum(map(len, gone))
        del self._json[: len(gone)]
        self._start += len(gone)


class Told:
    """The first messages of one history. It holds no history, so that it can go when that goes."""

    def __init__(self) -> None:
        self._sources: list[SourceMessage] = []
        self._unit_sums = [0]
        self._encoded = _Encoded()
        self._digests = {0: RunningDigest()}
        self._groups: list[Group] = []
        self._groups_as_original: list[Group] = []

    def sources(self, history: History, stop: int) -> Sequence[SourceMessage]:
        """The first `stop` messages."""
        known = self._sources
        if len(known) < stop:
            self._add(history.events(len(known), stop))
        return Prefix(known, stop)

    def _add(self, events: Sequence[Event]) -> None:
        if not events:
            return
        _, encoded, sizes = zip(*taken([event.message for event in events]), strict=True)
        # Without the constructor, which takes three times as long.
        sources = [_tuple(SourceMessage, (event.seq, event.message, None)) for event in events]
        self._unit_sums += islice(accumulate(sizes, initial=self._unit_sums[-1]), 1, None)
        self._encoded.add(encoded)
        self._sources += sources

    def units(self, start: int, stop: int) -> int:
        """The units of the messages start..stop-1, which `sources` was asked for."""
        return self._unit_sums[stop] - self._unit_sums[start]

    def digest(self, stop: int) -> str:
        """The source digest of the first `stop` messages, which `sources` was asked for."""
        start = max(known for known in self._digests if known <= stop)
        running = self._digests[start]
        if start < stop:
            running = running.copy()
            self._cover(running, start, stop)
            self._digests[stop] = running
            if len(self._digests) > _DIGESTS_REMEMBERED:
                del self._digests[sorted(self._digests)[1]]
            # The same part alone may be asked for next.
            self._encoded.drop_until(start)
        return running.hexdigest()

    def part_digest(self, start: int, stop: int) -> str:
        """The source digest of the messages start..stop-1 alone."""
        running = RunningDigest()
        self._cover(running, start, stop)
        return running.hexdigest()

    def _cover(self, running: RunningDigest, start: int, stop: int) -> None:
        encoded = self._encoded.part(start, stop)
        if encoded is None:
            running.add_all(self._sources, start, stop)
        else:
            running.add_encoded([seq for seq, _, _ in self._sources[start:stop]], encoded)

    def groups(self, history: History, stop: int) -> tuple[Sequence[Group], int]:
        """All groups of the first `stop` messages; so many at the start are known to be complete.

        A group is settled once the next round is open: nothing can join it or be pending in it.
        """
        if stop <= history.open_round_start:
            return groups_of(history, stop), 0
        settled, open_round_start = self._groups, history.open_round_start
        found = groups_of(history, stop, settled[-1].stop if settled else 0)
        new = bisect_right(found, open_round_start, key=lambda group: group.stop)
        settled += found[:new]
        return Prefix(settled, len(settled), found[new:]), len(settled)

    def groups_as_original(self, stop: int) -> tuple[Group, ...]:
        """All groups of the first `stop` messages as the original forms them."""
        known = self._groups_as_original
        while known and known[-1].stop > stop:
            known.pop()
        # A result may still join the last one.
        start = known.pop().start if known else 0
        known += groups_as_original(self._sources[:stop], start)
        return tuple(known)


_told: WeakKeyDictionary[History, Told] = WeakKeyDictionary()


def told_of(history: History) -> Told:
    """What was made ready of this history."""
    return _told.setdefault(history, Told())

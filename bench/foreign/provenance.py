"""Edge: where every message of a foreign answer came from, found out by comparing.

A message that was shown and came back identical is *kept*; a result or an assistant message with
the same calls and a shorter text is *shortened*; everything else is *written* and stands for the
events that are gone at its place. This is inferred: code that writes the very words of an event is
taken for code that kept it. Nothing is put right here: a result without its call stays one, so that
the invariants find it (H1, H5).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.events import Message
from bench.foreign.shown import Shown, ShownMessage
from bench.foreign.wires import Key, call_key, message_key
from bench.projection import Item, Kept, Projection, Shortened, Written

# So many equal messages ("ok", "continue") are looked through for the best match of one, the
# newest for the last, and so on.
_EQUALS_COMPARED = 32


@dataclass(slots=True)
class _Match:
    """One message of the answer: `shown` is the index of what it is or was made of."""

    message: Message
    shown: int | None = None
    is_written: bool = True


def inferred(view: Projection, shown: Shown, answer: Sequence[Message]) -> Projection:
    """The projection that these messages stand for. It may break promises; nobody checks here."""
    matches = [_Match(message) for message in answer]
    _match_identical(shown, matches)
    _match_shorter(shown, matches)
    _write_changed_groups(shown, matches)
    placed = [
        _Placed(match, shown.messages[match.shown] if match.shown is not None else None)
        for match in matches
        if not _is_stub(shown, match)
    ]
    _restore_order(view, placed)
    return view.with_items(_Items(view, placed).made())


def _is_stub(shown: Shown, match: _Match) -> bool:
    """A marked stub that came back: it is made anew wherever its call stands."""
    return (
        not match.is_written
        and match.shown is not None
        and shown.messages[match.shown].item is None
    )


def _match_identical(shown: Shown, matches: list[_Match]) -> None:
    """As many identical messages in order as there are; of equal ones the newest."""
    known = [one.message for one in shown.messages]
    told = [match.message for match in matches]
    first = last = 0
    limit = min(len(told), len(known))
    while first < min(shown.leading_system, limit) and _is_same(told[first], known[first]):
        first += 1
    while last < limit - first and _is_same(told[-1 - last], known[-1 - last]):
        last += 1
    pairs = [(at, at) for at in range(first)]
    pairs += [(len(told) - at, len(known) - at) for at in range(1, last + 1)]
    # Most answers are mostly unchanged: keys are made only of what stands between the ends.
    told_keys = [message_key(one) for one in told[first : len(told) - last]]
    known_keys = [message_key(one) for one in known[first : len(known) - last]]
    common = _longest_common(told_keys, known_keys)
    pairs += [(at + first, place + first) for at, place in common]
    for at, place in pairs:
        matches[at].shown, matches[at].is_written = place, False
    taken = {place for _, place in common}
    moved = {key: place for place, key in enumerate(known_keys) if place not in taken}
    for match, key in zip(matches[first:], told_keys, strict=False):
        # Ids are unique, so a call or a result at another place is that very one, moved.
        has_id = bool(match.message.calls or match.message.call_id)
        if match.shown is None and has_id and key in moved:
            match.shown, match.is_written = moved.pop(key) + first, False


def _is_same(one: Message, other: Message) -> bool:
    if one == other:
        return True
    return bool(one.calls and other.calls) and message_key(one) == message_key(other)


def _longest_common(told: Sequence[Key], known: Sequence[Key]) -> list[tuple[int, int]]:
    """The longest common subsequence (Hunt and Szymanski 1977), found from behind."""
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(known):
        places.setdefault(key, []).append(place)
    # Read backwards, the chain ends are as new as they can be: equal messages match the newest.
    ends: list[int] = []
    links: list[tuple[int, int, int]] = []
    at_end: list[int] = []
    times: Counter[Key] = Counter()
    for at in range(len(told) - 1, -1, -1):
        equals = places.get(told[at], [])
        newest = len(equals) - times[told[at]]
        times[told[at]] += 1
        for place in equals[max(0, newest - _EQUALS_COMPARED) : max(0, newest)]:
            length = bisect_left(ends, -place)
            links.append((at, place, at_end[length - 1] if length else -1))
            if length == len(ends):
                ends.append(-place)
                at_end.append(len(links) - 1)
            else:
                ends[length] = -place
                at_end[length] = len(links) - 1
    found: list[tuple[int, int]] = []
    link = at_end[-1] if at_end else -1
    while link >= 0:
        at, place, link = links[link]
        found.append((at, place))
    return found


def _match_shorter(shown: Shown, matches: list[_Match]) -> None:
    """Results and assistant messages with calls whose text alone is shorter than it was."""
    taken = {match.shown for match in matches}
    if all(match.shown is not None for match in matches):
        return
    places = {
        key: place
        for place, one in enumerate(shown.messages)
        if place not in taken and (key := _identity(one.message)) is not None
    }
    for match in matches:
        key = _identity(match.message) if match.shown is None else None
        if key is None or key not in places:
            continue
        place = places.pop(key)
        match.shown = place
        before, after = shown.messages[place].message, match.message
        is_less = len(after.text) < len(before.text) and set(after.attachments) <= set(
            before.attachments
        )
        match.is_written = not is_less


def _identity(message: Message) -> Key | None:
    """What stays of a result or of calls when their text is cut."""
    if message.role == "tool":
        return "tool", message.call_id
    if message.calls:
        return ("assistant", *map(call_key, message.calls))
    return None


def _write_changed_groups(shown: Shown, matches: list[_Match]) -> None:
    """Calls and results that stand together, one of them rewritten, are all written.

    So a pair that an API accepts is a valid projection, and one that it doesn't accept isn't.
    """
    at = 0
    while at < len(matches):
        calls = {call.id for call in matches[at].message.calls}
        stop = at + 1
        while calls and stop < len(matches) and matches[stop].message.role == "tool":
            stop += 1
        group = [m for m in matches[at + 1 : stop] if m.message.call_id in calls]
        is_whole = sorted(m.message.call_id or "" for m in group) == sorted(calls)
        is_stub_changed = [m.is_written or _is_stub_shortened(shown, m) for m in group]
        if calls and (matches[at].is_written or (is_whole and any(is_stub_changed))):
            for match in (matches[at], *group):
                match.is_written = True
        at = stop


def _is_stub_shortened(shown: Shown, match: _Match) -> bool:
    if match.shown is None or shown.messages[match.shown].item is not None:
        return False
    return match.message.text != shown.messages[match.shown].message.text


@dataclass(slots=True)
class _Placed:
    """A message of the answer that becomes an item, and what was shown of it."""

    match: _Match
    origin: ShownMessage | None

    @property
    def position(self) -> int | None:
        """The place in the view of the item that this one still is; None when it is written."""
        if self.match.is_written or self.origin is None:
            return None
        return self.origin.position


def _restore_order(view: Projection, placed: list[_Placed]) -> None:
    """On the wire results stand before what was typed meanwhile; items stand as they were told."""
    group_of: dict[int, int] = {}
    for number, members in enumerate(view.groups):
        group_of.update(dict.fromkeys(range(members.start, members.stop), number))

    def group_at(index: int) -> int | None:
        position = placed[index].position
        return None if position is None else group_of[position]

    start = 0
    while start < len(placed):
        stop = start + 1
        group = group_at(start)
        while group is not None and stop < len(placed) and group_at(stop) == group:
            stop += 1
        run = placed[start:stop]
        order = [one.match.shown or 0 for one in run]
        if order == sorted(order):
            placed[start:stop] = sorted(run, key=lambda one: one.position or 0)
        start = stop


class _Items:
    """Makes items of placed messages: what is gone at a place is covered by what is written."""

    def __init__(self, view: Projection, placed: Sequence[_Placed]) -> None:
        self._view = view
        self._placed = placed
        positions = [one.position for one in placed]
        standing = set(positions)
        self._gone = [place for place in range(len(view.items)) if place not in standing]
        # The places of the nearest neighbours that still stand, on both sides.
        self._before = _filled(positions, -1)
        self._after = _filled(positions[::-1], len(view.items))[::-1]
        # Messages that are written side by side stand for the same; it is looked at once.
        self._gaps: dict[tuple[int, int], list[int]] = {}
        self._spans: dict[tuple[int, int], tuple[int, int]] = {}

    def made(self) -> list[Item]:
        """The items in order."""
        written = [index for index, one in enumerate(self._placed) if one.position is None]
        gaps = {index: self._gap(index) for index in written}
        covered = {place for gap in self._gaps.values() for place in gap}
        uncovered = [place for place in self._gone if place not in covered]
        return [
            self._item(index, gaps.get(index, []), uncovered) for index in range(len(self._placed))
        ]

    def _gap(self, index: int) -> list[int]:
        """The places of items that are gone between the neighbours that still stand."""
        between = self._before[index], self._after[index]
        if between not in self._gaps:
            first, last = (bisect_left(self._gone, place) for place in between)
            self._gaps[between] = self._gone[first:last]
        return self._gaps[between]

    def _item(self, index: int, gap: list[int], uncovered: list[int]) -> Item:
        placed = self._placed[index]
        message, origin = placed.match.message, placed.origin
        own = None if origin is None else origin.item
        if placed.position is not None and own is not None and origin is not None:
            if _is_same(message, origin.message):
                return own
            if isinstance(own, (Kept, Shortened)):
                attachments = message.attachments
                told = replace(own.message, text=message.text, attachments=attachments)
                return Shortened(own.event, told)
        if own is not None:
            return Written(message, *own.seqs)
        return Written(message, *self._covered(index, gap or self._nearest(index, uncovered)))

    def _nearest(self, index: int, uncovered: list[int]) -> list[int]:
        """What is gone elsewhere and stands for nothing else: behind this place, else before it."""
        at = bisect_left(uncovered, self._before[index])
        return uncovered[at:] or uncovered[:at]

    def _covered(self, index: int, places: list[int]) -> tuple[int, int]:
        items = self._view.items
        if places:
            ends = places[0], places[-1]
            if ends not in self._spans:
                seqs = [items[place].seqs for place in places]
                self._spans[ends] = min(a for a, _ in seqs), max(b for _, b in seqs)
            return self._spans[ends]
        # Something was added and nothing is gone: it stands for the event before it.
        before = self._before[index]
        seq = items[before].seqs[1] if before >= 0 else 1
        return seq, seq


def _filled(positions: Sequence[int | None], start: int) -> list[int]:
    """Each position, or where there is none the one before it, `start` at the beginning."""
    found: list[int] = []
    for position in positions:
        found.append(position if position is not None else found[-1] if found else start)
    return found

"""Judgement: was a value there? Looked up in what one request of a replay showed.

Verbatim events are answered by the session index, so only what a strategy wrote or cut is searched,
once for all requests that share a head.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property

from bench.matching import normalise
from bench.observations import Replay, RequestObservation
from bench.projection import Item, Kept, Native, Written
from bench.session_index import Haystack, Needle, SessionIndex
from bench.visible_text import visible_text

# Between two items nothing may match: no key holds this character.
_BETWEEN_ITEMS = "\x00"


class HeadView:
    """The head of a projection, ready to be searched.

    `texts` are what was written or shortened, raw; `is_opaque` says that native state is in it,
    which nobody can read.
    """

    def __init__(self, items: Sequence[Item], normalised: Callable[[str], str] = normalise) -> None:
        kept = [item.event.seq for item in items if isinstance(item, Kept)]
        self._kept_from, self._kept_until = _runs(kept)
        self.is_opaque = any(isinstance(item, Native) for item in items)
        self.written = tuple(item for item in items if isinstance(item, Written))
        self.texts = tuple(
            visible_text(item.message) for item in items if not isinstance(item, (Kept, Native))
        )
        self.haystack = Haystack(_BETWEEN_ITEMS.join(map(normalised, self.texts)))
        self._answers: dict[Needle, bool] = {}

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of `texts`, normalised one by one."""
        return tuple(normalise(line) for text in self.texts for line in text.splitlines())

    @cached_property
    def normalised_texts(self) -> tuple[str, ...]:
        """`texts`, each normalised."""
        return tuple(self.haystack.text.split(_BETWEEN_ITEMS)) if self.texts else ()

    def holds(self, needle: Needle, seqs: Sequence[int]) -> bool:
        """Whether the needle, which stands in the events `seqs`, is in a readable item."""
        answer = self._answers.get(needle)
        if answer is None:
            answer = self.keeps_any(seqs) or self.haystack.holds(needle)
            self._answers[needle] = answer
        return answer

    def keeps_any(self, seqs: Sequence[int]) -> bool:
        """Whether one of these events (ascending) is kept as it is."""
        if not self._kept_from:
            return False
        start = bisect_left(seqs, self._kept_from[0])
        stop = bisect_right(seqs, self._kept_until[-1], start)
        if stop - start <= len(self._kept_from):
            return any(self._keeps(seqs[position]) for position in range(start, stop))
        for first, last in zip(self._kept_from, self._kept_until, strict=True):
            position = bisect_left(seqs, first)
            if position < len(seqs) and seqs[position] <= last:
                return True
        return False

    def _keeps(self, seq: int) -> bool:
        run = bisect_right(self._kept_from, seq) - 1
        return run >= 0 and seq <= self._kept_until[run]


def _runs(seqs: list[int]) -> tuple[list[int], list[int]]:
    # Nothing stops a strategy from showing events in another order.
    seqs.sort()
    first: list[int] = []
    last: list[int] = []
    for seq in seqs:
        if last and seq <= last[-1] + 1:
            last[-1] = seq
        else:
            first.append(seq)
            last.append(seq)
    return first, last


class Visibility:
    """What the requests of one replay showed of one session.

    Answers are None where a value could only stand in opaque native state.
    """

    def __init__(self, index: SessionIndex, replay: Replay) -> None:
        self.index = index
        self.replay = replay
        self._by_seq = {seen.at_seq: seen for seen in replay.requests}
        self._heads: dict[int, HeadView] = {}
        self._normalised: dict[str, str] = {}

    def request_at(self, seq: int) -> RequestObservation | None:
        """The request that event `seq` answered; None when it wasn't served."""
        seen = self._by_seq.get(seq)
        return seen if seen is not None and seen.is_served else None

    def head(self, seen: RequestObservation) -> HeadView:
        """The searchable head of a request."""
        view = self._heads.get(seen.head)
        if view is None:
            view = HeadView(self.replay.heads[seen.head], self._normalise)
            self._heads[seen.head] = view
        return view

    def shows(self, seen: RequestObservation, needle: Needle) -> bool | None:
        """Whether a request showed the needle."""
        seqs = self.index.occurrences(needle)
        if in_tail(seen, seqs):
            return True
        head = self.head(seen)
        return head.holds(needle, seqs) or (None if head.is_opaque else False)

    def shows_any(self, seen: RequestObservation, needles: Sequence[Needle]) -> bool | None:
        """Whether a request showed one of the needles."""
        answers = [self.shows(seen, needle) for needle in needles]
        return any(answers) or (None if None in answers else False)

    def _normalise(self, text: str) -> str:
        known = self._normalised.get(text)
        if known is None:
            known = self._normalised[text] = normalise(text)
        return known


def in_tail(seen: RequestObservation, seqs: Sequence[int]) -> bool:
    """Whether one of these events (ascending) is in the verbatim tail of a request."""
    position = bisect_right(seqs, seen.tail_start)
    return position < len(seqs) and seqs[position] <= seen.stop

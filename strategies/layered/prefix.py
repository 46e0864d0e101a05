"""The beginning of a row that only grows, seen as a sequence of its own without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Prefix(Sequence[T]):
    """The members start..stop-1 of a row, followed by a few of its own.

    The row may grow meanwhile, but what it holds up to `stop` never changes. A history is planned
    in at every compaction; copies of it would make all of them together cost its square.
    """

    __slots__ = ("_behind", "_row", "_start", "_stop")

    def __init__(self, row: list[T], stop: int, behind: Sequence[T] = (), start: int = 0) -> None:
        self._row = row
        self._start = start
        self._stop = stop
        self._behind = behind

    def __len__(self) -> int:
        return self._stop - self._start + len(self._behind)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return self._part(index)
        position = self._start + (index if index >= 0 else len(self) + index)
        if self._start <= position < self._stop:
            return self._row[position]
        if position < self._start:
            raise IndexError(index)
        return self._behind[position - self._stop]

    def _part(self, wanted: slice) -> Sequence[T]:
        start, stop, step = wanted.indices(len(self))
        if step != 1:
            return tuple(self)[wanted]
        in_row = self._stop - self._start
        behind = self._behind[max(0, start - in_row) : max(0, stop - in_row)]
        first = self._start + min(start, in_row)
        return Prefix(self._row, max(first, self._start + min(stop, in_row)), behind, first)

    def __iter__(self) -> Iterator[T]:
        yield from self._row[self._start : self._stop]
        yield from self._behind

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(
            one == another for one, another in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

"""The newest records that were written, and what was found sound: known again, not looked at again.

A strategy is handed its record back at the next try. A record that holds the very same values needs
no second reading, and a checkpoint, which can't change, no second look at itself.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Generic, TypeVar

from bench.projection import Json

REMEMBERED = 16

Made = TypeVar("Made")


class Newest(Generic[Made]):
    """What this process wrote and checked last, by identity; all is forgotten now and then."""

    def __init__(self) -> None:
        # Each with all values of its record, so that their identities stay theirs.
        self._written: dict[Json, tuple[list[object], Made]] = {}
        self._sound: dict[int, tuple[Made, str]] = {}

    def wrote(self, made: Made, record: dict[str, Json]) -> None:
        """`record` is what `made` is written as."""
        _make_room(self._written)
        self._written[record["checkpoint_id"]] = (_values_of(record), made)

    def of_record(self, record: dict[str, Json]) -> Made | None:
        """What was written as this record, if nothing in it was touched since."""
        checkpoint_id = record.get("checkpoint_id")
        known = self._written.get(checkpoint_id) if isinstance(checkpoint_id, str) else None
        if known is None:
            return None
        try:
            values = _values_of(record)
        except (AttributeError, KeyError, TypeError):
            return None
        is_same = len(values) == len(known[0]) and all(map(is_, values, known[0]))
        return known[1] if is_same else None

    def found_sound(self, made: Made, session_id: str) -> None:
        """Nothing is wrong with it by itself, seen from this session."""
        _make_room(self._sound)
        self._sound[id(made)] = (made, session_id)

    def is_sound(self, made: Made, session_id: str) -> bool:
        """True when this was found before."""
        known = self._sound.get(id(made))
        return known is not None and known[1] == session_id


def _make_room(entries: dict[Any, Any]) -> None:
    if len(entries) >= REMEMBERED:
        entries.clear()


def _values_of(record: dict[str, Json]) -> list[object]:
    """All keys and values of a record, those of its segments behind them."""
    segments = record["segments"]
    values: list[object] = [*record, *record.values(), *segments]
    for each in segments:
        values += (*each, *each.values())
    return values

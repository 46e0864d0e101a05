"""Edges: large JSON documents read in pieces.

A list is read item by item, so that memory is bounded by its largest item. An object is put
together from its fields, and lists in it from their items, so that only the values are in memory,
never the whole text beside them (text with one emoji takes four bytes per character).
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO, Any

from bench.formats.decoding import (
    REPLACEMENT,
    RepairLog,
    constants,
    scan_leniently,
    scan_strictly,
    without_lone_surrogates,
)

CHUNK_BYTES = 1 << 18
"""So much of a document is read at once, more when one value is larger."""

_ENDS_A_VALUE = frozenset(",:]} \t\r\n")
_NESTED_PIECES_MAX = 4
"""So deep containers are read in pieces; what is deeper is one value."""


class _Window:
    """A part of a stream as text; `_position` is how far it was read."""

    def __init__(self, stream: IO[bytes], log: RepairLog, chunk_bytes: int) -> None:
        self._stream = stream
        self._chunk_bytes = chunk_bytes
        self._log = log
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors=_COUNTING_REPLACE)
        self._buffer = ""
        self._position = 0
        self._is_exhausted = False
        self._scan = scan_leniently

    def _next_character(self) -> str:
        while True:
            while self._position < len(self._buffer):
                character = self._buffer[self._position]
                if character not in " \t\r\n\ufeff":
                    return character
                self._position += 1
            if not self._fill():
                return ""

    def _fill(self) -> bool:
        """Read on, as much again as an unfinished value has by now; False at the end."""
        if self._is_exhausted:
            return False
        self._buffer = self._buffer[self._position :]
        self._position = 0
        chunk = self._stream.read(max(self._chunk_bytes, len(self._buffer)))
        _invalid.count = 0
        self._buffer += self._decoder.decode(chunk, final=not chunk)
        if _invalid.count:
            self._log.add("invalid_utf8", "document", "bytes that are no UTF-8 became U+FFFD")
        self._is_exhausted = not chunk
        return True

    def _scanned(self) -> tuple[Any, int]:
        while True:
            constants.count = 0
            try:
                value, end = self._scan(self._buffer, self._position)
            except ValueError:
                if not self._fill():
                    raise
                continue
            # A number could go on in the next chunk.
            if self._buffer[end : end + 1] in _ENDS_A_VALUE or not self._fill():
                return value, end

    def _cleaned(self, value: Any, end: int, where: str) -> Any:
        if constants.count:
            self._log.add("not_a_number", where, f"{constants.count} NaN or Infinity became null")
        start = self._position
        if any(self._buffer.find(mark, start, end) >= 0 for mark in ("\\ud", "\\uD")):
            value, replaced = without_lone_surrogates(value)
            if replaced:
                self._log.add("lone_surrogate", where, f"{replaced} lone surrogates became U+FFFD")
        return value


class ListItems(_Window):
    """The items of the JSON list in a stream of bytes, one after the other.

    `problem` says afterwards why the reading ended before the end of the list, None when it didn't.
    """

    def __init__(self, stream: IO[bytes], log: RepairLog, chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(stream, log, chunk_bytes)
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._next_character() != "[":
            self.problem = "no list"
            return
        self._position += 1
        number = 0
        while True:
            character = self._next_character()
            if character == ",":
                self._position += 1
                continue
            if character in ("]", ""):
                if not character:
                    self.problem = "the list has no end"
                return
            number += 1
            try:
                value, end = self._scanned()
            except (ValueError, RecursionError) as error:
                is_deep = isinstance(error, RecursionError)
                self.problem = "nested too deeply" if is_deep else str(error)
                return
            yield self._cleaned(value, end, f"item {number}")
            self._position = end


class _Document(_Window):
    """One object in a stream, strictly: what is damaged is left to others to judge."""

    def __init__(self, stream: IO[bytes], log: RepairLog, chunk_bytes: int) -> None:
        super().__init__(stream, log, chunk_bytes)
        self._scan = scan_strictly

    def value(self, depth: int = 0) -> Any:
        character = self._next_character()
        if depth < _NESTED_PIECES_MAX and character == "{":
            return self._object(depth)
        if depth < _NESTED_PIECES_MAX and character == "[":
            return self._list(depth)
        value, end = self._scanned()
        value = self._cleaned(value, end, "document")
        self._position = end
        return value

    def _object(self, depth: int) -> dict[str, Any]:
        self._position += 1
        found: dict[str, Any] = {}
        if self._next_character() == "}":
            self._position += 1
            return found
        while True:
            if self._next_character() != '"':
                raise ValueError("no key")
            key = self.value(_NESTED_PIECES_MAX)
            self._expect(":")
            found[key] = self.value(depth + 1)
            if self._next_character() == "}":
                self._position += 1
                return found
            self._expect(",")

    def _list(self, depth: int) -> list[Any]:
        self._position += 1
        found: list[Any] = []
        if self._next_character() == "]":
            self._position += 1
            return found
        while True:
            found.append(self.value(depth + 1))
            if self._next_character() == "]":
                self._position += 1
                return found
            self._expect(",")

    def _expect(self, wanted: str) -> None:
        if self._next_character() != wanted:
            raise ValueError(f"no {wanted}")
        self._position += 1

    def is_at_end(self) -> bool:
        return not self._next_character()


def whole_object(
    stream: IO[bytes], log: RepairLog, chunk_bytes: int = CHUNK_BYTES
) -> dict[str, Any] | None:
    """The one JSON object in a stream, None when there is anything else or damage in it.

    What had to be put right goes into `log`; nothing does when the answer is None.
    """
    noted = RepairLog()
    document = _Document(stream, noted, chunk_bytes)
    try:
        value = document.value()
        if not isinstance(value, dict) or not document.is_at_end():
            return None
    except (ValueError, RecursionError):
        return None
    log.extend(noted)
    return value


class _InvalidBytes:
    """An error handler that replaces what is no UTF-8 and counts it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        self.count += 1
        return REPLACEMENT, error.end


_invalid = _InvalidBytes()
_COUNTING_REPLACE = "bench-counting-replace"
codecs.register_error(_COUNTING_REPLACE, _invalid)

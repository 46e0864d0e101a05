"""Edges: bytes as JSON values, with everything that had to be put right named.

Invalid UTF-8 and lone surrogates become U+FFFD, NaN and Infinity null, NUL bytes are removed.
A JSON list is read item by item, so that memory is bounded by its largest item.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from bench.events import Repair

REPAIRS_KEPT_PER_KIND_MAX = 200
"""So many repairs of one kind are listed one by one; further ones are summed up in one line."""

_REPLACEMENT = "\ufffd"
_ENDS_AN_ITEM = frozenset(",] \t\r\n")
CHUNK_BYTES = 1 << 18
"""So much of a list is read at once, more when an item is larger."""


class DamagedJson(Exception):
    """Bytes that are no JSON: the kind of damage and one sentence about it."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what


class RepairLog:
    """Repairs in order, with a bound on how many of one kind are kept."""

    __slots__ = ("_counts", "_repairs")

    def __init__(self) -> None:
        self._repairs: list[Repair] = []
        self._counts: dict[str, int] = {}

    def add(self, kind: str, where: str, what: str) -> None:
        """Note one repair."""
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= REPAIRS_KEPT_PER_KIND_MAX:
            self._repairs.append(Repair(kind, where, what))

    def take(self) -> tuple[Repair, ...]:
        """Everything noted since the last call; what went over the bound is one line per kind."""
        surplus = [
            Repair(kind, "further places", f"{count - REPAIRS_KEPT_PER_KIND_MAX} more of this kind")
            for kind, count in self._counts.items()
            if count > REPAIRS_KEPT_PER_KIND_MAX
        ]
        taken = (*self._repairs, *surplus)
        self._repairs, self._counts = [], {}
        return taken


class _Constants:
    """Counts NaN and Infinity while a line is decoded: JSON has no such values."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _name: str) -> None:
        self.count += 1


_constants = _Constants()
_scan_strictly = json.JSONDecoder(parse_constant=_constants).raw_decode
_decode_leniently = json.JSONDecoder(parse_constant=_constants, strict=False).decode
_scan_leniently = json.JSONDecoder(parse_constant=_constants, strict=False).raw_decode


def decode_json(raw: bytes, log: RepairLog, where: str) -> Any:
    """The JSON value in `raw`; what had to be put right goes into `log`.

    Raises DamagedJson when there is no value in it.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", errors="replace")
        log.add("invalid_utf8", where, "bytes that are no UTF-8 became U+FFFD")
    _constants.count = 0
    try:
        value, end = _scan_strictly(text, 0)
        if end != len(text) and not text[end:].isspace():
            raise ValueError("more text after the JSON value")
    except RecursionError:
        raise DamagedJson("too_deep", "JSON nested too deeply to be read") from None
    except ValueError:
        value = _decode_damaged(text.strip(), log, where)
    if _constants.count:
        log.add("not_a_number", where, f"{_constants.count} NaN or Infinity became null")
    if b"\\u" in raw and ("\\ud" in text or "\\uD" in text):
        try:
            value, replaced = _without_lone_surrogates(value)
        except RecursionError:
            raise DamagedJson("too_deep", "JSON nested too deeply to be read") from None
        if replaced:
            log.add("lone_surrogate", where, f"{replaced} lone surrogates became U+FFFD")
    return value


def _decode_damaged(text: str, log: RepairLog, where: str) -> Any:
    without_nul = text.replace("\0", "")
    if not without_nul.strip():
        raise DamagedJson("nul_bytes", "nothing but NUL bytes")
    try:
        value = _decode_leniently(without_nul)
    except (ValueError, RecursionError) as error:
        kind = "bad_line" if len(without_nul) == len(text) else "nul_bytes"
        raise DamagedJson(kind, f"no JSON: {error}") from None
    if len(without_nul) != len(text):
        log.add("nul_bytes", where, f"{len(text) - len(without_nul)} NUL bytes removed")
    else:
        log.add("control_character", where, "raw control characters inside a JSON string kept")
    return value


def _without_lone_surrogates(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        if value.isascii():
            return value, 0
        alone = sum("\ud800" <= character <= "\udfff" for character in value)
        if not alone:
            return value, 0
        return "".join(_REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in value), alone
    if isinstance(value, list):
        pairs = [_without_lone_surrogates(item) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        total = 0
        cleaned = {}
        for key, item in value.items():
            clean_key, in_key = _without_lone_surrogates(key)
            cleaned[clean_key], in_item = _without_lone_surrogates(item)
            total += in_key + in_item
        return cleaned, total
    return value, 0


class ListItems:
    """The items of the JSON list in a stream of bytes, one after the other.

    `problem` says afterwards why the reading ended before the end of the list, None when it didn't.
    """

    def __init__(self, stream: IO[bytes], log: RepairLog, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._stream = stream
        self._chunk_bytes = chunk_bytes
        self._log = log
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors=_COUNTING_REPLACE)
        self._buffer = ""
        self._position = 0
        self._is_exhausted = False
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
        """Read on, as much again as an unfinished item has by now; False at the end."""
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
            _constants.count = 0
            try:
                value, end = _scan_leniently(self._buffer, self._position)
            except ValueError:
                if not self._fill():
                    raise
                continue
            # A number could go on in the next chunk.
            if self._buffer[end : end + 1] in _ENDS_AN_ITEM or not self._fill():
                return value, end

    def _cleaned(self, value: Any, end: int, where: str) -> Any:
        if _constants.count:
            self._log.add("not_a_number", where, f"{_constants.count} NaN or Infinity became null")
        start = self._position
        if any(self._buffer.find(mark, start, end) >= 0 for mark in ("\\ud", "\\uD")):
            value, replaced = _without_lone_surrogates(value)
            if replaced:
                self._log.add("lone_surrogate", where, f"{replaced} lone surrogates became U+FFFD")
        return value


class _InvalidBytes:
    """An error handler that replaces what is no UTF-8 and counts it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        self.count += 1
        return _REPLACEMENT, error.end


_invalid = _InvalidBytes()
_COUNTING_REPLACE = "bench-counting-replace"
codecs.register_error(_COUNTING_REPLACE, _invalid)

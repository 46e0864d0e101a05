"""Edges: a file as records, with everything that is damaged in it counted and named.

Lines end at a line feed and nowhere else (U+2028 and its kin are text). A byte order mark is
dropped. Comments, torn tails, NUL bytes and lines that are no JSON object are skipped, each with a
`Repair` that names its line and byte offset; invalid UTF-8 and lone surrogates become U+FFFD.
A file that is one JSON document gives its items as records, so that a list of messages and one
message per line are the same thing to a format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from bench.formats.decoding import DamagedJson, ListItems, RepairLog, decode_json

Record: TypeAlias = dict[str, Any]
Shape: TypeAlias = Literal["lines", "list", "object"]

_SAMPLE_RECORDS_MAX = 64
_SAMPLE_BYTES_MAX = 1_000_000
_PROBE_BYTES = 65_536
_BLANK = b" \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def as_record(value: Any) -> Record | None:
    """The value as a record: an object itself, a list of messages as a conversation, or None."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return {"messages": value} if any("role" in item for item in value) else None
    return None


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file, as much as a format needs to recognise its own.

    `shape`: one record per line, one JSON list of records, or one JSON object. `records` are the
    first ones. `is_empty` is true when there is nothing but white space.
    """

    path: Path
    records: tuple[Record, ...]
    shape: Shape = "lines"
    is_empty: bool = False


class Source:
    """One file while it is read.

    `lines_total == lines_read + lines_skipped + lines_blank` once `records` is exhausted. Raises
    OSError when the file can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = RepairLog()
        self.lines_total = 0
        self.lines_read = 0
        self.lines_blank = 0
        self.lines_skipped = 0
        self.offset = 0
        """Byte offset of the line that was read last."""
        self.document_problem: str | None = None
        """Why the file is no JSON document although it begins like one."""
        self._object: Record | None = None
        self._skipped_taken = 0
        self.sample = self._take_sample()

    @property
    def name(self) -> str:
        """The file name without its ending."""
        return self.path.stem

    def where(self, number: int) -> str:
        """How people find record `number` again."""
        return f"line {number}" if self.sample.shape == "lines" else f"item {number}"

    def skip(self, number: int, kind: str, what: str) -> None:
        """Count a record that can't be used, and say why."""
        self.lines_skipped += 1
        place = self.where(number)
        if self.sample.shape == "lines":
            place += f", byte {self.offset}"
        self.log.add(kind, place, what)

    def take_skipped(self) -> int:
        """How many lines were skipped since the last call."""
        count = self.lines_skipped - self._skipped_taken
        self._skipped_taken = self.lines_skipped
        return count

    def records(self) -> Iterator[tuple[int, Record]]:
        """Every usable record with its number, counted from 1."""
        if self._object is not None:
            self.lines_total = self.lines_read = 1
            yield 1, self._object
            return
        with self.path.open("rb") as stream:
            if self.sample.shape == "list":
                yield from self._list_records(stream)
            else:
                yield from self._line_records(stream)

    def line_at(self, offset: int) -> Any:
        """The record of the line at a byte offset; None when it is no JSON any more."""
        with self.path.open("rb") as stream:
            stream.seek(offset)
            return _decoded(stream.readline(), RepairLog())

    def _line_records(self, stream: IO[bytes]) -> Iterator[tuple[int, Record]]:
        position = 0
        for number, line in enumerate(stream, 1):
            self.offset = position
            position += len(line)
            self.lines_total += 1
            raw = line
            if not line.startswith(b"{"):  # Most lines do, and copying them would cost time.
                raw = (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line).strip(_BLANK)
                if not raw:
                    self.lines_blank += 1
                    continue
                if raw.startswith((b"//", b"#")):
                    self.skip(number, "comment_line", "a comment line was skipped")
                    continue
            try:
                value = decode_json(raw, self.log, f"line {number}")
            except DamagedJson as damage:
                is_tail = not line.endswith(b"\n") and damage.kind == "bad_line"
                self.skip(
                    number,
                    "torn_tail" if is_tail else damage.kind,
                    f"the last line is cut off: {damage.what}" if is_tail else damage.what,
                )
                continue
            record = as_record(value)
            if record is None:
                self.skip(number, "not_an_object", f"a JSON {type(value).__name__}, not an object")
                continue
            self.lines_read += 1
            yield number, record

    def _list_records(self, stream: IO[bytes]) -> Iterator[tuple[int, Record]]:
        items = ListItems(stream, self.log)
        for number, item in enumerate(items, 1):
            self.lines_total += 1
            record = as_record(item)
            if record is None:
                self.skip(number, "not_an_object", f"a JSON {type(item).__name__}, not an object")
                continue
            self.lines_read += 1
            yield number, record
        if items.problem is not None:
            self.lines_total += 1
            self.skip(self.lines_total, "torn_tail", f"the list breaks off: {items.problem}")

    def _take_sample(self) -> Sample:
        with self.path.open("rb") as stream:
            start = stream.read(_PROBE_BYTES)
            is_empty = len(start) < _PROBE_BYTES and not start.strip(_BLANK)
            begins = start.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANK + b"\0")[:1]
            # A film has no line feeds: reading its first line would read all of it.
            if begins not in (b"{", b"[") and b"\n" not in start and len(start) == _PROBE_BYTES:
                return Sample(self.path, ())
            stream.seek(0)
            if begins == b"[" and _is_one_list(stream):
                stream.seek(0)
                items = islice(ListItems(stream, RepairLog()), _SAMPLE_RECORDS_MAX)
                found = tuple(record for record in map(as_record, items) if record is not None)
                if found:
                    return Sample(self.path, found, "list")
            stream.seek(0)
            lines, is_whole = _first_lines(stream)
            told = [line for line in lines if line.strip(_BLANK)]
            log = RepairLog()
            values = (as_record(_decoded(line, log)) for line in told)
            found = tuple(record for record in values if record is not None)
            if begins == b"{" and is_whole and len(told) == len(found) == 1:
                self._object, self.log = found[0], log
            elif begins == b"{" and 2 * len(found) < len(told):
                self._object = self._whole_object(lines, stream)
            if self._object is not None:
                return Sample(self.path, (self._object,), "object")
            return Sample(self.path, found, "lines", is_empty)

    def _whole_object(self, lines: list[bytes], stream: IO[bytes]) -> Record | None:
        log = RepairLog()
        try:
            value = decode_json((b"".join(lines) + stream.read()).strip(_BLANK), log, "document")
        except DamagedJson as damage:
            self.document_problem = damage.what
            return None
        self.log = log
        return as_record(value)


def _is_one_list(stream: IO[bytes]) -> bool:
    """True for one list in the whole file, False when each line is a list of its own."""
    last = b""
    while chunk := stream.read(_SAMPLE_BYTES_MAX):
        before, line_feed, after = chunk.partition(b"\n")
        last = before.rstrip(_BLANK)[-1:] or last
        if line_feed:
            while not after.strip(_BLANK) and (more := stream.read(_SAMPLE_BYTES_MAX)):
                after = more
            follows = after.lstrip(_BLANK)[:1]
            return last != b"]" or follows in (b"", b",", b"]")
    return True


def _first_lines(stream: IO[bytes]) -> tuple[list[bytes], bool]:
    """The first lines, and whether the file ends with them."""
    lines: list[bytes] = []
    size = 0
    while len(lines) < _SAMPLE_RECORDS_MAX and size < _SAMPLE_BYTES_MAX:
        line = stream.readline()
        if not line:
            return lines, True
        lines.append(line if lines else line.removeprefix(_BYTE_ORDER_MARK))
        size += len(line)
    rest = stream.readline()
    return ([*lines, rest], False) if rest else (lines, True)


def _decoded(line: bytes, log: RepairLog) -> Any:
    raw = line.strip(_BLANK)
    if not raw or raw.startswith((b"//", b"#")):
        return None
    try:
        return decode_json(raw, log, "document")
    except DamagedJson:
        return None

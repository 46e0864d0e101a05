"""Edges: a file as records, with everything that is damaged in it counted and named.

Lines end at a line feed and nowhere else (U+2028 and its kin are text). A byte order mark is
dropped. Comments, torn tails, NUL bytes and lines that are no JSON object are skipped, each with a
`Repair` that names its line and byte offset; invalid UTF-8 and lone surrogates become U+FFFD.
A record that raw line feeds broke over several lines is put together, records glued in one line
are taken apart. A file that is one JSON document gives its items as records, so that a list of
messages and one message per line are the same thing to a format.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from bench.formats.decoding import DamagedJson, RepairLog, decode_json, glued_objects
from bench.formats.streaming import ListItems, whole_object

Record: TypeAlias = dict[str, Any]
Shape: TypeAlias = Literal["lines", "list", "object", "archive"]

_SAMPLE_RECORDS_MAX = 64
_SAMPLE_RECORDS_MIN = 8
_SAMPLE_BYTES_MAX = 100_000
_PROBE_BYTES = 65_536
_CHUNK_BYTES = 1_000_000
_LARGE_LINE_BYTES = 1_000_000
_REJOINED_LINES_MAX = 200
_REJOINED_BYTES_MAX = 1_000_000
_ARCHIVE_START = b"PK\x03\x04"
_SQLITE_START = b"SQLite format 3\0"
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

    `shape`: one record per line, one JSON list of records, one JSON object, or a zip archive, which
    has no records but its files. `records` are the first ones. `is_empty` is true when there is
    nothing but white space.
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
        self.nothing_because: str | None = None
        """What a reader that finds no session says about it."""
        self._object: Record | None = None
        self._skipped_taken = 0
        self._ahead: deque[bytes] = deque()
        self.is_sqlite = False
        self.sample = self._take_sample()

    @property
    def name(self) -> str:
        """The file name without its ending."""
        return self.path.stem

    def forget_sample(self) -> None:
        """Let go of the records of the sample once the format is known: they may be large."""
        self.sample = replace(self.sample, records=())

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
        if self.sample.shape == "archive":
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
        for line in self._lines(stream):
            self.lines_total += 1
            number = self.lines_total
            self.offset = position
            position += len(line)
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
                if len(raw) < _LARGE_LINE_BYTES:
                    value = decode_json(raw, self.log, f"line {number}")
                else:
                    value = _decoded_line(raw, self.log, f"line {number}")
            except DamagedJson as damage:
                found, length = self._mended(damage, line, stream, number)
                position += length
                yield from ((number, record) for record in found)
                continue
            record = value if type(value) is dict else as_record(value)
            if record is None:
                self.skip(number, "not_an_object", f"a JSON {type(value).__name__}, not an object")
                continue
            self.lines_read += 1
            yield number, record

    def _lines(self, stream: IO[bytes]) -> Iterator[bytes]:
        for line in stream:
            yield line
            while self._ahead:
                yield self._ahead.popleft()

    def _mended(
        self, damage: DamagedJson, line: bytes, stream: IO[bytes], number: int
    ) -> tuple[list[Record], int]:
        """The records of a damaged line, and how many bytes of further lines belong to them."""
        if damage.is_open_string and line.lstrip(_BLANK).startswith(b"{"):
            record, lines = self._rejoined(line, stream, number)
            if record is not None:
                self.lines_total += len(lines)
                self.lines_read += 1 + len(lines)
                return [record], sum(map(len, lines))
        elif damage.kind == "bad_line":
            log = RepairLog()
            glued = glued_objects(line, log, f"line {number}")
            if glued is not None:
                self.lines_read += 1
                what = f"{len(glued)} records in one line were taken apart"
                self.log.extend(log)
                self.log.add("glued_records", f"line {number}", what)
                return list(glued), 0
        is_tail = not line.endswith(b"\n") and damage.kind == "bad_line"
        self.skip(
            number,
            "torn_tail" if is_tail else damage.kind,
            f"the last line is cut off: {damage.what}" if is_tail else damage.what,
        )
        return [], 0

    def _rejoined(
        self, line: bytes, stream: IO[bytes], number: int
    ) -> tuple[Record | None, list[bytes]]:
        """The record that begins in a line and ends in a later one, and those further lines."""
        pieces, size = [line], len(line)
        while len(pieces) < _REJOINED_LINES_MAX and size < _REJOINED_BYTES_MAX:
            following = self._ahead.popleft() if self._ahead else next(stream, b"")
            if not following:
                break
            pieces.append(following)
            size += len(following)
            if isinstance(_decoded(following, RepairLog()), dict):
                break  # It is a record of its own: the one before it is torn.
            if b'"' not in following:
                continue  # The string is still open.
            log = RepairLog()
            try:
                value = decode_json(b"".join(pieces), log, f"line {number}")
            except DamagedJson as damage:
                if damage.is_open_string:
                    continue
                break
            if isinstance(value, dict):
                self.log.extend(log, without="control_character")
                last = number + len(pieces) - 1
                self.log.add(
                    "raw_line_feed",
                    f"lines {number}-{last}",
                    f"a record broken over {len(pieces)} lines by raw line feeds was put together",
                )
                return value, pieces[1:]
            break
        self._ahead.extendleft(reversed(pieces[1:]))
        return None, []

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
            self.is_sqlite = start.startswith(_SQLITE_START)
            if start.startswith(_ARCHIVE_START):
                return Sample(self.path, (), "archive")
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
            if begins == b"{" and len(stream.readline(_LARGE_LINE_BYTES)) == _LARGE_LINE_BYTES:
                self._object = self._streamed_object(stream)
                if self._object is not None:
                    return Sample(self.path, (self._object,), "object")
            stream.seek(0)
            lines, is_whole = _first_lines(stream)
            told = [line for line in lines if line.strip(_BLANK)]
            log = RepairLog()
            # One record tells as much as another, and large ones cost memory.
            small = [line for line in told if len(line) < _LARGE_LINE_BYTES]
            found = tuple(record for line in small for record in _records_of(line, log))
            if not found:
                found = tuple(record for line in told for record in _records_of(line, log))
            if begins == b"{" and is_whole and len(told) == len(found) == 1:
                self._object, self.log = found[0], log
            elif begins == b"{" and 2 * len(found) < len(small or told):
                self._object = self._streamed_object(stream) or self._lenient_object(stream)
            if self._object is not None:
                return Sample(self.path, (self._object,), "object")
            return Sample(self.path, found, "lines", is_empty)

    def _streamed_object(self, stream: IO[bytes]) -> Record | None:
        stream.seek(0)
        return whole_object(stream, self.log)

    def _lenient_object(self, stream: IO[bytes]) -> Record | None:
        stream.seek(0)
        log = RepairLog()
        raw = stream.read().removeprefix(_BYTE_ORDER_MARK).strip(_BLANK)
        try:
            value = decode_json(raw, log, "document")
        except DamagedJson as damage:
            self.document_problem = damage.what
            return None
        self.log = log
        return as_record(value)


def _is_one_list(stream: IO[bytes]) -> bool:
    """True for one list in the whole file, False when each line is a list of its own."""
    last = b""
    while chunk := stream.read(_CHUNK_BYTES):
        before, line_feed, after = chunk.partition(b"\n")
        last = before.rstrip(_BLANK)[-1:] or last
        if line_feed:
            while not after.strip(_BLANK) and (more := stream.read(_CHUNK_BYTES)):
                after = more
            follows = after.lstrip(_BLANK)[:1]
            return last != b"]" or follows in (b"", b",", b"]")
    return True


def _first_lines(stream: IO[bytes]) -> tuple[list[bytes], bool]:
    """The first lines, and whether the file ends with them."""
    lines: list[bytes] = []
    size = 0
    while len(lines) < _SAMPLE_RECORDS_MIN or (
        len(lines) < _SAMPLE_RECORDS_MAX and size < _SAMPLE_BYTES_MAX
    ):
        line = stream.readline()
        if not line:
            return lines, True
        lines.append(line if lines else line.removeprefix(_BYTE_ORDER_MARK))
        size += len(line)
    rest = stream.readline()
    return ([*lines, rest], False) if rest else (lines, True)


def _records_of(line: bytes, log: RepairLog) -> list[Record]:
    record = as_record(_decoded(line, log))
    return [record] if record is not None else glued_objects(line, RepairLog(), "") or []


def _decoded(line: bytes, log: RepairLog) -> Any:
    raw = line if len(line) >= _LARGE_LINE_BYTES else line.strip(_BLANK)
    if not raw or raw.startswith((b"//", b"#")):
        return None
    try:
        return _decoded_line(raw, log, "document")
    except DamagedJson:
        return None


def _decoded_line(raw: bytes, log: RepairLog, where: str) -> Any:
    if len(raw) >= _LARGE_LINE_BYTES:
        # In pieces: a text with one emoji takes four times its bytes, beside its values.
        value = whole_object(BytesIO(raw), log)
        if value is not None:
            return value
    return decode_json(raw, log, where)


class RecordSource(Source):
    """One record that is in memory already, as if it were the one object of a file."""

    def __init__(self, path: Path, record: Record) -> None:
        self._given = record
        super().__init__(path)

    def _take_sample(self) -> Sample:
        self._object = self._given
        return Sample(self.path, (self._given,), "object")

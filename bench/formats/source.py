"""Edges: a file as records, with everything that is damaged in it counted and named.

Lines end at a line feed and nowhere else (U+2028 and its kin are text). A byte order mark is
dropped. Comments, torn tails, NUL bytes and lines that are no JSON object are skipped, each with a
`Repair` that names its line and byte offset; invalid UTF-8 and lone surrogates become U+FFFD.
A file that is one JSON document gives its items as records, so that a list of messages and one
message per line are the same thing to a format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from bench.events import Repair

Record: TypeAlias = dict[str, Any]

REPAIRS_KEPT_PER_KIND_MAX = 200
"""So many repairs of one kind are listed one by one; further ones are summed up in one line."""

_SAMPLE_LINES_MAX = 64
_SAMPLE_BYTES_MAX = 1_000_000
_PROBE_BYTES = 65_536
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REPLACEMENT = "\ufffd"


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

    `records` are the first objects, the items of the document when the file is one JSON document
    (`is_document`); `document` is that whole document. `head` are the first bytes.
    """

    path: Path
    head: bytes
    records: tuple[Record, ...]
    is_document: bool
    document: Any = None


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
        self._skipped_taken = 0
        self.document_problem: str | None = None
        self.sample = self._take_sample()

    @property
    def name(self) -> str:
        """The file name without its ending."""
        return self.path.stem

    def where(self, number: int) -> str:
        """How people find record `number` again."""
        return f"item {number}" if self.sample.is_document else f"line {number}"

    def skip(self, number: int, kind: str, what: str) -> None:
        """Count a record that can't be used, and say why."""
        self.lines_skipped += 1
        place = self.where(number)
        if not self.sample.is_document:
            place += f", byte {self.offset}"
        self.log.add(kind, place, what)

    def take_skipped(self) -> int:
        """How many lines were skipped since the last call."""
        count = self.lines_skipped - self._skipped_taken
        self._skipped_taken = self.lines_skipped
        return count

    def records(self) -> Iterator[tuple[int, Record]]:
        """Every usable record with its number, counted from 1."""
        if self.sample.is_document:
            yield from self._document_records()
            return
        with self.path.open("rb") as stream:
            yield from self._line_records(stream)

    def record_at(self, number: int, offset: int) -> Any:
        """A record that was read before, by its number and byte offset; None when it is gone."""
        if self.sample.is_document:
            return _items_of(self.sample.document)[number - 1]
        with self.path.open("rb") as stream:
            stream.seek(offset)
            try:
                return decode_json(_stripped(stream.readline()), RepairLog(), "")
            except DamagedJson:
                return None

    def _line_records(self, stream: IO[bytes]) -> Iterator[tuple[int, Record]]:
        position = 0
        for number, line in enumerate(stream, 1):
            self.offset = position
            position += len(line)
            self.lines_total += 1
            raw = line
            if not line.startswith(b"{"):  # Most lines do, and copying them would cost time.
                raw = _stripped(line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line)
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

    def _document_records(self) -> Iterator[tuple[int, Record]]:
        items = _items_of(self.sample.document)
        for number, item in enumerate(items, 1):
            self.lines_total += 1
            record = as_record(item)
            if record is None:
                self.skip(number, "not_an_object", f"a JSON {type(item).__name__}, not an object")
                continue
            self.lines_read += 1
            yield number, record

    def _take_sample(self) -> Sample:
        with self.path.open("rb") as stream:
            lines, is_whole = _first_lines(stream)
            head = b"".join(lines)[:4096]
            logs = [RepairLog() for _ in lines]
            values = [_decoded(line, log) for line, log in zip(lines, logs, strict=True)]
            records = [record for record in map(as_record, values) if record is not None]
            told = sum(1 for line in lines if _stripped(line))
            is_single = is_whole and told == 1
            starts_like_json = head.lstrip()[:1] in (b"{", b"[")
            is_document = starts_like_json and (
                (is_single and any(isinstance(value, (dict, list)) for value in values))
                or (2 * len(records) < told and not is_single)
            )
            if not is_document:
                return Sample(self.path, head, tuple(records), is_document=False)
            if is_single:
                position = next(i for i, value in enumerate(values) if value is not None)
                document, self.log = values[position], logs[position]
            else:
                document = self._whole_document(lines, stream)
        if document is None:
            return Sample(self.path, head, tuple(records), is_document=False)
        found = [record for record in map(as_record, _items_of(document)) if record is not None]
        return Sample(
            self.path, head, tuple(found[:_SAMPLE_LINES_MAX]), is_document=True, document=document
        )

    def _whole_document(self, lines: list[bytes], stream: IO[bytes]) -> Any:
        raw = (b"".join(lines) + stream.read()).strip()
        log = RepairLog()
        try:
            document = decode_json(raw, log, "document")
            self.log = log
            return document
        except DamagedJson as damage:
            self.document_problem = damage.what
            salvaged = _salvaged_items(raw)
            if salvaged:
                self.lines_skipped += 1
                self.lines_total += 1
                self.log.add(
                    "torn_tail",
                    f"item {len(salvaged) + 1}",
                    f"the list is cut off there: {damage.what}",
                )
            return salvaged


def _stripped(line: bytes) -> bytes:
    return line.strip(b" \t\r\n")


def _items_of(document: Any) -> list[Any]:
    return document if isinstance(document, list) else [document]


def _first_lines(stream: IO[bytes]) -> tuple[list[bytes], bool]:
    """The first lines, and whether the file ends with them."""
    lines: list[bytes] = []
    size = 0
    if not _may_be_text(stream.read(_PROBE_BYTES)):
        return lines, False
    stream.seek(0)
    while len(lines) < _SAMPLE_LINES_MAX and size < _SAMPLE_BYTES_MAX:
        line = stream.readline()
        if not line:
            return lines, True
        if not lines:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        lines.append(line)
        size += len(line)
    rest = stream.read(1)
    if not rest:
        return lines, True
    lines[-1:] = [lines[-1], rest + stream.readline()]
    return lines, False


def _may_be_text(start: bytes) -> bool:
    # A film has no line feeds: reading its first line would read all of it.
    is_json = start.removeprefix(_BYTE_ORDER_MARK).lstrip(b" \t\r\n\0")[:1] in (b"{", b"[")
    return is_json or b"\n" in start or len(start) < _PROBE_BYTES


def _decoded(line: bytes, log: RepairLog) -> Any:
    raw = _stripped(line)
    if not raw or raw.startswith((b"//", b"#")):
        return None
    try:
        return decode_json(raw, log, "document")
    except DamagedJson:
        return None


def _salvaged_items(raw: bytes) -> list[Any] | None:
    """The complete items at the start of a JSON list that breaks off; None when there are none."""
    text = raw.decode("utf-8", errors="replace")
    if not text.startswith("["):
        return None
    items = []
    position = 1
    try:
        while True:
            while position < len(text) and text[position] in " \t\r\n,":
                position += 1
            item, position = _scan_leniently(text, position)
            items.append(_without_lone_surrogates(item)[0])
    except (ValueError, RecursionError, IndexError):
        return items or None

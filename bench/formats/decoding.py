"""Edges: bytes as JSON values, with everything that had to be put right named.

Invalid UTF-8 and lone surrogates become U+FFFD, NaN and Infinity null, NUL bytes are removed.
"""

from __future__ import annotations

import json
import re
from typing import Any

from bench.events import Repair

REPAIRS_KEPT_PER_KIND_MAX = 200
"""So many repairs of one kind are listed one by one; further ones are summed up in one line."""

REPLACEMENT = "\ufffd"


class DamagedJson(Exception):
    """Bytes that are no JSON: the kind of damage and one sentence about it."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind
        self.what = what

    @property
    def is_open_string(self) -> bool:
        """True when the text ends inside a string: a raw line feed may have broken it."""
        return self.kind == "bad_line" and "Unterminated string" in self.what


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

    def extend(self, other: RepairLog, *, without: str = "") -> None:
        """Note the repairs of another log, except those of one kind."""
        for repair in other.take():
            if repair.kind != without:
                self.add(repair.kind, repair.where, repair.what)

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


constants = _Constants()
# The quickest way to rule surrogates out: for short words `in` is slower than a pattern.
_find_surrogate = re.compile(rb"\\u[dD]").search
_strict_decoder = json.JSONDecoder(parse_constant=constants)
scan_strictly = _strict_decoder.raw_decode
# What raw_decode calls, without its cost for every line; no value at all is a StopIteration.
_scan_line = _strict_decoder.scan_once  # type: ignore[attr-defined]
_decode_leniently = json.JSONDecoder(parse_constant=constants, strict=False).decode
scan_leniently = json.JSONDecoder(parse_constant=constants, strict=False).raw_decode


def decode_json(raw: bytes, log: RepairLog, where: str) -> Any:
    """The JSON value in `raw`; what had to be put right goes into `log`.

    Raises DamagedJson when there is no value in it.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", errors="replace")
        log.add("invalid_utf8", where, "bytes that are no UTF-8 became U+FFFD")
    constants.count = 0
    try:
        value, end = _scan_line(text, 0)
        if end != len(text) and not text[end:].isspace():
            raise ValueError("more text after the JSON value")
    except RecursionError:
        raise DamagedJson("too_deep", "JSON nested too deeply to be read") from None
    except (ValueError, StopIteration):
        value = _decode_damaged(text.strip(), log, where)
    if constants.count:
        log.add("not_a_number", where, f"{constants.count} NaN or Infinity became null")
    if _find_surrogate(raw) is not None:
        try:
            value, replaced = without_lone_surrogates(value)
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


def without_lone_surrogates(value: Any) -> tuple[Any, int]:
    """The value with every lone surrogate as U+FFFD, and how many there were."""
    if isinstance(value, str):
        if value.isascii():
            return value, 0
        alone = sum("\ud800" <= character <= "\udfff" for character in value)
        if not alone:
            return value, 0
        return "".join(REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in value), alone
    if isinstance(value, list):
        pairs = [without_lone_surrogates(item) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        total = 0
        cleaned = {}
        for key, item in value.items():
            clean_key, in_key = without_lone_surrogates(key)
            cleaned[clean_key], in_item = without_lone_surrogates(item)
            total += in_key + in_item
        return cleaned, total
    return value, 0


def glued_objects(raw: bytes, log: RepairLog, where: str) -> list[dict[str, Any]] | None:
    """The objects of a line that holds several without a line feed between, else None."""
    text = raw.decode("utf-8", errors="replace").strip()
    found = []
    position = 0
    try:
        while position < len(text):
            _, end = scan_leniently(text, position)
            value = decode_json(text[position:end].encode(), log, where)
            if not isinstance(value, dict):
                return None
            found.append(value)
            position = end + len(text[end:]) - len(text[end:].lstrip())
    except (ValueError, RecursionError, DamagedJson):
        return None
    return found if len(found) > 1 else None

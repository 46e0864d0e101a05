"""Recorded refusals with their class; the file is named by OVERFLOW_ERRORS and not part of this."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.provider import ERROR_KINDS
from bench.providers import ErrorClass, classify_error
from tests.overflow_texts import OVERFLOW_TEXTS

DEFAULT = Path(__file__).parents[2] / ".." / "shared" / "cases" / "overflow_errors.jsonl"
FILE = Path(os.environ.get("OVERFLOW_ERRORS", DEFAULT))


@cache
def rows() -> tuple[dict[str, Any], ...]:
    if not FILE.is_file():
        return ()
    lines = FILE.read_text(encoding="utf-8").split("\n")
    return tuple(json.loads(line) for line in lines if line.strip())


NO_FILE = pytest.mark.skipif(not rows(), reason=f"no recorded refusals at {FILE}")
ROWS = [
    pytest.param(row, id=f"{number}-{row['provider']}-{row['status']}")
    for number, row in enumerate(rows(), 1)
] or [pytest.param({}, id="no-file")]


def found(row: dict[str, Any], **known: int) -> ErrorClass:
    return classify_error(row["status"], row["body"], **known)


@NO_FILE
@pytest.mark.parametrize("row", ROWS)
def test_overflow_is_told_from_what_looks_like_it(row: dict[str, Any]) -> None:
    kind = found(row).kind
    assert kind in ERROR_KINDS
    if row["class"] == "input_overflow":
        assert kind == "input_overflow"
    elif row["class"] == "not_overflow":
        assert kind not in ("input_overflow", "output_reservation")


@NO_FILE
@pytest.mark.parametrize("row", ROWS)
def test_the_envelope_makes_no_difference(row: dict[str, Any]) -> None:
    kind = found(row).kind
    text = row["body"] if isinstance(row["body"], str) else json.dumps(row["body"])
    assert classify_error(row["status"], text.encode()).kind == kind
    wrapped = {"error": {"message": "Provider returned error", "metadata": {"raw": text}}}
    if text and row["status"] not in (200, 413) and kind != "server":
        assert classify_error(row["status"], wrapped).kind == kind


@NO_FILE
@pytest.mark.parametrize("row", [row for row in ROWS if row.values[0].get("class") == "ambiguous"])  # type: ignore[union-attr]
def test_ambiguous_families_keep_their_own_class(row: dict[str, Any]) -> None:
    note, kind = row["note"], found(row).kind
    if note.startswith("COMBINED"):
        assert kind in ("output_reservation", "input_overflow")
    elif note.startswith("BYTES"):
        assert kind == "payload_too_large"
    elif row["status"] == 429:
        assert kind in ("rate_limit", "quota")


def with_text(value: Any, text: str, *, is_before: bool) -> Any:
    """The body with `text` put before or behind every message in it."""
    if isinstance(value, list):
        return [with_text(part, text, is_before=is_before) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: (f"{text} {part}" if is_before else f"{part} {text}")
        if key in ("message", "error") and isinstance(part, str)
        else with_text(part, text, is_before=is_before)
        for key, part in value.items()
    }


@NO_FILE
@pytest.mark.parametrize("row", ROWS)
def test_limits_stay_limits_whatever_stands_around(row: dict[str, Any]) -> None:
    if found(row).kind not in ("rate_limit", "quota", "output_limit") or row["status"] == 200:
        return
    for text in OVERFLOW_TEXTS:
        for is_before in (True, False):
            body = with_text(row["body"], text, is_before=is_before)
            assert classify_error(row["status"], body).kind != "input_overflow"


@NO_FILE
def test_an_empty_refusal_is_settled_by_the_callers_estimate() -> None:
    empty = [row for row in rows() if row["body"] in ("", None)]
    assert all(found(row).kind == "unknown" for row in empty)
    near = [found(row, sent_tokens=96, window=100).kind for row in empty]
    assert near == ["input_overflow"] * len(empty)

"""A verdict that stands on readers needs readers that can read."""

from __future__ import annotations

from typing import Any

import pytest

from bench.verdict import verdict
from tests.unit.test_verdict import BETTER, WORSE, cell, compared, controls


def read(
    cells: list[dict[str, Any]], *, ceiling: float | None, floor: float | None
) -> list[dict[str, Any]]:
    """The cells with answers: the controls answer these shares, strategies what they kept."""
    known = {"keep_all": ceiling, "empty": floor}
    return [
        {
            **one,
            "recovered": known.get(one["strategy"], one["retention"]),
            "retention_recovered": one["retention"],
        }
        for one in cells
    ]


def by_readers(*, ceiling: float | None, floor: float | None) -> list[dict[str, Any]]:
    cells = [
        cell(name, place, value, retention_layer="recovered")
        for name, values in (("native", BETTER), ("other", WORSE))
        for place, value in enumerate(values)
    ]
    return read(cells + controls(range(len(BETTER))), ceiling=ceiling, floor=floor)


def test_readers_in_line_decide() -> None:
    result = verdict(by_readers(ceiling=0.9, floor=0.05))
    assert result.decided
    assert result.exit_code == 0
    assert "a reader answered 90% of the questions from the full history" in result.controls


@pytest.mark.parametrize(
    ("ceiling", "floor", "why"),
    [
        (0.79, 0.0, "answered only 79% of the questions from the full history"),
        (0.9, 0.3, "answered 30% of the questions from a bare request"),
        (None, 0.0, "couldn't be asked about the controls"),
    ],
)
def test_readers_out_of_line_decide_nothing(ceiling: float | None, floor: float, why: str) -> None:
    result = verdict(by_readers(ceiling=ceiling, floor=floor))
    assert result.exit_code == 3
    assert not result.decided
    assert why in result.sentences[0]
    assert result.controls.startswith("Controls out of line")


def test_a_weak_reader_is_a_warning_where_the_verdict_stands_on_what_was_present() -> None:
    result = verdict(read(compared(BETTER, WORSE), ceiling=0.5, floor=0.0))
    assert result.exit_code == 0
    assert result.decided
    assert any("answered only 50%" in warning for warning in result.warnings)


def test_a_weak_reader_compares_no_opaque_strategy() -> None:
    cells = compared(BETTER, WORSE)
    cells += [
        cell("native", place, value, retention_layer="recovered")
        for place, value in enumerate(BETTER)
    ]
    strong = verdict(read(cells, ceiling=0.95, floor=0.0))
    weak = verdict(read(cells, ceiling=0.5, floor=0.0))
    assert "native 71%" in strong.opaque
    assert "%" not in weak.opaque
    assert weak.sentences == strong.sentences


def test_without_readers_nothing_is_said_of_them() -> None:
    result = verdict(compared(BETTER, WORSE))
    assert "reader" not in result.controls
    assert result.warnings == ()

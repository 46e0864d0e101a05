"""The table of metrics: every number of a cell has a row, and every row can be shown."""

from __future__ import annotations

import pytest

from bench.metrics import METRICS, metric, shown

NUMBERS_OF_A_CELL = (
    "retention",
    "retention_needed",
    "retention_recoverable",
    "recoverable",
    "recovered",
    "stale",
    "invented",
    "tokens_saved",
    "tokens_sent",
    "tokens_baseline",
    "tokens_recovery",
    "cost_ratio",
    "compactions",
    "requests_served",
    "requests_total",
    "invalid_projections",
    "grew",
    "seconds",
)


@pytest.mark.parametrize("name", NUMBERS_OF_A_CELL)
def test_every_number_of_a_cell_has_a_row(name: str) -> None:
    assert metric(name).name == name


def test_rows_are_complete_and_named_once() -> None:
    assert len({row.name for row in METRICS}) == len(METRICS)
    for row in METRICS:
        assert row.caption and row.unit and row.meaning.endswith(".")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("retention", 0.125, "12.5%"),
        ("tokens_saved", -0.5, "-50.0%"),
        ("tokens_sent", 1234567, "1,234,567"),
        ("cost_ratio", 0.5, "0.50"),
        ("seconds", 1.234, "1.23"),
        ("compactions", 3, "3"),
        ("recovered", None, "-"),
    ],
)
def test_values_as_tables_print_them(name: str, value: float | None, expected: str) -> None:
    assert shown(name, value) == expected


def test_unknown_metrics_are_refused() -> None:
    with pytest.raises(KeyError, match="no metric 'luck', there are: retention, "):
        metric("luck")

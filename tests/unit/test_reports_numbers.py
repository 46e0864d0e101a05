"""How reports write numbers."""

from __future__ import annotations

import math

import pytest

from reports import numbers
from reports.columns import columns_for


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (1_000, "1k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_600, "1M"),
        (3_600_000, "3.6M"),
        (2_500_000_000, "2.5G"),
        (-1_500, "−1.5k"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_tokens(value: float | None, shown: str) -> None:
    assert numbers.tokens(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.873, "87%"), (0.0, "0%"), (-0.0001, "0%"), (-0.12, "−12%"), (1.0, "100%"), (None, "–")],
)
def test_shares(value: float | None, shown: str) -> None:
    assert numbers.share(value) == shown


def test_intervals_need_both_ends() -> None:
    assert numbers.interval(0.711, 0.934) == "[71, 93]"
    assert numbers.interval(math.nan, 0.9) == "–"


def test_counts_keep_a_digit_of_means_only() -> None:
    assert numbers.count(1234.0) == "1,234"
    assert numbers.count(2.5) == "2.5"
    assert numbers.ratio(0.714) == "0.71×"
    assert numbers.seconds(1.5) == "1.50 s"


def test_columns_that_say_nothing_new_are_left_out() -> None:
    row = {
        "is_control": False,
        "retention": 0.7,
        "retention_recoverable": 0.7,
        "retention_after_recorded": math.nan,
    }
    beside = {"retention_recoverable", "retention_after_recorded"}

    def shown(**changes: float) -> set[str]:
        return {column.name for column in columns_for([{**row, **changes}])} & beside

    assert shown() == set()
    assert shown(retention_recoverable=0.8) == {"retention_recoverable"}
    assert shown(retention_after_recorded=0.4) == {"retention_after_recorded"}

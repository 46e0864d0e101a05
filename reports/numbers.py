"""How numbers are written, the same in a terminal, a page and a chart."""

from __future__ import annotations

import math

MISSING = "–"


def is_missing(value: object) -> bool:
    """True for None and for not-a-number."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or value != value


def number(value: float | None) -> float | None:
    """The value as a plain float, None where it is missing."""
    return None if value is None or is_missing(value) else float(value)


def share(value: float | None, digits: int = 0) -> str:
    """0.873 as "87%"."""
    if is_missing(value) or value is None:
        return MISSING
    return f"{_no_minus_zero(100 * float(value), digits)}%"


def score(value: float | None) -> str:
    """0.873 as "0.87"."""
    return MISSING if is_missing(value) or value is None else _no_minus_zero(float(value), 2)


def ratio(value: float | None) -> str:
    """0.873 as "0.87×"."""
    return MISSING if is_missing(value) or value is None else f"{_no_minus_zero(float(value), 2)}×"


def tokens(value: float | None) -> str:
    """12,345 as "12.3k": three significant digits at most."""
    if is_missing(value) or value is None:
        return MISSING
    size = abs(float(value))
    sign = "−" if value < 0 else ""
    for limit, divisor, unit in ((999.5, 1, ""), (999_500, 1e3, "k"), (999.5e6, 1e6, "M")):
        if size < limit:
            return sign + _three_digits(size / divisor) + unit
    return sign + _three_digits(size / 1e9) + "G"


def interval(low: float | None, high: float | None) -> str:
    """A percentage interval as "[71, 93]"; missing where there is none."""
    if is_missing(low) or is_missing(high) or low is None or high is None:
        return MISSING
    return f"[{_no_minus_zero(100 * low, 0)}, {_no_minus_zero(100 * high, 0)}]"


def count(value: float | None) -> str:
    """1234.0 as "1,234"; a mean such as 2.5 keeps one digit."""
    if is_missing(value) or value is None:
        return MISSING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def seconds(value: float | None) -> str:
    """0.8731 as "0.87 s"."""
    return MISSING if is_missing(value) or value is None else f"{float(value):.2f} s"


def _three_digits(size: float) -> str:
    text = f"{size:.3g}"
    return text if "e" not in text else f"{size:.0f}"


def _no_minus_zero(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")

"""Edges: how long to wait before a request is sent again: as told, else a little longer each time.

Sources: RFC 9110 section 10.2.3 (Retry-After); OpenAI's and Anthropic's pages on rate limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256

# "6m0s", "1h2m", "350ms", "20s": how OpenAI's headers spell a span.
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_LIMITED = ("requests", "tokens", "input-tokens", "output-tokens")
# "try again in 1.2s", "retry after 20 seconds", "retryDelay": "34s".
_STATED = re.compile(
    r"(?:try again in|retry after|retry in|retrydelay\W{1,5})\s*"
    r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s\b|seconds?|m\b|minutes?)",
    re.IGNORECASE,
)


def told_wait(headers: Mapping[str, str], text: str, *, now: float) -> float | None:
    """The seconds that a refusal tells to wait, None where it tells nothing.

    `headers` have lower-case names, `now` is in seconds since the epoch. What is told first wins:
    Retry-After in milliseconds, seconds or as a date; the reset of an allowance that is used up;
    the error's own words.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after", "").strip()
    seconds = _number(told)
    if seconds is None and told:
        seconds = _until(told, now)
    if seconds is not None:
        return seconds
    resets = [
        wait
        for limited in _LIMITED
        for prefix in ("x-ratelimit", "anthropic-ratelimit")
        for wait in _resets(headers, prefix, limited, now)
    ]
    if resets:
        return max(resets)
    stated = _STATED.search(text)
    if stated is None:
        return None
    unit = stated[2].lower()
    factor = 0.001 if unit.startswith(("ms", "mill")) else 60.0 if unit.startswith("m") else 1.0
    return float(stated[1]) * factor


def _resets(headers: Mapping[str, str], prefix: str, limited: str, now: float) -> list[float]:
    """When one allowance is full again, if nothing is left of it."""
    if prefix == "x-ratelimit":
        left, reset = f"{prefix}-remaining-{limited}", f"{prefix}-reset-{limited}"
    else:
        left, reset = f"{prefix}-{limited}-remaining", f"{prefix}-{limited}-reset"
    if _number(headers.get(left, "")) != 0 or reset not in headers:
        return []
    told = headers[reset].strip()
    parts = _SPAN.findall(told)
    if parts and "".join(f"{number}{unit}" for number, unit in parts) == told:
        return [sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)]
    number = _number(told)
    wait = number if number is not None else _until(told, now)
    return [] if wait is None else [wait]


def _number(text: str) -> float | None:
    """A finite number that isn't negative."""
    text = text.strip()
    if not re.fullmatch(r"\d{1,12}(?:\.\d{0,9})?", text, re.ASCII):
        return None
    return float(text)


def _until(text: str, now: float) -> float | None:
    """Seconds until a date of HTTP or of RFC 3339; 0 where it is past."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)


def backoff(attempt: int, first_seconds: float, key: str) -> float:
    """The wait before try `attempt` + 1 where nothing is told: it doubles, up to a quarter more.

    The extra is drawn from a hash of the call's key, so that many processes don't come back
    together and yet a run is repeatable.
    """
    drawn = sha256(f"{key}/{attempt}".encode()).digest()[0] / 255
    return float(first_seconds * 2 ** (attempt - 1) * (1 + drawn / 4))

"""What failed for good is remembered, so that it isn't paid for again (F11.2, F11.3).

A memory is a tuple of fingerprints with how often each failed, oldest first. Only deterministic
failures enter it: an invalid summary, no savings, an overflow.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from bench.projection import Json
from strategies.layered.encoding import utf8
from strategies.layered.planner import Plan

FINGERPRINTS_MAX = 16
SUPPRESS_AFTER = 1


@dataclass(frozen=True, slots=True)
class Failed:
    """One plan that failed `times` times."""

    fingerprint: str
    times: int = 1


Failures = tuple[Failed, ...]


def fingerprint(plan: Plan, prompt_version: str, route: str) -> str:
    """Equal for plans that would fail alike: prompt, route, parent, source, boundary, anchor."""
    parent = plan.previous.checkpoint_id if plan.previous is not None else ""
    values = (
        prompt_version,
        route,
        parent,
        plan.digest,
        str(plan.through_seq),
        str(plan.head_anchor_seq),
    )
    return hashlib.sha256(utf8("\0".join(values) + "\0")).hexdigest()


def is_suppressed(failures: Failures, mark: str, suppress_after: int = SUPPRESS_AFTER) -> bool:
    """True when an equivalent plan failed often enough."""
    return any(each.fingerprint == mark and each.times >= suppress_after for each in failures)


def with_failure(failures: Failures, mark: str) -> Failures:
    """The memory with one more failure; the oldest fingerprint leaves when there are too many."""
    if any(each.fingerprint == mark for each in failures):
        return tuple(
            Failed(mark, each.times + 1) if each.fingerprint == mark else each for each in failures
        )
    return (*failures, Failed(mark))[-FINGERPRINTS_MAX:]


def to_json(failures: Failures) -> list[Json]:
    """The memory as a JSON value."""
    return [{"fingerprint": each.fingerprint, "times": each.times} for each in failures]


def from_json(value: Json) -> Failures:
    """The inverse of `to_json`; what has another shape is no failure."""
    if not isinstance(value, list):
        return ()
    return tuple(
        Failed(each["fingerprint"], each["times"])
        for each in value
        if isinstance(each, dict)
        and isinstance(each.get("fingerprint"), str)
        and type(each.get("times")) is int
    )[-FINGERPRINTS_MAX:]

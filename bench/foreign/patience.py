"""Edge: foreign code that fails again and again isn't asked for ever.

A call may take minutes until it counts as hanging, and a replay may ask hundreds of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.strategy import Declined

FAILURES_MAX = 3


@dataclass(slots=True)
class Patience:
    """Counts failures in a row; after `FAILURES_MAX` of them calls are refused unmade."""

    failures: int = 0
    last: str = ""

    @contextmanager
    def spent_on_failures(self) -> Iterator[None]:
        """Around one call: raises Declined("suppressed") instead of making it."""
        if self.failures >= FAILURES_MAX:
            reason = f"not called again after {self.failures} failures, the last: {self.last}"
            raise Declined(reason, kind="suppressed")
        try:
            yield
        except Declined as declined:
            if declined.kind == "failed":
                self.failures += 1
                self.last = declined.reason
            raise
        self.failures = 0

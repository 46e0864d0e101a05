"""Hypothesis generators shared by the tests; what third parties need lives in `bench.testing`."""

from bench.testing.histories import sessions, truncated

__all__ = ["sessions", "truncated"]

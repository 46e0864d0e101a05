"""For the tests of third parties: does a strategy keep the promises of the harness?

    from bench.testing import check_strategy

    def test_my_strategy() -> None:
        check_strategy(MyStrategy(groups=4))

Needs Hypothesis, which comes with the package.
"""

from bench.testing.conformance import (
    PROMISES,
    BrokenPromise,
    check_strategy,
    find_broken_promises,
    times_compacted,
)
from bench.testing.histories import sessions

__all__ = [
    "PROMISES",
    "BrokenPromise",
    "check_strategy",
    "find_broken_promises",
    "sessions",
    "times_compacted",
]

"""For the tests of third parties: does a strategy keep the promises of the harness?

    from bench.testing import check_strategy

    def test_my_strategy() -> None:
        check_strategy(MyStrategy(groups=4))

Or, of a summary prompt: does it lose more than the one before it?

    from bench.testing import assert_not_regressed

    def test_summary_prompt() -> None:
        assert_not_regressed("prompts/summary.md", against="git:main", sessions=["tests/sessions"])

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
from bench.testing.prompts import assert_not_regressed

__all__ = [
    "PROMISES",
    "BrokenPromise",
    "assert_not_regressed",
    "check_strategy",
    "find_broken_promises",
    "sessions",
    "times_compacted",
]

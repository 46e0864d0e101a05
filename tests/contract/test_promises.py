"""Every registered strategy keeps every promise (spec H1 to H8): a new strategy file is covered."""

import pytest

from bench.registry import make_strategy, registered
from bench.testing import PROMISES
from bench.testing.conformance import check_promise


@pytest.mark.parametrize("promise", sorted(PROMISES))
@pytest.mark.parametrize("name", sorted(registered(extra=())))
def test_registered_strategy_keeps_promise(name: str, promise: str) -> None:
    check_promise(make_strategy(name).strategy, promise, examples=40)

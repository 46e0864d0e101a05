"""The ledger: worst cases are put aside before, real costs settled after, limits always hold."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import RunHalted
from bench.prices import ModelPrice, Rates
from bench.providers.results import NOTHING_USED, CallUsage
from bench.spending import FILE_NAME, Ledger, LedgerPurse, Limits

# One token costs one dollar, read, written or said.
PRICE = ModelPrice(Rates(1e6, 1e6, 1e6, 1e6))
PRICES = {"openai:paid": PRICE, "openai:own": None}


def purse_of(
    folder: Path | str, *, usd: float | None = None, tokens: int | None = None
) -> LedgerPurse:
    limits = Limits(usd=usd, tokens=tokens)
    return LedgerPurse(Ledger(Path(folder) / FILE_NAME, limits), PRICES)


def used(tokens: int) -> CallUsage:
    return CallUsage(input_tokens=tokens, output_tokens=0)


@settings(max_examples=30)
@given(
    calls=st.lists(
        st.tuples(
            st.integers(1, 9), st.integers(0, 9), st.sampled_from(["known", "unknown", "refused"])
        ),
        max_size=12,
    ),
    limit=st.integers(1, 30),
)
def test_what_is_spent_never_passes_the_limit(
    calls: list[tuple[int, int, str]], limit: int
) -> None:
    with TemporaryDirectory() as folder:
        purse = purse_of(folder, usd=float(limit))
        spent = 0.0
        for worst, real, outcome in calls:
            if spent + worst > limit:
                with pytest.raises(RunHalted, match="--budget-usd"):
                    purse.reserve("openai:paid", worst, 0)
                continue
            reservation = purse.reserve("openai:paid", worst, 0)
            assert reservation.usd_worst == worst
            assert purse.ledger.totals().usd_open == worst
            real = min(real, worst)
            usage = {"known": used(real), "unknown": None, "refused": NOTHING_USED}[outcome]
            cost = {"known": real, "unknown": worst, "refused": 0}[outcome]
            assert reservation.settle(usage) == cost
            spent += cost
        totals = purse.ledger.totals()
        assert totals.usd == spent <= limit
        assert (totals.usd_open, totals.calls_open) == (0, 0)


def test_a_call_waits_for_those_under_way_and_goes_on_when_they_cost_less(tmp_path: Path) -> None:
    purse = purse_of(tmp_path, usd=10.0)
    first = purse.reserve("openai:paid", 8, 0)
    got: list[float | None] = []
    waiting = threading.Thread(
        target=lambda: got.append(purse.reserve("openai:paid", 5, 0).usd_worst)
    )
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive() and got == []
    first.settle(used(5))
    waiting.join(10)
    assert got == [5]
    with pytest.raises(RunHalted, match=r"5\.00 is spent and the next call .* may cost up to"):
        purse.reserve("openai:paid", 6, 0)


def test_tokens_are_limited_apart_and_for_models_without_a_price_too(tmp_path: Path) -> None:
    purse = purse_of(tmp_path, usd=1.0, tokens=10)
    assert purse.reserve("openai:own", 4, 2).settle(used(3)) is None
    with pytest.raises(RunHalted, match="--budget-tokens 10: 3 tokens are spent"):
        purse.reserve("openai:own", 4, 4)
    assert purse.ledger.totals().usd == 0


def test_a_model_that_nobody_priced_is_never_free(tmp_path: Path) -> None:
    with pytest.raises(RunHalted, match="openai:other: has no price"):
        purse_of(tmp_path, usd=1.0).reserve("openai:other", 1, 1)


def test_eighty_percent_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    purse = purse_of(tmp_path, usd=10.0)
    said: list[str] = []
    for _ in range(10):
        purse.reserve("openai:paid", 1, 0).settle(used(1))
        said.append(capfd.readouterr().err)
    assert [bool(line) for line in said] == [False] * 7 + [True, False, False]
    assert said[7] == "compaction-bench: $8.00 of --budget-usd 10 spent\n"
    larger = purse_of(tmp_path, usd=12.0)
    larger.reserve("openai:paid", 1, 0).settle(used(0))
    assert "$10.00 of --budget-usd 12" in capfd.readouterr().err


def test_what_a_dead_process_had_put_aside_counts_as_spent(tmp_path: Path) -> None:
    purse = purse_of(tmp_path, usd=10.0)
    code = (
        "from tests.unit.test_spending import purse_of; import os\n"
        f"purse_of({str(tmp_path)!r}, usd=10.0).reserve('openai:paid', 7, 0); os._exit(9)"
    )
    died = subprocess.run([sys.executable, "-c", code], check=False)
    assert died.returncode == 9
    totals = purse.ledger.totals()
    assert (totals.usd, totals.usd_lost, totals.calls_open) == (7, 7, 0)
    with pytest.raises(RunHalted):
        purse.reserve("openai:paid", 4, 0)


def test_threads_share_one_limit_and_one_number_of_calls_at_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / FILE_NAME, Limits(usd=20.0, calls_at_once=2))
    under_way, most, halted = [0], [0], [0]
    lock = threading.Lock()

    def work() -> None:
        purse = LedgerPurse(ledger, PRICES)
        for _ in range(5):
            try:
                reservation = purse.reserve("openai:paid", 2, 0)
            except RunHalted:
                halted[0] += 1
                return
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            with lock:
                under_way[0] -= 1
            reservation.settle(used(1))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    totals = ledger.totals()
    # 19 calls of one dollar are certain to fit; another could have come to 21.
    assert totals.usd == 19 and halted[0] >= 1
    assert 1 <= most[0] <= 2

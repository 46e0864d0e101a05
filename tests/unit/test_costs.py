"""Costs with caching: by hand, under each row of the table, and what is owed to re-reading."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.cache_prices import (
    CACHE_PRICES,
    DEFAULT,
    CachePrices,
    names,
    prices_by_name,
    prices_for,
)
from bench.costs import billed, break_even, cost_ratio, cost_ratios, costs
from bench.errors import UsageError
from bench.events import Event, Message, RecordedUsage, Session, ToolCall
from bench.facts import Use
from bench.history import History
from bench.models import OfflineModel
from bench.observations import CompactionObservation, Replay, RequestObservation, Retries
from bench.overhead import overhead_tokens, parse_overhead, recorded_overhead
from bench.projection import Projection
from bench.providers.simulated import SimulatedProvider
from bench.scoring_debt import reread_debt_tokens
from bench.session_index import SessionIndex


def request(index: int, tokens: int, cached: int = 0) -> RequestObservation:
    return RequestObservation(index, index + 2, True, tokens, cached, tokens, 0, 0, index + 1)


def compaction(at: int, asked: int = 0, answered: int = 0) -> CompactionObservation:
    return CompactionObservation(
        request=at, at_seq=at + 2, trigger="budget", phase="automatic", stage="compact",
        outcome="accepted", reason="", generation=1, segments=1, covered_messages=1,
        covered_first_seq=1, covered_last_seq=1, tokens_before=2, tokens_after=1, estimate_before=2,
        estimate_after=1, asked=1, ask_input_tokens=asked, ask_output_tokens=answered,
        head_before=0, head=0,
    )  # fmt: skip


def replay_of(*requests: RequestObservation, compactions: tuple = ()) -> Replay:
    return Replay("s", requests, len(requests), ((),), compactions, Retries(), None)


FULL = replay_of(*(request(at, 10_000 * (at + 1), 10_000 * at) for at in range(8)))
CUT = replay_of(
    *(request(at, 10_000 * (at + 1), 10_000 * at) for at in range(4)),
    *(
        request(at, 12_000 + 10_000 * (at - 4), 0 if at == 4 else 2_000 + 10_000 * (at - 4))
        for at in range(4, 8)
    ),
    compactions=(compaction(4, 40_000, 2_000),),
)


def test_one_request_is_billed_by_reads_and_writes() -> None:
    prices = CachePrices(name="x", read=0.1, write=1.25)
    assert billed(request(0, 10_000, 4_000), prices) == 0.1 * 4_000 + 1.25 * 6_000
    # Too short a prefix isn't cached at all.
    assert billed(request(0, 10_000, 512), prices) == 1.25 * 10_000
    shorter = replace(prices, prefix_tokens_min=512)
    assert billed(request(0, 10_000, 512), shorter) == pytest.approx(51.2 + 1.25 * 9_488)


def test_above_the_tier_the_whole_input_costs_more() -> None:
    prices = CachePrices(name="x", read=0.1, write=1.0, tier_tokens=20_000, tier_multiple=2.0)
    assert billed(request(0, 20_000), prices) == 20_000
    assert billed(request(0, 20_001), prices) == 40_002


def test_the_bill_by_hand() -> None:
    prices = DEFAULT
    full = sum(0.1 * 10_000 * at + 1.25 * 10_000 for at in range(8))
    own = sum(0.1 * 10_000 * at + 1.25 * 10_000 for at in range(4))
    own += 1.25 * 12_000 + sum(0.1 * (2_000 + 10_000 * k) + 1.25 * 10_000 for k in (1, 2, 3))
    own += 40_000 + 5 * 2_000
    assert cost_ratio(CUT, FULL, prices) == pytest.approx(own / full)
    found = costs(CUT, FULL)
    assert found.cost_ratio == pytest.approx(own / full)
    sent = 10_000 * 10 + 12_000 + 22_000 + 32_000 + 42_000 + 42_000
    assert (found.tokens_sent, found.tokens_summariser) == (sent, 42_000)
    assert found.summariser_share == pytest.approx(42_000 / sent)
    assert found.tokens_saved == pytest.approx(1 - sent / 360_000)


def test_break_even_is_when_the_bill_stays_below_for_good() -> None:
    uncached = prices_by_name("no_cache")
    # Full: 50, 60, 70, 80 thousand; own: 12 + 50 for the summary, 22, 32, 42: ahead at once after.
    assert break_even(CUT, FULL, uncached) == 1
    # With cheap reads a token saved is worth a tenth, so the summary isn't paid back in time.
    assert break_even(CUT, FULL, DEFAULT) is None
    assert break_even(FULL, FULL, uncached) is None
    cheap = replace(CUT, compactions=(compaction(4),))
    assert break_even(cheap, FULL, uncached) == 0


def test_reads_that_cost_more_make_compaction_pay() -> None:
    ratios = cost_ratios(CUT, FULL)
    assert list(ratios) == names()
    assert ratios["no_cache"] < ratios["openai_4o"] < ratios["openai_4_1"] < ratios["openai_5"]
    assert ratios["anthropic_5_1"] > ratios["anthropic"]


@pytest.mark.parametrize(
    ("model", "row"),
    [
        ("offline", "anthropic"),
        ("lossy(0.9)", "anthropic"),
        ("anthropic:claude-sonnet-4-5-20250929", "anthropic"),
        ("anthropic:claude-opus-5-5", "anthropic_5_5"),
        ("anthropic:claude-fable-5-1", "anthropic_5_1"),
        ("openai:gpt-4o-mini", "openai_4o"),
        ("openai:gpt-4.1", "openai_4_1"),
        ("responses:o3", "openai_4_1"),
        ("openai:gpt-5", "openai_5"),
        ("responses:gpt-5.4", "openai_5_4"),
        ("responses:gpt-5.6", "openai"),
        ("openai:gpt-6", "openai"),
        ("openai:deepseek-chat", "deepseek"),
        ("openai:gemini-2.5-pro", "gemini_pro"),
        ("openai:gemini-3-flash", "gemini"),
        ("openai:somebody-s-own", "anthropic"),
    ],
)
def test_models_find_their_row(model: str, row: str) -> None:
    assert prices_for(model).name == row


def test_the_table_is_a_table() -> None:
    assert len(set(names())) == len(CACHE_PRICES)
    for row in CACHE_PRICES:
        assert 0 < row.read <= 1 <= row.write
        assert (row.tier_tokens is None) == (row.tier_multiple == 1)
    with pytest.raises(KeyError, match="there are: anthropic"):
        prices_by_name("nobody")


def session(*messages: Message, **changes: object) -> Session:
    events = tuple(Event(at + 1, message) for at, message in enumerate(messages))
    return Session("s", events, **changes)  # type: ignore[arg-type]


READING = session(
    Message("user", "Look into the two files."),
    Message("assistant", "", (ToolCall("a", "read", '{"path": "one.py"}'),)),
    Message("tool", "alpha_value = 1\n" * 50 + "beta_value = 2", call_id="a"),
    Message("assistant", "", (ToolCall("b", "read", '{"path": "two.py"}'),)),
    Message("tool", "gamma_value = 3\n" * 20, call_id="b"),
    Message("assistant", "Done with gamma_value."),
    Message("user", "And now?"),
    Message("assistant", "alpha_value, beta_value and gamma_value."),
)


def use(key: str, age: int = 5_000, at: int = 8) -> Use:
    return Use(3, at, "identifier", key, key, 3, 3, age, "re_readable")


def test_a_result_is_owed_once_however_much_of_it_was_needed() -> None:
    index = SessionIndex(READING)
    tokens = [index.tokens_until[seq] - index.tokens_until[seq - 1] for seq in (3, 5)]
    both = [use("alpha_value"), use("beta_value")]
    assert reread_debt_tokens(index, both, [False, False]) == tokens[0]
    assert reread_debt_tokens(index, both, [True, True]) == 0
    assert reread_debt_tokens(index, [*both, use("gamma_value")], [False] * 3) == sum(tokens)
    # What is recent doesn't count, and what no tool had shown can't be read again.
    assert reread_debt_tokens(index, [use("alpha_value", age=10)], [False]) == 0
    assert reread_debt_tokens(index, [use("nowhere_value")], [False]) == 0


def test_overhead_is_what_the_first_usage_tells_beyond_the_recording() -> None:
    provider = SimulatedProvider(OfflineModel(), 0)
    recorded = provider.measure(Projection.whole(History(READING.events[:1]), 1))
    usage = (RecordedUsage(4, 30_000), RecordedUsage(2, 18_000 + recorded))
    told = replace(READING, recorded_usage=usage)
    assert recorded_overhead(told) == 18_000
    assert overhead_tokens(told, "auto") == 18_000
    assert overhead_tokens(told, 700) == 700
    assert overhead_tokens(READING, "auto") == 0
    assert recorded_overhead(replace(told, is_slice=True)) is None
    smaller = replace(told, recorded_usage=(RecordedUsage(2, 1),))
    assert recorded_overhead(smaller) == 0


@pytest.mark.parametrize(("given", "meant"), [(None, 0), ("auto", "auto"), ("1500", 1500), (7, 7)])
def test_overhead_as_an_option(given: str | int | None, meant: object) -> None:
    assert parse_overhead(given) == meant


@pytest.mark.parametrize("given", ["", "-3", "much", "1.5"])
def test_wrong_overheads_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--overhead"):
        parse_overhead(given)

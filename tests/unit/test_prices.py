"""Prices of models: the bundled table, people's own, and what a call costs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.prices import ModelPrice, Rates, load_prices

RATES = Rates(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)
LONG = Rates(input=4.0, output=15.0, cache_read=0.4, cache_write=5.0)


def test_bundled_table_is_dated_and_sensible() -> None:
    table = load_prices()
    assert table.as_of[:3] == "202" and len(table.as_of) == len("2026-11-30")
    assert {"gpt-5-mini", "claude-sonnet-4-5"} <= set(table.models)
    for name, price in table.models.items():
        for rates in filter(None, (price.rates, price.long_rates)):
            assert 0 < rates.cache_read <= rates.input < rates.output, name
            assert rates.input <= rates.cache_write <= 2 * rates.input, name


@pytest.mark.parametrize(
    "model",
    [
        "openai:gpt-5",
        "responses:gpt-5",
        "gpt-5",
        "openai:gpt-5-2025-08-07",
        "openai:gpt-5-20250807",
    ],
)
def test_a_model_is_found_by_name_whatever_the_protocol_and_date(model: str) -> None:
    table = load_prices()
    assert table.price_of(model) == table.models["gpt-5"]


@pytest.mark.parametrize("model", ["openai:nobody", "openai:gpt-5-turbo", "openai:my/gpt-5", "x"])
def test_what_is_not_in_the_table_has_no_price(model: str) -> None:
    assert load_prices().price_of(model) is None


def test_a_call_is_billed_by_kind_of_token_and_tier() -> None:
    price = ModelPrice(RATES, LONG, 100_000)
    usd = price.usd(
        input_tokens=90_000, output_tokens=1_000, cached_tokens=50_000, cache_write_tokens=10_000
    )
    assert usd == pytest.approx((30_000 * 2 + 50_000 * 0.2 + 10_000 * 2.5 + 1_000 * 10) / 1e6)
    assert price.usd(input_tokens=100_001, output_tokens=0) == pytest.approx(100_001 * 4 / 1e6)
    assert price.usd(input_tokens=100_000, output_tokens=0) == pytest.approx(100_000 * 2 / 1e6)


@given(
    tokens=st.tuples(*[st.integers(0, 200_000)] * 3),
    output=st.integers(0, 9_000),
    more=st.integers(0, 50_000),
)
def test_no_call_costs_more_than_its_worst_case(
    tokens: tuple[int, int, int], output: int, more: int
) -> None:
    _, cached, written = tokens
    price = ModelPrice(RATES, LONG, 100_000)
    usd = price.usd(
        input_tokens=sum(tokens),
        output_tokens=output,
        cached_tokens=cached,
        cache_write_tokens=written,
    )
    worst = price.usd_worst(input_tokens_max=sum(tokens) + more, output_tokens_max=output + more)
    assert 0 <= usd <= worst + 1e-12


def test_own_rows_replace_and_extend_the_bundled_ones(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        'as_of = 2027-01-02\n[models]\n"gpt-5" = { input = 9, output = 90 }\n'
        '"openai:local/free" = { input = 0, output = 0 }\n'
        '"openai:gpt-5-mini" = { input = 1, output = 2, cache_read = 0.5 }\n',
        encoding="utf-8",
    )
    table = load_prices(own)
    gpt_5 = table.price_of("openai:gpt-5")
    assert gpt_5 is not None and gpt_5.rates == Rates(9.0, 90.0, 9.0, 9.0)
    free = table.price_of("openai:local/free")
    assert free is not None and free.usd(input_tokens=10**9, output_tokens=10**9) == 0
    for model, dollars in (("openai:gpt-5-mini", 1.0), ("responses:gpt-5-mini", 0.25)):
        price = table.price_of(model)
        assert price is not None and price.rates.input == dollars
    assert table.price_of("anthropic:claude-sonnet-4-5") is not None
    assert "2027-01-02" in table.as_of and "prices.toml" in table.as_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "[models]"),
        ("[models", "TOML"),
        ('[models]\n"a" = 3', "a: must be a table"),
        ('[models]\n"a" = { input = 1 }', "output must be"),
        ('[models]\n"a" = { input = -1, output = 1 }', "input must be"),
        ('[models]\n"a" = { input = nan, output = 1 }', "input must be"),
        ('[models]\n"a" = { input = true, output = 1 }', "input must be"),
        ('[models]\n"a" = { input = 1, output = 1, cached = 1 }', "unknown key cached"),
        ('[models]\n"a" = { input = 1, output = 1, long = { input = 2 } }', "above_tokens"),
    ],
)
def test_a_wrong_file_is_told_with_its_row(tmp_path: Path, text: str, said: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        load_prices(own)
    assert str(own) in str(raised.value) and said in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_prices(tmp_path / "none.toml")

"""Waits, slots, silent overflow, addresses and keys: the small parts of real models."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.models.settings import ModelSettings
from bench.provider import ProviderError
from bench.providers.judging_answers import Refused, other_limit
from bench.providers.keys import MASK, without_keys
from bench.providers.results import NOTHING_USED, CallUsage, DetailedResult, summed
from bench.providers.silent import TruncationWatch
from bench.providers.slots import slot
from bench.providers.vendors import (
    VENDORS,
    base_url_of,
    check_base_url,
    host_of,
    is_loopback,
    is_remote,
    key_of,
    parse_remote,
)
from bench.providers.waiting import backoff, told_wait

NOON = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
LATER = NOON + timedelta(seconds=90)


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "20"}, "", 20),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "1500", "retry-after": "20"}, "", 1.5),
        ({"retry-after": format_datetime(LATER, usegmt=True)}, "", 90),
        ({"retry-after": format_datetime(NOON - timedelta(hours=1), usegmt=True)}, "", 0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-5"}, "", None),
        ({"retry-after": "1e9"}, "", None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, "", 360),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "350ms"}, "", 0.35),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2m3.5s"}, "", 3723.5),
        # Something is left of this allowance: it isn't what ran out.
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "1h"}, "", None),
        (
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-05-01T12:01:30Z",
            },
            "",
            90,
        ),
        ({}, "Please try again in 1.5s. Visit us.", 1.5),
        ({}, "try again in 20ms", 0.02),
        ({}, '{"retryDelay": "34s"}', 34),
        ({}, "Retry after 2 minutes", 120),
        ({}, "nothing is told", None),
        ({}, "", None),
    ],
)
def test_waits_are_as_told(headers: dict[str, str], text: str, seconds: float | None) -> None:
    wait = told_wait(headers, text, now=NOON.timestamp())
    assert wait == (None if seconds is None else pytest.approx(seconds))


HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "retry-after",
            "retry-after-ms",
            "x-ratelimit-reset-tokens",
            "x-ratelimit-remaining-tokens",
        ]
    ),
    st.text(max_size=12) | st.integers().map(str) | st.floats().map(str),
)


@given(headers=HEADERS, text=st.text(max_size=40))
def test_no_header_makes_a_wait_that_is_no_time(headers: dict[str, str], text: str) -> None:
    wait = told_wait(headers, text, now=0)
    assert wait is None or 0 <= wait < float("inf")


@given(attempt=st.integers(1, 12), key=st.text(max_size=5))
def test_backoff_doubles_and_is_repeatable(attempt: int, key: str) -> None:
    wait = backoff(attempt, 0.5, key)
    assert 0.5 * 2 ** (attempt - 1) <= wait <= 0.625 * 2 ** (attempt - 1)
    assert wait == backoff(attempt, 0.5, key)


def result(input_tokens: int | None, text: str = "x", finish: str = "stop") -> DetailedResult:
    output = len(text) if text else 0
    usage = CallUsage(input_tokens=input_tokens, output_tokens=output)
    return DetailedResult(text=text, finish_reason=finish, usage=usage)


@pytest.mark.parametrize(
    ("window", "answered", "estimate", "is_silent"),
    [
        (8_000, result(8_001), 9_000, True),  # z.ai takes more than there is room for.
        (8_000, result(7_000), 7_000, False),
        (8_000, result(7_950, "", "length"), 7_950, True),  # MiMo leaves no room.
        (8_000, result(6_000, "", "length"), 6_000, False),
        (8_000, result(7_950, "cut", "length"), 7_950, False),
        (None, result(4_096), 20_000, True),  # Ollama drops the oldest.
        (None, result(17_000), 20_000, False),  # Another tokenizer.
        (None, result(28_000), 20_000, False),
        (None, result(None), 20_000, False),
        (None, result(200), 900, False),  # Too little to tell.
        (None, result(500, "", "model_context_window_exceeded"), 500, True),
    ],
)
def test_silent_overflow_shows_in_usage(
    window: int | None, answered: DetailedResult, estimate: int, is_silent: bool
) -> None:
    found = TruncationWatch(window).reason(answered, estimate, is_conversation=False)
    assert (found is not None) == is_silent


def test_a_conversation_that_grows_is_counted_higher_each_time() -> None:
    watch = TruncationWatch()
    assert watch.reason(result(10_000), 10_000, is_conversation=True) is None
    assert watch.reason(result(12_000), 12_000, is_conversation=True) is None
    # It was compacted: less is sent, less is counted.
    assert watch.reason(result(8_200), 8_000, is_conversation=True) is None
    assert watch.reason(result(7_000), 9_000, is_conversation=True) is not None
    # Questions aren't one conversation: other text is counted otherwise.
    assert watch.reason(result(7_000), 9_000, is_conversation=False) is None


def refused(kind: Any, text: str, sent: int | None = None, limit: int | None = None) -> Refused:
    error = ProviderError(kind, text, sent_tokens=sent, limit_tokens=limit)
    return Refused(error=error, label=kind)


@pytest.mark.parametrize(
    ("why", "limit", "least", "shrunk"),
    [
        (refused("output_reservation", "", 7_000, 8_000), 4_096, 1, 992),
        (refused("output_reservation", "", 7_999, 8_000), 4_096, 1, None),
        (refused("output_reservation", "", 7_990, 8_000), 4_096, 16, None),
        (refused("output_reservation", ""), 4_096, 1, 2_048),
        (refused("output_reservation", ""), 1, 1, None),
        (refused("output_limit", "max_tokens: 65536 > 8192, the maximum"), 65_536, 1, 8_192),
        (
            refused("output_limit", "too large: 40000. gpt-4o supports at most 16384."),
            40_000,
            1,
            16_384,
        ),
        (refused("output_limit", "no number"), 40_000, 1, None),
        (
            refused("output_limit", "below minimum value. Expected a value >= 16, but got 1."),
            1,
            1,
            16,
        ),
        (refused("output_limit", "'max_tokens' must be at least 2"), 1, 1, 2),
        (refused("output_limit", "must be at least 1"), 4_096, 1, None),
    ],
)
def test_another_limit_is_one_that_fits(
    why: Refused, limit: int, least: int, shrunk: int | None
) -> None:
    assert other_limit(why, limit, least) == shrunk


def test_slots_are_shared_and_given_back() -> None:
    host = f"host-{time.time_ns()}"
    under_way, peak, lock = [0], [0], threading.Lock()

    def work() -> None:
        with slot(host, 2):
            with lock:
                under_way[0] += 1
                peak[0] = max(peak[0], under_way[0])
            time.sleep(0.02)
            with lock:
                under_way[0] -= 1

    workers = [threading.Thread(target=work) for _ in range(7)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert peak == [2]
    with pytest.raises(KeyboardInterrupt), slot(host, 1):
        raise KeyboardInterrupt
    with slot(host, 1):
        pass


def test_usages_are_added_and_unknown_stays_unknown() -> None:
    total = summed([CallUsage(input_tokens=5), CallUsage(input_tokens=7, cached_tokens=2)])
    assert total == CallUsage(input_tokens=12, cached_tokens=2)
    assert summed([]) == CallUsage()
    assert NOTHING_USED.input_tokens == NOTHING_USED.output_tokens == 0


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8080",
        "ftp://host/v1",
        "http://",
        "http://a b/",
        "https://u:p@host/v1",
        "https://host/v1?key=x",
        "https://host/v1#x",
        "http://host:99999/v1",
        "http://host\n/v1",
        "http://[::1/v1",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError) as told:
        check_base_url(address)
    assert "\n" not in str(told.value) and "p@" not in str(told.value)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused_in_one_line(text: str) -> None:
    try:
        assert check_base_url(text).lower().startswith(("http://", "https://"))
    except UsageError as error:
        assert str(error).isprintable()


def test_where_requests_go() -> None:
    here = ModelSettings(base_url="http://127.0.0.1:8080/")
    assert base_url_of(VENDORS["openai"], here) == "http://127.0.0.1:8080"
    assert base_url_of(VENDORS["anthropic"], here) == "http://127.0.0.1:8080/v1"
    assert host_of(here, "openai:x") == "127.0.0.1:8080"
    assert host_of(ModelSettings(), "anthropic:x") == "api.anthropic.com"
    assert host_of(ModelSettings(), "responses:x") == "api.openai.com"
    assert host_of(here, "offline") == ""
    assert is_loopback("http://localhost/v1") and is_loopback("http://[::1]:8/v1")
    assert not is_loopback("http://localhost.example.com/v1")


@pytest.mark.parametrize("spec", ["openai:", "openai: ", "anthropic:a b", "openai:a\x1b[2J"])
def test_names_that_are_none(spec: str) -> None:
    assert is_remote(spec)
    with pytest.raises(UsageError):
        parse_remote(spec)


def test_names_keep_their_colons() -> None:
    assert parse_remote(" openai:meta/llama:free ")[1] == "meta/llama:free"


def test_keys_come_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    vendor = VENDORS["anthropic"]
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert key_of(vendor, "http://127.0.0.1:1/v1") is None
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        key_of(vendor, "https://api.anthropic.com/v1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", " sk-ant-1 ")
    key = key_of(vendor, "https://api.anthropic.com/v1")
    assert key == "sk-ant-1"
    assert vendor.headers(key)["x-api-key"] == "sk-ant-1"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "two words")
    with pytest.raises(UsageError) as told:
        key_of(vendor, "https://api.anthropic.com/v1")
    assert "two words" not in str(told.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(value=JSON, key=st.text("abc-123", min_size=8, max_size=12), data=st.data())
def test_keys_are_masked_at_any_depth(value: Any, key: str, data: st.DataObject) -> None:
    before, after = data.draw(st.text(max_size=3)), data.draw(st.text(max_size=3))
    told = [value, {f"{before}{key}": [f"{key}{after}", {"x": f"a{key}{key}"}]}]
    cleaned = without_keys(told, [key])
    assert key not in repr(cleaned) or key in MASK
    assert without_keys(value, []) == value

"""What refusals mean: our own examples in refusals.jsonl, numbers, limits, silent overflow."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.provider import ERROR_KINDS
from bench.providers import classify_error
from tests.overflow_texts import OVERFLOW_TEXTS

REFUSALS = Path(__file__).parents[1] / "golden" / "refusals.jsonl"
CASES = [
    (case["kind"], case["status"], case["body"])
    for case in map(json.loads, REFUSALS.read_text(encoding="utf-8").splitlines())
]


def error(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(("kind", "status", "body"), CASES, ids=lambda part: str(part)[:60])
def test_kind_of_a_refusal(kind: str, status: int | None, body: object) -> None:
    assert classify_error(status, body).kind == kind
    if isinstance(body, dict):
        assert classify_error(status, json.dumps(body)).kind == kind
        assert classify_error(status, json.dumps(body, ensure_ascii=False).encode()).kind == kind


SPLIT = (
    "This model's maximum context length is {w} tokens. However, you requested {s} tokens "
    "({i} in the messages, {o} in the completion)."
)
SUM = "input length and `max_tokens` exceed context limit: {i} + {o} > {w}, decrease one of them"
LIMITED = (
    "`inputs` tokens + `max_new_tokens` must be <= {w}. "
    "Given: {i} `inputs` tokens and {o} `max_new_tokens`"
)


@given(
    template=st.sampled_from([SPLIT, SUM, LIMITED]),
    window=st.integers(1_000, 2_000_000),
    sent=st.integers(1, 3_000_000),
    output=st.integers(1, 100_000),
    has_code=st.booleans(),
)
def test_numbers_tell_overflow_from_reservation(
    template: str, window: int, sent: int, output: int, has_code: bool
) -> None:
    text = template.format(w=window, s=sent + output, i=sent, o=output)
    body = error(text, code="context_length_exceeded" if has_code else None)
    found = classify_error(400, body)
    assert found.kind == ("input_overflow" if sent >= window else "output_reservation")
    assert (found.sent_tokens, found.limit_tokens) == (sent, window)


@pytest.mark.parametrize(
    ("text", "sent", "limit"),
    [
        ("prompt is too long: 213,462 tokens > 200,000 maximum", 213_462, 200_000),
        ("maximum prompt length is 131072 but the request contains 139000", 139_000, 131_072),
        ("The input (49146) is longer than the context length (40960).", 49_146, 40_960),
        ("Input is too long for requested model.", None, None),
    ],
)
def test_figures_that_the_provider_gave(text: str, sent: int | None, limit: int | None) -> None:
    found = classify_error(400, error(text))
    assert (found.kind, found.sent_tokens, found.limit_tokens) == ("input_overflow", sent, limit)


LIMITS: list[tuple[int, dict[str, object]]] = [
    (429, {"message": "{}"}),
    (429, {"message": "{}", "type": "invalid_request_error"}),
    (400, {"message": "{}", "code": "rate_limit_exceeded"}),
    (413, {"message": "{}", "type": "tokens", "code": "rate_limit_exceeded"}),
    (200, {"message": "{}", "type": "rate_limit_error"}),
    (400, {"message": "{}", "type": "ThrottlingException"}),
    (400, {"message": "{}", "code": "context_length_exceeded", "type": "rate_limit_error"}),
    (400, {"message": "Limit reached on tokens per min (TPM): Limit 30, Requested 31. {}"}),
    (400, {"message": "{} Too many requests, slow down"}),
    (400, {"message": "{} You exceeded your current quota, check your plan."}),
    (402, {"message": "{}"}),
    (429, {"message": "{}", "code": "insufficient_quota"}),
    (400, {"message": "Your credit balance is too low. {}"}),
    (400, {"message": "{} max_tokens is too large: 40000. It supports at most 16384."}),
    (400, {"message": "max_tokens: 65536 > 8192, the maximum number of output tokens. {}"}),
    (400, {"message": "Range of max_tokens should be [1, 8192]. {}", "code": "invalid"}),
    (400, {"message": "{} Invalid max_tokens value", "param": "max_tokens"}),
    (400, {"message": "The maximum tokens you requested exceeds the model limit of 2048. {}"}),
]


@given(
    limit=st.sampled_from(LIMITS),
    texts=st.lists(st.sampled_from(OVERFLOW_TEXTS) | st.text(max_size=40), min_size=1, max_size=4),
    separator=st.sampled_from([" ", "\n", "; ", ". "]),
    wrapped=st.booleans(),
)
def test_limits_never_trigger_compaction_whatever_the_text_says(
    limit: tuple[int, dict[str, object]], texts: list[str], separator: str, wrapped: bool
) -> None:
    status, fields = limit
    message = str(fields["message"]).replace("{}", separator + separator.join(texts) + separator)
    body: object = {"error": {**fields, "message": message}}
    if wrapped:
        body = error("Provider returned error", metadata={"raw": json.dumps(body)})
    kind = classify_error(status, body).kind
    assert kind in ("rate_limit", "quota", "output_limit")


_KEYS = ("error", "message", "code", "type", "usage", "choices", "status", "detail", "raw")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(_KEYS) | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(body=JSON | st.text() | st.binary(), status=st.none() | st.integers(-1, 700))
def test_any_body_has_a_kind(body: object, status: int | None) -> None:
    assert classify_error(status, body, sent_tokens=10, window=5).kind in ERROR_KINDS


def test_deep_and_long_bodies_are_read_without_harm() -> None:
    assert classify_error(400, "[" * 100_000).kind == "invalid_request"
    assert classify_error(400, '{"error":' * 5_000).kind == "invalid_request"
    assert classify_error(400, "9" * 100_000).kind == "invalid_request"
    nested: object = "prompt is too long"
    for _ in range(200):
        nested = {"error": nested}
    assert classify_error(400, nested).kind in ERROR_KINDS


@pytest.mark.parametrize("status", [400, 413])
def test_an_empty_refusal_counts_only_near_the_window(status: int) -> None:
    assert classify_error(status, "").kind == "unknown"
    assert classify_error(status, "", sent_tokens=95_000, window=100_000).kind == "input_overflow"
    assert classify_error(status, "", sent_tokens=50_000, window=100_000).kind == "unknown"


def test_overflow_words_for_a_body_that_was_too_large_in_bytes() -> None:
    body = error("Prompt is too long")
    assert classify_error(413, body).kind == "input_overflow"
    assert classify_error(413, body, sent_tokens=30_000, window=200_000).kind == "payload_too_large"


def test_a_combined_refusal_without_figures_takes_the_callers() -> None:
    body = error("The number of input and maximum output tokens exceeded this context window limit")
    assert classify_error(413, body).kind == "output_reservation"
    assert classify_error(413, body, sent_tokens=25_000, window=24_000).kind == "input_overflow"


def test_a_code_for_both_with_a_small_input_is_a_reservation() -> None:
    text = "Please reduce the length of the messages or completion."
    body = error(text, code="context_length_exceeded")
    assert classify_error(400, body).kind == "input_overflow"
    assert classify_error(400, body, sent_tokens=1_000, window=8_192).kind == "output_reservation"


def answer(finish: str, sent: int, written: int) -> dict[str, object]:
    return {
        "choices": [{"finish_reason": finish, "message": {"content": "x"}}],
        "usage": {"prompt_tokens": sent, "completion_tokens": written},
    }


def test_silent_overflow_shows_in_usage() -> None:
    above = classify_error(200, answer("stop", 9_000, 10), window=8_000)
    no_room = classify_error(200, answer("length", 7_990, 0), window=8_000)
    dropped = classify_error(200, answer("stop", 4_000, 10), sent_tokens=9_000, window=8_000)
    assert [found.kind for found in (above, no_room, dropped)] == ["input_overflow"] * 3
    fine = classify_error(200, answer("stop", 6_500, 10), sent_tokens=7_000, window=8_000)
    short = classify_error(200, answer("length", 6_500, 500), window=8_000)
    assert (fine.kind, short.kind) == ("unknown", "output_limit")


def test_cached_input_counts() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 9_000, "output_tokens": 3}
    body = {"type": "message", "stop_reason": "end_turn", "content": [], "usage": usage}
    assert classify_error(200, body, window=8_000).kind == "input_overflow"


def test_waiting_is_futile_where_one_request_is_above_the_limit() -> None:
    template = "Request too large on tokens per min (TPM): Limit 30000, Requested {}"
    futile = classify_error(429, error(template.format(31_538)))
    helps = classify_error(429, error(template.format(385)))
    assert (futile.kind, futile.waiting_helps) == ("rate_limit", False)
    assert (helps.kind, helps.waiting_helps) == ("rate_limit", True)


def test_a_negative_output_is_an_overflow_only_near_the_window() -> None:
    body = error("max_tokens must be at least 1, got -1234.")
    assert classify_error(400, body).kind == "output_limit"
    assert classify_error(400, body, sent_tokens=9_400, window=8_192).kind == "input_overflow"

"""Edges: what a provider's refusal means. Only `input_overflow` ever triggers compaction (F2.5).

Decided from parsed codes, numbers and the error's own message; the first that speaks wins:

1. Structured overflow codes. If the message counts input and output together, the numbers decide:
   input >= window is `input_overflow`, less is `output_reservation` (one code serves for both).
2. Rate, quota, sign-in, overload and content filter: by code, by status, by words.
3. Media, then errors that speak of the output limit alone.
4. Input and output counted together, without a code.
5. Item counts, bytes, time-outs.
6. Wordings of input overflow, then what the status says.

A 4xx status isn't needed for an overflow: gateways wrap a 400 in a 502, local servers answer 200 or
500. `sent_tokens` and `window`, where the caller knows them, settle what a body leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import provider_error_wordings as wordings
from bench.provider import ErrorKind
from bench.provider_error_bodies import ErrorFields, read_body
from bench.provider_error_figures import combined_figures, overflow_figures

# An estimate must come this near to the window before an opaque refusal counts as overflow.
OPAQUE_OVERFLOW_FRACTION = 0.9
# A prompt that fills the window so far and got no answer at all left no room for one.
FILLED_WINDOW_FRACTION = 0.99
# A server that counts so much less than was sent has dropped something.
SILENT_TRUNCATION_FRACTION = 0.8

_STATUSES: dict[int, ErrorKind] = {401: "auth", 402: "quota", 429: "rate_limit", 529: "server"}
_KINDS_WITH_FIGURES = ("input_overflow", "output_reservation")
_TIMEOUT_STATUSES = frozenset({408, 504, 522, 524})
_LENGTH_FINISHES = frozenset(
    ["length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"]
)
_FILTER_FINISHES = frozenset({"content_filter", "refusal", "sensitive", "safety"})
_SERVER_FINISHES = frozenset({"error", "network_error", "insufficient_system_resource"})


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """What a refusal means.

    `rule` says in a few words what decided. `sent_tokens` (input) and `limit_tokens` (window)
    are the provider's own figures, None where it gave none. `waiting_helps` is False for a rate
    limit that waiting can't mend, since this one request exceeds it or isn't entitled.
    """

    kind: ErrorKind
    rule: str
    message: str = ""
    sent_tokens: int | None = None
    limit_tokens: int | None = None
    waiting_helps: bool = True


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Everything a rule may look at. `statuses` are the HTTP status and those inside the body."""

    fields: ErrorFields
    text: str
    statuses: frozenset[int]
    sent_tokens: int | None
    window: int | None

    @property
    def filled_fraction(self) -> float | None:
        """The caller's estimate over the window, None when either is unknown."""
        if self.sent_tokens is None or not self.window:
            return None
        return self.sent_tokens / self.window


_Rule = Callable[[_Refusal], tuple[ErrorKind, str] | None]


def classify_error(
    status: int | None,
    body: object,
    *,
    sent_tokens: int | None = None,
    window: int | None = None,
) -> ErrorClass:
    """The class of a refusal, or of an answer that hides one; see the module for the order.

    `body` is JSON text, bytes, a parsed value, HTML, plain text or nothing. `status` 0 or None
    means that none is known. `sent_tokens` is the caller's own estimate of the input. Never raises.
    """
    fields = read_body(body)
    statuses = frozenset({status or 0, *fields.statuses}) - {0, 200}
    refusal = _Refusal(fields, fields.text, statuses, sent_tokens, window)
    verdicts = (rule(refusal) for rule in _RULES)
    kind, why = next((found for found in verdicts if found), ("unknown", "nothing known"))
    sent, limit = overflow_figures(fields) if kind in _KINDS_WITH_FIGURES else (None, None)
    requested = wordings.REQUESTED_OF_LIMIT.search(refusal.text)
    is_futile = wordings.ENTITLEMENT.search(refusal.text) is not None or (
        requested is not None and int(requested["requested"]) > int(requested["limit"])
    )
    return ErrorClass(
        kind=kind,
        rule=why,
        message=refusal.text[:2_000],
        sent_tokens=sent,
        limit_tokens=limit,
        waiting_helps=not (kind == "rate_limit" and is_futile),
    )


def _overflow_code(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    fields = refusal.fields
    prompt, window = fields.figures.get("prompt"), fields.figures.get("window")
    is_over_by_fields = prompt is not None and window is not None and prompt > window
    if not is_over_by_fields and wordings.OVERFLOW_CODES.isdisjoint(fields.codes):
        return None
    if _coded(fields, ("rate_limit", "quota")) is not None:
        return None
    figures = combined_figures(refusal.text)
    if figures is not None and figures.input_tokens and (figures.window or refusal.window):
        return _combined(refusal)
    names_output = not wordings.OUTPUT_PARAMS.isdisjoint(fields.params)
    if names_output and wordings.OUTPUT_LIMIT.search(refusal.text):
        return "output_limit", "parameter"
    # The code covers sums too: a small prompt with a mention of the completion is one.
    fraction = refusal.filled_fraction
    is_small = fraction is not None and fraction < 1 - OPAQUE_OVERFLOW_FRACTION / 2
    if is_small and wordings.OR_COMPLETION.search(refusal.text):
        return "output_reservation", "code, and the caller's estimate"
    return "input_overflow", "code"


def _coded(fields: ErrorFields, kinds: tuple[ErrorKind, ...]) -> ErrorKind | None:
    for code in fields.codes:
        exact = wordings.CODES_EXACT.get(code)
        if exact in kinds:
            return exact
    for kind, part in wordings.CODE_PARTS:
        if kind in kinds and any(part in code for code in fields.codes):
            return kind
    vendor = wordings.VENDOR_STATUSES.get(fields.vendor_status or 0)
    return vendor if vendor in kinds else None


def _limits(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    """Rate and quota. A day's allowance without a stated wait is a quota: waiting isn't planned."""
    if wordings.TRANSPORT_SIZE.search(refusal.text):
        return "payload_too_large", "words"
    coded = _coded(refusal.fields, ("quota", "rate_limit"))
    if coded == "quota" or 402 in refusal.statuses:
        return "quota", "code or status"
    has_wait = wordings.STATED_WAIT.search(refusal.text) is not None
    says_quota = wordings.QUOTA.search(refusal.text) or wordings.PER_DAY.search(refusal.text)
    is_short_term = wordings.PER_MINUTE.search(refusal.text) is not None
    if says_quota and not has_wait and not is_short_term:
        return "quota", "words"
    if coded == "rate_limit" or 429 in refusal.statuses:
        return "rate_limit", "code or status"
    if wordings.RATE.search(refusal.text):
        return "rate_limit", "words"
    return None


def _refusals_by_code(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    coded = _coded(refusal.fields, ("auth", "server", "content_filter", "timeout"))
    if coded is not None:
        return coded, "code"
    for status in sorted(refusal.statuses & _STATUSES.keys()):
        return _STATUSES[status], "status"
    if wordings.OVERLOADED.search(refusal.text):
        return "server", "words"
    if wordings.FILTER.search(refusal.text):
        return "content_filter", "words"
    if wordings.AUTH.search(refusal.text):
        return "auth", "words"
    return None


def _media(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    return ("media", "words") if wordings.MEDIA.search(refusal.text) else None


def _output_limit(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    if wordings.UNSUPPORTED.search(refusal.text):
        return "invalid_request", "words"
    if wordings.TOO_LARGE_FOR_WINDOW.search(refusal.text):
        return None
    fraction = refusal.filled_fraction
    is_nearly_full = fraction is not None and fraction > OPAQUE_OVERFLOW_FRACTION
    if is_nearly_full and wordings.NEGATIVE_OUTPUT.search(refusal.text):
        return "input_overflow", "the input left less than no room"
    if wordings.OUTPUT_LIMIT.search(refusal.text):
        return "output_limit", "words"
    names_output = not wordings.OUTPUT_PARAMS.isdisjoint(refusal.fields.params)
    if names_output and _combined(refusal) is None:
        return "output_limit", "parameter"
    return None


def _combined(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    """A sum of input and output that passed the window: which of them is to blame?"""
    combined = combined_figures(refusal.text)
    if combined is None:
        return None
    window = combined.window or refusal.window
    sent = combined.input_tokens
    if sent is None or combined.is_at_least:
        sent = max(sent or 0, refusal.sent_tokens or 0)
    if window is not None and sent >= window:
        return "input_overflow", "input alone reaches the window"
    return "output_reservation", "input and output together"


def _sizes(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    field = wordings.FIELD_LENGTH.search(refusal.text)
    if field is not None or "stringabovemaxlength" in refusal.fields.codes:
        named = " ".join([refusal.text[: field.start()] if field else "", *refusal.fields.params])
        is_content = wordings.CONTENT_FIELD.search(named) is not None
        return ("payload_too_large" if is_content else "invalid_request"), "length of one field"
    if wordings.ITEM_COUNT.search(refusal.text):
        return "item_count", "words"
    if wordings.BYTES.search(refusal.text):
        return "payload_too_large", "words"
    if wordings.TIMEOUT.search(refusal.text) or refusal.statuses & _TIMEOUT_STATUSES:
        return "timeout", "words or status"
    return None


def _too_long(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    if not wordings.TOO_LONG.search(refusal.text):
        return None
    fraction = refusal.filled_fraction
    if 413 in refusal.statuses and fraction is not None and fraction < OPAQUE_OVERFLOW_FRACTION:
        # Gateways borrow the words for a body that was too large in bytes.
        return "payload_too_large", "status, and the caller's estimate"
    return "input_overflow", "words"


def _answer(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    """An answer, no refusal: silent overflow shows in usage and finish reason alone."""
    fields = refusal.fields
    if refusal.statuses or not (fields.finish or fields.input_tokens is not None):
        return None
    counted, window, sent = fields.input_tokens, refusal.window, refusal.sent_tokens
    is_cut = fields.finish in _LENGTH_FINISHES
    if counted is not None and window:
        if counted > window:
            return "input_overflow", "usage above the window"
        is_filled = counted >= FILLED_WINDOW_FRACTION * window
        if is_cut and not fields.output_tokens and is_filled:
            return "input_overflow", "the input left no room"
        is_truncated = sent is not None and counted < SILENT_TRUNCATION_FRACTION * sent
        if is_truncated and sent is not None and sent > window:
            return "input_overflow", "silently truncated"
    if is_cut:
        return "output_limit", "finish reason"
    if fields.finish in _FILTER_FINISHES:
        return "content_filter", "finish reason"
    if fields.finish in _SERVER_FINISHES:
        return "server", "finish reason"
    return "unknown", "an answer without an error"


def _by_status(refusal: _Refusal) -> tuple[ErrorKind, str] | None:
    statuses = refusal.statuses
    fraction = refusal.filled_fraction
    is_opaque = not refusal.text and not refusal.fields.codes
    if is_opaque and statuses & {400, 413}:
        if fraction is not None and fraction > OPAQUE_OVERFLOW_FRACTION:
            return "input_overflow", "empty refusal of an input near the window"
        return "unknown", "empty refusal"
    if 413 in statuses:
        return "payload_too_large", "status"
    if 403 in statuses:
        return "auth", "status"
    if any(status >= 500 for status in statuses):
        return "server", "status"
    if any(400 <= status < 500 for status in statuses):
        return ("unknown", "empty refusal") if is_opaque else ("invalid_request", "status")
    codes = refusal.fields.codes
    if any("servererror" in code or code in ("internal", "unavailable") for code in codes):
        return "server", "code"
    if any("invalid" in code or "badrequest" in code for code in codes):
        return "invalid_request", "code"
    return None


_RULES: tuple[_Rule, ...] = (
    _overflow_code,
    _limits,
    _refusals_by_code,
    _media,
    _output_limit,
    _combined,
    _sizes,
    _too_long,
    _answer,
    _by_status,
)

"""Edges: what came back for a call: an answer, or a refusal of one class with its reaction.

A refusal may come with any status, as JSON or not; an answer with status 200 may hide one. Of an
answer only error fields, finish reason and usage decide, never what a model wrote: a body that
broke off in the middle of a text about overflows is a broken body.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from bench.provider import ErrorKind, ProviderError
from bench.provider_error_wordings import UNSUPPORTED
from bench.provider_errors import classify_error
from bench.providers.native_wire import NativeReply
from bench.providers.reading import UnreadableAnswerError, holds_error
from bench.providers.results import NOTHING_USED, CallUsage, DetailedResult
from bench.providers.silent import TruncationWatch
from bench.providers.transport import RawReply, TransportError
from bench.providers.waiting import told_wait

if TYPE_CHECKING:
    from bench.providers.sending import Wanted

Answer = TypeVar("Answer", DetailedResult, NativeReply)

SILENT = "silent_overflow"
_LIMIT_NAMES = re.compile(r"max_(?:completion_)?tokens")
_MINIMUM = re.compile(r"minimum value|at least|>=|greater than or equal", re.IGNORECASE)
_MINIMUM_MAX = 1_024
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.]*\d)")
_TEXT_CHARACTERS_MAX = 300
# What servers with short windows need around a request that fills them.
_ROOM_TOKENS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """One refused try. `label` is what it is counted as: the kind, or a silent overflow.

    `wait_seconds` is what the provider told to wait, None where it told nothing. `names_limit` is
    true where the name of the output limit was refused, not its size. `payload` is the JSON or the
    text that came with it.
    """

    error: ProviderError
    label: str
    waiting_helps: bool = True
    wait_seconds: float | None = None
    is_unreachable: bool = False
    names_limit: bool = False
    payload: Any = None

    @property
    def is_overflow(self) -> bool:
        """True where the input was too long, said or silent."""
        return self.error.kind == "input_overflow"


def judge_answer(
    reply: RawReply, wanted: Wanted[Answer], watch: TruncationWatch
) -> tuple[Answer | Refused, CallUsage | None]:
    """The answer or the refusal, and what to pay for it: None where nobody knows."""
    if not 200 <= reply.status < 300:
        return judge_refusal(reply, wanted.estimate_tokens, watch), NOTHING_USED
    if not reply.is_json:
        kind = reply.headers.get("content-type", "unknown")[:60]
        return _plain("server", f"the answer is no JSON (content type {kind})", reply), None
    if holds_error(reply.payload):
        return judge_refusal(reply, wanted.estimate_tokens, watch), NOTHING_USED
    try:
        answer = wanted.read(reply.payload)
    except UnreadableAnswerError as error:
        return _plain("server", str(error), reply), None
    except ProviderError as error:
        return Refused(error=error, label=error.kind, payload=reply.payload), None
    is_counted = answer.usage.input_tokens is not None or answer.usage.output_tokens is not None
    usage = answer.usage if is_counted else None
    refused = _hidden(reply, answer, wanted, watch)
    return (answer if refused is None else refused), usage


def _hidden(
    reply: RawReply,
    answer: DetailedResult | NativeReply,
    wanted: Wanted[Any],
    watch: TruncationWatch,
) -> Refused | None:
    """A refusal that only finish reason or usage tells."""
    estimate = max(0, wanted.estimate_tokens - wanted.unsure_tokens)
    if isinstance(answer, NativeReply):
        reason = watch.reason_of_count(answer.usage.input_tokens, estimate)
    else:
        found = classify_error(200, {"finish_reason": answer.finish_reason, "usage": {}})
        if found.kind == "server" or (found.kind == "content_filter" and not answer.calls):
            text = f"the answer ended with {answer.finish_reason[:60]}"
            return _plain(found.kind, text, reply)
        reason = watch.reason(answer, estimate, is_conversation=wanted.is_conversation)
    if reason is None:
        return None
    error = ProviderError(
        "input_overflow",
        f"silently cut: {reason}",
        status=reply.status,
        sent_tokens=estimate,
        limit_tokens=watch.window,
    )
    return Refused(error=error, label=SILENT, payload=reply.payload)


def judge_refusal(reply: RawReply, estimate_tokens: int, watch: TruncationWatch) -> Refused:
    """The class of a refusal; the window that it tells is remembered."""
    if 300 <= reply.status < 400:
        target = reply.headers.get("location", "elsewhere")[:120]
        return _plain("invalid_request", f"redirected to {target}, which isn't followed", reply)
    body = reply.payload if reply.is_json else reply.text
    found = classify_error(
        reply.status, body, sent_tokens=estimate_tokens or None, window=watch.window
    )
    if found.kind == "input_overflow" and found.limit_tokens:
        watch.window = found.limit_tokens
    text = one_line(found.message) or f"HTTP status {reply.status} without a reason"
    error = ProviderError(
        found.kind,
        text,
        status=reply.status,
        body=reply.text[:4_000],
        sent_tokens=found.sent_tokens,
        limit_tokens=found.limit_tokens,
    )
    return Refused(
        error=error,
        label=found.kind,
        waiting_helps=found.waiting_helps,
        wait_seconds=told_wait(reply.headers, reply.text[:4_000], now=time.time()),
        names_limit=UNSUPPORTED.search(found.message) is not None
        and _LIMIT_NAMES.search(found.message) is not None,
        payload=body,
    )


def judge_failure(failure: TransportError, host: str) -> Refused:
    """No answer at all."""
    kind: ErrorKind = "timeout" if failure.failure == "timeout" else "server"
    error = ProviderError(kind, one_line(f"{host}: {failure.text}"), status=0)
    return Refused(error=error, label=kind, is_unreachable=failure.failure == "connect")


def _plain(kind: ErrorKind, text: str, reply: RawReply) -> Refused:
    error = ProviderError(kind, one_line(text), status=reply.status, body=reply.text[:4_000])
    return Refused(error=error, label=kind, payload=reply.payload)


def recorded_refusal(
    status: int, payload: Any, estimate_tokens: int, watch: TruncationWatch
) -> Refused:
    """A refusal that was written down, judged as when it came."""
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    is_json = not isinstance(payload, str)
    reply = RawReply(status, {}, text, payload if is_json else None, is_json=is_json)
    return judge_refusal(reply, estimate_tokens, watch)


def other_limit(refused: Refused, limit: int, limit_min: int) -> int | None:
    """An output limit that this refusal would let pass; None where it says that there is none.

    A smaller one, unless the refusal names a minimum.
    """
    error = refused.error
    if error.kind == "output_reservation":
        if error.sent_tokens is not None and error.limit_tokens is not None:
            shrunk = min(limit - 1, error.limit_tokens - error.sent_tokens - _ROOM_TOKENS)
        else:
            shrunk = limit // 2
    else:
        told = [int(number) for number in _NUMBER.findall(error.text)]
        if _MINIMUM.search(error.text):
            return min((number for number in told if limit < number <= _MINIMUM_MAX), default=None)
        shrunk = max((number for number in told if number < limit), default=0)
    return shrunk if shrunk >= max(1, limit_min) else None


def one_line(text: str) -> str:
    """Printable words on one line: what servers say is data."""
    words = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "?" for letter in words)[
        :_TEXT_CHARACTERS_MAX
    ]

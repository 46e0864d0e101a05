"""Edges: one call with all its tries: paid for, sent, read, and what each kind of refusal leads to.

Only what waiting or another output limit can mend is sent again. What no request of this run could
survive halts the run, which can be resumed: an empty account, a refused key, a server that is gone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar
from urllib.parse import urlsplit

from bench.errors import RunHalted
from bench.models.settings import ModelSettings
from bench.providers.judging_answers import Refused, judge_answer, judge_failure, other_limit
from bench.providers.native_wire import NativeReply
from bench.providers.purse import Purse, Reservation
from bench.providers.reading import Payload
from bench.providers.results import NOTHING_USED, DetailedResult
from bench.providers.silent import TruncationWatch
from bench.providers.slots import slot
from bench.providers.transport import RawReply, TransportError, exchange
from bench.providers.waiting import backoff

Answer = TypeVar("Answer", DetailedResult, NativeReply)

# Tokenizers of models in use count at most about half as much again as o200k_base.
_INPUT_MARGIN = 1.5
_INPUT_MARGIN_TOKENS = 200
# One call that fails for good may be its own fault, this many in a row are the server's.
_FAILED_CALLS_MAX = 3
_RETRIED = frozenset({"rate_limit", "timeout", "server"})
_CHANGED = frozenset({"output_reservation", "output_limit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Generic[Answer]):
    """One call. `build` makes its body from an output limit, `read` its answer from the JSON.

    `estimate_tokens` is our own count of the input, `unsure_tokens` the part of it that the server
    may leave out (tools that aren't to be called). `rename` makes `build` use another name of the
    output limit and tells whether there was one left; None where it has but one.
    """

    url: str
    headers: Mapping[str, str]
    build: Callable[[int], Payload]
    read: Callable[[object], Answer]
    estimate_tokens: int
    output_tokens_max: int
    output_tokens_min: int = 1
    unsure_tokens: int = 0
    is_conversation: bool = False
    rename: Callable[[], bool] | None = None

    @property
    def host(self) -> str:
        """Host and port."""
        return urlsplit(self.url).netloc


@dataclass(slots=True)
class Tries:
    """What became of a call so far; dollars are None until some reservation names a price."""

    refusals: list[str] = field(default_factory=list)
    sent: int = 0
    usd: float | None = None
    usd_worst: float | None = None
    payload: Any = None

    def add(self, usd: float | None, usd_worst: float | None) -> None:
        """Adds what one try came to."""
        if usd is not None:
            self.usd = (self.usd or 0.0) + usd
        if usd_worst is not None:
            self.usd_worst = (self.usd_worst or 0.0) + usd_worst


def _over_http(wanted: Wanted[Any], body: Payload, settings: ModelSettings) -> RawReply:
    with slot(wanted.host, settings.concurrency):
        return exchange(
            "POST",
            wanted.url,
            headers=wanted.headers,
            body=body,
            timeout_seconds=settings.timeout_seconds,
        )


@dataclass(frozen=True, slots=True)
class Line:
    """How requests get to a server and back, and how time passes: HTTP, or an imitation of it.

    `exchange` raises TransportError; `failed_in_a_row` counts, by host, calls that failed for good.
    """

    exchange: Callable[[Wanted[Any], Payload, ModelSettings], RawReply] = _over_http
    sleep: Callable[[float], None] = time.sleep
    failed_in_a_row: dict[str, int] = field(default_factory=lambda: defaultdict(int))


# All models of a process share it, since the server is the same one.
HTTP_LINE = Line()


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the calls of one model; `spec` names it to the purse and to people."""

    spec: str
    settings: ModelSettings
    purse: Purse
    watch: TruncationWatch
    line: Line = HTTP_LINE

    def send(self, wanted: Wanted[Answer], key: str, tries: Tries) -> Answer:
        """The answer; `tries` is filled in whatever becomes of the call.

        Raises ProviderError, and RunHalted when no request could succeed for now.
        """
        limit = wanted.output_tokens_max
        may_change, waits = True, 0
        while True:
            outcome = self._once(wanted, limit, tries)
            if not isinstance(outcome, Refused):
                self.line.failed_in_a_row[wanted.host] = 0
                return outcome
            tries.refusals.append(outcome.label)
            kind = outcome.error.kind
            if kind in _CHANGED and may_change:
                may_change = False
                other = other_limit(outcome, limit, wanted.output_tokens_min)
                if other is not None:
                    limit = other
                    continue
            if outcome.names_limit and wanted.rename is not None and wanted.rename():
                continue
            if kind in _RETRIED and outcome.waiting_helps and waits + 1 < self.settings.tries_max:
                waits += 1
                self._wait(outcome, waits, key)
                continue
            self._give_up(wanted, outcome, tries)

    def _once(self, wanted: Wanted[Answer], limit: int, tries: Tries) -> Answer | Refused:
        """One try, settled whatever happens."""
        body = wanted.build(limit)
        input_max = input_tokens_max(wanted.estimate_tokens)
        reservation = self.purse.reserve(self.spec, input_max, max(limit, wanted.output_tokens_min))
        is_settled = False
        try:
            tries.sent += 1
            reply = self.line.exchange(wanted, body, self.settings)
            answer, usage = judge_answer(reply, wanted, self.watch)
            is_settled = True
            _settle(reservation, tries, usage)
            if not isinstance(answer, Refused):
                tries.payload = reply.payload
            elif answer.is_overflow:
                tries.payload = answer.payload
            return answer
        except TransportError as failure:
            is_settled = True
            _settle(reservation, tries, None if failure.was_sent else NOTHING_USED)
            return judge_failure(failure, wanted.host)
        finally:
            if not is_settled:
                # Interrupted in mid-request: nobody knows whether it was billed.
                _settle(reservation, tries, None)

    def _wait(self, refused: Refused, waits: int, key: str) -> None:
        """As told, else a little longer each time; never longer than the settings allow."""
        told = refused.wait_seconds
        seconds = backoff(waits, self.settings.backoff_seconds, key) if told is None else told
        self.line.sleep(min(seconds, self.settings.wait_seconds_max))

    def _give_up(self, wanted: Wanted[Any], refused: Refused, tries: Tries) -> NoReturn:
        error, host = refused.error, wanted.host
        if error.kind == "quota":
            raise RunHalted(f"{host} has no quota left for {self.spec}: {error.text}")
        if error.kind == "auth":
            raise RunHalted(f"{host} refused the key for {self.spec}: {error.text}")
        if error.kind == "rate_limit" and refused.waiting_helps:
            raise RunHalted(
                f"{host} still limits the rate of {self.spec} after {tries.sent} tries: "
                f"{error.text}"
            )
        if refused.is_unreachable:
            raise RunHalted(f"{host} can't be reached any more: {error.text}")
        if error.kind in _RETRIED and error.kind != "rate_limit":
            self.line.failed_in_a_row[host] += 1
            if self.line.failed_in_a_row[host] >= _FAILED_CALLS_MAX:
                self.line.failed_in_a_row[host] = 0
                raise RunHalted(
                    f"{host} failed {_FAILED_CALLS_MAX} calls in a row, the last after "
                    f"{tries.sent} tries: {error.text}"
                )
        raise error


def input_tokens_max(estimate_tokens: int) -> int:
    """The most that an input of so many tokens of o200k_base is taken to be for a real model."""
    return round(estimate_tokens * _INPUT_MARGIN) + _INPUT_MARGIN_TOKENS


def _settle(reservation: Reservation, tries: Tries, usage: Any) -> None:
    tries.add(reservation.settle(usage), reservation.usd_worst)

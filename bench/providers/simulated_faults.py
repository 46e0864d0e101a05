"""Edge: what goes wrong between a model and its server, without HTTP and without waiting.

A stand-in behind a line that fails by plan. What comes back is shaped like the real thing (status,
headers, body, or no answer at all), and it is judged and reacted to by the very code that serves
real models (`bench.providers.sending`); only time is logical: waits are added up, never slept. So
whole replays under every fault cost little more than replays without.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bench.errors import RunHalted
from bench.events import Message
from bench.models.model import Completion, Model
from bench.models.settings import DEFAULT_SETTINGS, ModelSettings
from bench.observations import CallObservation
from bench.provider import ProviderError
from bench.providers.chat_wire import read_chat
from bench.providers.purse import FreePurse
from bench.providers.results import CallUsage, DetailedResult
from bench.providers.sending import Line, Sender, Tries, Wanted
from bench.providers.silent import TruncationWatch
from bench.providers.transport import RawReply, TransportError
from bench.strategy import Usage
from bench.tokens import count

HOST = "simulated.invalid"
_URL = f"https://{HOST}/v1/chat/completions"
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_CALL = 8
_LIMIT = "max_tokens"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a fault may look at: sizes in tokens, and the answer that would have come."""

    sent_tokens: int
    window: int
    output_tokens_max: int
    answer: Callable[[], Completion]


Fault = Callable[[Exchange], RawReply]


def _json(status: int, payload: Any, headers: Mapping[str, str] | None = None) -> RawReply:
    return RawReply(status, headers or {}, json.dumps(payload), payload, is_json=True)


def _error(status: int, message: str, **fields: object) -> RawReply:
    return _json(status, {"error": {"message": message, **fields}})


def _answered(seen: Exchange, text: str, finish: str, sent_tokens: int | None = None) -> RawReply:
    usage = {
        "prompt_tokens": seen.sent_tokens if sent_tokens is None else sent_tokens,
        "completion_tokens": count(text),
    }
    choice = {"finish_reason": finish, "message": {"role": "assistant", "content": text}}
    # Nobody reads the text of an answer whose JSON is known.
    return RawReply(200, {}, "", {"choices": [choice], "usage": usage}, is_json=True)


def _fine(seen: Exchange) -> RawReply:
    made = seen.answer()
    return _answered(seen, made.text, made.finish_reason)


def _overflow_openai(seen: Exchange) -> RawReply:
    return _error(
        400,
        f"This model's maximum context length is {seen.window} tokens. However, your messages "
        f"resulted in {seen.window + 1} tokens. Please reduce the length of the messages.",
        type="invalid_request_error",
        param="messages",
        code="context_length_exceeded",
    )


def _overflow_anthropic(seen: Exchange) -> RawReply:
    text = f"prompt is too long: {seen.window + 1} tokens > {seen.window} maximum"
    error = {"type": "invalid_request_error", "message": text}
    return _json(400, {"type": "error", "error": error})


def _overflow_gemini(seen: Exchange) -> RawReply:
    text = (
        f"The input token count ({seen.window + 1}) exceeds the maximum number of tokens allowed "
        f"({seen.window})."
    )
    return _json(400, [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}])


def _overflow_llama(seen: Exchange) -> RawReply:
    return _error(
        400,
        "the request exceeds the available context size. try increasing the context size or "
        "enable context shift",
        code=400,
        type="exceed_context_size_error",
        n_prompt_tokens=seen.window + 1,
        n_ctx=seen.window,
    )


def _overflow_vllm(seen: Exchange) -> RawReply:
    text = (
        f"This model's maximum context length is {seen.window} tokens. However, you requested "
        f"{seen.window + 101} tokens in the messages, Please reduce the length of the messages."
    )
    body = {"object": "error", "message": text, "type": "BadRequestError", "code": 400}
    return _json(400, body)


def _overflow_wrapped(seen: Exchange) -> RawReply:
    """A gateway's 502 around a vendor's 400."""
    inner = _overflow_anthropic(seen)
    return _error(502, "Provider returned error", code=502, metadata={"raw": inner.text})


def _output_reservation(seen: Exchange) -> RawReply:
    room = max(1, seen.output_tokens_max // 2)
    return _error(
        400,
        f"input length and `max_tokens` exceed context limit: {seen.sent_tokens} + "
        f"{seen.output_tokens_max} > {seen.sent_tokens + room}, decrease input length or "
        "`max_tokens` and try again",
        type="invalid_request_error",
    )


def _rate_limit(seen: Exchange) -> RawReply:
    # The words of an overflow around it change nothing (F2.5).
    text = "Rate limit reached, too many tokens; the context length isn't the problem."
    return _error(429, text, type="tokens", code="rate_limit_exceeded")


def _rate_limit_told(seen: Exchange) -> RawReply:
    limited = _rate_limit(seen)
    return RawReply(429, {"retry-after": "20"}, limited.text, limited.payload, is_json=True)


def _quota(seen: Exchange) -> RawReply:
    return _error(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        type="insufficient_quota",
        code="insufficient_quota",
    )


def _server(seen: Exchange) -> RawReply:
    return _error(500, "The server had an error while processing your request.", type="server")


def _overloaded(seen: Exchange) -> RawReply:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    return _json(529, {"type": "error", "error": error})


def _timeout(seen: Exchange) -> RawReply:
    raise TransportError("timeout", "no answer in time")


def _reset(seen: Exchange) -> RawReply:
    raise TransportError("broken", "the connection was reset in mid-body")


def _unreachable(seen: Exchange) -> RawReply:
    raise TransportError("connect", "connection refused", was_sent=False)


def _truncated(seen: Exchange) -> RawReply:
    text = seen.answer().text
    return _answered(seen, text[: len(text) // 2], "length")


def _empty(seen: Exchange) -> RawReply:
    return _answered(seen, "", "stop")


def _nonsense(seen: Exchange) -> RawReply:
    return _answered(seen, "\x00\ufffd ``` }{", "stop")


def _malformed(seen: Exchange) -> RawReply:
    return RawReply(200, {"content-type": "text/html"}, "<html>It works!</html>")


def _other_shape(seen: Exchange) -> RawReply:
    return _json(200, {"greeting": "hello"})


def _silent_truncation(seen: Exchange) -> RawReply:
    made = seen.answer()
    return _answered(seen, made.text, made.finish_reason, seen.sent_tokens // 4)


def _filtered(seen: Exchange) -> RawReply:
    return _answered(seen, "", "content_filter")


FAULTS: Mapping[str, Fault] = {
    "overflow_openai": _overflow_openai,
    "overflow_anthropic": _overflow_anthropic,
    "overflow_gemini": _overflow_gemini,
    "overflow_llama": _overflow_llama,
    "overflow_vllm": _overflow_vllm,
    "overflow_wrapped": _overflow_wrapped,
    "output_reservation": _output_reservation,
    "rate_limit": _rate_limit,
    "rate_limit_told": _rate_limit_told,
    "quota": _quota,
    "server": _server,
    "overloaded": _overloaded,
    "timeout": _timeout,
    "reset": _reset,
    "unreachable": _unreachable,
    "truncated_summary": _truncated,
    "empty_summary": _empty,
    "nonsense": _nonsense,
    "malformed": _malformed,
    "other_shape": _other_shape,
    "silent_truncation": _silent_truncation,
    "content_filter": _filtered,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """Which requests on the line go wrong, counted from 1 over one replay, and how.

    The request `at` does, and with `is_lasting` every one after it. With `chance` (0 to 1) others
    do too, each by a draw from `seed` and its number, with a fault drawn from `faults`.
    """

    faults: tuple[str, ...]
    at: int = 0
    is_lasting: bool = False
    chance: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.faults if name not in FAULTS]
        if unknown or not self.faults:
            raise ValueError(f"faults {unknown}: there are {', '.join(FAULTS)}")

    def fault_of(self, request: int) -> str | None:
        """The fault of the request with this number; None when it is served."""
        drawn = sha256(f"{self.seed}/{request}".encode()).digest()
        name = self.faults[drawn[0] % len(self.faults)]
        if request == self.at or (self.is_lasting and 0 < self.at < request):
            return name
        is_drawn = int.from_bytes(drawn[1:7], "big") / 2**48 < self.chance
        return name if is_drawn else None


@dataclass(slots=True)
class FaultyModel:
    """A stand-in that answers through a line that fails by plan; `calls` tells what became of each.

    `window` is what overflows speak of, in tokens. Waits are added to `waited_seconds`.
    """

    inner: Model
    plan: FaultPlan
    window: int = 8_192
    settings: ModelSettings = DEFAULT_SETTINGS
    calls: list[CallObservation] = field(default_factory=list)
    waited_seconds: float = 0.0
    requests: int = 0
    watch: TruncationWatch = field(default_factory=TruncationWatch)
    failed_in_a_row: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def name(self) -> str:
        """The spec of the model behind: a fault is no other model."""
        return self.inner.name

    @property
    def is_stand_in(self) -> bool:
        """What the model behind is."""
        return self.inner.is_stand_in

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """The answer of the model behind. Raises ProviderError and RunHalted as real models do."""

        def over_the_line(wanted: Wanted[Any], body: dict[str, Any], _: ModelSettings) -> RawReply:
            self.requests += 1
            limit = int(body[_LIMIT])
            fault = self.plan.fault_of(self.requests)
            seen = Exchange(
                wanted.estimate_tokens,
                self.window,
                limit,
                lambda: self.inner.complete(messages, output_tokens_max=limit, seed=seed),
            )
            return _fine(seen) if fault is None else FAULTS[fault](seen)

        line = Line(over_the_line, self._sleep, self.failed_in_a_row)
        sender = Sender(self.name, self.settings, FreePurse(), self.watch, line)
        wanted = Wanted(
            url=_URL,
            headers={},
            build=lambda limit: {_LIMIT: limit},
            read=read_chat,
            estimate_tokens=_tokens_of(messages),
            output_tokens_max=output_tokens_max,
        )
        tries, outcome, result = Tries(), "halted", None
        waited = self.waited_seconds
        try:
            result = sender.send(wanted, f"call {len(self.calls)}", tries)
            outcome = "ok"
        except ProviderError as error:
            outcome = error.kind
            raise
        except RunHalted:
            outcome = tries.refusals[-1]
            raise
        finally:
            seconds = self.waited_seconds - waited
            self.calls.append(_observed(self.name, outcome, tries, result, seconds))
        used = result.usage
        usage = Usage(used.input_tokens or 0, used.output_tokens or 0, used.cached_tokens)
        return Completion(result.text, result.finish_reason, usage)

    def _sleep(self, seconds: float) -> None:
        self.waited_seconds += seconds


def _tokens_of(messages: Sequence[Message]) -> int:
    return sum(
        _TOKENS_PER_MESSAGE
        + count(message.text)
        + sum(_TOKENS_PER_CALL + count(c.name) + count(c.arguments) for c in message.calls)
        for message in messages
    )


def _observed(
    model: str, outcome: str, tries: Tries, result: DetailedResult | None, seconds: float
) -> CallObservation:
    usage = CallUsage() if result is None else result.usage
    return CallObservation(
        purpose="summary",
        model=model,
        host=HOST,
        key="",
        outcome=outcome,
        is_recorded=False,
        attempts=len(tries.refusals) + (result is not None),
        refusals=tuple(tries.refusals),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        seconds=seconds,
        finish_reason="" if result is None else result.finish_reason,
    )

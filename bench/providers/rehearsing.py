"""Edges: what a real model would be asked, with no request sent: for estimates of money.

Recorded answers are used as in a run, so what is in the cassettes costs nothing here either. What
isn't is answered by the offline stand-in, and the call is kept as one that would have been made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bench.events import Message, ToolDefinition
from bench.models.model import Completion
from bench.models.offline import OfflineModel
from bench.observations import CallObservation
from bench.providers.native_wire import NativeReply, form_of
from bench.providers.purse import open_purse
from bench.providers.remote import Answer, RemoteModel
from bench.providers.results import CallUsage, DetailedResult
from bench.providers.sending import Wanted, input_tokens_max
from bench.tokens import count
from bench.wire.formats import Request

REHEARSED = "rehearsed"
# What a compaction by the provider is taken to leave, and what an answer to a request that only
# the provider can read is: nobody knows either before it is there.
_STATE_TOKENS = 2_000
_ANSWER_TOKENS = 20


class RehearsedModel(RemoteModel):
    """A `RemoteModel` in whose place the stand-in answers where no answer is recorded."""

    _stand_in: Callable[[], Completion] | None = None
    _form: str | None = None

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """The recorded answer or the stand-in's."""
        self._stand_in = lambda: OfflineModel().complete(
            messages, output_tokens_max=output_tokens_max, seed=seed
        )
        return super().complete(messages, output_tokens_max=output_tokens_max, seed=seed)

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        """The recorded answer or the stand-in's."""
        self._stand_in = lambda: OfflineModel().respond(
            messages,
            tools=tools,
            output_tokens_max=output_tokens_max,
            seed=seed,
            calls_wanted=calls_wanted,
        )
        return super().respond(
            messages,
            tools=tools,
            output_tokens_max=output_tokens_max,
            seed=seed,
            calls_wanted=calls_wanted,
        )

    def native_compact(
        self, request: Request, *, form: str = "", output_tokens_max: int | None = None
    ) -> NativeReply:
        """The recorded state, or one that says nothing."""
        self._form = form_of(self._vendor.name, form)
        return super().native_compact(request, form=form, output_tokens_max=output_tokens_max)

    def _send(self, wanted: Wanted[Answer], seen: CallObservation) -> Answer:
        """Sends nothing: counts what would be sent."""
        answer = self._made_up(wanted)
        purse = self._purse = self._purse or open_purse(self._settings)
        input_max = input_tokens_max(wanted.estimate_tokens)
        reservation = purse.reserve(self.name, input_max, wanted.output_tokens_max)
        seen = replace(
            seen,
            outcome=REHEARSED,
            is_recorded=False,
            usd=reservation.settle(answer.usage),
            usd_worst=reservation.usd_worst,
            tokens_worst=input_max + wanted.output_tokens_max,
        )
        # attempts stay 0: nothing was sent.
        self._observe(seen, answer, (), is_ok=False)
        return answer  # type: ignore[return-value]

    def _made_up(self, wanted: Wanted[Answer]) -> DetailedResult | NativeReply:
        sent = wanted.estimate_tokens
        stand_in, self._stand_in = self._stand_in, None
        form, self._form = self._form, None
        if form is not None:
            usage = CallUsage(input_tokens=sent, output_tokens=_STATE_TOKENS)
            text = "a state that was never made"
            item = (
                {"type": "compaction", "content": text}
                if form.startswith("anthropic")
                else {"type": "compaction", "encrypted_content": text}
            )
            return NativeReply({"form": form, "items": [item]}, usage, "")
        if stand_in is None:
            output = min(_ANSWER_TOKENS, wanted.output_tokens_max)
            usage = CallUsage(input_tokens=sent, output_tokens=output)
            return DetailedResult(text="", finish_reason="stop", usage=usage)
        made = stand_in()
        usage = CallUsage(input_tokens=sent, output_tokens=count(made.text))
        return DetailedResult(
            text=made.text, finish_reason=made.finish_reason, usage=usage, calls=made.calls
        )

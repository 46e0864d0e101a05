"""Edge: the real arbiter: agent requests are posted as they are, and the server refuses them.

Only the verdict and the count of input tokens are wanted, so the answer is limited to the smallest
number of tokens that the API takes. Sizes that no server counted (what a compaction would have
saved, a request before it is sent) are estimates with o200k_base, as the simulated provider's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from bench.events import Message, ToolDefinition
from bench.models import Model
from bench.projection import Projection
from bench.provider import Compacted, ProviderError
from bench.providers.remote import AGENT, RemoteModel
from bench.providers.simulated import SimulatedProvider
from bench.providers.vendor_native import request_of
from bench.strategy import Reply, Usage
from bench.tokens import count

# How OpenAI words that a reasoning model spent its whole limit on thoughts.
_TOO_SHORT_TO_THINK = "could not finish the message"


def is_remote_model(model: Model) -> TypeGuard[RemoteModel]:
    """Whether there is a server behind this model."""
    return isinstance(model, RemoteModel)


class LiveProvider(SimulatedProvider):
    """Asks the provider of `model` whether an agent request is accepted.

    `window` is what strategies are told; the server knows its own and alone enforces it. The
    requests of all draws are the same, so `seed` concerns the strategy's questions only.
    """

    def __init__(
        self,
        model: RemoteModel,
        window: int,
        *,
        tools: Sequence[ToolDefinition] = (),
        seed: int = 0,
    ) -> None:
        super().__init__(model, window, tools=tools, seed=seed, ignore_window=True)
        self._agent = model
        self._counted: tuple[Projection, int] | None = None

    def measure(self, projection: Projection) -> int:
        """The tokens that the server last counted, if it was this request; else an estimate."""
        if self._counted is not None and self._counted[0].shows_the_same_as(projection):
            return self._counted[1]
        return super().measure(projection)

    def send(self, projection: Projection) -> Usage:
        """Posts the request. Raises ProviderError with the server's own verdict, and RunHalted."""
        self._native.check(projection)
        estimate = super().measure(projection)
        request = request_of(self._agent, projection, self._tools)
        try:
            # As the agent itself would ask: tools that may not be called might not be counted.
            result = self._agent.answer(
                request,
                output_tokens_max=1,
                estimate_tokens=estimate,
                calls_wanted=True,
                purpose=AGENT,
            )
        except ProviderError as error:
            if error.sent_tokens is not None:
                self._counted = (projection, error.sent_tokens)
            if error.kind == "output_limit" and _TOO_SHORT_TO_THINK in error.text.lower():
                # The input was taken; the model just couldn't say anything in so few tokens.
                self._counted = (projection, estimate)
                return Usage(estimate)
            raise
        tokens = result.window_tokens or result.usage.input_tokens or estimate
        self._counted = (projection, tokens)
        return Usage(tokens, result.usage.output_tokens or 0, result.usage.cached_tokens)

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        """A strategy's question, refused by the server alone."""
        completion = self._agent.complete(
            messages, output_tokens_max=output_tokens_max, seed=self.seed
        )
        usage = completion.usage or Usage(
            sum(count(message.text) for message in messages), count(completion.text), None
        )
        return Reply(completion.text, completion.finish_reason, usage)

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        """Compaction by the provider; the server alone says whether the request fits."""
        return self._native.compact(projection, form, super().measure(projection))

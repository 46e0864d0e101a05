"""Judgement: the one effect of a strategy, metered."""

from __future__ import annotations

from collections.abc import Sequence

from bench.events import Message
from bench.projection import Native, Projection
from bench.provider import Provider
from bench.strategy import Reply, Usage


class MeteredAsk:
    """The `Ask` that a strategy is handed: it passes questions on and adds up what they cost."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.asked = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.cached_tokens = 0

    def __call__(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        """One question; its tokens count towards the run whatever becomes of the answer (Z12)."""
        self.asked += 1
        reply = self._provider.complete(messages, output_tokens_max=output_tokens_max)
        self._add(reply.usage)
        return reply

    def charge(self, usage: Usage) -> None:
        """Counts what a strategy's own client spent, as it reports it."""
        self.asked += 1
        self._add(usage)

    def native(self, view: Projection, *, form: str = "auto") -> Native:
        """Compaction by the provider itself; what it was billed at counts like a question's."""
        self.asked += 1
        made = self._provider.native(view, form=form)
        self._add(made.usage)
        return made.native

    def _add(self, usage: Usage) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cached_tokens += usage.cached_tokens or 0

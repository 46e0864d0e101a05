"""Edges: what all stand-ins have in common: how they answer a question."""

from __future__ import annotations

from collections.abc import Sequence

from bench.events import Message, ToolDefinition
from bench.models.model import Completion


class StandIn:
    """Answers questions by looking them up; how a summary is written is each stand-in's own."""

    __slots__ = ()

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        """A question answered by looking it up, as all stand-ins do; see `bench.readers`."""
        from bench.readers.responding import respond

        del output_tokens_max
        return respond(messages, tools=tools, seed=seed, calls_wanted=calls_wanted)

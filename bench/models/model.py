"""Edges: what a model is to this project: a pure function from one request to one completion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.events import Message, ToolCall, ToolDefinition
from bench.strategy import Usage


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered; `finish_reason` is "stop", or "length" when the cap cut it off.

    `usage` is what the provider counted; None, as for stand-ins, means that nobody did. `calls` are
    the tool calls that the model wants made, in order.
    """

    text: str
    finish_reason: str = "stop"
    usage: Usage | None = None
    calls: tuple[ToolCall, ...] = ()


class Model(Protocol):
    """Serves the summariser and the readers, never the arbiter.

    `name` is the canonical spec, which `make_model` reads back. `is_stand_in` is true for models
    that only imitate one, so that every number made with them can be labelled. A real model may
    keep state, so each cell makes its own; its attribute `calls` lists the CallObservations.
    """

    @property
    def name(self) -> str:
        """The canonical spec: "offline", "lossy(0.9)"."""
        ...

    @property
    def is_stand_in(self) -> bool:
        """True when no language model answers."""
        ...

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """The answer to these messages, at most `output_tokens_max` tokens of o200k_base.

        A stand-in sees nothing but the arguments: the same request and seed give the same bytes.
        A real model raises `bench.provider.ProviderError`, and `bench.errors.RunHalted` when no
        further request of the run could succeed.
        """
        ...


class RespondingModel(Model, Protocol):
    """A model that can also stand where the agent's own model stands: readers need one."""

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        """The next message after these, which may hold calls and their results.

        `tools` are offered with the request, but are called only with `calls_wanted`. Raises as
        `complete` does; a request that is too long is a ProviderError("input_overflow").
        """
        ...

"""Edges: what a model is to this project: a pure function from one request to one completion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.events import Message


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered; `finish_reason` is "stop", or "length" when the cap cut it off."""

    text: str
    finish_reason: str = "stop"


class Model(Protocol):
    """Serves the summariser and the readers, never the arbiter.

    `name` is the canonical spec, which `make_model` reads back. `is_stand_in` is true for models
    that only imitate one, so that every number made with them can be labelled.
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

        Nothing but the arguments is seen: the same request and seed give the same bytes.
        """
        ...

"""Edge: what foreign code is asked and what it answers, whichever way it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from bench.foreign.asking import MessageAsk
from bench.foreign.shown import Payload
from bench.projection import Json
from bench.strategy import Budget, Declined, Usage

NO_ANSWER = "no usable answer"


@dataclass(frozen=True, slots=True)
class ForeignRequest:
    """One call: messages and tools on the wire of the code that is called.

    `system` is the top-level system text of the Messages API. `request_at` is the index of the
    current user request in `messages`: others may speak in a user's name, and a request that was
    answered isn't current (None). `window` is in tokens, `reason` one
    of "budget" (over the threshold), "provider" (the request was refused as too long), "manual"
    and "request" (called before every request). `state` is what the last answer left.
    """

    messages: list[Payload]
    tools: list[Payload]
    system: str | None
    request_at: int | None
    window: int
    reason: str
    state: Json
    seed: int
    budget: Budget


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """What came back. `messages` None means that there was nothing to do.

    `system` None leaves the system text as it is. `has_state` False leaves the state as it was.
    """

    messages: Any = None
    system: str | None = None
    state: Json = None
    has_state: bool = False
    usage: Usage | None = None


@runtime_checkable
class ForeignCode(Protocol):
    """Code that answers requests. Frozen; what lives during a replay is made by `opened`."""

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call. Raises Declined (`failure`) when there is no answer."""
        ...


def failure(reason: str) -> Declined:
    """Foreign code that gave no usable answer: the compaction failed, and says why."""
    return Declined(f"{NO_ANSWER}: {reason}", kind="failed")

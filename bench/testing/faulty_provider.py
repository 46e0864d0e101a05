"""Assembly: a provider that fails where it is told to, for the promise that faults do no harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.events import Message
from bench.projection import Projection
from bench.provider import Compacted, ErrorKind, ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.strategy import Reply, Usage

_KINDS: dict[str, ErrorKind] = {
    "overflow": "input_overflow",
    "rate": "rate_limit",
    "timeout": "timeout",
}


@dataclass
class FaultyProvider:
    """A provider whose n-th answer to the strategy goes wrong; agent requests are untouched.

    `fault` is an error kind, or "empty", "cut" (finish reason length) or "garbage".
    """

    inner: SimulatedProvider
    fault_at: int
    fault: str
    asked: int = field(default=0)

    @property
    def route(self) -> str:
        """The route of the provider behind."""
        return self.inner.route

    @property
    def model(self) -> str:
        """The model of the provider behind."""
        return self.inner.model

    @property
    def window(self) -> int:
        """The window of the provider behind."""
        return self.inner.window

    def measure(self, projection: Projection) -> int:
        """The true size."""
        return self.inner.measure(projection)

    def send(self, projection: Projection) -> Usage:
        """An agent request, untouched."""
        return self.inner.send(projection)

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        """A strategy's question; the n-th and, from then on, every third goes wrong."""
        self.asked += 1
        if self.asked < self.fault_at or (self.asked - self.fault_at) % 3:
            return self.inner.complete(messages, output_tokens_max=output_tokens_max)
        match self.fault:
            case "empty":
                return Reply("", "stop", Usage(10, 0))
            case "cut":
                return Reply("## Goal\nSail to", "length", Usage(10, 4))
            case "garbage":
                return Reply("\x00\ufffd ``` }{", "stop", Usage(10, 4))
            case _:
                raise ProviderError(_KINDS.get(self.fault, "server"), "injected fault", status=500)

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        """Compaction by the provider behind; it goes wrong as questions do."""
        self.asked += 1
        if self.asked >= self.fault_at and (self.asked - self.fault_at) % 3 == 0:
            raise ProviderError(_KINDS.get(self.fault, "server"), "injected fault", status=500)
        return self.inner.native(projection, form=form)


FAULTS = ("server", "overflow", "rate", "timeout", "empty", "cut", "garbage")

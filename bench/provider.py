"""Words: the arbiter. A provider accepts a request or refuses it, and alone knows its true size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

from bench.events import Event, Message
from bench.projection import Native, Projection
from bench.strategy import Reply, Usage

ErrorKind = Literal[
    "input_overflow",
    "output_reservation",
    "output_limit",
    "rate_limit",
    "quota",
    "payload_too_large",
    "item_count",
    "media",
    "invalid_request",
    "content_filter",
    "auth",
    "timeout",
    "server",
    "unknown",
]
ERROR_KINDS: tuple[str, ...] = get_args(ErrorKind)


class ProviderError(Exception):
    """A refusal. Only `input_overflow` triggers compaction (F2.5).

    `body` is the vendor-shaped JSON text, `status` the HTTP status; `sent_tokens` and
    `limit_tokens` are figures that the provider gave, None when it gave none.
    """

    def __init__(
        self,
        kind: ErrorKind,
        text: str,
        *,
        status: int = 400,
        body: str = "",
        sent_tokens: int | None = None,
        limit_tokens: int | None = None,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.status = status
        self.body = body
        self.sent_tokens = sent_tokens
        self.limit_tokens = limit_tokens


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a provider's own compaction made, and what it was billed at."""

    native: Native
    usage: Usage


class Provider(Protocol):
    """Where requests go: agent requests by `send`, a strategy's own questions by `complete`."""

    @property
    def route(self) -> str:
        """Provider, endpoint and model in one string."""
        ...

    @property
    def model(self) -> str:
        """The model that serves the summariser."""
        ...

    @property
    def window(self) -> int:
        """The context window in tokens."""
        ...

    def measure(self, projection: Projection) -> int:
        """The true input tokens of an agent request with this projection."""
        ...

    def send(self, projection: Projection) -> Usage:
        """An agent request. Raises ProviderError when it is refused."""
        ...

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        """A question of the strategy's. Raises ProviderError when it is refused."""
        ...

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        """Compaction of all that `projection` shows, by the provider itself.

        `form` names one of several ways that it has. Raises ProviderError where there is none.
        """
        ...


@runtime_checkable
class ExpectingProvider(Protocol):
    """A provider that counts all texts itself, and is told which come next.

    So it can get ready for many at once.
    """

    def expect(self, events: Sequence[Event]) -> None:
        """These events will be told next, in this order, unless the replay ends before."""
        ...


class ReadableProvider(Provider, Protocol):
    """A provider that answers questions about what a projection shows: the way of the readers.

    Whoever can read opaque state, its maker, reads it here; everybody else refuses.
    """

    def question(
        self,
        projection: Projection,
        messages: Sequence[Message],
        *,
        output_tokens_max: int,
        calls_wanted: bool = False,
        seed: int | None = None,
    ) -> Reply:
        """The answer to the agent request of this projection with `messages` behind it.

        Nothing of it enters the history. Tools are offered as in an agent request, but are called
        only with `calls_wanted`; the reply then holds the calls. `seed` replaces the provider's
        own. Raises ProviderError: `input_overflow` when question and projection don't fit,
        `invalid_request` when the projection holds state that this provider can't read.
        """
        ...

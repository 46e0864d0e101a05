"""Parts for the tests of native compaction: a model that tells what it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.events import Message, ToolDefinition
from bench.models import Completion, OfflineModel
from bench.projection import Native, Projection
from bench.providers.simulated import SimulatedProvider


@dataclass
class TellingModel:
    """Summarises like the offline model; asked a question, it repeats all that it was shown."""

    name: str = "offline"
    is_stand_in: bool = True
    shown: list[tuple[Message, ...]] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        self.shown.append(tuple(messages))
        return OfflineModel().complete(messages, output_tokens_max=output_tokens_max, seed=seed)

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        return Completion("\n".join(message.text for message in messages))


def told(provider: SimulatedProvider, projection: Projection) -> str:
    """Everything that the provider's model reads for this projection."""
    question = [Message("user", "Repeat it.")]
    return provider.question(projection, question, output_tokens_max=10_000).text


def natives(projection: Projection) -> list[Native]:
    """The opaque states of a projection."""
    return [item for item in projection.head if isinstance(item, Native)]

"""Small parts for the tests of layered segments: views, budgets, a scripted summariser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.events import Message
from bench.history import History
from bench.projection import Native, Projection
from bench.provider import ProviderError
from bench.strategy import Budget, Reply, Usage
from strategies.layered.planner import Span, span_of
from tests.builders import session


def view_of(*lines: str) -> Projection:
    """Everything that these lines say, as a projection (see `tests.builders.session`)."""
    return Projection.whole(History(session(*lines).events))


def span(*lines: str) -> Span:
    """What the planner plans in, for these lines."""
    return span_of(view_of(*lines))


def summary(word: str = "done") -> str:
    """A text of the right form."""
    return (
        f"## Goal\nship {word}\n## Progress\n{word}\n## Key Decisions\nkeep {word}\n"
        f"## Next Steps\nmore {word}\n## Critical Context\nsrc/{word}.py"
    )


def budget(
    stage: str = "compact", *, accepted_seq: int | None = None, window: int = 16_000
) -> Budget:
    """A budget for one call of the strategy."""
    return Budget(
        window=window,
        threshold_tokens=window * 3 // 4,
        size_tokens=window,
        trigger="budget",
        stage=stage,
        session="by-hand",
        accepted_seq=accepted_seq,
        now=5.0,
    )


NO_NATIVE = ProviderError("invalid_request", "no such endpoint")
OVERFLOW = ProviderError("input_overflow", "prompt is too long: 9 tokens > 8 maximum")


@dataclass
class Scribe:
    """A summariser that answers with these replies in turn, the last one again and again.

    A reply is a text, a text with a finish reason, or an error to raise.
    """

    replies: Sequence[str | tuple[str, str] | ProviderError] = (summary(),)
    native_answer: Native | ProviderError = NO_NATIVE
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    caps: list[int] = field(default_factory=list)
    native_views: list[Projection] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(tuple(messages))
        self.caps.append(output_tokens_max)
        if isinstance(reply, ProviderError):
            raise reply
        text, finish = (reply, "stop") if isinstance(reply, str) else reply
        return Reply(text, finish, Usage(100, 10))

    def native(self, view: Projection, *, form: str = "auto") -> Native:
        self.native_views.append(view)
        if isinstance(self.native_answer, ProviderError):
            raise self.native_answer
        return self.native_answer


def turns(count: int, *, words: int = 200) -> list[str]:
    """That many answered turns of one tool step each, then an open request."""
    lines = []
    for turn in range(count):
        lines += [
            f"user: request {turn}",
            f"call c{turn}",
            f"result c{turn}: " + f"output{turn} " * words,
            f"assistant: answer {turn}",
        ]
    return [*lines, "user: now"]


def steps(count: int, *, first: int = 0, words: int = 200) -> list[str]:
    """That many steps of one call each."""
    return [
        line
        for step in range(first, first + count)
        for line in (f"call s{step}", f"result s{step}: " + f"found{step} " * words)
    ]

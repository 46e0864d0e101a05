"""Small parts for the tests of conversations: a provider with a route, tellings, a look inside."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.conversation import Conversation
from bench.conversation_store import Connect
from bench.events import Event, Message
from bench.projection import Native, Projection
from bench.provider import Compacted, ProviderError
from bench.providers.simulated import overflow_error
from bench.strategy import Reply, Strategy, Usage
from strategies.layered import Layered
from strategies.layered.stored import check_stored
from tests.builders import message
from tests.faulty_sqlite import unsynced
from tests.layered_parts import summary

SESSION = "harbour"
WINDOW = 900


def tokens_of(messages: Sequence[Message]) -> int:
    """A cheap count that needs no tokenizer."""
    return sum(4 + len(each.text) // 4 for each in messages)


@dataclass
class RoutedProvider:
    """A provider with a route of its own; it counts characters and refuses above its window.

    `replies` answer the summariser in turn, the last one again and again; an error is raised.
    `native_tokens` None: it offers no compaction of its own.
    """

    route: str = "one/small"
    window: int = WINDOW
    replies: Sequence[str | ProviderError] = (summary(),)
    native_tokens: int | None = None
    model: str = "scribe"
    asked: int = 0
    sent: list[Projection] = field(default_factory=list)

    def measure(self, projection: Projection) -> int:
        natives = sum(item.tokens for item in projection.items if isinstance(item, Native))
        return natives + tokens_of(projection.messages)

    def send(self, projection: Projection) -> Usage:
        for item in projection.items:
            assert not isinstance(item, Native) or item.route == self.route, "F7.3"
        tokens = self.measure(projection)
        if tokens > self.window:
            raise overflow_error(tokens, self.window)
        self.sent.append(projection)
        return Usage(tokens, 7)

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        reply = self.replies[min(self.asked, len(self.replies) - 1)]
        self.asked += 1
        if isinstance(reply, ProviderError):
            raise reply
        return Reply(reply, "stop", Usage(tokens_of(messages), 50))

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        if self.native_tokens is None:
            raise ProviderError("invalid_request", "no such endpoint", status=404)
        state = f'{{"events":{projection.stop}}}'
        native = Native(self.route, state, 1, projection.stop, self.native_tokens)
        return Compacted(native, Usage(self.measure(projection), self.native_tokens))


def opened(
    path: Path | str,
    provider: RoutedProvider | None = None,
    *,
    strategy: Strategy | None = None,
    session: str = SESSION,
    connect: Connect = unsynced,
) -> Conversation:
    """The conversation of these tests, with segments of a few words."""
    return Conversation.open(
        path,
        session,
        strategy or Layered(summary_tokens_max=100, result_tokens_max=120),
        provider or RoutedProvider(),
        check_stored,
        connect=connect,
    )


def tell(conversation: Conversation, *lines: str) -> None:
    """Events from short lines, see `tests.builders.message`."""
    for line in lines:
        conversation.append(Event(len(conversation.events) + 1, message(line)))


def steps(first: int, last: int, *, words: int = 25) -> list[str]:
    """Steps of one call each."""
    return [
        line
        for step in range(first, last)
        for line in (f"call s{step}", f"result s{step}: " + f"found{step} " * words)
    ]


OPENING = ("system: Be terse.", "user: find the leak")


def compacted(path: Path | str, provider: RoutedProvider | None = None) -> Conversation:
    """A conversation that has compacted in the middle of a turn."""
    conversation = opened(path, provider)
    tell(conversation, *OPENING, *steps(0, 12))
    assert conversation.request().refusal is None
    assert conversation.checkpoint_id
    return conversation


def shown(projection: Projection) -> tuple[Any, ...]:
    """What makes two projections of equal histories equal."""
    return projection.events, projection.head, projection.tail_start, projection.memory


def rows(path: Path, table: str = "log") -> list[tuple[Any, ...]]:
    """All rows of a table, read past the store."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()


def damage(path: Path, statement: str, *values: Any) -> None:
    """Change the file past the store."""
    with closing(unsynced(path)) as connection:
        assert connection.execute(statement, values).rowcount > 0

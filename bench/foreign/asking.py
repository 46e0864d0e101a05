"""Edge: the session's model as foreign Python code asks it, with the messages that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from bench.events import Message
from bench.foreign.wires import openai_messages
from bench.projection import Native, Projection
from bench.strategy import Ask, Reply

Question: TypeAlias = str | Sequence[Message | Mapping[str, Any]]

OUTPUT_TOKENS_MAX = 4_096


class MessageAsk:
    """An `Ask` that also takes a text, or messages as Chat Completions has them.

    What it is asked goes to the `Ask` behind it, which counts it.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.asked = 0

    def __call__(self, messages: Question, *, output_tokens_max: int = OUTPUT_TOKENS_MAX) -> Reply:
        """One question. Raises ProviderError, and WrongShape for what are no messages."""
        self.asked += 1
        return self._ask(neutral(messages), output_tokens_max=output_tokens_max)

    def native(self, view: Projection, *, form: str = "auto") -> Native:
        """Compaction by the provider itself."""
        self.asked += 1
        return self._ask.native(view, form=form)


def neutral(question: Question) -> list[Message]:
    """The messages of a question. Raises WrongShape."""
    if isinstance(question, str):
        return [Message("user", question)]
    return [
        one if isinstance(one, Message) else openai_messages([one])[0]  # each may be of either kind
        for one in question
    ]

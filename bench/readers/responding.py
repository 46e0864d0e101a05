"""Edges: what a stand-in says where the agent's own model would stand.

Which kind of request it is, is told by its form alone: the first line of its last message (a
closed question, an open one, a case for the judge), or that a call is wanted. Anything else gets no
answer. Deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.events import Message, ToolDefinition
from bench.models.model import Completion
from bench.probing_form import letter_of, read_written
from bench.readers.lexical import read_answer


def respond(
    messages: Sequence[Message],
    *,
    tools: Sequence[ToolDefinition],
    seed: int,
    calls_wanted: bool,
) -> Completion:
    """The stand-in's answer; `seed` decides between next calls that are equally likely."""
    asked = messages[-1].text if messages else ""
    question = read_written(asked)
    if question is not None:
        return Completion(letter_of(read_answer(messages[:-1], question)))
    del tools, seed, calls_wanted
    return Completion("")

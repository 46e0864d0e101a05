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
from bench.probing_judge import read_case, read_open_question
from bench.readers.acting import likely_call
from bench.readers.lexical import quote_answer, read_answer, states


def respond(
    messages: Sequence[Message],
    *,
    tools: Sequence[ToolDefinition],
    seed: int,
    calls_wanted: bool,
) -> Completion:
    """The stand-in's answer; `seed` decides between next calls that are equally likely."""
    if calls_wanted:
        call = likely_call(messages, tools, seed)
        return Completion("") if call is None else Completion("", "tool_calls", calls=(call,))
    asked = messages[-1].text if messages else ""
    if (question := read_written(asked)) is not None:
        return Completion(letter_of(read_answer(messages[:-1], question)))
    if (wanted := read_open_question(asked)) is not None:
        return Completion(quote_answer(messages[:-1], wanted))
    if (case := read_case(asked)) is not None:
        return Completion("yes" if states(case.answer, case.decided) else "no")
    return Completion("")

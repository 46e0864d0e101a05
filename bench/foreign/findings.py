"""Edge: why an API would refuse what foreign code answered, as it stands.

Rendering puts some things right that a provider refuses (a call without result, a conversation that
opens with the assistant), so the answer itself is looked at. Sentences begin with the promise that
is broken: H1 for calls and results, H5 for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.events import Message
from bench.foreign.shown import Shown


def answer_problems(shown: Shown, answer: Sequence[Message]) -> list[str]:
    """A sentence for everything in the answer that the API of its wire would refuse."""
    problems = [*_pairs(answer), *_contents(shown, answer)]
    others = [message for message in answer if message.role != "system"]
    shown_others = [one.message for one in shown.messages if one.message.role != "system"]
    if not others:
        if not shown_others:
            return problems
        problems.append("H5: its answer holds no message but system ones")
    elif shown.wire == "anthropic" and others[0].role == "assistant":
        problems.append("H5: its answer opens with an assistant message")
    elif _is_closed(others) and not _is_closed(shown_others):
        problems.append("H5: its answer ends with an assistant message")
    return problems


def _is_closed(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[-1].role == "assistant" and not messages[-1].calls


def _pairs(answer: Sequence[Message]) -> Iterator[str]:
    """Every call is answered directly behind it, once, and every result has its call there."""
    waiting: set[str] = set()
    caller = 0
    used: set[str] = set()
    for index, message in enumerate(answer):
        if message.role == "tool":
            if message.call_id not in waiting:
                yield f"H1: message {index} is the result of a call that isn't directly before it"
            waiting.discard(message.call_id or "")
            continue
        if waiting:
            yield f"H1: {len(waiting)} calls of message {caller} have no result behind them"
        waiting = {call.id for call in message.calls}
        caller = index
        if len(waiting) < len(message.calls) or waiting & used:
            yield f"H5: message {index} uses a call id again"
        used |= waiting
    if waiting:
        yield f"H1: {len(waiting)} calls of message {caller} have no result behind them"


def _contents(shown: Shown, answer: Sequence[Message]) -> Iterator[str]:
    known = {one.message for one in shown.messages}
    for index, message in enumerate(answer):
        is_empty = not (message.text.strip() or message.calls or message.attachments)
        if message.role != "tool" and is_empty and message not in known:
            yield f"H5: message {index}, of role {message.role}, is empty"

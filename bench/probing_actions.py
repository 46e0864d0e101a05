"""Judgement: the agent's next tool call as a probe: at which requests, and how two compare.

What the model does next from the compacted request is set against what the same model does from the
full one, and that against itself: the nearest affordable proxy of success in a task, beside its own
noise (scoring.md, "Layers").
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.events import ToolCall
from bench.observations import AnswerObservation
from bench.session_index import SessionIndex

NEXT_ACTION = "next_action"
ACTIONS_MAX = 6
AGAIN = "again"


@dataclass(frozen=True, slots=True)
class ComparedAction:
    """The next call at one request: the same tool, and the same arguments too.

    Both are None where one of the two replies is missing, and `reason` says why.
    """

    at_seq: int
    wanted: str
    made: str
    same_name: bool | None
    same_call: bool | None
    reason: str = ""


def action_seqs(index: SessionIndex, actions_max: int = ACTIONS_MAX) -> tuple[int, ...]:
    """The recorded answers before which the next action is asked for: answers with calls, spread
    over the second half of the session, where most strategies have compacted.
    """
    events = index.session.events
    calling = [seq for seq in index.request_seqs if events[seq - 1].message.calls]
    late = [seq for seq in calling if seq > len(events) // 2]
    if len(late) <= actions_max:
        return tuple(late)
    step = len(late) / actions_max
    return tuple(late[int(step * (place + 0.5))] for place in range(actions_max))


def action_text(text: str, calls: Sequence[ToolCall]) -> str:
    """A reply as JSON text, calls in order; ids are left out, since no two replies share them."""
    return json.dumps(
        {
            "calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
            "text": text,
        },
        ensure_ascii=False,
    )


def compare_actions(
    answers: Sequence[AnswerObservation],
    full: Sequence[AnswerObservation],
    *,
    own_view: str,
) -> tuple[ComparedAction, ...]:
    """Every request that was asked with the full history, against `answers` of `own_view`.

    A request that the replay didn't serve disagrees.
    """
    own = {one.at_seq: one for one in answers if _is_of(one, own_view)}
    return tuple(_compared(one, own.get(one.at_seq)) for one in full if _is_of(one, "projection"))


def agreement(
    compared: Sequence[ComparedAction], *, names_only: bool = False
) -> tuple[int, int, int]:
    """Requests that agree, all of them, and those that couldn't be compared."""
    answers = [one.same_name if names_only else one.same_call for one in compared]
    return answers.count(True), len(answers), answers.count(None)


def _is_of(answer: AnswerObservation, view: str) -> bool:
    return answer.probe == NEXT_ACTION and answer.view == view


def _compared(full: AnswerObservation, own: AnswerObservation | None) -> ComparedAction:
    wanted, made = _calls(full.reply), _calls(own.reply if own is not None else None)
    if own is None:
        same: bool | None = None if wanted is None else False
        return ComparedAction(full.at_seq, _shown(wanted), "", same, same, "it wasn't served")
    if wanted is None or made is None:
        reason = full.reason or own.reason or "the reply can't be read"
        return ComparedAction(full.at_seq, _shown(wanted), _shown(made), None, None, reason)
    same_name = [name for name, _ in wanted] == [name for name, _ in made]
    return ComparedAction(full.at_seq, _shown(wanted), _shown(made), same_name, wanted == made)


def _calls(reply: str | None) -> list[tuple[str, str]] | None:
    """Names and canonical arguments; an empty list means that no call was made."""
    if reply is None:
        return None
    try:
        return [
            (str(one["name"]), _canonical(one["arguments"])) for one in json.loads(reply)["calls"]
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _canonical(arguments: Any) -> str:
    try:
        value = json.loads(arguments)
    except (ValueError, TypeError, RecursionError):
        return " ".join(str(arguments).split())
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _shown(calls: list[tuple[str, str]] | None) -> str:
    if calls is None:
        return ""
    return "; ".join(f"{name}({arguments})" for name, arguments in calls) or "no call"

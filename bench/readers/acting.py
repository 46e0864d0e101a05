"""Edge: the next tool call, asked of a model behind the requests of a replay; and a stand-in's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bench.events import Message, ToolCall, ToolDefinition
from bench.history import History
from bench.observations import AnswerObservation, Replay
from bench.probing_actions import NEXT_ACTION, action_text
from bench.provider import ProviderError, ReadableProvider
from bench.readers.asking import PROJECTION, reason_of, written_answer
from bench.readers.retrieval import content_terms, retrieve
from bench.visible_text import arguments_text, visible_text

ACTION_TOKENS_MAX = 2_048
_RECENT_MESSAGES = 3
_RECENT_CHARACTERS = 800
_CALLS_WEIGHED = 8
# Calls that fit about as well as the best one: which of them is made is left to the seed.
_AS_GOOD = 0.97


def ask_actions(
    provider: ReadableProvider,
    seen: Replay,
    history: History,
    seqs: Sequence[int],
    *,
    view: str = PROJECTION,
    seed: int | None = None,
) -> tuple[AnswerObservation, ...]:
    """What the model would do next at these requests; those that weren't served aren't asked."""
    requests = {request.at_seq: request for request in seen.requests if request.is_served}
    answers: list[AnswerObservation] = []
    for seq in seqs:
        request = requests.get(seq)
        if request is None:
            continue
        bare = AnswerObservation(NEXT_ACTION, f"event {seq}", view, request.index, seq, "")
        try:
            reply = provider.question(
                seen.projection(request.index, history),
                (),
                output_tokens_max=ACTION_TOKENS_MAX,
                calls_wanted=True,
                seed=seed,
            )
        except ProviderError as error:
            answers.append(replace(bare, reason=reason_of(error)))
        else:
            told = written_answer(bare, reply)
            answers.append(replace(told, reply=action_text(reply.text, reply.calls)))
    return tuple(answers)


def likely_call(
    messages: Sequence[Message], tools: Sequence[ToolDefinition], seed: int
) -> ToolCall | None:
    """The call that a stand-in makes next: the visible one that fits the newest messages best.

    No agent: it repeats what it can see, so it differs where a compaction hid or rewrote that. Two
    calls that fit alike are drawn by the seed. None where there is neither a call nor a tool.
    """
    calls = {_text_of(call): call for message in messages for call in message.calls}
    newest = " ".join(
        visible_text(message)[:_RECENT_CHARACTERS]
        for message in (*_newest_request(messages), *messages[-_RECENT_MESSAGES:])
    )
    found = retrieve(calls, content_terms(newest), _CALLS_WEIGHED)
    good = [one.text for one in found if one.score >= _AS_GOOD * found[0].score]
    likely = [call for text, call in calls.items() if any(part in text for part in good)]
    if likely:
        return min(likely, key=partial(_draw, seed))
    return ToolCall("", tools[0].name) if tools else None


def _newest_request(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role == "user"][-1:]


def _text_of(call: ToolCall) -> str:
    return " ".join(f"{call.name} {arguments_text(call.arguments)}".split())


def _draw(seed: int, call: ToolCall) -> str:
    text = f"{seed}\0{call.name}\0{call.arguments}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

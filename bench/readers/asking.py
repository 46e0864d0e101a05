"""Edge: closed questions put to a reader, behind the very requests that a replay sent.

One question a prompt, through the provider, so that state which only the provider can read is read.
What was replied is kept raw. A request that wasn't served is not asked; one that doesn't fit the
reader, or that nobody can read, is an answer without a reply and says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from bench.events import Message
from bench.history import History
from bench.observations import AnswerObservation, Replay
from bench.probing import ClosedQuestion
from bench.projection import ItemGroup, Projection, Written
from bench.provider import ProviderError, ReadableProvider
from bench.strategy import Reply

# Models that think before they answer need room for it; an answer itself is one letter.
ANSWER_TOKENS_MAX = 1_024
PROJECTION = "projection"
ORACLE = "oracle"
TOO_LARGE_REASON = "the request is too large for the reader"
_DISTRACTING_GROUPS = 6


def ask_questions(
    provider: ReadableProvider,
    seen: Replay,
    history: History,
    questions: Sequence[ClosedQuestion],
) -> tuple[AnswerObservation, ...]:
    """The answers to all questions whose request was served, from what it showed."""
    answers: list[AnswerObservation] = []
    requests = {request.at_seq: request for request in seen.requests if request.is_served}
    # Questions about one request follow each other, so that it is made once.
    for at_seq, members in groupby(sorted(questions, key=_place), key=_place):
        request = requests.get(at_seq)
        if request is not None:
            projection = seen.projection(request.index, history)
            answers += [_ask(provider, projection, q, request.index, PROJECTION) for q in members]
    return tuple(answers)


def _place(question: ClosedQuestion) -> int:
    return question.at_seq


def ask_oracle(
    provider: ReadableProvider,
    history: History,
    questions: Sequence[ClosedQuestion],
    failed: Sequence[AnswerObservation],
) -> tuple[AnswerObservation, ...]:
    """The same questions from their sources and a few other groups alone.

    Asked where the whole history was too large for the reader: what it could have answered.
    """
    too_large = {
        (answer.probe, answer.subject): answer.request
        for answer in failed
        if answer.reply is None and answer.reason.startswith(TOO_LARGE_REASON)
    }
    return tuple(
        _ask(provider, _oracle(history, question), question, request, ORACLE)
        for question in questions
        if (request := too_large.get((question.probe, question.subject))) is not None
    )


def _oracle(history: History, question: ClosedQuestion) -> Projection:
    """System prompt, the groups that say it, the newest request, and some groups to mislead."""
    whole = Projection.whole(history, question.at_seq - 1)
    wanted = set(question.source_seqs)
    sources = [group for group in whole.groups if wanted & _seqs(group)]
    others = [group for group in whole.groups if not wanted & _seqs(group)]
    others.sort(key=lambda group: _digest(f"{question.subject}\0{group.start}"))
    return whole.keep([*sources, *others[:_DISTRACTING_GROUPS], *whole.groups[-1:]])


def _seqs(group: ItemGroup) -> set[int]:
    return {item.seqs[0] for item in group.items if not isinstance(item, Written)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _ask(
    provider: ReadableProvider,
    projection: Projection,
    question: ClosedQuestion,
    request: int,
    view: str,
) -> AnswerObservation:
    bare = AnswerObservation(
        question.probe,
        question.subject,
        view,
        request,
        question.at_seq,
        question.text,
        question.options,
    )
    try:
        reply = provider.question(
            projection, [Message("user", question.prompt)], output_tokens_max=ANSWER_TOKENS_MAX
        )
    except ProviderError as error:
        return replace(bare, reason=reason_of(error))
    return written_answer(bare, reply)


def written_answer(asked: AnswerObservation, reply: Reply) -> AnswerObservation:
    """The observation of a question with the raw reply to it."""
    return replace(
        asked,
        reply=reply.text,
        finish_reason=reply.finish_reason,
        input_tokens=reply.usage.input_tokens,
        output_tokens=reply.usage.output_tokens,
    )


def reason_of(error: ProviderError) -> str:
    """Why a reader gave no reply, in one line."""
    text = " ".join(error.text.split())
    if error.kind == "input_overflow":
        return f"{TOO_LARGE_REASON}: {text}"
    return f"{error.kind}: {text}"

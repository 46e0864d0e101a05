"""Edge: decisions in free words, and the judge of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from bench.events import Message
from bench.facts import Fact
from bench.history import History
from bench.models.model import RespondingModel
from bench.observations import AnswerObservation, Replay
from bench.probing import ClosedQuestion
from bench.probing_judge import (
    JUDGED,
    JUDGED_KINDS,
    OPEN,
    Case,
    judge_prompt,
    open_question,
)
from bench.provider import ProviderError, ReadableProvider
from bench.readers.asking import ANSWER_TOKENS_MAX, PROJECTION, reason_of, written_answer

VERDICT_TOKENS_MAX = 1_024


def ask_decisions(
    provider: ReadableProvider,
    seen: Replay,
    history: History,
    questions: Sequence[ClosedQuestion],
    facts: Mapping[str, Fact],
) -> tuple[AnswerObservation, ...]:
    """The open questions about decisions, from what each request showed."""
    requests = {request.at_seq: request for request in seen.requests if request.is_served}
    asked = [
        one for one in questions if one.subject in facts and facts[one.subject].kind in JUDGED_KINDS
    ]
    asked.sort(key=lambda one: one.at_seq)
    answers: list[AnswerObservation] = []
    for at_seq, members in groupby(asked, key=lambda one: one.at_seq):
        request = requests.get(at_seq)
        if request is None:
            continue
        projection = seen.projection(request.index, history)
        for one in members:
            bare = AnswerObservation(OPEN, one.subject, PROJECTION, request.index, at_seq, one.text)
            message = Message("user", open_question(one.text))
            try:
                reply = provider.question(
                    projection, [message], output_tokens_max=ANSWER_TOKENS_MAX
                )
            except ProviderError as error:
                answers.append(replace(bare, reason=reason_of(error)))
            else:
                answers.append(written_answer(bare, reply))
    return tuple(answers)


def judge_answers(
    judge: RespondingModel,
    answers: Sequence[AnswerObservation],
    facts: Mapping[str, Fact],
    seed: int,
) -> tuple[AnswerObservation, ...]:
    """What the judge says of each open answer; it is shown nothing of where it came from."""
    verdicts: list[AnswerObservation] = []
    for answer in answers:
        if answer.probe != OPEN or answer.reply is None:
            continue
        case = Case(answer.question, facts[answer.subject].value, answer.reply)
        bare = replace(answer, probe=JUDGED, options=(case.decided, case.answer), reply=None)
        try:
            reply = judge_case(judge, case, seed)
        except ProviderError as error:
            verdicts.append(replace(bare, reason=reason_of(error)))
        else:
            verdicts.append(replace(bare, reply=reply))
    return tuple(verdicts)


def judge_case(judge: RespondingModel, case: Case, seed: int) -> str:
    """The judge's raw reply to one case. Raises ProviderError when it gives none."""
    completion = judge.respond(
        [Message("user", judge_prompt(case))],
        tools=(),
        output_tokens_max=VERDICT_TOKENS_MAX,
        seed=seed,
        calls_wanted=False,
    )
    return completion.text

"""Judgement: layer *recovered*, the answers of a reader graded, apart from what was present.

A value that was there and wasn't found again is an attention loss; one that wasn't there and was
answered all the same was inferred or guessed; where it was neither, it was destroyed (scoring.md,
"Layers"). Only raw replies are stored: grades are computed here, as often as one likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.facts import Fact, Use
from bench.observations import AnswerObservation
from bench.probing import FOUND, RECOVERED, UNANSWERABLE, wrong_forms
from bench.probing_form import ABSTENTION, chosen
from bench.scoring_facts import FactOutcome, needle_of
from bench.session_index import Needle

Grade = Literal["right", "stale", "contradicted", "wrong", "abstained", "unclear", "unserved"]
Quadrant = Literal["recovered", "attention_loss", "inferred", "destroyed"]
QUADRANTS: tuple[Quadrant, ...] = ("recovered", "attention_loss", "inferred", "destroyed")
GRADE_NAMES: dict[str, str] = {
    "right": "right",
    "stale": "an earlier value",
    "contradicted": "the opposite",
    "wrong": "wrong",
    "abstained": "said that the conversation doesn't say",
    "unclear": "chose none of the options",
    "unserved": "wasn't asked: the replay had stopped",
}
CLOSED_PROBES = (RECOVERED, FOUND, UNANSWERABLE)


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """One closed question with what became of it.

    `answer` is the option that the reply chose ("" for none), `right` the one that holds (that the
    conversation doesn't say, for an unanswerable question). `grade` is None where the reader
    couldn't be asked, and `reason` says why; `quadrant` is None there, for unanswerable questions,
    and where opaque state hides whether the value was present. `is_told` is False for facts that
    the full history misses.
    """

    probe: str
    subject: str
    kind: str
    at_seq: int
    question: str
    options: tuple[str, ...]
    right: str
    answer: str
    reply: str
    grade: Grade | None
    quadrant: Quadrant | None
    is_told: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """All graded answers of a cell."""

    answers: tuple[GradedAnswer, ...]

    def of(self, probe: str) -> tuple[GradedAnswer, ...]:
        """The answers to one kind of question."""
        return tuple(answer for answer in self.answers if answer.probe == probe)

    def counts(self, probe: str) -> tuple[int, int, int]:
        """Right answers, all questions, and those that couldn't be asked."""
        answers = self.of(probe)
        right = sum(answer.grade == "right" for answer in answers)
        return right, len(answers), sum(answer.grade is None for answer in answers)

    @property
    def measured_probe(self) -> str:
        """What the layer stands on: facts where there are any, else found uses."""
        return RECOVERED if self.of(RECOVERED) else FOUND

    @property
    def quadrants(self) -> dict[str, int]:
        """The two-by-two of present and recovered over facts, else found uses."""
        told = [answer for answer in self.of(self.measured_probe) if answer.is_told]
        return {name: sum(answer.quadrant == name for answer in told) for name in QUADRANTS}

    @property
    def guessed(self) -> tuple[int, int]:
        """Unanswerable questions that were answered with some value, and all that were asked."""
        asked = [one for one in self.of(UNANSWERABLE) if one.grade not in (None, "unserved")]
        return sum(one.grade == "wrong" for one in asked), len(asked)

    @property
    def reason(self) -> str:
        """Why a question couldn't be asked; empty when all could."""
        return next((one.reason for one in self.answers if one.grade is None), "")


def read(
    answers: Sequence[AnswerObservation],
    expected: Iterable[AnswerObservation],
    facts: Sequence[Fact],
    outcomes: Sequence[FactOutcome],
    uses: Sequence[Use],
    visible: Sequence[bool | None],
) -> Reading:
    """The grades of a cell's answers.

    `expected` are the answers of the ceiling: what it was asked counts here too, as missed where
    the request wasn't served. Answers to questions about unknown facts are left out.
    """
    known = {(one.probe, one.subject, one.at_seq): one for one in answers}
    grader = _Grader(facts, outcomes, uses, visible)
    graded: list[GradedAnswer] = []
    for asked in {(o.probe, o.subject, o.at_seq): o for o in (*answers, *expected)}.values():
        if asked.probe in CLOSED_PROBES:
            own = known.get((asked.probe, asked.subject, asked.at_seq))
            made = grader.grade(asked, own)
            graded += [] if made is None else [made]
    return Reading(tuple(graded))


def graded_of(detail: Mapping[str, Any]) -> dict[tuple[str, str, int], Mapping[str, Any]]:
    """The graded answers in the stored scores of a cell, by probe, subject and event.

    Empty where no reader was asked.
    """
    reading = detail.get("reading") or {}
    return {
        (one["probe"], one["subject"], one["at_seq"]): one for one in reading.get("answers", ())
    }


def answer_in_words(answer: Mapping[str, Any]) -> str:
    """A graded answer in one line: what was answered, and what that is worth."""
    grade = str(answer["grade"] or "")
    told = str(answer["answer"] or answer["reply"])
    if not told or grade in ("abstained", "unserved"):
        return GRADE_NAMES.get(grade, str(answer.get("reason") or ""))
    return f"{told} ({GRADE_NAMES[grade]})" if grade in GRADE_NAMES else told


class _Grader:
    """Facts and uses of a session with what one cell showed of them, by name."""

    def __init__(
        self,
        facts: Sequence[Fact],
        outcomes: Sequence[FactOutcome],
        uses: Sequence[Use],
        visible: Sequence[bool | None],
    ) -> None:
        self._facts: Mapping[str, tuple[Fact, FactOutcome]] = {
            fact.id: (fact, outcome) for fact, outcome in zip(facts, outcomes, strict=True)
        }
        self._uses = {
            (use.at_seq, use.key): (use, was_there)
            for use, was_there in zip(uses, visible, strict=True)
        }

    def grade(self, asked: AnswerObservation, own: AnswerObservation | None) -> GradedAnswer | None:
        right: set[Needle] = set()
        stale: set[Needle] = set()
        kind, right_text, is_present, is_told = "", ABSTENTION, None, True
        is_negation = False
        if asked.probe == RECOVERED:
            if asked.subject not in self._facts:
                return None
            fact, outcome = self._facts[asked.subject]
            right = {needle_of(value) for value in (fact.value, *fact.aliases) if value.strip()}
            stale = {needle_of(value) for value in wrong_forms(fact)}
            kind, right_text = fact.kind, fact.value
            is_present, is_told = outcome.is_present, outcome.is_told
            is_negation = fact.kind == "negation"
        elif asked.probe == FOUND:
            found = self._uses.get((asked.at_seq, asked.subject))
            if found is None:
                return None
            use, is_present = found
            right, kind, right_text = {Needle(use.kind, use.key)}, use.kind, use.text
        grade, answer = _grade(own, right, stale, is_negation=is_negation)
        return GradedAnswer(
            probe=asked.probe,
            subject=asked.subject,
            kind=kind,
            at_seq=asked.at_seq,
            question=asked.question,
            options=asked.options,
            right=right_text,
            answer=answer,
            reply=(own.reply or "") if own is not None else "",
            grade=grade,
            quadrant=_quadrant(grade, is_present) if right else None,
            is_told=is_told,
            reason=own.reason if own is not None and own.reply is None else "",
        )


def _grade(
    own: AnswerObservation | None,
    right: set[Needle],
    stale: set[Needle],
    *,
    is_negation: bool,
) -> tuple[Grade | None, str]:
    """The grade and the option chosen."""
    if own is None:
        return "unserved", ""
    if own.reply is None:
        return None, ""
    position = chosen(own.reply, own.options)
    if position is None:
        return "unclear", ""
    answer = own.options[position]
    needle = needle_of(answer)
    if answer == ABSTENTION:
        return ("abstained" if right else "right"), answer
    if needle in right or (right and _is_same(answer, right)):
        return "right", answer
    if needle in stale:
        return ("contradicted" if is_negation else "stale"), answer
    return "wrong", answer


def _is_same(answer: str, right: set[Needle]) -> bool:
    """Whether an option is the right value of a found entity, whose kind its place decided."""
    return any(needle_of(answer).key.lower() == needle.key.lower() for needle in right)


def _quadrant(grade: Grade | None, is_present: bool | None) -> Quadrant | None:
    if grade is None or is_present is None:
        return None
    if grade == "right":
        return "recovered" if is_present else "inferred"
    return "attention_loss" if is_present else "destroyed"

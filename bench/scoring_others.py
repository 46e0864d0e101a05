"""Judgement: what is measured beside the layers of a value: the next action, and judged decisions.

Each is reported apart and nothing is blended with them (scoring.md, "Layers").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from bench.observations import AnswerObservation
from bench.probing_actions import AGAIN, agreement, compare_actions
from bench.probing_judge import JUDGED, OPEN, accepted


class Controls(Protocol):
    """What readers answered about the controls."""

    @property
    def ceiling(self) -> tuple[AnswerObservation, ...]:
        """From the whole history."""
        ...


@dataclass(frozen=True, slots=True)
class OtherFigures:
    """Figures of a cell for its row, and what they stand on for the drill-down, as plain data."""

    row: dict[str, Any]
    detail: dict[str, Any]


def other_figures(answers: Sequence[AnswerObservation], controls: Controls | None) -> OtherFigures:
    """Next actions against those from the full history, and the share of accepted decisions."""
    full = controls.ceiling if controls is not None else ()
    made = compare_actions(answers, full, own_view="projection")
    noise = compare_actions(full, full, own_view=AGAIN)
    verdicts = _verdicts(answers, full)
    judged = [verdict["accepted"] for verdict in verdicts]
    row = {
        "next_action": _share(*agreement(made)),
        "next_action_names": _share(*agreement(made, names_only=True)),
        "next_action_noise": _share(*agreement(noise)),
        "next_actions": len(made) or None,
        "judged": _share(judged.count(True), len(judged), judged.count(None)),
        "judgements": len(judged) or None,
    }
    return OtherFigures(
        row, {"next_actions": [asdict(one) for one in made], "judgements": verdicts}
    )


def _verdicts(
    answers: Sequence[AnswerObservation], full: Sequence[AnswerObservation]
) -> list[dict[str, Any]]:
    """One verdict for each decision that was asked for with the full history.

    A request that wasn't served has no answer, so its decision isn't accepted; nor is one on which
    the judge said neither yes nor no. None where the reader or the judge gave no reply.
    """
    told = {one.subject: one for one in answers if one.probe == OPEN}
    judged = {one.subject: one for one in answers if one.probe == JUDGED}
    expected = {one.subject: one for one in (*answers, *full) if one.probe == OPEN}
    verdicts: list[dict[str, Any]] = []
    for subject, asked in expected.items():
        own, verdict = told.get(subject), judged.get(subject)
        is_accepted: bool | None = False
        if own is not None and (own.reply is None or verdict is None or verdict.reply is None):
            is_accepted = None
        elif verdict is not None and verdict.reply is not None:
            is_accepted = accepted(verdict.reply) or False
        verdicts.append(
            {
                "fact": subject,
                "question": asked.question,
                "answer": own.reply if own is not None else None,
                "verdict": verdict.reply if verdict is not None else None,
                "accepted": is_accepted,
            }
        )
    return verdicts


def _share(hits: int, total: int, unreadable: int) -> float | None:
    return hits / total if total and not unreadable else None

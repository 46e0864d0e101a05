"""What a reader answered about a fact, put beside what was present of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_GRADES: dict[str, str] = {
    "right": "right",
    "stale": "an earlier value",
    "contradicted": "the opposite",
    "wrong": "wrong",
    "abstained": "said that the conversation doesn't say",
    "unclear": "chose none of the options",
    "unserved": "wasn't asked: the replay had stopped",
}
# Without text to look in, what became of a fact is what the reader made of it.
_OF_OPAQUE: dict[str, str] = {
    "right": "recovered",
    "stale": "stale",
    "contradicted": "contradicted",
    "unserved": "unserved",
}


def answers_of(detail: Mapping[str, Any]) -> dict[tuple[str, str, int], Mapping[str, Any]]:
    """The graded answers of a cell by probe, subject and event; empty where nobody was asked."""
    reading = detail.get("reading") or {}
    return {
        (one["probe"], one["subject"], one["at_seq"]): one for one in reading.get("answers", ())
    }


def with_answer(row: dict[str, Any], answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """The row of a fact with its answer, and its outcome by the two-by-two of both layers."""
    if answer is None:
        return row
    grade, quadrant = answer["grade"], answer["quadrant"]
    outcome = row["outcome"]
    if grade is None:
        pass
    elif outcome == "unreadable":
        outcome = _OF_OPAQUE.get(grade, row["lost_as"])
    elif outcome == "present" and quadrant in ("recovered", "attention_loss"):
        outcome = quadrant
    elif outcome.startswith("lost") and quadrant == "inferred":
        outcome = "inferred"
    return {
        **row,
        "outcome": outcome,
        "question": answer["question"],
        "answer": answer["answer"] or answer["reply"] or answer["reason"],
        "grade": grade or "",
        "quadrant": quadrant or "",
    }


def answer_words(row: Mapping[str, Any]) -> str:
    """The answer and its grade in one line; empty where no reader was asked."""
    if not row.get("question"):
        return ""
    graded = _GRADES.get(str(row["grade"]), "")
    answer = str(row["answer"])
    if row["grade"] in ("abstained", "unserved") or not answer:
        return graded
    return f"{answer} ({graded})" if graded else answer

"""What a reader answered about a fact, put beside what was present of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.scoring_recovered import answer_in_words

# Without text to look in, what became of a fact is what the reader made of it.
_OF_OPAQUE: dict[str, str] = {
    "right": "recovered",
    "stale": "stale",
    "contradicted": "contradicted",
    "unserved": "unserved",
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
    return answer_in_words({**row, "reply": "", "reason": ""})

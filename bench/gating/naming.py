"""Assembly: the facts that got worse, with the lines that let a person judge each.

Source line, line of the candidate's summary and a reader's answer come from the candidate's run
folder; a baseline file holds no text, so there only ids and kinds are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.facts import Fact, Use
from bench.gate.facts import WorseFact
from bench.gating.reading import counted_uses
from bench.observations import Replay
from bench.scoring_recovered import answer_in_words, graded_of
from bench.store import Run, StoredCell

WORST_FACTS_MAX = 10
NO_READER = "no reader was run"


def described(worst: Sequence[WorseFact], run_folder: str) -> list[dict[str, Any]]:
    """The facts as plain data; lines and answers are None where the run isn't at hand."""
    rows = [_row(one) for one in worst]
    if Path(run_folder).suffix == ".json" or not worst:
        return rows
    try:
        with Run.open(run_folder) as run:
            cells = {stored.cell.identity: stored for stored in run.cells()}
            replays: dict[str, Replay | None] = {}
            for one, row in zip(worst, rows, strict=True):
                stored = cells.get(one.cell.identity)
                if stored is None:
                    continue
                identity = stored.cell.identity
                if identity not in replays:
                    replays[identity] = run.replay(stored)
                row |= _told(run, one, stored, replays[identity])
    except UsageError:
        # The comparison stands without the lines; the folder may have been moved meanwhile.
        return rows
    return rows


def _row(one: WorseFact) -> dict[str, Any]:
    return {
        "session": one.session,
        "fact": one.unit.id or f"use {one.place + 1}",
        "kind": one.unit.kind,
        "severity": one.unit.severity,
        "must_keep": one.unit.must_keep,
        "kept_by_baseline": one.kept_by_baseline,
        "kept_by_candidate": one.kept_by_candidate,
        "text": None,
        "source_seq": None,
        "source_line": None,
        "needed_at_seq": None,
        "summary_line": None,
        "answer": None,
        "answer_reason": NO_READER,
    }


def _told(run: Run, one: WorseFact, stored: StoredCell, seen: Replay | None) -> dict[str, Any]:
    from reports.excerpts import source_line, summary_line

    facts = run.facts(one.session)
    detail = (stored.scores or {}).get("detail", {})
    if facts:
        fact = facts[one.place]
        subject = fact.id
        text, value, source_seq, needed_at = _of_fact(fact, detail)
    else:
        use = counted_uses(run.uses(one.session))[one.place]
        subject = use.key
        text, value, source_seq, needed_at = _of_use(use)
    history = run.history(one.session)
    source = ""
    if 1 <= source_seq <= len(history):
        source = source_line(history[source_seq - 1].message, value)
    summary: str | None = None
    if seen is not None:
        request = next((each for each in seen.requests if each.at_seq == needed_at), None)
        if request is not None and request.is_served:
            summary = summary_line(seen.heads[request.head], value, source) or None
    told = {
        "text": text,
        "source_seq": source_seq,
        "source_line": source,
        "needed_at_seq": needed_at,
        "summary_line": summary,
    }
    return told | _answered(subject, needed_at, detail)


def _of_fact(fact: Fact, detail: dict[str, Any]) -> tuple[str, str, int, int | None]:
    text = f"{fact.subject}: {fact.value}" if fact.subject else fact.value
    asked_at = {each["fact"]: each["at_seq"] for each in detail.get("facts", ())}
    needed_at = asked_at.get(fact.id)
    return text, fact.value, (fact.source_seqs or (fact.born_seq,))[-1], needed_at


def _of_use(use: Use) -> tuple[str, str, int, int | None]:
    return use.text, use.text, use.first_seq, use.at_seq


def _answered(subject: str, at_seq: int | None, detail: dict[str, Any]) -> dict[str, Any]:
    """What a reader of the projection answered, and why there is no answer where there is none."""
    for (_, about, asked_at), answer in graded_of(detail).items():
        if about == subject and asked_at == at_seq:
            is_told = answer["grade"] not in (None, "unserved")
            words = answer_in_words(answer)
            return {"answer": words if is_told else None, "answer_reason": words}
    return {}

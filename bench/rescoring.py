"""Assembly: all scores of a stored run computed anew, from its raw observations alone."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from bench.judging import Judge
from bench.overhead import overhead_tokens, parse_overhead
from bench.reading_cells import controls_among
from bench.store import Run


def rescore(run: Run) -> int:
    """Replaces every score of the run; returns how many cells were scored."""
    scored: list[tuple[str, dict[str, Any]]] = []
    overhead = parse_overhead(run.information().get("overhead"))
    cells = sorted(run.cells(), key=lambda stored: stored.cell.session)
    for session_id, members in groupby(cells, key=lambda stored: stored.cell.session):
        session = run.session(session_id)
        judge = Judge.of(
            session,
            run.facts(session_id),
            overhead_tokens=overhead_tokens(session, overhead),
        )
        cells_here = list(members)
        answers = [(one.cell, run.answers(one.cell.identity)) for one in cells_here]
        for stored, (_, own) in zip(cells_here, answers, strict=True):
            seen = run.replay(stored)
            if seen is not None:
                scores = judge.scores_of(
                    seen,
                    is_exercised=stored.status != "not_exercised",
                    answers=own,
                    controls=controls_among(answers, stored.cell),
                )
                scored.append((stored.cell.identity, scores))
    run.replace_scores(scored)
    return len(scored)

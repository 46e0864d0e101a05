"""Assembly: all scores of a stored run computed anew, from its raw observations alone."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from bench.judging import Judge
from bench.store import Run


def rescore(run: Run) -> int:
    """Replaces every score of the run; returns how many cells were scored."""
    scored: list[tuple[str, dict[str, Any]]] = []
    cells = sorted(run.cells(), key=lambda stored: stored.cell.session)
    for session_id, members in groupby(cells, key=lambda stored: stored.cell.session):
        judge = Judge.of(run.session(session_id), run.facts(session_id))
        for stored in members:
            seen = run.replay(stored)
            if seen is not None:
                is_exercised = stored.status != "not_exercised"
                scores = judge.scores_of(seen, is_exercised=is_exercised)
                scored.append((stored.cell.identity, scores))
    run.replace_scores(scored)
    return len(scored)

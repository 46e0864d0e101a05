"""Records of runs made up for tests of the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.gate.records import CellRecord, RunRecord, SessionRecord, SummaryFigures, Unit
from bench.gate.sides import Side, Sides

UNITS = (
    Unit("constraint", "said_once", "f1", must_keep=False),
    Unit("path", "re_readable", "f2"),
    Unit("decision", "said_once", "f3"),
)


def cell(session: str, value: float | None = 0.5, **changes: Any) -> CellRecord:
    """A scored cell; `value` is its retention."""
    given: dict[str, Any] = {
        "identity": f"{session}/{changes.get('spec', 'head_tail')}/{changes.get('seed', 0)}",
        "session": session,
        "spec": "head_tail",
        "window": 8_000,
        "window_asked": "auto",
        "model": "lossy(0.9)",
        "seed": 0,
        "status": "ok",
        "reason": "",
        "values": {"retention": value, "tokens_baseline": 1_000.0},
        "marks": "110",
        "written": "w",
        "summaries": SummaryFigures(((1, 100),), {}, 0, 4),
    }
    return CellRecord(**{**given, **changes})


def record(
    cells: Sequence[CellRecord],
    name: str = "run",
    units: Sequence[Unit] = UNITS,
    clusters: Mapping[str, str] | None = None,
    **changes: Any,
) -> RunRecord:
    """A record of these cells, with all their sessions."""
    sessions = tuple(
        SessionRecord(session, f"d-{session}", "f", (clusters or {}).get(session), tuple(units))
        for session in dict.fromkeys(one.session for one in cells)
    )
    return RunRecord(name, "table/cuts=3", sessions, tuple(cells), **changes)


def run_of(values: Sequence[float | None], name: str = "run", **changes: Any) -> RunRecord:
    """A record of one cell for each value, in sessions s0, s1 ..."""
    return record([cell(f"s{at}", value, **changes) for at, value in enumerate(values)], name)


def sides(baseline: RunRecord, candidate: RunRecord) -> Sides:
    """All cells of two records as sides, named by the spec of their first cell."""
    one, two = (Side(run, run.cells[0].spec, run.cells) for run in (baseline, candidate))
    return Sides(one, two)

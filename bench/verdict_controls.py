"""Judgement: whether the controls of a run are in line: the ceiling keeps all, the floor nothing.

A tool that reads nothing from a file scores everything alike; the controls show that at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from bench.plan import CONTROLS
from bench.verdict_recovered import recovered_clause, recovered_problems
from bench.verdict_table import CellRow, mean, number
from bench.verdict_words import percent, plain

TOLERANCE = 0.02
_CEILING, _FLOOR = CONTROLS
_FIGURES: tuple[str, ...] = ("retention", "retention_needed")


class CanaryResult(Protocol):
    """A planted probe looked up through a control: `found` of `planted` were there."""

    @property
    def session(self) -> str:
        """The session whose copy carried it."""
        ...

    @property
    def control(self) -> str:
        """`keep_all` or `empty`."""
        ...

    @property
    def planted(self) -> int:
        """How many were planted."""
        ...

    @property
    def found(self) -> int:
        """How many were found in the rendered request."""
        ...


def controls_out_of_line(cells: Sequence[CellRow], canaries: Iterable[CanaryResult]) -> list[str]:
    """What is wrong with the controls, one clause each; empty when nothing is."""
    problems: list[str] = []
    for control in CONTROLS:
        own = [cell for cell in cells if cell["strategy"] == control]
        if not own:
            problems.append(f"the control {control} is missing")
        for cell in own:
            problem = _problem_with(cell)
            if problem:
                problems.append(problem)
    for one in canaries:
        expected = one.planted if one.control == _CEILING else 0
        if one.found != expected:
            problems.append(
                f"{one.control} showed {one.found} of {one.planted} planted canaries of session "
                f"{plain(one.session)} where it must show {expected}"
            )
    return problems + recovered_problems(cells)


def controls_line(
    cells: Sequence[CellRow], canaries: Sequence[CanaryResult], problems: Sequence[str]
) -> str:
    """One line about the controls, whether they are in line or not."""
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return f"Controls out of line: {problems[0]}{more}."
    kept = {control: _mean_kept(cells, control) for control in CONTROLS}
    if all(value is not None for value in kept.values()):
        said = (
            f"the full history ({_CEILING}) kept {percent(kept[_CEILING])}, "
            f"a bare request ({_FLOOR}) {percent(kept[_FLOOR])}"
        )
    else:
        said = "they ran, but no session held anything to ask for"
    planted = sum(one.planted for one in canaries if one.control == _CEILING)
    if planted:
        found = {c: sum(one.found for one in canaries if one.control == c) for c in CONTROLS}
        said += f"; of {planted} planted canaries they showed {found[_CEILING]} and {found[_FLOOR]}"
    if answered := recovered_clause(cells):
        said += f"; {answered}"
    return f"Controls in line: {said}."


def _problem_with(cell: CellRow) -> str:
    control, session = cell["strategy"], plain(str(cell["session"]))
    if cell.get("status") in ("error", "stopped"):
        reason = plain(str(cell.get("reason") or "no reason given"))
        return f"{control} did not get through session {session}: {reason}"
    expected = 1.0 if control == _CEILING else 0.0
    for name in _FIGURES:
        value = number(cell, name)
        if value is not None and abs(value - expected) > TOLERANCE:
            return (
                f"{control} kept {percent(value)} in session {session} "
                f"where it must keep {percent(expected)}"
            )
    return ""


def _mean_kept(cells: Sequence[CellRow], control: str) -> float | None:
    own = [cell for cell in cells if cell["strategy"] == control]
    for name in _FIGURES:
        value = mean(value for cell in own if (value := number(cell, name)) is not None)
        if value is not None:
            return value
    return None

"""Judgement: whether the controls of layer *recovered* are in line: a reader that can't answer from
the whole history, or that answers from nothing, tells nothing about a strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.plan import CONTROLS
from bench.verdict_table import RECOVERED, CellRow, mean, number, session_means
from bench.verdict_words import percent, plain

# No reader finds everything again, and a forced choice can be guessed: wider than for containment.
CEILING_MIN = 0.8
FLOOR_MAX = 0.2
READER_PROBLEM = f"the layer {RECOVERED} tells nothing"
_CEILING, _FLOOR = CONTROLS


def recovered_problems(cells: Sequence[CellRow]) -> list[str]:
    """What is wrong with the controls of the layer, a clause for each model.

    Only where the verdict stands on it: no strategy has a retention of another layer.
    """
    return _problems(cells) if _is_verdict_of_readers(cells) else []


def recovered_warnings(cells: Sequence[CellRow]) -> list[str]:
    """The same where the layer is only reported beside others: nothing is then compared by it."""
    if _is_verdict_of_readers(cells):
        return []
    return [f"{READER_PROBLEM}: {problem}" for problem in _problems(cells)]


def _is_verdict_of_readers(cells: Sequence[CellRow]) -> bool:
    layers = {
        cell.get("retention_layer")
        for cell in cells
        if cell["strategy"] not in CONTROLS and number(cell, "retention") is not None
    }
    return layers == {RECOVERED}


def _problems(cells: Sequence[CellRow]) -> list[str]:
    problems: list[str] = []
    for model in dict.fromkeys(str(cell["model"]) for cell in cells):
        own = [cell for cell in cells if str(cell["model"]) == model]
        if any(number(cell, "recovered") is not None for cell in own):
            problems += _problems_of(own, model)
    return problems


def recovered_clause(cells: Sequence[CellRow]) -> str:
    """What the reader made of the controls, as a clause; empty where none was asked."""
    ceiling, floor = (_kept(cells, control) for control in CONTROLS)
    if ceiling is None or floor is None:
        return ""
    return (
        f"a reader answered {percent(ceiling)} of the questions from the full history and "
        f"{percent(floor)} from a bare request"
    )


def _problems_of(cells: Sequence[CellRow], model: str) -> list[str]:
    ceiling, floor = (_kept(cells, control) for control in CONTROLS)
    who = f"the reader of {plain(model)}"
    if ceiling is None or floor is None:
        return [f"{who} couldn't be asked about the controls"]
    problems: list[str] = []
    if ceiling < CEILING_MIN:
        problems.append(
            f"{who} answered only {percent(ceiling)} of the questions from the full history "
            f"({_CEILING}), where at least {percent(CEILING_MIN)} must be right"
        )
    if floor > FLOOR_MAX:
        problems.append(
            f"{who} answered {percent(floor)} of the questions from a bare request ({_FLOOR}), "
            f"where at most {percent(FLOOR_MAX)} can be right"
        )
    return problems


def _kept(cells: Sequence[CellRow], control: str) -> float | None:
    own = [cell for cell in cells if cell["strategy"] == control]
    return mean(session_means(own, lambda cell: number(cell, "recovered")).values())

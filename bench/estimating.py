"""Assembly: what a run will ask of real models and what that costs, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.money import StageCost, stages_of, total
from bench.prices import ModelPrice
from bench.runner import finished
from bench.spending import PricesOnly
from bench.tasks import CellDone, PackedCell, RunOptions, Task, real_models_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What `cells` cells of `sessions` sessions would ask, by stage and model."""

    stages: tuple[StageCost, ...]
    sessions: int
    cells: int

    @property
    def tokens_sent(self) -> int:
        """Input tokens that leave this machine."""
        return sum(stage.tokens_input for stage in self.stages)

    @property
    def tokens_expected(self) -> int:
        """Input and output tokens that are paid for."""
        return sum(stage.tokens_input + stage.tokens_output for stage in self.stages)

    @property
    def tokens_worst(self) -> int:
        """The most tokens, as for a stage."""
        return sum(stage.tokens_worst for stage in self.stages)

    @property
    def usd_expected(self) -> float | None:
        """Dollars of all models that have a price; None when none has."""
        return total(stage.usd for stage in self.stages)

    @property
    def usd_worst(self) -> float | None:
        """The most dollars, likewise."""
        return total(stage.usd_worst for stage in self.stages)

    def document(self) -> dict[str, Any]:
        """Plain data, as `run --dry-run --json` shows it."""
        return {
            "sessions": self.sessions,
            "cells": self.cells,
            "calls": sum(stage.calls for stage in self.stages),
            "recorded": sum(stage.recorded for stage in self.stages),
            "tokens_sent": self.tokens_sent,
            "tokens_expected": self.tokens_expected,
            "tokens_worst": self.tokens_worst,
            "usd_expected": self.usd_expected,
            "usd_worst": self.usd_worst,
            "stages": [asdict(stage) for stage in self.stages],
        }


def estimate(
    tasks: Sequence[Task],
    prices: Mapping[str, ModelPrice | None],
    *,
    workers: int = 1,
    cluster: str | None = None,
    done: Callable[[CellDone], None] = lambda _: None,
) -> Estimate:
    """Rehearses every cell that asks a real model, with the stand-in answering what isn't recorded.

    Summaries of another length would move later compactions, so this is an estimate. `prices`
    holds every real model of the run.
    """
    rehearsals = [one for task in tasks if (one := _rehearsal(task, prices)) is not None]
    calls: list[dict[str, Any]] = []
    with closing(finished(rehearsals, workers, cluster)) as parts:
        for part in parts:
            if isinstance(part, PackedCell):
                calls += map(json.loads, part.rows.calls)
                done(part.done)
    tries_max = rehearsals[0].options.settings.tries_max if rehearsals else 1
    return Estimate(
        stages=tuple(stages_of(calls, tries_max)),
        sessions=len({task.session.id for task in rehearsals}),
        cells=sum(len(task.cells) for task in rehearsals),
    )


def _rehearsal(task: Task, prices: Mapping[str, ModelPrice | None]) -> Task | None:
    options = task.options
    cells = tuple(cell for cell in task.cells if asks_real_model(options, cell.model))
    if not cells:
        return None
    settings = replace(options.settings, is_rehearsal=True, purse=PricesOnly(prices))
    return replace(task, cells=cells, options=replace(options, settings=settings))


def asks_real_model(options: RunOptions, model: str) -> bool:
    """Whether cells of this MODEL send anything to a real model."""
    return bool(real_models_of(options, (model,)))

"""Assembly: what a run will ask of real models and what that costs, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.prices import ModelPrice
from bench.probing_options import is_stand_in
from bench.runner import finished
from bench.spending import PricesOnly
from bench.tasks import CellDone, PackedCell, RunOptions, Task

# The stages of a run by the purpose of its calls, in the order in which people read them.
STAGES: Mapping[str, str] = {
    "summary": "summaries",
    "native": "native compaction",
    "reader": "readers",
    "next_action": "next action",
    "judge": "judge",
    "agent": "arbiter",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """Calls of one stage to one model: of `calls`, `recorded` cost nothing.

    Tokens are those that are sent and paid for. `usd_expected` is None for a model without a
    price; `usd_worst` and `tokens_worst` take every answer at its cap and every try as billed.
    """

    stage: str
    model: str
    calls: int
    recorded: int
    tokens_input: int
    tokens_output: int
    tokens_worst: int
    usd_expected: float | None
    usd_worst: float | None


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
        return _total(stage.usd_expected for stage in self.stages)

    @property
    def usd_worst(self) -> float | None:
        """The most dollars, likewise."""
        return _total(stage.usd_worst for stage in self.stages)

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


def stages_of(calls: Iterable[Mapping[str, Any]], tries_max: int = 1) -> list[StageCost]:
    """Calls (the fields of CallObservation) added up by stage and model."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for call in calls:
        groups.setdefault((call["purpose"], call["model"]), []).append(call)
    order = list(STAGES)
    keys = sorted(groups, key=lambda key: (order.index(key[0]) if key[0] in order else 99, key))
    return [_stage(*key, groups[key], tries_max) for key in keys]


def _stage(
    purpose: str, model: str, calls: Sequence[Mapping[str, Any]], tries_max: int
) -> StageCost:
    paid = [call for call in calls if not call["is_recorded"]]
    worst = _total(call["usd_worst"] for call in paid)
    return StageCost(
        stage=STAGES.get(purpose, purpose),
        model=model,
        calls=len(calls),
        recorded=len(calls) - len(paid),
        tokens_input=sum(call["input_tokens"] or 0 for call in paid),
        tokens_output=sum(call["output_tokens"] or 0 for call in paid),
        tokens_worst=tries_max * sum(call.get("tokens_worst") or 0 for call in paid),
        usd_expected=_total(call["usd"] for call in paid) if paid else 0.0,
        usd_worst=(None if worst is None else tries_max * worst) if paid else 0.0,
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


def real_models_of(options: RunOptions, models: Sequence[str]) -> list[str]:
    """All real models that cells of these MODELs ask: summarisers, readers and the judge."""
    probes = options.probes
    asked = list(models)
    if probes.kinds:
        asked += [probes.reader_of(model) for model in models]
        asked += [probes.judge] if probes.judge is not None else []
    return [model for model in dict.fromkeys(asked) if not is_stand_in(model)]


def _total(values: Iterable[float | None]) -> float | None:
    """The sum of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None

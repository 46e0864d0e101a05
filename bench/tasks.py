"""Assembly: what a run is asked for, the tasks it is cut into, and what comes back from each.

A task is one session with all its cells, so that its index, its facts and the controls are computed
once. All of it is plain data that travels to worker processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.entities import ENTITY_TABLE_VERSION
from bench.events import Session
from bench.facts import Fact, Use
from bench.models import ModelSettings
from bench.models.settings import DEFAULT_SETTINGS
from bench.observations import AnswerObservation, CallObservation, Replay
from bench.plan import Cell
from bench.replay import Cuts
from bench.store import Canary


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to run: canonical specs, windows in tokens (None: auto), models, seeds.

    `prompts` holds the texts of summary prompts by digest, since a spec names them so. `settings`
    is what real models need beside their names.
    """

    specs: tuple[str, ...]
    windows: tuple[int | None, ...] = (None,)
    models: tuple[str, ...] = ("offline",)
    seeds: tuple[int, ...] = (0,)
    cuts: Cuts = None
    workers: int = 1
    prompts: Mapping[str, str] = field(default_factory=dict)
    settings: ModelSettings = DEFAULT_SETTINGS

    @property
    def fact_version(self) -> str:
        """What the facts and scores of a cell rest on."""
        return f"{ENTITY_TABLE_VERSION}/cuts={self.cuts}"


@dataclass(frozen=True, slots=True)
class Task:
    """One session with the cells to replay."""

    session: Session
    digest: str
    facts: tuple[Fact, ...]
    cells: tuple[Cell, ...]
    options: RunOptions


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What became of a cell; `replay` and `scores` are None when it ended in an error.

    `calls` and `answers` are what real models were asked, and what readers were.
    """

    cell: Cell
    status: str
    reason: str
    seconds: float
    replay: Replay | None = None
    scores: dict[str, Any] | None = None
    calls: tuple[CallObservation, ...] = ()
    answers: tuple[AnswerObservation, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Everything that one task found; `halted` says why it ended early, empty when it didn't."""

    task: Task
    description: dict[str, Any]
    uses: tuple[Use, ...]
    canaries: tuple[Canary, ...]
    cells: tuple[CellOutcome, ...]
    halted: str = ""

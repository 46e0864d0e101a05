"""Assembly: what a run is asked for, the tasks it is cut into, and what comes back from each.

A task is one session with all its cells, so that its index, its facts and the controls are computed
once. All of it is plain data that travels to worker processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.entities import ENTITY_TABLE_VERSION
from bench.events import Session
from bench.facts import Fact, Use
from bench.models import ModelSettings
from bench.models.settings import DEFAULT_SETTINGS
from bench.observations import AnswerObservation, CallObservation, Replay
from bench.overhead import NO_OVERHEAD, Overhead
from bench.plan import Cell
from bench.probing_options import DEFAULT_PROBES, ProbeOptions, is_stand_in
from bench.replay import Cuts
from bench.store_rows import Canary, CellRows, SessionRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What to run: canonical specs, windows in tokens (None: auto), models, seeds.

    `prompts` holds the texts of summary prompts by digest, since a spec names them so. `settings`
    is what real models need beside their names. `probes` says what readers are asked. `arbiter` is
    who accepts requests: "simulated", or "live", each cell's own model (never for controls). Each
    span is summarised `repeat` times in a row; `overhead` is what requests carry beside what was
    recorded of them, in tokens or "auto".
    """

    specs: tuple[str, ...]
    windows: tuple[int | None, ...] = (None,)
    models: tuple[str, ...] = ("offline",)
    seeds: tuple[int, ...] = (0,)
    cuts: Cuts = None
    repeat: int = 1
    overhead: Overhead = NO_OVERHEAD
    workers: int = 1
    prompts: Mapping[str, str] = field(default_factory=dict)
    settings: ModelSettings = DEFAULT_SETTINGS
    probes: ProbeOptions = DEFAULT_PROBES
    arbiter: str = "simulated"

    @property
    def fact_version(self) -> str:
        """What the facts and scores of a cell rest on."""
        parts = [ENTITY_TABLE_VERSION, f"cuts={self.cuts}"]
        parts += [f"repeat={self.repeat}"] if self.repeat != 1 else []
        parts += [f"overhead={self.overhead}"] if self.overhead != NO_OVERHEAD else []
        return "/".join(parts)

    @property
    def result_version(self) -> str:
        """What all results of a cell rest on: the same facts may be asked of other readers.

        A model at another address is another model, and another arbiter refuses other requests.
        """
        probed, address = self.probes.version, self.settings.base_url
        parts = [self.fact_version]
        parts += [f"probes={probed}"] if probed else []
        parts += [f"base_url={address}"] if address else []
        parts += [f"arbiter={self.arbiter}"] if self.arbiter != "simulated" else []
        return "/".join(parts)


def real_models_of(options: RunOptions, models: Sequence[str]) -> list[str]:
    """All real models that cells of these MODELs ask: summarisers, readers and the judge."""
    probes = options.probes
    asked = list(models)
    if probes.kinds:
        asked += [probes.reader_of(model) for model in models]
        asked += [probes.judge] if probes.judge is not None else []
    return [model for model in dict.fromkeys(asked) if not is_stand_in(model)]


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
class SessionOutcome:
    """What was found about a session whatever the strategy; `description` is what `inspect` says.

    `digest` is that of its content.
    """

    session: Session
    digest: str
    description: dict[str, Any]
    facts: tuple[Fact, ...]
    uses: tuple[Use, ...]
    canaries: tuple[Canary, ...]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Everything that one task found; `halted` says why it ended early, empty when it didn't.

    `about` is None when it ended before anything was found.
    """

    about: SessionOutcome | None
    cells: tuple[CellOutcome, ...]
    halted: str = ""


@dataclass(frozen=True, slots=True)
class CellDone:
    """What progress needs to know of a finished cell."""

    session: str
    status: str
    calls: int = 0


@dataclass(frozen=True, slots=True)
class PackedSession:
    """A `SessionOutcome` as rows: small to send, quick to store."""

    rows: SessionRows
    canaries: tuple[Canary, ...]


@dataclass(frozen=True, slots=True)
class PackedCell:
    """A `CellOutcome` as rows."""

    rows: CellRows
    done: CellDone


@dataclass(frozen=True, slots=True)
class PackedOutcome:
    """A `TaskOutcome` as rows, the session first; `halted` as there."""

    parts: tuple[PackedSession | PackedCell, ...]
    halted: str = ""

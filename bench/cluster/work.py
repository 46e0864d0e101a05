"""Assembly: what a worker of a cluster does: some cells of a session that it was sent once."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from bench.events import Session
from bench.facts import Fact
from bench.performing import perform_packed
from bench.plan import Cell
from bench.tasks import PackedOutcome, RunOptions, Task

# Caches are made for one thread, and more threads wouldn't compute faster.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class SessionData:
    """What all cells of a session have in common; stays on the worker while it is needed."""

    session: Session
    facts: tuple[Fact, ...]


def perform_cells(
    data: SessionData, digest: str, cells: tuple[Cell, ...], options: RunOptions
) -> PackedOutcome:
    """Performs these cells; a worker with several threads performs one task after the other."""
    with _one_at_a_time:
        return perform_packed(Task(data.session, digest, data.facts, cells, options))

"""How much sooner two worker processes are done than one, on 40 generated sessions.

Part `workers` of `python -m tests.benchmarks`. Wall-clock time, since that is what workers are for:
a machine that is busy with something else shows less than it has. Nothing is taken from a cache.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.events import Session
from bench.facts import Fact
from bench.generator import generate_session
from bench.plan import Plan, PlannedSession
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from tests.benchmarks import measuring

SESSIONS = 40
EVENTS = 400
WORKERS = (1, 2)
SPECS = ("keep_all", "empty", "prune", "head_tail", "layered")
GAIN_MIN = 1.7


@dataclass(frozen=True, slots=True)
class Worked:
    """Seconds by the clock, processor seconds of all processes, and the machine's load before."""

    workers: int
    seconds: float
    processor_seconds: float
    load: float


@dataclass(frozen=True, slots=True)
class _Planned:
    sessions: list[Session]
    facts: dict[str, tuple[Fact, ...]]
    options: RunOptions
    plan: Plan
    surveyed: dict[str, PlannedSession]


def _planned(count: int, events: int) -> _Planned:
    made = [
        generate_session(kind="coding", language="en", events=events, seed=seed)
        for seed in range(count)
    ]
    sessions = [session for session, _ in made]
    options = RunOptions(specs=SPECS)
    plan, surveyed = plan_run(sessions, options, lambda text: None)
    facts = {session.id: tuple(known) for session, known in made}
    return _Planned(sessions, facts, options, plan, surveyed)


def _processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(
    progress: Callable[[str], None], count: int = SESSIONS, events: int = EVENTS
) -> list[Worked]:
    """The same cells with one and with two workers."""
    worked: list[Worked] = []
    with measuring.caches(counts=False):
        planned = _planned(count, events)
        tasks = tasks_of(
            planned.plan,
            planned.sessions,
            planned.surveyed,
            planned.facts,
            planned.options,
            lambda identity: False,
        )
        for workers in WORKERS:
            measuring.forget_everything()
            load = os.getloadavg()[0]
            with tempfile.TemporaryDirectory() as folder:
                started, used = time.perf_counter(), _processor_seconds()
                with Run.create(Path(folder) / "run") as run:
                    execute(run, tasks, workers, lambda done: None)
                seconds = time.perf_counter() - started
            _end_workers()
            worked.append(Worked(workers, seconds, _processor_seconds() - used, load))
            progress(f"{workers} workers: {seconds:.1f} s")
    return worked


def _end_workers() -> None:
    # Their processor time is known once they are gone.
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def table(worked: list[Worked]) -> str:
    """Seconds, gain, and what it would be were the processors free."""
    heads = ["workers", "seconds", "gain", "processor seconds", "load of the machine before"]
    alone = worked[0]
    rows = [
        [
            str(one.workers),
            f"{one.seconds:.1f}",
            f"{alone.seconds / one.seconds:.2f}",
            f"{one.processor_seconds:.1f}",
            f"{one.load:.1f}",
        ]
        for one in worked
    ]
    return measuring.markdown_table(heads, rows)

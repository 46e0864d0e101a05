"""The same cells in this process, in two and on a Dask cluster give the same run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.errors import UsageError
from bench.events import Session
from bench.results import results_of
from bench.runner import CellDone, RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from tests.dask_processes import ROOT, DaskProcesses
from tests.stored_runs import rule_fact, working_session

SPECS = ("head_tail", "prune")


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with DaskProcesses(tmp_path_factory.mktemp("dask")) as processes:
        yield processes


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    return [working_session(f"s{n}", steps=14 + 2 * n, note=f"Variant {n}.") for n in range(3)]


def stored(
    folder: Path,
    sessions: list[Session],
    *,
    workers: int = 1,
    cluster: str | None = None,
    done: Callable[[CellDone], None] = lambda _: None,
) -> dict[str, Any]:
    options = RunOptions(specs=SPECS)
    plan, surveyed = plan_run(sessions, options, lambda _: None)
    facts = {one.id: (rule_fact(one),) for one in sessions}
    with Run.create(folder, {}) as run:
        tasks = tasks_of(plan, sessions, surveyed, facts, options, run.has_cell)
        execute(run, tasks, workers, done, cluster=cluster)
        everything: dict[str, Any] = results_of(run).document()
        everything["order"] = [one.id for one in run.sessions()]
        everything["calls"] = [len(run.calls(one.cell.identity)) for one in run.cells()]
    for row in (*everything["cells"], *everything["table"]):
        row.pop("seconds")
    return everything


@pytest.fixture(scope="module")
def alone(sessions: list[Session], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = stored(tmp_path_factory.mktemp("runs") / "alone", sessions)
    assert len(found["cells"]) == len(sessions) * (len(SPECS) + 2)
    assert {cell["status"] for cell in found["cells"]} <= {"ok", "stopped"}
    return found


def test_two_workers_give_the_same_run(
    sessions: list[Session], alone: dict[str, Any], tmp_path: Path
) -> None:
    assert stored(tmp_path / "run", sessions, workers=2) == alone


def test_a_cluster_gives_the_same_run_also_when_a_worker_is_killed(
    sessions: list[Session], alone: dict[str, Any], dask: DaskProcesses, tmp_path: Path
) -> None:
    assert stored(tmp_path / "whole", sessions, cluster=dask.address) == alone

    def kill_one(_: CellDone) -> None:
        dask.workers[0].kill()

    assert stored(tmp_path / "killed", sessions, cluster=dask.address, done=kill_one) == alone
    assert dask.workers[0].wait() == -9
    dask.workers.append(dask.start_worker())


def test_no_session_travels_with_its_cells(
    sessions: list[Session], dask: DaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle

    from distributed import Client

    from bench.cluster.work import SessionData

    scattered: list[str] = []
    sizes: list[int] = []
    submit, scatter = Client.submit, Client.scatter

    def measured_submit(self: Any, function: Any, data: Any, *rest: Any, **named: Any) -> Any:
        sizes.append(len(pickle.dumps(rest)))
        return submit(self, function, data, *rest, **named)

    def measured_scatter(self: Any, data: SessionData, **named: Any) -> Any:
        scattered.append(data.session.id)
        return scatter(self, data, **named)

    monkeypatch.setattr(Client, "submit", measured_submit)
    monkeypatch.setattr(Client, "scatter", measured_scatter)
    one = sessions[-1]
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        stored(Path(folder) / "run", [one], cluster=dask.address)
    assert len(sizes) > 1
    assert scattered == [one.id]
    assert max(sizes) < len(pickle.dumps(one)) / 10

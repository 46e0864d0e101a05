"""The same cells in this process, in two and on a Dask cluster give the same run."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cluster import Cluster
from bench.cluster.checks import (
    check_versions,
    check_workers,
    code_digest,
    own_files,
    problem_with,
)
from bench.errors import UsageError
from bench.events import Session
from bench.results import results_of
from bench.runner import CellDone, RunOptions, execute, plan_run, tasks_of
from bench.spending import FILE_NAME, Ledger, Limits
from bench.store import Run
from tests.dask_processes import DaskProcesses
from tests.fault_server import FaultServer
from tests.session_files import session_file
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


def test_a_worker_that_died_a_moment_ago_costs_nothing(
    sessions: list[Session],
    alone: dict[str, Any],
    dask: DaskProcesses,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from distributed import Client

    tried: list[int] = []
    scatter = Client.scatter

    def unreachable_at_first(self: Any, *data: Any, **named: Any) -> Any:
        tried.append(1)
        if len(tried) in (1, 3):
            raise {1: OSError("Timed out trying to connect"), 3: KeyError("tcp://gone")}[len(tried)]
        return scatter(self, *data, **named)

    monkeypatch.setattr(Client, "scatter", unreachable_at_first)
    assert stored(tmp_path / "run", sessions, cluster=dask.address) == alone
    assert len(tried) > 3


def test_no_session_travels_with_its_cells(
    sessions: list[Session],
    dask: DaskProcesses,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
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
    stored(tmp_path / "run", [one], cluster=dask.address)
    assert len(sizes) > 1
    assert scattered == [one.id]
    assert max(sizes) < len(pickle.dumps(one)) / 10


def test_money_stays_with_the_starter(
    dask: DaskProcesses, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with FaultServer(models=("gpt-5-mini",), seconds=0.05) as server:
        files = [session_file(name, steps=12) for name in ("a", "b")]
        words = (
            *("run", *files, "--strategy", "head_tail", "--probe", "none", "--no-report"),
            *("--model", "openai:gpt-5-mini", "--base-url", server.url, "--cache", "kept"),
            *("--concurrency", "1", "--json"),
        )
        expected = command(*words, "--dry-run").document["estimate"]
        budget = expected["usd_expected"] * 0.6 + expected["usd_worst"] / (5 * expected["calls"])
        there = ("--cluster", dask.address, "--cache", tmp_path / "there", "--out", "cut")
        halted = command(*words, *there, "--budget-usd", f"{budget:.6f}")
        assert halted.code == 3 and "may cost up to" in halted.err
        spent = Ledger(Path("cut") / FILE_NAME, Limits()).totals()
        assert 0 < spent.usd <= budget and spent.calls_open == 0
        assert 0 < len(server.posts) < expected["calls"]
        resumed = command(*words, *there, "--resume").document
        assert len(server.posts) == expected["calls"]
        assert server.under_way_max == 1
        assert resumed["money"]["spent"]["usd"] == pytest.approx(expected["usd_expected"], rel=0.01)
        here = command(*words, "--out", "here").document
    for row in (*resumed["cells"], *here["cells"]):
        row.pop("seconds")
    assert resumed["cells"] == here["cells"]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nowhere", "write tcp://HOST:PORT"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there"),
        ("tls://127.0.0.1:9", "needs certificates"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_in_one_line(
    command: Any, address: str, said: str
) -> None:
    ran = command("run", session_file("a", steps=2), "--cluster", address)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1 and said in ran.err and address in ran.err
    assert not Path(".bench").exists()


def test_what_is_missing_or_other_on_a_worker_is_told() -> None:
    here = {"host": {"python": "3.12.1"}, "packages": {"dask": "2026.1", "distributed": "2026.1"}}
    older = {**here, "packages": {**here["packages"], "distributed": "2025.9"}}
    patched = {**here, "host": {"python": "3.12.9"}}
    check_versions("tcp://x:1", {"client": here, "scheduler": here, "workers": {"w": patched}})
    for versions, said in (
        ({"scheduler": older, "workers": {}}, "the scheduler has distributed 2025.9"),
        ({"scheduler": here, "workers": {"w": older}}, "worker w has distributed 2025.9"),
        (
            {"scheduler": here, "workers": {"w": {**here, "host": {"python": "3.13.0"}}}},
            "python 3.13, here it is 3.12",
        ),
    ):
        with pytest.raises(UsageError, match=re.escape(said)):
            check_versions("tcp://x:1", {"client": here, **versions})
    check_workers("tcp://x:1", {"w": code_digest()})
    for code, said in (
        ("missing: No module named 'bench'", "can't import compaction-bench"),
        ("0123", "other code of compaction-bench"),
    ):
        with pytest.raises(UsageError, match=said):
            check_workers("tcp://x:1", {"w": code})


def test_own_strategies_and_keys_must_be_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def compact(messages, window):\n    return messages[-4:]\n", encoding="utf-8")
    spec = f"{mine}:compact"
    files = own_files([spec])
    assert problem_with(RunOptions(specs=(spec,)), files) == ""
    mine.write_text("def compact(messages, window):\n    return messages[-9:]\n", encoding="utf-8")
    assert "is another file there" in problem_with(RunOptions(specs=(spec,)), files)
    mine.unlink()
    assert "same path on every worker" in problem_with(RunOptions(specs=(spec,)), files)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    paid = RunOptions(specs=("prune",), models=("openai:gpt-5-mini",))
    assert "OPENAI_API_KEY" in problem_with(paid, {})


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=re.escape('pip install "compaction-bench[cluster]"')):
        Cluster("tcp://127.0.0.1:9")

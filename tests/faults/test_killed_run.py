"""A run that is killed or interrupted anywhere goes on and ends as if nothing had been."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.loading import load_sessions
from bench.results import results_of
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from tests.dask_processes import ROOT
from tests.session_files import session_file

WORDS = ("--strategy", "head_tail", "--strategy", "prune", "--no-report")
SESSIONS = "abcdef"
CELLS = len(SESSIONS) * 4
_SECONDS_MAX = 90


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def started(*words: str) -> subprocess.Popen[bytes]:
    files = [session_file(letter, steps=8) for letter in SESSIONS]
    return subprocess.Popen(
        [sys.executable, "-m", "bench", "run", *files, *WORDS, "--out", "run", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def cells_stored() -> int:
    try:
        with sqlite3.connect("file:run/run.sqlite?mode=ro", uri=True, timeout=0) as connection:
            return int(connection.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.Error:
        return -1


def wait_for_cells(number: int) -> int:
    until = time.monotonic() + _SECONDS_MAX
    while (found := cells_stored()) < number:
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def members_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes of its session that are still there."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == process.pid and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that joblib started."""
    found: list[int] = []
    for number in members_of(process):
        try:
            command = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:
            continue
        if b"popen_loky" in command:
            found.append(number)
    return found


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Exit code and errors, when no process of it is left."""
    _, errors = process.communicate(timeout=_SECONDS_MAX)
    until = time.monotonic() + 20
    while members_of(process) and time.monotonic() < until:
        time.sleep(0.05)
    assert members_of(process) == []
    return process.returncode, errors.decode()


def finished_here(folder: str) -> dict[str, Any]:
    """The rest of the run in this process, as --resume does it; all of it in a new folder."""
    loaded = load_sessions([Path(f"{letter}.json") for letter in SESSIONS])
    options = RunOptions(specs=("head_tail", "prune"))
    plan, surveyed = plan_run(loaded.sessions, options, lambda _: None)
    known = Path(folder, "run.sqlite").exists()
    with Run.open(folder) if known else Run.create(folder) as run:
        tasks = tasks_of(plan, loaded.sessions, surveyed, {}, options, run.has_cell)
        execute(run, tasks, 1, lambda _: None)
        everything: dict[str, Any] = results_of(run).document()
        everything["sessions"] = [one.id for one in run.sessions()]
    for row in (*everything["cells"], *everything["table"]):
        row.pop("seconds")
    assert len(everything["cells"]) == CELLS
    return everything


def test_killed_again_and_again_it_still_ends_as_one_that_never_was() -> None:
    draw = random.Random(20)
    resume: tuple[str, ...] = ()
    codes: list[int] = []
    for workers in ("2", "1"):
        process = started("--workers", workers, *resume)
        wait_for_cells(1 + draw.randrange(3))
        process.kill()
        codes.append(ended(process)[0])
        resume = ("--resume",)
    # A machine that is busy with other things may let the second one finish.
    assert codes[0] == -signal.SIGKILL and codes[1] in (-signal.SIGKILL, 0, 3)
    assert finished_here("run") == finished_here("whole")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_interrupted_it_ends_quietly_and_keeps_what_was_finished(workers: str) -> None:
    seeds = [word for seed in range(4) for word in ("--seed", str(seed))]
    process = started("--workers", workers, *seeds)
    stored = wait_for_cells(1)
    # As a terminal does it: everybody in the group is told.
    os.killpg(process.pid, signal.SIGINT)
    code, errors = ended(process)
    assert code == 130
    assert errors.count("\n") == 1 and "--out run --resume" in errors
    assert stored <= cells_stored() < 4 * CELLS


def test_a_worker_that_is_killed_ends_the_run_resumably() -> None:
    process = started("--workers", "2")
    until = time.monotonic() + _SECONDS_MAX
    while not (workers := workers_of(process)) or cells_stored() < 0:
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(workers[-1], signal.SIGKILL)
    code, errors = ended(process)
    assert code == 3, errors
    # joblib's own tracker may complain that somebody else removed its folder.
    said = [line for line in errors.splitlines() if line.startswith("compaction-bench: ")]
    assert len(said) == 1 and "a worker process was killed" in said[0]
    assert "Traceback" not in errors
    assert 0 <= cells_stored() < CELLS

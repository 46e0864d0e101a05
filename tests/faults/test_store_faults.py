"""Whatever fails, and whenever: the run file holds the old state or the new one, never both."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.errors import UsageError
from bench.events import Event, Message, Session
from bench.facts import Fact
from bench.history import History
from bench.observations import Replay, RequestObservation, Retries
from bench.plan import Cell
from bench.projection import Kept, Written
from bench.store import Canary, Run
from tests.faulty_sqlite import connect_with, faulty

EVENTS = tuple(
    Event(seq, Message("user" if seq % 2 else "assistant", "text")) for seq in range(1, 9)
)
SESSION = Session("s", EVENTS)


def cell(number: int) -> Cell:
    return Cell(
        identity=f"cell{number}",
        position=number,
        session="s",
        digest="d",
        spec="prune",
        window=1000,
        window_asked="auto",
        model="offline",
        seed=0,
    )


def replayed(requests: int) -> Replay:
    history = History(EVENTS)
    return Replay(
        session="s",
        requests=tuple(
            RequestObservation(i, i + 1, True, 10, 0, 9, i % 2, 0, i) for i in range(requests)
        ),
        requests_total=requests,
        heads=((), (Kept(history[0]), Written(Message("user", "sum"), 2, 3))),
        compactions=(),
        retries=Retries(),
        stopped=None,
    )


def state(folder: Path) -> Any:
    """Everything that a run holds, read through a sound connection."""
    with Run.open(folder) as run:
        stored = list(run.cells())
        return (
            run.information(),
            [(session, run.facts(session.id)) for session in run.sessions()],
            [(one, run.replay(one)) for one in stored],
            run.warnings(),
            run.canaries(),
        )


WRITES: dict[str, Callable[[Run], None]] = {
    "cell": lambda run: run.save_cell(
        cell(1), status="ok", replay=replayed(5), scores={"retention": 0.5}
    ),
    "cell again": lambda run: run.save_cell(
        cell(0), status="ok", replay=replayed(6), scores={"retention": 0.7}
    ),
    "session again": lambda run: run.save_session(
        SESSION, "other", facts=[Fact("f2", "s", "path", "file", "b.py")]
    ),
    "scores": lambda run: run.replace_scores([("cell0", {"retention": 0.1})]),
    "warnings": lambda run: run.save_warnings(["one", "two"]),
    "canaries": lambda run: run.save_canaries([Canary("s", "empty", 3, 0)]),
    "information": lambda run: run.save_information("options", {"seed": 1}),
}


def filled(folder: Path) -> None:
    with Run.create(folder, {"options": {"seed": 0}}) as run:
        run.save_session(SESSION, "d", facts=[Fact("f1", "s", "path", "file", "a.py")])
        run.save_cell(cell(0), status="ok", replay=replayed(3), scores={"retention": 0.3})


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", WRITES)
def test_every_failing_statement_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, name: str, is_lasting: bool, is_after: bool
) -> None:
    filled(tmp_path / "new")
    with Run.open(tmp_path / "new") as run:
        WRITES[name](run)
    new = state(tmp_path / "new")
    for fails_at in range(1, 100):
        folder = tmp_path / str(fails_at)
        filled(folder)
        old = state(folder)
        assert old != new
        kind = faulty(fails_at, is_lasting=is_lasting, is_after=is_after)
        try:
            with Run.open(folder, connect=connect_with(kind)) as run:
                WRITES[name](run)
        except UsageError as error:
            assert "run.sqlite" in str(error)
            assert "\n" not in str(error)
            assert state(folder) in (old, new)
        else:
            assert state(folder) == new
            # Nothing failed any more: every statement has had its turn.
            assert kind.statements < fails_at
            assert fails_at > 3
            return
    raise AssertionError("there is no end to the statements")


@pytest.mark.parametrize("name", WRITES)
def test_a_write_can_be_repeated_after_a_fault(tmp_path: Path, name: str) -> None:
    filled(tmp_path / "new")
    with Run.open(tmp_path / "new") as run:
        WRITES[name](run)
    for fails_at in range(3, 100):
        folder = tmp_path / str(fails_at)
        filled(folder)
        kind = faulty(fails_at, is_lasting=False, is_after=False)
        with Run.open(folder, connect=connect_with(kind)) as run:
            try:
                WRITES[name](run)
            except UsageError:
                WRITES[name](run)
                assert state(folder) == state(tmp_path / "new")
                continue
        return
    raise AssertionError("there is no end to the statements")


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for good"])
def test_a_run_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, is_lasting: bool, is_after: bool
) -> None:
    for fails_at in range(1, 100):
        folder = tmp_path / str(fails_at) / "run"
        kind = faulty(fails_at, is_lasting=is_lasting, is_after=is_after)
        try:
            Run.create(folder, {"options": 1}, connect=connect_with(kind)).close()
        except UsageError as error:
            assert "no run can be written here" in str(error) or "run.sqlite" in str(error)
            assert not folder.parent.exists()
        else:
            assert fails_at > 10
            return
    raise AssertionError("there is no end to the statements")


KILLED = """
    import os, signal, sqlite3, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from test_store_faults import cell, replayed
    from bench.store import Run

    class Killing(sqlite3.Connection):
        def execute(self, statement, *rest):
            if statement == "COMMIT" and {when!r} == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            return super().execute(statement, *rest)

        def executemany(self, *arguments):
            cursor = super().executemany(*arguments)
            if {when!r} == "between":
                os.kill(os.getpid(), signal.SIGKILL)
            return cursor

    def connect(path):
        connection = sqlite3.connect(path, isolation_level=None, factory=Killing)
        # A cache of a few pages: what is written reaches the file before the commit.
        connection.set_progress_handler(None, 0)
        sqlite3.Connection.execute(connection, "PRAGMA cache_size = 1")
        return connection

    run = Run.open({folder!r}, connect=connect)
    run.save_cell(cell(1), status="ok", replay=replayed(4000))
"""


@pytest.mark.parametrize("when", ["between", "before"])
def test_a_killed_process_leaves_a_run_that_goes_on(tmp_path: Path, when: str) -> None:
    folder = tmp_path / "run"
    filled(folder)
    old = state(folder)
    size = (folder / "run.sqlite").stat().st_size
    script = textwrap.dedent(KILLED).format(
        tests=str(Path(__file__).parent), folder=str(folder), when=when
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    # The process really died half-way: its pages are in the file, and so is the way back.
    assert (folder / "run.sqlite-journal").exists()
    assert (folder / "run.sqlite").stat().st_size > size
    assert state(folder) == old
    with Run.open(folder) as run:
        assert not run.has_cell("cell1")
        WRITES["cell"](run)
        assert run.has_cell("cell1")

"""A writer that is really killed (SIGKILL) leaves the old checkpoint or the new one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.invariants import violations
from tests.conversation_parts import compacted, opened, rows, shown, steps, tell
from tests.faults.test_conversation_faults import content, is_whole

ROOT = Path(__file__).resolve().parents[2]
KILLS = 25
# On a slow machine more of them are needed before each kind of moment was met.
KILLS_MAX = 300
SECONDS_MAX = 0.12


class Writers:
    """Starts writers and says how they ended."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.killed_writer"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, path: Path, when: str) -> int:
        assert self._process.stdin is not None
        print(path, when, file=self._process.stdin, flush=True)
        return self._line()

    def ended(self) -> int:
        """The exit code; minus the signal for one that was killed."""
        return self._line()

    def _line(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    found = Writers()
    yield found
    found.close()


def completions(log: list[tuple[Any, ...]]) -> int:
    return sum(row[2] == "compaction_completed" for row in log)


def test_killed_at_any_moment_it_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, writers: Writers
) -> None:
    path = tmp_path / "c.sqlite"
    draws = random.Random(20)
    opened(path).close()
    log: list[tuple[Any, ...]] = []
    unfinished = 0
    for kills in range(KILLS_MAX):
        if kills >= KILLS and completions(log) > 2 and len(log) > 100 and unfinished:
            break
        pid = writers.start(path, "never")
        time.sleep(draws.uniform(0.005, SECONDS_MAX))
        os.kill(pid, signal.SIGKILL)
        assert writers.ended() == -signal.SIGKILL
        unfinished += path.with_name("c.sqlite-journal").exists()
        with opened(path) as again:
            assert again.refusals == []
            assert violations(again.projection) == ()
            assert (again.projection.head != ()) == bool(again.checkpoint_id)
        is_whole(path)
        now = rows(path)
        assert now[: len(log)] == log
        log = now
    assert completions(log) > 2, "no writer came to a compaction"
    assert unfinished, "no writer died in the middle of a transaction"


# Which of these statements belongs to the compaction: twelve events are told before, and opening
# reads twice, which ends with a COMMIT too.
STATEMENTS = {
    "BEGIN IMMEDIATE": 13,
    "INSERT INTO log": 13,
    "INSERT OR REPLACE INTO projections": 1,
    "INSERT OR REPLACE INTO states": 1,
    "COMMIT": 15,
}


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_killed_in_the_middle_of_a_commit(
    tmp_path: Path, writers: Writers, statement: str, place: str
) -> None:
    """Six steps of two events are told before; then comes the compaction's own transaction."""
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        tell(conversation, *steps(12, 18))
        before = shown(conversation.projection)
        identity = conversation.checkpoint_id
    old = content(path)
    writers.start(path, f"{statement} {STATEMENTS[statement]} {place}")
    assert writers.ended() == -signal.SIGKILL
    is_new = statement == "COMMIT" and place == "after"
    with opened(path) as again:
        assert again.refusals == []
        assert violations(again.projection) == ()
        assert len(again.events) == len(before[0]) + 12
        assert (again.checkpoint_id != identity) == is_new
        if not is_new:
            assert shown(again.projection)[1:] == before[1:]
    is_whole(path)
    log = content(path)[0]
    assert log[: len(old[0])] == old[0]
    assert completions(log) == completions(old[0]) + is_new

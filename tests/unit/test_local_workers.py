"""Worker processes belong to one run: the next one finds nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from tests.stored_runs import working_session

STRATEGY = """
import os
from dataclasses import dataclass
from bench import Declined


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    def for_session(self, session):
        raise Declined(os.environ["WORD"] + " in {place}")

    def compact(self, view, budget, ask):
        return None
"""


def reasons(folder: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Why nothing was compacted, as a strategy file in `folder` says it in two workers."""
    folder.mkdir()
    (folder / "mine.py").write_text(STRATEGY.replace("{place}", folder.name), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("WORD", word)
    sessions = [working_session(name, steps=3, note=name) for name in "ab"]
    options = RunOptions(specs=("./mine.py:Says",))
    plan, surveyed = plan_run(sessions, options, lambda _: None)
    with Run.create(folder / "run") as run:
        tasks = tasks_of(plan, sessions, surveyed, {}, options, run.has_cell)
        execute(run, tasks, 2, lambda _: None)
        return {cell.reason for cell in run.cells() if not cell.cell.is_control}


def test_a_run_has_the_environment_and_folder_of_its_own_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reasons(tmp_path / "one", "early", monkeypatch) == {"early in one"}
    assert reasons(tmp_path / "two", "late", monkeypatch) == {"late in two"}

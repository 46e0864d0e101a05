"""Runs of different cells merged are the run of all cells."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bench.store import Run
from tests.session_files import session_file
from tests.stored_runs import rule_fact, working_session

SPECS = ("head_tail", "prune")


@pytest.fixture
def made(command: Any) -> Any:
    """`run` into a folder of this name; stored without reports."""

    def run(name: str, sessions: str, specs: tuple[str, ...], *words: object) -> Any:
        files = [session_file(letter, steps=10) for letter in sessions]
        strategies = [word for spec in specs for word in ("--strategy", spec)]
        ran = command("run", *files, *strategies, "--out", name, "--no-report", "--json", *words)
        assert ran.code in (0, 3), ran.err
        return ran.document

    return run


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    for row in (*document["cells"], *document["table"]):
        row.pop("seconds")
    return {name: value for name, value in document.items() if name != "run"}


def test_merged_runs_are_the_run_of_all_their_cells(made: Any, command: Any) -> None:
    whole = comparable(made("whole", "abc", SPECS, "--seed", 0, "--seed", 1))
    made("ab", "ab", SPECS, "--seed", 0, "--seed", 1)
    made("c", "c", SPECS, "--seed", 0, "--seed", 1)
    made("first", "abc", SPECS[:1], "--seed", 0, "--seed", 1)
    made("second", "abc", SPECS[1:], "--seed", 0)
    made("third", "abc", SPECS[1:], "--seed", 1)
    for number, runs in enumerate(
        (("ab", "c"), ("first", "second", "third"), ("ab", "first", "c"))
    ):
        merged = command("merge", *runs, "--out", f"merged{number}", "--no-report", "--json")
        assert merged.code == 0 and merged.err == ""
        assert comparable(merged.document) == whole
    everything = ("sessions", "facts", "uses", "canaries", "cells", "requests", "heads", "scores")
    for table in everything:
        assert rows_of("merged0", table) == rows_of("whole", table)


def rows_of(folder: str, table: str) -> list[Any]:
    """All rows, without the order in which they were written and the time that they took."""
    with sqlite3.connect(f"{folder}/run.sqlite") as connection:
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        drop = {"cells": {"seconds"}, "sessions": {"position"}}.get(table, set())
        rows = [
            tuple(value for name, value in zip(names, row, strict=True) if name not in drop)
            for row in cursor
        ]
    return sorted(rows, key=repr)


def test_the_merged_run_is_told_and_can_be_reported_and_scored_anew(
    made: Any, command: Any
) -> None:
    made("one", "a", SPECS)
    made("two", "b", SPECS)
    ran = command("merge", "one", "two", "--out", "both", "--no-report")
    assert ran.code == 0 and "2 sessions, 8 cells: both" in ran.out
    with Run.open("both") as run:
        before = [cell.scores for cell in run.cells()]
        assert run.information()["merged_from"] == ["one", "two"]
    assert command("report", "both", "--rescore", "--format", "md").code == 0
    assert "prune" in Path("both/report.md").read_text("utf-8")
    with Run.open("both") as run:
        assert [cell.scores for cell in run.cells()] == before


def changed(name: str, statement: str) -> str:
    """A copy of the run "one" in which something was changed."""
    shutil.copytree("one", name)
    with sqlite3.connect(f"{name}/run.sqlite") as connection:
        assert connection.execute(statement).rowcount > 0
    return name


DIFFERENT: dict[str, tuple[str, str]] = {
    "request": ("UPDATE requests SET tokens = tokens + 1 WHERE position = 2", "requests"),
    "status": ("UPDATE cells SET reason = 'x' WHERE spec = 'prune'", "prune"),
    "score": ("UPDATE scores SET data = '{}'", "scores"),
    "content": ("UPDATE sessions SET digest = 'other'", "content differs"),
    "name": ("UPDATE sessions SET id = 'other'", "would count twice"),
    "version": (
        "UPDATE information SET value = '\"0.0.1\"' WHERE key = 'version'",
        'version is "0.0.1"',
    ),
    "table": (
        "UPDATE information SET value = '\"x\"' WHERE key = 'fact_version'",
        'fact_version is "x"',
    ),
    "canary": ("UPDATE canaries SET found = found + 1", "canaries"),
}


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_what_differs_is_refused_by_name_and_nothing_is_written(
    made: Any, command: Any, name: str
) -> None:
    made("one", "a", SPECS)
    statement, said = DIFFERENT[name]
    other = changed("other", statement)
    ran = command("merge", "one", other, "--out", "both")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert said in ran.err and "other" in ran.err
    assert not Path("both").exists()


def test_other_facts_are_refused_and_a_failed_cell_gives_way(
    made: Any, command: Any, tmp_path: Path
) -> None:
    made("one", "a", SPECS)
    failed = changed(
        "failed", "UPDATE cells SET status = 'error', reason = 'x' WHERE spec = 'prune'"
    )
    merged = command("merge", failed, "one", "--out", "both", "--no-report", "--json").document
    assert {cell["status"] for cell in merged["cells"]} <= {"ok", "stopped", "not_exercised"}
    shutil.copytree("one", "facts")
    with Run.open("facts") as run:
        (stored,) = run.sessions()
        session = run.session(stored.id)
        fact = rule_fact(working_session(stored.id))
        run.save_session(session, stored.digest, facts=[fact], uses=run.uses(stored.id))
    refused = command("merge", "one", "facts", "--out", "more")
    assert refused.code == 2 and "facts of session" in refused.err


def test_bad_words(made: Any, command: Any) -> None:
    made("one", "a", SPECS[:1])
    for words, said in (
        (("one",), "at least two"),
        (("one", "none"), "no run here"),
    ):
        ran = command("merge", *words, "--out", "both")
        assert ran.code == 2 and said in ran.err
    again = command("merge", "one", "one", "--out", "one")
    assert again.code == 2 and "is there already" in again.err

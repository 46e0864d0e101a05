"""The terminal: sentences first, readable in 80 columns, deaf to escapes."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.results import Results, results_of
from bench.store import Run
from reports.terminal import print_summary
from reports.text import width
from tests.stored_runs import store_run, working_session


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sessions = [working_session("会话-一"), working_session("two", steps=30)]
    return store_run(tmp_path_factory.mktemp("run") / "run", sessions)


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    with Run.open(folder) as run:
        return results_of(run)


def printed(source: Results | Path, columns: int = 80) -> str:
    console = Console(file=io.StringIO(), width=columns, highlight=False, force_terminal=False)
    print_summary(source, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_verdict_comes_first(results: Results) -> None:
    first_words = " ".join(results.verdict.sentences[0].split()[:4])
    assert " ".join(printed(results).split()).startswith(first_words)


def test_it_fits_into_80_columns(results: Results) -> None:
    lines = printed(results).splitlines()
    assert max(width(line) for line in lines) <= 80
    assert any("head_tail" in line and "%" in line for line in lines)


def test_a_folder_says_the_same_as_its_results(folder: Path, results: Results) -> None:
    assert printed(folder) == printed(results)


def test_escapes_and_markup_of_sessions_do_nothing(results: Results) -> None:
    hostile = "\x1b[2J[bold red]boo[/] \u202egnp"
    cells = tuple({**cell, "strategy": f"{hostile}{cell['strategy']}"} for cell in results.cells)
    verdict = replace(results.verdict, sentences=(hostile,), controls=hostile)
    shown = printed(replace(results, cells=cells, verdict=verdict, warnings=(hostile,)), 160)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold red]boo[/]" in shown


def test_long_lists_of_warnings_are_cut(results: Results) -> None:
    shown = printed(replace(results, warnings=tuple(f"file {n} not read" for n in range(40))))
    assert "file 4 not read" in shown
    assert "file 5 not read" not in shown
    assert "35 more in the report" in shown


def test_nothing_to_show_is_no_error(results: Results) -> None:
    assert "Warning" not in printed(replace(results, cells=(), table=(), warnings=()))

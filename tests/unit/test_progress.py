"""The line that tells how far a run has come."""

import io
import sys
from pathlib import Path

import pytest

from bench.cli.progress import Progress, progress_line
from bench.tasks import CellDone


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def cell(status: str = "ok") -> CellDone:
    return CellDone("some-session", status)


def test_line_tells_done_left_rate_time_money_and_failures() -> None:
    now = [100.0]
    progress = Progress(lambda: "$1.25", lambda: now[0])
    progress.begin("", 300, before=40)
    assert progress.line() == "40 of 300 cells, 260 left, $1.25 spent"
    for status in ("ok", "error", "stopped", "ok"):
        now[0] += 2.0
        progress.done(cell(status))
    # What was done before a resumed run says nothing about the rate of this one.
    assert progress.line() == "44 of 300 cells, 0.5/s, 8 min 32 s left, $1.25 spent, 1 failed"
    progress.begin("estimating", 3)
    assert progress.line() == "estimating: 0 of 3 cells, 3 left, $1.25 spent"


def test_nothing_is_said_that_is_not_known() -> None:
    now = [0.0]
    progress = Progress(clock=lambda: now[0])
    progress.begin("", 2)
    assert progress.line() == "0 of 2 cells, 2 left"
    for _ in range(2):
        now[0] += 0.5
        progress.done(cell())
    assert progress.line() == "2 of 2 cells, 2.0/s"


@pytest.mark.parametrize("columns", [20, 80, 300])
def test_the_line_never_wraps(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    progress_line("x" * 500)
    assert terminal.getvalue().count("x") == min(80, columns) - 1


def test_it_is_drawn_on_a_terminal_only_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet, terminal = io.StringIO(), Terminal()
    for stream in (quiet, terminal):
        monkeypatch.setattr(sys, "stderr", stream)
        progress = Progress()
        progress.begin("", 1)
        progress.done(cell())
        progress.end()
    assert quiet.getvalue() == ""
    assert "1 of 1 cells" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in terminal.getvalue()


def test_a_run_tells_its_cells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench.cli import main
    from tests.session_files import session_file

    monkeypatch.chdir(tmp_path)
    file = session_file("a", steps=10)
    words = ["run", file, "--strategy", "prune", "--out", "one", "--no-report", "--json"]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(words) in (0, 3)
    assert "3 of 3 cells" in terminal.getvalue()
    assert main([*words[:-1], "--resume", "--strategy", "head_tail", "--json"]) in (0, 3)
    # One cell was left: the other three count as done from the start.
    assert "3 of 4 cells, 1 left" in terminal.getvalue()
    capsys.readouterr()

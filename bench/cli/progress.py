"""One line that is overwritten, on stderr and on a terminal only."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.tasks import CellDone

_COLUMNS_MAX = 80
_TICK_SECONDS = 1.0
# Before that many cells are done, how long the others take is a guess.
_CELLS_FOR_ESTIMATE = 2


def progress_line(text: str) -> None:
    """Shows how far it has come, in one line that never wraps."""
    if sys.stderr.isatty():
        columns = min(_COLUMNS_MAX, shutil.get_terminal_size((_COLUMNS_MAX, 24)).columns)
        sys.stderr.write(f"\r\x1b[2K{text[: max(10, columns - 1)]}")
        sys.stderr.flush()


def clear_line() -> None:
    """Removes the line."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


class Progress:
    """Cells done and left, their rate, the time left, money spent and failures so far.

    `spent` tells the money, empty for a run that costs none. Cells that an earlier start of the
    run had finished count as done, but not for the rate. The line is drawn anew every second,
    since one session may take long.
    """

    def __init__(
        self,
        spent: Callable[[], str] = lambda: "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spent = spent
        self._clock = clock
        self._lock = threading.Lock()
        self._ended: threading.Event | None = None
        self._ticking: threading.Thread | None = None
        self._begin("", 0, 0)

    def _begin(self, what: str, total: int, before: int) -> None:
        self._what, self._total, self._before = what, total, before
        self._finished = self._failed = 0
        self._started = self._clock()

    def begin(self, what: str, total: int, before: int = 0) -> None:
        """A stage of `total` cells begins, `before` of which were finished earlier."""
        self._begin(what, total, before)
        if sys.stderr.isatty():
            self._ended = threading.Event()
            self._ticking = threading.Thread(target=self._tick, args=(self._ended,), daemon=True)
            self._ticking.start()

    def done(self, cell: CellDone) -> None:
        """One more cell is finished."""
        with self._lock:
            self._finished += 1
            self._failed += cell.status == "error"
        progress_line(self.line())

    def end(self) -> None:
        """The stage is over: the line goes away."""
        if self._ended is not None and self._ticking is not None:
            self._ended.set()
            self._ticking.join()
            self._ended = self._ticking = None
        clear_line()

    def line(self) -> str:
        """What the line says now."""
        seconds = self._clock() - self._started
        left = self._total - self._before - self._finished
        parts = [f"{self._before + self._finished} of {self._total} cells"]
        if self._finished and seconds > 0:
            parts.append(f"{self._finished / seconds:.1f}/s")
        if self._finished >= _CELLS_FOR_ESTIMATE and left:
            parts.append(f"{_duration(seconds / self._finished * left)} left")
        elif left:
            parts.append(f"{left} left")
        spent = self._spent()
        if spent:
            parts.append(f"{spent} spent")
        if self._failed:
            parts.append(f"{self._failed} failed")
        return f"{self._what}: {', '.join(parts)}" if self._what else ", ".join(parts)

    def _tick(self, ended: threading.Event) -> None:
        progress_line(self.line())
        while not ended.wait(_TICK_SECONDS):
            progress_line(self.line())


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

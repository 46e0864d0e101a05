"""A real Dask scheduler and workers as processes of their own, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
_START_SECONDS = 30


class DaskProcesses:
    """One scheduler and `workers` workers on loopback; ended with the context."""

    def __init__(self, folder: Path, workers: int = 2, environment: dict[str, str] | None = None):
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
        self.address = f"tcp://127.0.0.1:{_free_port()}"
        port = self.address.rpartition(":")[2]
        self._scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-show"
        )
        self.workers = [self.start_worker() for _ in range(workers)]

    def start_worker(self) -> subprocess.Popen[bytes]:
        """One more worker, with one thread and nobody who would start it again."""
        return self._start(
            "dask_worker",
            self.address,
            *("--nthreads", "1", "--no-nanny", "--death-timeout", str(_START_SECONDS)),
        )

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{module}-{time.monotonic_ns()}.log").open("wb")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *words],
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Self:
        """Waits until the scheduler listens and all workers have come."""
        from distributed import Client

        until = time.monotonic() + _START_SECONDS
        while not self._listens() and time.monotonic() < until:
            time.sleep(0.1)
        with Client(self.address, timeout=_START_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=_START_SECONDS)
        return self

    def _listens(self) -> bool:
        host, _, port = self.address.removeprefix("tcp://").partition(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (*self.workers, self._scheduler):
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

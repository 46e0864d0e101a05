"""Assembly: shares tasks out over the workers of a Dask cluster and collects what they find."""

from __future__ import annotations

import logging
import queue
import socket
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from bench.cluster.checks import (
    check_versions,
    check_workers,
    own_files,
    problem_with,
)
from bench.cluster.purse import Accounting
from bench.cluster.work import SessionData, perform_cells
from bench.errors import UsageError
from bench.performing import failed
from bench.spending import LedgerPurse
from bench.tasks import PackedOutcome, RunOptions, Task

_CONNECT_SECONDS = 10
_WORKERS_SECONDS = 10
_GONE_SECONDS = 30
_LOOK_AGAIN_SECONDS = 0.5
# A worker always has the next task at hand while it performs one.
_TASKS_A_WORKER = 2
_TRIES_MAX = 4


@dataclass(slots=True)
class _Sent:
    """A task under way, the worker that has it, and its future."""

    task: Task
    worker: str
    future: Any


class Cluster:
    """A Dask cluster that exists already; a context manager.

    Raises UsageError, one line, when there is no scheduler or no worker at the address, or when
    workers have other versions than this machine or no compaction-bench.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = _connect(address)
        self._accounting: Accounting | None = None
        self._sessions: dict[str, Any] = {}
        self._under_way: dict[int, _Sent] = {}
        self._finished: queue.SimpleQueue[int] = queue.SimpleQueue()
        try:
            _check(address, self._client)
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(Exception):
            self._client.cancel([sent.future for sent in self._under_way.values()])
        if self._accounting is not None:
            self._accounting.close()
        with suppress(Exception):
            self._client.close()

    @property
    def workers(self) -> tuple[str, ...]:
        """The addresses of the workers that are there now."""
        try:
            return tuple(self._client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, RuntimeError) as error:
            raise UsageError(
                f"--cluster {self.address}: the scheduler is gone; finished cells are saved, go "
                "on with --resume"
            ) from error

    def outcomes(self, tasks: Sequence[Task]) -> Generator[PackedOutcome, None, None]:
        """What each task found, as soon as it is there. A lost worker's tasks run again."""
        if not tasks:
            return
        self._check_options(tasks[0].options)
        tasks = [replace(task, options=self._with_purse(task.options)) for task in tasks]
        waiting = list(range(len(tasks)))
        tries: Counter[int] = Counter()
        uses = Counter(task.digest for task in tasks)
        is_halted = False
        while waiting or self._under_way:
            lost = self._send(tasks, waiting)
            for place in lost:
                tries[place] += 1
                if is_halted:
                    continue
                if tries[place] < _TRIES_MAX:
                    waiting.insert(0, place)
                    continue
                yield failed(tasks[place], f"its worker was lost {_TRIES_MAX} times")
            for place, outcome in self._collect():
                task = tasks[place]
                uses[task.digest] -= 1
                if not uses[task.digest]:
                    self._sessions.pop(task.digest, None)
                if outcome.halted:
                    # What is under way goes on as far as it can, nothing else begins.
                    is_halted = True
                    waiting.clear()
                yield outcome

    def _check_options(self, options: RunOptions) -> None:
        """Every worker must have what a run needs: people's own strategy files, and keys."""
        files = own_files(options.specs)
        found = self._client.run(problem_with, options, files)
        for worker, problem in found.items():
            if problem:
                raise UsageError(f"--cluster {self.address}: worker {worker}: {problem}")

    def _with_purse(self, options: RunOptions) -> RunOptions:
        """A ledger in a file is asked through the scheduler instead."""
        purse = options.settings.purse
        if not isinstance(purse, LedgerPurse):
            return options
        if self._accounting is None:
            limits = replace(
                purse.ledger.limits, calls_at_once=max(1, options.settings.concurrency)
            )
            ledger = replace(purse.ledger, limits=limits)
            self._accounting = Accounting(self._client, ledger, purse.prices)
        settings = replace(options.settings, purse=self._accounting.description)
        return replace(options, settings=settings)

    def _send(self, tasks: Sequence[Task], waiting: list[int]) -> list[int]:
        """Gives every worker what it has room for; returns the tasks whose worker is gone."""
        workers = self._workers_soon()
        lost = [
            place
            for place, sent in self._under_way.items()
            if sent.worker not in workers or sent.future.status in ("lost", "cancelled")
        ]
        for place in lost:
            sent = self._under_way.pop(place)
            with suppress(Exception):
                self._client.cancel([sent.future])
            # What was scattered to a worker is gone with it.
            self._sessions.pop(tasks[place].digest, None)
            if self._accounting is not None and sent.worker not in workers:
                self._accounting.lose(sent.worker)
        load = Counter(dict.fromkeys(workers, 0))
        load.update(sent.worker for sent in self._under_way.values())
        while waiting and load:
            worker, under_way = min(load.items(), key=lambda pair: pair[1])
            if under_way >= _TASKS_A_WORKER:
                break
            place = waiting.pop(0)
            try:
                self._under_way[place] = self._sent(place, tasks[place], worker)
            except (OSError, TimeoutError, KeyError):
                # It died a moment ago: the scheduler can't reach it, or knows it no more.
                lost.append(place)
                del load[worker]
                continue
            load[worker] += 1
        return lost

    def _workers_soon(self) -> tuple[str, ...]:
        """The workers; when all are gone, new ones get some time to come."""
        until = time.monotonic() + _GONE_SECONDS
        while not (workers := self.workers):
            if time.monotonic() > until:
                raise UsageError(
                    f"--cluster {self.address}: all workers are gone; finished cells are saved, "
                    "go on with --resume"
                )
            time.sleep(_LOOK_AGAIN_SECONDS)
        return workers

    def _sent(self, place: int, task: Task, worker: str) -> _Sent:
        data = self._sessions.get(task.digest)
        if data is None:
            packed = SessionData(task.session, task.facts)
            data = self._client.scatter(packed, workers=[worker], hash=False)
            self._sessions[task.digest] = data
        future = self._client.submit(
            perform_cells,
            data,
            task.digest,
            task.cells,
            task.options,
            workers=[worker],
            pure=False,
            retries=0,
        )
        future.add_done_callback(lambda _: self._finished.put(place))
        return _Sent(task, worker, future)

    def _collect(self) -> Generator[tuple[int, PackedOutcome], None, None]:
        """What is finished; waits a little when nothing is."""
        wait = True
        while True:
            try:
                place = self._finished.get(timeout=_LOOK_AGAIN_SECONDS if wait else 0)
            except queue.Empty:
                return
            wait = False
            sent = self._under_way.get(place)
            if sent is None or sent.future.status not in ("finished", "error"):
                # Its worker was lost meanwhile: it is sent again.
                continue
            outcome = self._result(sent)
            if outcome is not None:
                del self._under_way[place]
                yield place, outcome

    def _result(self, sent: _Sent) -> PackedOutcome | None:
        """What a task found; None when the worker that holds the result is gone."""
        from distributed import CancelledError, KilledWorker

        try:
            outcome: PackedOutcome = sent.future.result(timeout=_GONE_SECONDS)
        except (CancelledError, KilledWorker, OSError, TimeoutError):
            sent.worker = ""
            return None
        except UsageError:
            raise
        except Exception as error:
            # A defect on a worker must not cost the other tasks; the reason names it.
            return failed(sent.task, f"{type(error).__name__}: {error}")
        return outcome


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            f'--cluster {address}: needs Dask: pip install "compaction-bench[cluster]"'
        ) from None
    # What goes wrong is said here in one line; Dask's own log would repeat it at length.
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    _require_listener(address)
    try:
        return Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise _no_scheduler(address, error) from None


def _require_listener(address: str) -> None:
    """Dask tries an address where nobody listens again and again; one try tells as much."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    if "://" in address and not address.startswith("tcp://"):
        _require_certificates(address)
        return
    if not (host and port.isdigit()):
        raise UsageError(f"--cluster {address}: no address; write tcp://HOST:PORT")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS) as there:
            # A scheduler speaks first; whoever waits for us to speak is something else.
            if not there.recv(1):
                raise ConnectionError("whoever listens there hung up")
    except (OSError, OverflowError) as error:
        raise _no_scheduler(address, error) from None


def _require_certificates(address: str) -> None:
    from distributed.security import Security

    certificates = Security().get_connection_args("client").get("ssl_context")
    if address.startswith(("tls://", "wss://")) and certificates is None:
        raise UsageError(
            f"--cluster {address}: an encrypted address needs certificates; name them in Dask's "
            "configuration (distributed.comm.tls)"
        )


def _no_scheduler(address: str, error: BaseException) -> UsageError:
    return UsageError(
        f"--cluster {address}: no Dask scheduler answers there ({_first_line(error)}); start one "
        "with `dask scheduler` and give its address, such as tcp://HOST:8786"
    )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _check(address: str, client: Any) -> None:
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
    if not client.scheduler_info(n_workers=-1)["workers"]:
        raise UsageError(
            f"--cluster {address}: the scheduler has no workers; start some with "
            f"`dask worker {address}`"
        )
    check_versions(address, client.get_versions())

    def code_there() -> str:
        # Sent by value: a worker without the package must be able to say so.
        try:
            from bench.cluster.checks import code_digest
        except ImportError as error:
            return f"missing: {error}"
        return code_digest()

    found: Mapping[str, str] = client.run(code_there)
    check_workers(address, found)

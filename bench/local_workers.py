"""Assembly: tasks shared out over processes of this machine, by joblib."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Sequence
from uuid import uuid4

from bench.errors import RunHalted
from bench.performing import perform_packed
from bench.tasks import PackedOutcome, Task

_LOOK_AGAIN_SECONDS = 1.0


def outcomes(tasks: Sequence[Task], workers: int) -> Generator[PackedOutcome, None, None]:
    """What each task found, as soon as it is there, not in order.

    After a halt the tasks under way go on as far as they can and no other begins. Given up in the
    middle (an interruption, an error) no process is left behind.
    """
    from joblib import Parallel, delayed

    parallel = Parallel(
        n_jobs=min(workers, len(tasks)),
        backend="loky",
        batch_size=1,
        pre_dispatch="2*n_jobs",
        return_as="generator_unordered",
        # Sessions are plain objects: there are no arrays to map into memory.
        max_nbytes=None,
    )
    run, found, is_finished = uuid4().hex, None, False
    try:
        found = parallel(delayed(_perform)(task, os.getpid(), run) for task in tasks)
        # No `yield from`: that would close `found` before it can be done quietly below.
        for outcome in found:  # noqa: UP028
            yield outcome
        is_finished = True
    except _worker_died() as error:
        raise RunHalted(
            "a worker process was killed, by somebody or since memory ran out (fewer --workers "
            "need less)"
        ) from error
    finally:
        if not is_finished:
            with warnings.catch_warnings():
                # That some tasks were given up is what is wanted here.
                warnings.simplefilter("ignore")
                if found is not None:
                    found.close()
        # Workers that were kept would have the environment and folder of this run in the next one.
        _end_workers(kill=not is_finished)


# Why this process halted, by the run: it begins no other task of that run.
_halted: dict[str, str] = {}


def _perform(task: Task, parent: int, run: str) -> PackedOutcome:
    _belong_to(parent)
    if run in _halted:
        return PackedOutcome((), _halted[run])
    outcome = perform_packed(task)
    if outcome.halted:
        _halted[run] = outcome.halted
    return outcome


_belongs_to: set[int] = set()


def _belong_to(parent: int) -> None:
    """Leaves Ctrl-C to the process that started this one, and ends when that one is gone."""
    if parent in _belongs_to or os.getpid() == parent:
        return
    _belongs_to.add(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_AGAIN_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _worker_died() -> type[Exception]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    died: type[Exception] = BrokenProcessPool
    return died


def _end_workers(*, kill: bool) -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True, kill_workers=kill)

"""Edges: how many requests are under way to one host, over all processes on this machine.

A slot is a lock on a small file, which the system gives back when its holder dies. Where there are
no such locks, each process limits itself.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - systems without file locks
    fcntl = None  # type: ignore[assignment]

_LOOK_AGAIN_SECONDS = 0.02
_OWN_LOCK = threading.Lock()
_OWN: dict[tuple[str, int], threading.BoundedSemaphore] = {}


@contextmanager
def slot(host: str, slots_max: int) -> Iterator[None]:
    """Holds one of `slots_max` slots of `host`; waits while all are taken."""
    folder = _folder() if fcntl is not None else None
    if folder is None:
        with _own_slot(host, slots_max):
            yield
        return
    descriptor = _taken(folder, sha256(host.encode()).hexdigest()[:16], slots_max)
    try:
        yield
    finally:
        os.close(descriptor)


def _folder() -> Path | None:
    """A folder of this user's; None where none can be made."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"compaction-bench-slots-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == user:
            return folder
    return None


def _taken(folder: Path, name: str, slots_max: int) -> int:
    """The descriptor of a locked file."""
    while True:
        for number in range(max(1, slots_max)):
            descriptor = os.open(folder / f"{name}-{number}", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            except BaseException:
                os.close(descriptor)
                raise
            return descriptor
        time.sleep(_LOOK_AGAIN_SECONDS)


@contextmanager
def _own_slot(host: str, slots_max: int) -> Iterator[None]:
    with _OWN_LOCK:
        semaphore = _OWN.setdefault(
            (host, slots_max), threading.BoundedSemaphore(max(1, slots_max))
        )
    with semaphore:
        yield

"""Real SQLite connections that fail on purpose: the seam of all fault tests of stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


class FaultyConnection(sqlite3.Connection):
    """A real connection whose n-th statement fails, before or after it was carried out.

    The plan belongs to the class, so that it outlives a connection that is opened anew; `fails_at`
    0 means that nothing fails.
    """

    fails_at = 0
    is_lasting = False
    is_after = False
    statements = 0

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        return self._run(super().execute, *arguments)

    def executemany(self, statement: str, rows: Iterable[Any]) -> sqlite3.Cursor:
        return self._run(super().executemany, statement, rows)

    def _run(self, call: Callable[..., sqlite3.Cursor], *arguments: Any) -> sqlite3.Cursor:
        cls = type(self)
        cls.statements += 1
        is_due = (
            cls.statements >= cls.fails_at if cls.is_lasting else cls.statements == cls.fails_at
        )
        if is_due and cls.fails_at and not cls.is_after:
            raise sqlite3.OperationalError("disk I/O error")
        cursor = call(*arguments)
        if is_due and cls.fails_at:
            raise sqlite3.OperationalError("database or disk is full")
        return cursor


def faulty(
    fails_at: int = 0, *, is_lasting: bool = False, is_after: bool = False
) -> type[FaultyConnection]:
    """A kind of connection with a plan of its own."""
    return type(
        "OneFault",
        (FaultyConnection,),
        {"fails_at": fails_at, "is_lasting": is_lasting, "is_after": is_after, "statements": 0},
    )


def connect_with(kind: type[FaultyConnection]) -> Callable[[Path], sqlite3.Connection]:
    """The connection factory that a store is given."""
    return lambda path: unsynced(path, kind)


def unsynced(path: Path, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """A connection that doesn't wait for the disk: no machine loses its power in a test."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, factory=kind)
    # Past the class's own `execute`, which may count and fail.
    sqlite3.Connection.execute(connection, "PRAGMA synchronous = OFF")
    return connection

"""Edge: sessions and cells of a run file as the rows that they are stored in, to copy them."""

from __future__ import annotations

from typing import Any

from bench.store import Run
from bench.store_rows import CellRows, SessionRows


def stored_session(run: Run, session_id: str) -> SessionRows:
    """A session as it is stored; raises IndexError for one that the run doesn't hold."""
    columns = run.rows(
        "SELECT id, digest, path, format, cluster, events, lines, description FROM sessions "
        "WHERE id = ?",
        (session_id,),
    )[0]
    facts, uses = (_column(run, table, "session", session_id) for table in ("facts", "uses"))
    return SessionRows(session_id, tuple(columns), facts, uses)


def stored_cell(run: Run, identity: str) -> CellRows:
    """A cell as it is stored; raises IndexError for one that the run doesn't hold."""
    columns = run.rows("SELECT * FROM cells WHERE identity = ?", (identity,))[0]
    requests = run.rows("SELECT * FROM requests WHERE cell = ? ORDER BY position", (identity,))
    scores = run.rows("SELECT data FROM scores WHERE cell = ?", (identity,))
    return CellRows(
        identity=identity,
        columns=tuple(columns),
        requests=tuple(tuple(row[2:]) for row in requests),
        heads=_column(run, "heads", "cell", identity, "items"),
        compactions=_column(run, "compactions", "cell", identity),
        calls=_column(run, "calls", "cell", identity),
        answers=_column(run, "answers", "cell", identity),
        scores=scores[0][0] if scores else None,
    )


def _column(run: Run, table: str, key: str, value: str, name: str = "data") -> tuple[Any, ...]:
    query = f"SELECT {name} FROM {table} WHERE {key} = ? ORDER BY position"  # noqa: S608
    return tuple(found for (found,) in run.rows(query, (value,)))

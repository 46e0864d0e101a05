"""Edge: the run file, `run.sqlite`: what happened first, scores beside it.

Everything a score rests on is kept raw, so scores can be computed again without a model. A cell is
written in one transaction: a killed run leaves a file that can be read and gone on with. SQLite's
rollback journal is used, not the write-ahead log: a finished run is one file that can be copied.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any, TypeAlias

from bench.errors import UsageError
from bench.events import Session
from bench.facts import Fact, Use
from bench.formats.own import session_from_bytes
from bench.history import History
from bench.observations import AnswerObservation, CallObservation, Replay
from bench.plan import Cell
from bench.projection import Json
from bench.store_folder import make_folders, reason_of, remove
from bench.store_rows import (
    Canary,
    CellRows,
    SessionRows,
    StoredCell,
    StoredSession,
    answer_of,
    cell_of,
    cell_rows,
    clean,
    compaction_of,
    fact_of,
    head_of,
    json_text,
    projection_of,
    request_of,
    session_rows,
)
from bench.store_schema import (
    APPLICATION_ID,
    CELL_COLUMNS,
    CELL_TABLES,
    FILE_NAME,
    REQUEST_COLUMNS,
    SCHEMA,
    SCHEMA_VERSION,
)

__all__ = ["Canary", "Connect", "Run", "StoredCell", "StoredSession", "connect_to_file"]

Connect: TypeAlias = Callable[[Path], sqlite3.Connection]


def connect_to_file(path: Path) -> sqlite3.Connection:
    """The real connection; tests pass one that fails on purpose."""
    return sqlite3.connect(path, timeout=10, isolation_level=None)


class Run:
    """One run folder. Use it as a context manager, or call `close`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._history: tuple[str, History] | None = None

    @classmethod
    def create(
        cls,
        folder: Path | str,
        information: Mapping[str, Json] | None = None,
        *,
        connect: Connect = connect_to_file,
    ) -> Run:
        """A new run in `folder`, which is made when it isn't there.

        `information` is kept as JSON by key: options, versions, entity table, tokenizer. Raises
        UsageError, and leaves nothing behind, when the folder can't be written or holds a run.
        """
        folder = Path(folder)
        path = folder / FILE_NAME
        made = make_folders(folder)
        # The finished file appears under its name at once, or not at all.
        unfinished = folder / f"{FILE_NAME}.{os.getpid()}.unfinished"
        try:
            if path.exists():
                raise UsageError(
                    f"{path}: is there already; go on with --resume or give another folder"
                )
            _write_schema(unfinished, information or {}, connect)
            unfinished = unfinished.rename(path)
            return cls.open(folder, connect=connect)
        except BaseException as error:
            remove(unfinished, made)
            if isinstance(error, (OSError, sqlite3.Error)):
                raise UsageError(
                    f"{folder}: no run can be written here: {reason_of(error)}; "
                    "give another folder with --out"
                ) from error
            raise

    @classmethod
    def open(cls, folder: Path | str, *, connect: Connect = connect_to_file) -> Run:
        """The run in `folder` (or the file itself), to read or to go on with.

        Raises UsageError when there is none, or one of another version.
        """
        path = Path(folder)
        connection: sqlite3.Connection | None = None
        try:
            path = path / FILE_NAME if path.is_dir() else path
            if not path.is_file():
                raise UsageError(f"{folder}: there is no run here; a run folder holds {FILE_NAME}")
            connection = connect(path)
            _check_version(path, connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, (OSError, sqlite3.Error)):
                raise UsageError(f"{path}: is no readable run: {reason_of(error)}") from error
            raise
        return cls(path, connection)

    def close(self) -> None:
        """Close the file; an unfinished transaction is undone."""
        self._connection.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    def save_information(self, key: str, value: Json) -> None:
        """Keep a JSON value that concerns the whole run, in place of an earlier one."""
        with self._transaction():
            self._write("INSERT OR REPLACE INTO information VALUES (?, ?)", (key, json_text(value)))

    def save_session(
        self,
        session: Session,
        digest: str,
        *,
        description: Mapping[str, Json] | None = None,
        facts: Sequence[Fact] = (),
        uses: Sequence[Use] = (),
    ) -> None:
        """Keep a session with its facts and uses, in place of an earlier one of this id."""
        self.save_session_rows(
            session_rows(session, digest, description=description, facts=facts, uses=uses)
        )

    def save_session_rows(self, rows: SessionRows) -> None:
        """The same with rows that were made elsewhere."""
        with self._transaction():
            for table, column in (("facts", "session"), ("uses", "session"), ("sessions", "id")):
                self._write(f"DELETE FROM {table} WHERE {column} = ?", (rows.id,))  # noqa: S608
            self._write(
                "INSERT INTO sessions (id, digest, path, format, cluster, events, lines, "
                "description) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows.columns,
            )
            for table, records in (("facts", rows.facts), ("uses", rows.uses)):
                self._write_rows(table, rows.id, records)
        self._history = None

    def save_cell(
        self,
        cell: Cell,
        *,
        status: str,
        reason: str = "",
        seconds: float = 0.0,
        replay: Replay | None = None,
        scores: Mapping[str, Json] | None = None,
        calls: Iterable[CallObservation] = (),
        answers: Iterable[AnswerObservation] = (),
    ) -> None:
        """Keep a cell with all that its replay saw, in one transaction, in place of an earlier try.

        `status` is ok, not_exercised, stopped or error. `seconds` is wall time.
        """
        self.save_cell_rows(
            cell_rows(
                cell,
                status=status,
                reason=reason,
                seconds=seconds,
                replay=replay,
                scores=scores,
                calls=calls,
                answers=answers,
            )
        )

    def save_cell_rows(self, rows: CellRows) -> None:
        """The same with rows that were made elsewhere."""
        identity = rows.identity
        places = ", ".join("?" * (len(REQUEST_COLUMNS) + 2))
        with self._transaction():
            for table, column in CELL_TABLES:
                self._write(f"DELETE FROM {table} WHERE {column} = ?", (identity,))  # noqa: S608
            self._write(
                f"INSERT INTO cells VALUES ({', '.join('?' * 16)})",  # noqa: S608
                rows.columns,
            )
            self._write_many(
                f"INSERT INTO requests VALUES ({places})",  # noqa: S608
                ((identity, place, *request) for place, request in enumerate(rows.requests)),
            )
            for table in ("heads", "compactions", "calls", "answers"):
                self._write_rows(table, identity, getattr(rows, table))
            if rows.scores is not None:
                self._write("INSERT INTO scores VALUES (?, ?)", (identity, rows.scores))

    def replace_scores(self, scores: Iterable[tuple[str, Mapping[str, Json]]]) -> None:
        """Drop all scores and keep these: pairs of cell identity and scores."""
        rows = [(identity, json_text(data)) for identity, data in scores]
        with self._transaction():
            self._write("DELETE FROM scores")
            self._write_many("INSERT INTO scores VALUES (?, ?)", rows)

    def save_warnings(self, warnings: Iterable[str]) -> None:
        """Keep sentences for the reader of the report; each is kept once."""
        with self._transaction():
            self._write_many(
                "INSERT OR IGNORE INTO warnings (text) VALUES (?)", [(text,) for text in warnings]
            )

    def save_canaries(self, canaries: Iterable[Canary]) -> None:
        """Keep canary results, in place of earlier ones of the same session and control."""
        rows = [astuple(canary) for canary in canaries]
        with self._transaction():
            self._write_many("INSERT OR REPLACE INTO canaries VALUES (?, ?, ?, ?)", rows)

    # Reading

    def information(self) -> dict[str, Json]:
        """Everything that concerns the whole run, by key."""
        return {key: json.loads(value) for key, value in self.rows("SELECT * FROM information")}

    def has_cell(self, identity: str) -> bool:
        """True when the cell is there and didn't end in an error: errors are tried again."""
        query = "SELECT 1 FROM cells WHERE identity = ? AND status != 'error'"
        return bool(self.rows(query, (identity,)))

    def sessions(self) -> Iterator[StoredSession]:
        """All sessions in the order of the plan, whichever was finished first."""
        columns = "id, digest, path, format, cluster, events, description"
        query = (
            f"SELECT {columns} FROM sessions LEFT JOIN "  # noqa: S608
            "(SELECT session, min(position) AS first FROM cells GROUP BY session) "
            "ON session = id ORDER BY first IS NULL, first, position"
        )
        for row in self.rows(query):
            values = [*row[:-1], json.loads(row[-1])]
            yield StoredSession(*values)

    def session(self, session_id: str) -> Session:
        """A session as it was replayed; raises UsageError when the run doesn't hold it."""
        rows = self.rows("SELECT lines FROM sessions WHERE id = ?", (session_id,))
        if not rows:
            raise UsageError(f"{self.path}: holds no session {session_id}")
        return session_from_bytes(zlib.decompress(rows[0][0]))

    def history(self, session_id: str) -> History:
        """The whole history of a session; the last one asked for is kept at hand."""
        if self._history is None or self._history[0] != session_id:
            self._history = (session_id, History(self.session(session_id).events))
        return self._history[1]

    def facts(self, session_id: str) -> tuple[Fact, ...]:
        """The planted and authored facts of a session, in order."""
        return tuple(fact_of(data) for data in self._records("facts", session_id))

    def uses(self, session_id: str) -> tuple[Use, ...]:
        """The found uses of a session, in order."""
        return tuple(Use(**data) for data in self._records("uses", session_id))

    def cells(self) -> Iterator[StoredCell]:
        """All cells in the order of the plan."""
        columns = ", ".join(CELL_COLUMNS)
        query = (
            f"SELECT {columns}, status, reason, seconds, requests_total, retries, stopped, "  # noqa: S608
            "scores.data FROM cells LEFT JOIN scores ON cell = identity ORDER BY position, identity"
        )
        return map(cell_of, self.rows(query))

    def replay(self, stored: StoredCell) -> Replay | None:
        """What the replay of a cell saw, as it was; None for a cell that ended in an error."""
        if stored.requests_total is None or stored.retries is None:
            return None
        identity = (stored.cell.identity,)
        history = self.history(stored.cell.session)
        columns = ", ".join(f'"{name}"' for name in REQUEST_COLUMNS)
        requests = self.rows(
            f"SELECT {columns} FROM requests WHERE cell = ? ORDER BY position",  # noqa: S608
            identity,
        )
        heads = self.rows("SELECT items FROM heads WHERE cell = ? ORDER BY position", identity)
        ((final,),) = self.rows("SELECT final FROM cells WHERE identity = ?", identity)
        return Replay(
            session=stored.cell.session,
            requests=tuple(map(request_of, requests)),
            requests_total=stored.requests_total,
            heads=tuple(head_of(items, history) for (items,) in heads),
            compactions=tuple(map(compaction_of, self._records("compactions", *identity))),
            retries=stored.retries,
            stopped=stored.stopped,
            final=projection_of(final, history) if final is not None else None,
        )

    def calls(self, identity: str) -> tuple[CallObservation, ...]:
        """The calls to models that a cell made, in order."""
        return tuple(CallObservation(**data) for data in self._records("calls", identity))

    def answers(self, identity: str) -> tuple[AnswerObservation, ...]:
        """The questions that were put to readers in a cell, in order."""
        return tuple(map(answer_of, self._records("answers", identity)))

    def warnings(self) -> tuple[str, ...]:
        """All sentences that were kept, in order."""
        return tuple(text for (text,) in self.rows("SELECT text FROM warnings ORDER BY position"))

    def canaries(self) -> tuple[Canary, ...]:
        """All canary results, by session and control."""
        return tuple(
            Canary(*row) for row in self.rows("SELECT * FROM canaries ORDER BY session, control")
        )

    # Inside

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; raises UsageError when the file can't take it."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            self._undo()
            if isinstance(error, sqlite3.Error):
                raise UsageError(f"{self.path}: can't be written: {reason_of(error)}") from error
            raise

    def _undo(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            # Closing undoes what a rollback couldn't; nothing more is written to this file.
            self._connection.close()

    def _write(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._connection.execute(statement, [clean(value) for value in values])

    def _write_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(statement, ([clean(value) for value in row] for row in rows))

    def _write_rows(self, table: str, owner: str, values: Iterable[Any]) -> None:
        self._write_many(
            f"INSERT INTO {table} VALUES (?, ?, ?)",  # noqa: S608
            ((owner, position, value) for position, value in enumerate(values)),
        )

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a query finds, as stored; raises UsageError when the file can't be read."""
        try:
            cursor = self._connection.execute(query, [clean(value) for value in values])
            return cursor.fetchall()
        except sqlite3.Error as error:
            raise UsageError(f"{self.path}: can't be read: {reason_of(error)}") from error

    def _records(self, table: str, owner: str) -> Iterator[dict[str, Any]]:
        column = "session" if table in ("facts", "uses") else "cell"
        query = f"SELECT data FROM {table} WHERE {column} = ? ORDER BY position"  # noqa: S608
        for (data,) in self.rows(query, (owner,)):
            yield json.loads(data)


def _write_schema(path: Path, information: Mapping[str, Json], connect: Connect) -> None:
    path.unlink(missing_ok=True)
    connection = connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany(
            "INSERT INTO information VALUES (?, ?)",
            [(key, json_text(value)) for key, value in information.items()],
        )
        connection.execute("COMMIT")
    finally:
        connection.close()


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise UsageError(f"{path}: is no run of compaction-bench, another program wrote it")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        age = "an older" if version < SCHEMA_VERSION else "a newer"
        raise UsageError(
            f"{path}: was written by {age} version of compaction-bench (schema {version}, this one "
            f"reads {SCHEMA_VERSION}); run it again, or read it with the version that wrote it"
        )

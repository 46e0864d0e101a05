"""Edge: conversations that are still going on, in an SQLite file or in memory (F12).

The log of a session is append-only: events, rewinds and `compaction_completed` rows. Beside it
stand a fast projection row, the strategy's state, what each route has accepted, and diagnostics.
Everything that belongs together is written in one transaction; whoever acts on an outdated view is
refused by name (F4.3). What is read is verified again, and nothing that is told is ever changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeAlias

from bench.conversation_reading import Source, State, Stored, read_stored, text_digest
from bench.conversation_records import (
    CompletionRecord,
    ConversationError,
    RecordCheck,
    Refusal,
    Refused,
    StaleWrite,
    event_text,
    parsed,
    record_text,
)
from bench.engine_boundary import AcceptedBoundary
from bench.events import Event
from bench.projection import Json
from bench.store_folder import reason_of
from bench.store_rows import clean, json_text

Connect: TypeAlias = Callable[[Path], sqlite3.Connection]

APPLICATION_ID = 0x43424331  # "CBC1"
SCHEMA_VERSION = 1

_SCHEMA = (
    """CREATE TABLE log (
        session TEXT NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (session, position))""",
    """CREATE TABLE projections (
        session TEXT PRIMARY KEY, position INTEGER NOT NULL, id TEXT NOT NULL,
        data TEXT NOT NULL)""",
    """CREATE TABLE states (
        session TEXT PRIMARY KEY, record TEXT NOT NULL, data TEXT NOT NULL,
        digest TEXT NOT NULL)""",
    """CREATE TABLE boundaries (
        session TEXT NOT NULL, route TEXT NOT NULL, seq INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        payload_units INTEGER NOT NULL, PRIMARY KEY (session, route))""",
    """CREATE TABLE diagnostics (
        position INTEGER PRIMARY KEY, session TEXT NOT NULL, data TEXT NOT NULL)""",
)


def connect_to_file(path: Path) -> sqlite3.Connection:
    """The real connection (":memory:" for one in memory); tests pass one that fails on purpose."""
    return sqlite3.connect(path, timeout=10, isolation_level=None)


class ConversationStore:
    """The conversations of one file. Use it as a context manager, or call `close`.

    Every method raises ConversationError when the file can't be read or written.
    """

    def __init__(self, path: Path | str, *, connect: Connect = connect_to_file) -> None:
        """Opens the file, or makes it; ":memory:" keeps everything in memory."""
        self.path = Path(path)
        self._connect = connect
        self._open: sqlite3.Connection | None = None
        try:
            with self._transaction("opened", "DEFERRED") as connection:
                is_new = self._is_new(connection)
            if is_new:
                with self._transaction("opened") as connection:
                    self._make(connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; an unfinished transaction is undone."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __enter__(self) -> ConversationStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    def append(self, session: str, event: Event, *, length: int) -> int:
        """Tell one more event behind the `length` rows that the caller knows: the new length.

        Raises StaleWrite("log") when there are more.
        """
        with self._transaction("written") as connection:
            self._check_length(connection, session, length)
            return self._add(connection, session, "event", event.seq, event_text(event))

    def rewind(self, session: str, through_seq: int, *, length: int) -> int:
        """Take back every event behind `through_seq`; the rows stay. The new length of the log.

        Compactions made before don't count any more (F12.4), and what a route has accepted reaches
        no further than what is left.
        """
        with self._transaction("written") as connection:
            self._check_length(connection, session, length)
            added = self._add(connection, session, "rewind", through_seq, "{}")
            for table in ("projections", "states"):
                connection.execute(f"DELETE FROM {table} WHERE session = ?", (clean(session),))  # noqa: S608
            connection.execute(
                "UPDATE boundaries SET seq = ? WHERE session = ? AND seq > ?",
                (through_seq, clean(session), through_seq),
            )
            connection.execute(
                "DELETE FROM boundaries WHERE session = ? AND seq < 1", (clean(session),)
            )
            return added

    def commit(self, record: CompletionRecord, state: State, *, rewound_at: int) -> int:
        """Keep a compaction: log row, projection row and state at once (F12.1). The new length.

        Raises StaleWrite("checkpoint") when another record than `record.previous_id` stands, and
        StaleWrite("log") when the session was rewound since `rewound_at`.
        """
        session = record.session
        with self._transaction("written") as connection:
            self._check_rewound(connection, session, rewound_at)
            standing = self._standing_id(connection, session)
            if standing != record.previous_id:
                raise StaleWrite(
                    "checkpoint",
                    f"{self.path}: session {_named(session)}: stale: this compaction was made on "
                    f"checkpoint {_short(record.previous_id)}, but {_short(standing)} stands now",
                )
            text = record_text(record)
            added = self._add(connection, session, "compaction_completed", record.through_seq, text)
            connection.execute(
                "INSERT OR REPLACE INTO projections VALUES (?, ?, ?, ?)",
                (clean(session), added, record.id, text),
            )
            self._put_state(connection, session, record.id, state)
            return added

    def save_request(
        self,
        session: str,
        *,
        record_id: str,
        rewound_at: int,
        state: State | None = None,
        route: str = "",
        boundary: AcceptedBoundary | None = None,
        diagnostics: Sequence[Json] = (),
    ) -> None:
        """Keep what a request left behind: state, what `route` has accepted, what was seen.

        A state that goes with another record than the one that stands is left out. Raises
        StaleWrite("log") when the session was rewound since `rewound_at`.
        """
        with self._transaction("written") as connection:
            self._check_rewound(connection, session, rewound_at)
            if state is not None and self._standing_id(connection, session) == record_id:
                self._put_state(connection, session, record_id, state)
            if boundary is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO boundaries VALUES (?, ?, ?, ?, ?, ?)",
                    (clean(session), clean(route), *boundary),
                )
            self._put_diagnostics(connection, session, diagnostics)

    # Reading

    def sessions(self) -> tuple[str, ...]:
        """The ids of all conversations in the file."""
        with self._transaction("read", "DEFERRED") as connection:
            rows = connection.execute("SELECT DISTINCT session FROM log ORDER BY session")
            return tuple(session for (session,) in rows.fetchall())

    def standing_id(self, session: str) -> str:
        """The id of the record in the projection row; empty without one."""
        with self._transaction("read", "DEFERRED") as connection:
            return self._standing_id(connection, session)

    def diagnostics(self, session: str) -> tuple[Json, ...]:
        """Everything that was kept for the record about a session, oldest first (F11.4)."""
        with self._transaction("read", "DEFERRED") as connection:
            rows = connection.execute(
                "SELECT data FROM diagnostics WHERE session = ? ORDER BY position",
                (clean(session),),
            ).fetchall()
        found: list[Json] = []
        for (text,) in rows:
            with suppress(Refused):
                found.append(parsed(text))
        return tuple(found)

    def read(self, session: str, route: str, check: RecordCheck) -> Stored:
        """The conversation as it stands, verified again (F12.2 to F12.4).

        The projection row is used when it is sound, else the newest sound completion behind the
        last rewind, else the history alone; the row is then put right or removed. Raises
        ConversationError when the history itself is damaged.
        """
        with self._transaction("read", "DEFERRED") as connection:
            source = Source(
                lambda select, values: connection.execute(select, values).fetchall(), session
            )
            try:
                stored, needs_repair = read_stored(source, route, check)
            except ConversationError as error:
                raise ConversationError(f"{self.path}: {error}") from error
        if not needs_repair:
            return stored
        try:
            is_repaired = self._repair(session, stored)
        except ConversationError as error:
            # What was refused is refused again next time; reading doesn't need the row put right.
            unrepaired = Refusal("projection", "not_repaired", str(error))
            return replace(stored, refusals=(*stored.refusals, unrepaired))
        return replace(stored, is_noted=is_repaired)

    # Inside

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables and not application:
            return True
        if application != APPLICATION_ID:
            raise ConversationError(
                f"{self.path}: holds no conversations, another program wrote it; give another file"
            )
        if version != SCHEMA_VERSION:
            raise ConversationError(
                f"{self.path}: was written by another version of compaction-bench (schema "
                f"{version}, this one reads {SCHEMA_VERSION}); read it with that version"
            )
        return False

    def _make(self, connection: sqlite3.Connection) -> None:
        # Two may have found the file new; the second one sees that it isn't any more.
        if self._is_new(connection):
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            for statement in _SCHEMA:
                connection.execute(statement)

    def _repair(self, session: str, stored: Stored) -> bool:
        """Put a recovered record into the projection row, or remove an invalid one (F12.3).

        False when somebody has written meanwhile: who reads next looks again.
        """
        with self._transaction("written") as connection:
            if _length(connection, session) != stored.log.length:
                return False
            connection.execute("DELETE FROM projections WHERE session = ?", (clean(session),))
            if stored.current is not None:
                connection.execute(
                    "INSERT INTO projections VALUES (?, ?, ?, ?)",
                    (
                        clean(session),
                        stored.log.completed_at,
                        stored.current.id,
                        record_text(stored.current),
                    ),
                )
            self._put_diagnostics(connection, session, [asdict(each) for each in stored.refusals])
            return True

    @contextmanager
    def _transaction(self, done: str, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All or nothing; raises ConversationError when the file can't be `done`."""
        try:
            connection = self._connection()
            connection.execute(f"BEGIN {kind}")
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            self._undo()
            if isinstance(error, (OSError, sqlite3.Error)):
                raise ConversationError(
                    f"{self.path}: can't be {done}: {reason_of(error)}"
                ) from error
            raise

    def _connection(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = self._connect(self.path)
            # A damaged text must come out as one that can be refused, not as an error.
            self._open.text_factory = lambda data: data.decode("utf-8", "replace")
        if self._open.in_transaction:
            self._open.execute("ROLLBACK")
        return self._open

    def _undo(self) -> None:
        try:
            if self._open is not None and self._open.in_transaction:
                self._open.execute("ROLLBACK")
        except sqlite3.Error:
            # Closing undoes what a rollback couldn't. What is in memory would be lost with it, so
            # there the rollback is tried again before the next transaction.
            if str(self.path) != ":memory:":
                self.close()

    def _add(
        self, connection: sqlite3.Connection, session: str, kind: str, seq: int, text: str
    ) -> int:
        position = _length(connection, session) + 1
        connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?)", (clean(session), position, kind, seq, text)
        )
        return position

    def _check_length(self, connection: sqlite3.Connection, session: str, known: int) -> None:
        length = _length(connection, session)
        if length != known:
            raise StaleWrite(
                "log",
                f"{self.path}: session {_named(session)}: stale: the log has {length} rows, "
                f"{known} were known; read it again",
            )

    def _check_rewound(self, connection: sqlite3.Connection, session: str, known: int) -> None:
        rewound_at = _newest(connection, session, "rewind")
        if rewound_at != known:
            raise StaleWrite(
                "log",
                f"{self.path}: session {_named(session)}: stale: it was rewound meanwhile; "
                "read it again",
            )

    def _standing_id(self, connection: sqlite3.Connection, session: str) -> str:
        row = connection.execute(
            "SELECT id FROM projections WHERE session = ?", (clean(session),)
        ).fetchone()
        return str(row[0]) if row is not None else ""

    def _put_state(
        self, connection: sqlite3.Connection, session: str, record_id: str, state: State
    ) -> None:
        text = json_text(asdict(state))
        connection.execute(
            "INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?)",
            (clean(session), record_id, text, text_digest(text)),
        )

    def _put_diagnostics(
        self, connection: sqlite3.Connection, session: str, diagnostics: Sequence[Json]
    ) -> None:
        for each in diagnostics:
            connection.execute(
                "INSERT INTO diagnostics (session, data) VALUES (?, ?)",
                (clean(session), json_text(each)),
            )


def _length(connection: sqlite3.Connection, session: str) -> int:
    row = connection.execute(
        "SELECT coalesce(max(position), 0) FROM log WHERE session = ?", (clean(session),)
    ).fetchone()
    return int(row[0])


def _newest(connection: sqlite3.Connection, session: str, kind: str) -> int:
    row = connection.execute(
        "SELECT coalesce(max(position), 0) FROM log WHERE session = ? AND kind = ?",
        (clean(session), kind),
    ).fetchone()
    return int(row[0])


def _short(record_id: str) -> str:
    return record_id[:12] if record_id else "none"


def _named(session: str) -> str:
    return f"{session[:80]!a}"

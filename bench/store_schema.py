"""Edge: the tables of a run file.

`application_id` tells a run file from any other SQLite file, `user_version` is the schema version.
Rows that people may want to query have columns of their own; the rest is JSON text, or JSON text
compressed with zlib where it is long.
"""

from __future__ import annotations

from dataclasses import fields

from bench.observations import RequestObservation
from bench.plan import Cell

FILE_NAME = "run.sqlite"
APPLICATION_ID = 0x43424E31  # "CBN1"
SCHEMA_VERSION = 2
CELL_COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Cell))
REQUEST_COLUMNS: tuple[str, ...] = RequestObservation._fields
# The tables that hold a cell, with the column that names it.
CELL_TABLES: tuple[tuple[str, str], ...] = (
    ("requests", "cell"),
    ("heads", "cell"),
    ("compactions", "cell"),
    ("calls", "cell"),
    ("answers", "cell"),
    ("scores", "cell"),
    ("cells", "identity"),
)

SCHEMA: tuple[str, ...] = (
    "CREATE TABLE information (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE sessions (
        position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,
        path TEXT NOT NULL, format TEXT NOT NULL, cluster TEXT, events INTEGER NOT NULL,
        lines BLOB NOT NULL, description TEXT NOT NULL)""",
    """CREATE TABLE facts (
        session TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (session, position))""",
    """CREATE TABLE uses (
        session TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (session, position))""",
    """CREATE TABLE cells (
        identity TEXT PRIMARY KEY, position INTEGER NOT NULL, session TEXT NOT NULL,
        digest TEXT NOT NULL, spec TEXT NOT NULL, window INTEGER NOT NULL,
        window_asked TEXT NOT NULL, model TEXT NOT NULL, seed INTEGER NOT NULL,
        status TEXT NOT NULL, reason TEXT NOT NULL, seconds REAL NOT NULL,
        requests_total INTEGER, retries TEXT, stopped TEXT, final BLOB)""",
    f"""CREATE TABLE requests (
        cell TEXT NOT NULL, position INTEGER NOT NULL,
        {", ".join(f'"{name}" INTEGER NOT NULL' for name in REQUEST_COLUMNS)},
        PRIMARY KEY (cell, position))""",
    """CREATE TABLE heads (
        cell TEXT NOT NULL, position INTEGER NOT NULL, items BLOB NOT NULL,
        PRIMARY KEY (cell, position))""",
    """CREATE TABLE compactions (
        cell TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (cell, position))""",
    """CREATE TABLE calls (
        cell TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (cell, position))""",
    """CREATE TABLE answers (
        cell TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (cell, position))""",
    "CREATE TABLE scores (cell TEXT PRIMARY KEY, data TEXT NOT NULL)",
    "CREATE TABLE warnings (position INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    """CREATE TABLE canaries (
        session TEXT NOT NULL, control TEXT NOT NULL, planted INTEGER NOT NULL,
        found INTEGER NOT NULL, PRIMARY KEY (session, control))""",
)

"""Edge: records of a run as the columns and JSON texts of its file, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from bench.events import Session
from bench.facts import Fact, Probe, Use
from bench.formats.own import session_to_bytes
from bench.history import History
from bench.observations import (
    AnswerObservation,
    CallObservation,
    CompactionObservation,
    Replay,
    RequestObservation,
    Retries,
    Stopped,
    item_from_json,
    item_to_json,
)
from bench.plan import Cell
from bench.projection import Item, Json, Projection
from bench.store_schema import CELL_COLUMNS, REQUEST_COLUMNS


@dataclass(frozen=True, slots=True)
class StoredSession:
    """What a run knows of a session without unpacking it; `description` is what `inspect` says."""

    id: str
    digest: str
    path: str
    format: str
    cluster: str | None
    events: int
    description: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredCell:
    """A cell and what became of it; `scores` is None until it is scored.

    `requests_total` and `retries` are None where there was no replay (status "error").
    """

    cell: Cell
    status: str
    reason: str
    seconds: float
    requests_total: int | None
    retries: Retries | None
    stopped: Stopped | None
    scores: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Canary:
    """A planted probe looked up through a control: `found` of `planted` were there."""

    session: str
    control: str
    planted: int
    found: int


@dataclass(frozen=True, slots=True)
class SessionRows:
    """A session as the rows of its tables: small, and made wherever it was replayed."""

    id: str
    columns: tuple[Any, ...]
    facts: tuple[str, ...]
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellRows:
    """A cell with all that its replay saw as the rows of its tables."""

    identity: str
    columns: tuple[Any, ...]
    requests: tuple[tuple[Any, ...], ...]
    heads: tuple[bytes, ...]
    compactions: tuple[str, ...]
    calls: tuple[str, ...]
    answers: tuple[str, ...]
    scores: str | None


def session_rows(
    session: Session,
    digest: str,
    *,
    description: Mapping[str, Json] | None = None,
    facts: Iterable[Fact] = (),
    uses: Iterable[Use] = (),
) -> SessionRows:
    """The rows of a session; its events are compressed."""
    lines = zlib.compress(session_to_bytes(session), 6)
    told = (session.id, digest, session.path, session.format, session.cluster)
    return SessionRows(
        session.id,
        (*told, len(session.events), lines, json_text(dict(description or {}))),
        tuple(json_text(asdict(fact)) for fact in facts),
        tuple(json_text(asdict(use)) for use in uses),
    )


def cell_rows(
    cell: Cell,
    *,
    status: str,
    reason: str = "",
    seconds: float = 0.0,
    replay: Replay | None = None,
    scores: Mapping[str, Json] | None = None,
    calls: Iterable[CallObservation] = (),
    answers: Iterable[AnswerObservation] = (),
) -> CellRows:
    """The rows of a cell; see `bench.store.Run.save_cell`."""
    heads = replay.heads if replay is not None else ()
    return CellRows(
        cell.identity,
        (*astuple(cell), status, reason, seconds, *replay_columns(replay)),
        tuple(map(tuple, replay.requests)) if replay is not None else (),
        tuple(packed([item_to_json(item) for item in head]) for head in heads),
        tuple(json_text(asdict(c)) for c in replay.compactions) if replay is not None else (),
        tuple(json_text(asdict(one)) for one in calls),
        tuple(json_text(asdict(one)) for one in answers),
        json_text(dict(scores)) if scores is not None else None,
    )


def clean(value: Any) -> Any:
    """A column value that SQLite takes: lone surrogates (from file names) become escapes."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def json_text(value: Json) -> str:
    """A JSON value as compact text."""
    # ASCII only: SQLite refuses text with a lone surrogate.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def packed(value: Json) -> bytes:
    """A JSON value as compressed text."""
    return zlib.compress(json_text(value).encode("ascii"), 6)


def replay_columns(replay: Replay | None) -> tuple[Any, ...]:
    """The columns requests_total, retries, stopped and final of a cell."""
    if replay is None:
        return None, None, None, None
    final = replay.final
    return (
        replay.requests_total,
        json_text(asdict(replay.retries)),
        json_text(asdict(replay.stopped)) if replay.stopped is not None else None,
        packed(
            {
                "head": [item_to_json(item) for item in final.head],
                "tail_start": final.tail_start,
                "stop": final.stop,
                "memory": final.memory,
            }
        )
        if final is not None
        else None,
    )


def head_of(blob: bytes, history: History) -> tuple[Item, ...]:
    """The items of a stored head."""
    return items_of(json.loads(zlib.decompress(blob)), history)


def items_of(data: list[dict[str, Any]], history: History) -> tuple[Item, ...]:
    """Items from plain data."""
    return tuple(item_from_json(item, history) for item in data)


def projection_of(blob: bytes, history: History) -> Projection:
    """A stored final projection; a tuple in its memory has become a list."""
    data = json.loads(zlib.decompress(blob))
    head = items_of(data["head"], history)
    return Projection(history, head, data["tail_start"], data["stop"], data["memory"])


def request_of(row: Sequence[Any]) -> RequestObservation:
    """A request from its columns."""
    values = dict(zip(REQUEST_COLUMNS, row, strict=True))
    return RequestObservation(**{**values, "is_served": bool(values["is_served"])})


def compaction_of(data: dict[str, Any]) -> CompactionObservation:
    """A compaction from plain data."""
    return CompactionObservation(**{**data, "violations": tuple(data["violations"])})


def answer_of(data: dict[str, Any]) -> AnswerObservation:
    """An answer from plain data."""
    return AnswerObservation(**{**data, "options": tuple(data["options"])})


def cell_of(row: Sequence[Any]) -> StoredCell:
    """A cell from the columns of `CELL_COLUMNS`, then status to stopped, then its scores."""
    width = len(CELL_COLUMNS)
    status, reason, seconds, total, retries, stopped, scores = row[width:]
    return StoredCell(
        Cell(**dict(zip(CELL_COLUMNS, row[:width], strict=True))),
        status,
        reason,
        seconds,
        total,
        Retries(**json.loads(retries)) if retries else None,
        Stopped(**json.loads(stopped)) if stopped else None,
        json.loads(scores) if scores is not None else None,
    )


def fact_of(data: dict[str, Any]) -> Fact:
    """A fact from plain data."""
    lists = {name: tuple(data[name]) for name in ("aliases", "stale", "source_seqs")}
    return Fact(**{**data, **lists, "probe": Probe(**data["probe"])})

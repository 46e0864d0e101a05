"""Edge: records of a run as the columns and JSON texts of its file, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.facts import Fact, Probe
from bench.history import History
from bench.observations import (
    AnswerObservation,
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

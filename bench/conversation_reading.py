"""Edge: reading a conversation back and finding what stands, with everything verified (F12.2).

The projection row is the fast path. When it is refused, the newest sound completion behind the last
rewind takes its place, and without any the history is used alone (F12.3, F12.4). Nothing is written
here; a query is handed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from bench.conversation_records import (
    CompletionRecord,
    ConversationError,
    Log,
    PrefixDigests,
    RecordCheck,
    Refusal,
    Refused,
    event_of,
    parsed,
)
from bench.engine_boundary import AcceptedBoundary
from bench.events import Event
from bench.projection import Json
from bench.store_rows import clean

Query: TypeAlias = Callable[[str, Sequence[Any]], list[Any]]
"""Runs one SELECT with its values inside the caller's transaction: all rows."""


@dataclass(frozen=True, slots=True)
class State:
    """What changes without a compaction: the strategy's memory and the counters of a turn.

    `memory` goes with the record that stands. `low_water` and `recoveries` belong to the turn that
    began with event `turn_seq` (0: none).
    """

    memory: Json = None
    turn_seq: int = 0
    low_water: int = 0
    recoveries: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """A conversation as it is read: all of it verified, with what was refused on the way.

    `record` is the newest compaction that can be used on the route asked for, `current` the one
    that a new one must name as its predecessor: they differ when a sound one can't be used here
    (`RecordCheck.hindrance`). `state` and `boundary` are None where there are none. `is_noted` is
    true when the refusals are among the diagnostics already.
    """

    log: Log
    record: CompletionRecord | None
    current: CompletionRecord | None
    state: State | None
    boundary: AcceptedBoundary | None
    refusals: tuple[Refusal, ...]
    is_noted: bool = False

    @property
    def current_id(self) -> str:
        """The id of the record that stands, empty without one."""
        return self.current.id if self.current is not None else ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where to read: a query inside one transaction, and whose rows."""

    query: Query
    session: str

    def rows(self, select: str, *values: Any) -> list[Any]:
        """The rows of a SELECT whose first place is the session."""
        return self.query(select, (clean(self.session), *values))


def read_stored(source: Source, route: str, check: RecordCheck) -> tuple[Stored, bool]:
    """Everything that stands, and whether the projection row has to be put right.

    Raises ConversationError when the history itself is damaged.
    """
    log = read_log(source)
    search = _Search(source, route, check, log)
    current, usable = search.run()
    state, of_state = _state(source, current, usable, check, log)
    boundary, of_boundary = _boundary(source, route, log)
    stored = Stored(
        log=log,
        record=usable,
        current=current,
        state=state,
        boundary=boundary,
        refusals=(*search.refusals, *of_state, *of_boundary),
    )
    return stored, search.needs_repair


def read_log(source: Source) -> Log:
    """The effective history. Raises ConversationError that names the damaged row."""
    rows = source.rows(
        "SELECT position, kind, seq, CASE kind WHEN 'event' THEN data END FROM log "
        "WHERE session = ? ORDER BY position"
    )
    events: list[Event] = []
    rewound_at = completed_at = 0
    for expected, (position, kind, seq, text) in enumerate(rows, start=1):
        try:
            if position != expected:
                raise Refused("gap", f"row {expected} is missing")
            match kind:
                case "event":
                    events.append(_event(text, seq, len(events) + 1))
                case "rewind":
                    if type(seq) is not int or not 0 <= seq <= len(events):
                        raise Refused("rewind", f"it rewinds to {seq!r} of {len(events)}")
                    del events[seq:]
                    rewound_at, completed_at = position, 0
                case "compaction_completed":
                    completed_at = position
                case other:
                    raise Refused("kind", f"{other!r} is no kind of row")
        except Refused as refused:
            raise ConversationError(
                f"session {source.session[:80]!a}: row {expected} of the log is damaged: "
                f"{refused.text}"
            ) from refused
    return Log(tuple(events), PrefixDigests(events), len(rows), rewound_at, completed_at)


class _Search:
    """Looks for the record that stands: the row first, then the completions, newest first."""

    def __init__(self, source: Source, route: str, check: RecordCheck, log: Log) -> None:
        self._source = source
        self._route = route
        self._check = check
        self._log = log
        self._refused_texts: list[object] = []
        self.refusals: list[Refusal] = []
        self.needs_repair = False

    def run(self) -> tuple[CompletionRecord | None, CompletionRecord | None]:
        """The record that stands, and the newest one that can be used on this route."""
        current = self._row()
        if current is not None and self._is_usable(current):
            return current, current
        # An invalid row is removed even when nothing takes its place.
        self.needs_repair = current is None and bool(self.refusals)
        for position, text in self._completions():
            found = self._checked("completion", position, text)
            if found is None or (current is not None and found.id == current.id):
                continue
            if current is None:
                current, self.needs_repair = found, True
            if self._is_usable(found):
                return current, found
        return current, None

    def _row(self) -> CompletionRecord | None:
        rows = self._source.rows("SELECT position, id, data FROM projections WHERE session = ?")
        newest = self._log.completed_at
        if not rows:
            return None
        position, record_id, text = rows[0]
        if position != newest:
            self._refuse("projection", 0, "not_newest", f"it was made before row {newest}")
            return None
        found = self._checked("projection", position, text)
        if found is not None and found.id != record_id:
            self._refuse("projection", position, "id_mismatch", "its row has another id")
            return None
        return found

    def _completions(self) -> list[Any]:
        return self._source.rows(
            "SELECT position, data FROM log WHERE session = ? AND kind = 'compaction_completed' "
            "AND position > ? ORDER BY position DESC",
            self._log.rewound_at,
        )

    def _checked(self, subject: str, position: int, text: object) -> CompletionRecord | None:
        if text in self._refused_texts:
            return None  # The row's own completion: said once is enough.
        try:
            return self._check.read(text, self._log)
        except Refused as refused:
            self._refused_texts.append(text)
            self._refuse(subject, position, refused.failure, refused.text)
            return None

    def _is_usable(self, record: CompletionRecord) -> bool:
        hindrance = self._check.hindrance(record, self._log, self._route)
        if hindrance is not None:
            self._refuse("completion", 0, hindrance.failure, hindrance.text)
        return hindrance is None

    def _refuse(self, subject: str, position: int, failure: str, text: str) -> None:
        self.refusals.append(Refusal(subject, failure, text, position))


def _state(
    source: Source,
    current: CompletionRecord | None,
    usable: CompletionRecord | None,
    check: RecordCheck,
    log: Log,
) -> tuple[State | None, tuple[Refusal, ...]]:
    """The state that goes with the record; None when it goes with another or is damaged."""
    rows = source.rows("SELECT record, data, digest FROM states WHERE session = ?")
    standing = current.id if current is not None else ""
    if not rows or rows[0][0] != standing or current is not usable:
        return None, ()
    _, text, digest = rows[0]
    try:
        if text_digest(text) != digest:
            raise Refused("digest_mismatch", "the state isn't the one that was kept")
        data = parsed(text)
        if not isinstance(data, dict) or set(data) != {each.name for each in fields(State)}:
            raise Refused("shape", "it is no state")
        state = State(**data)
        check.verify_memory(usable, state.memory, log)
    except Refused as refused:
        return None, (Refusal("state", refused.failure, refused.text),)
    return state, ()


def _boundary(
    source: Source, route: str, log: Log
) -> tuple[AcceptedBoundary | None, tuple[Refusal, ...]]:
    """What this route has accepted (F9.3); never what another one has."""
    rows = source.rows(
        "SELECT seq, input_tokens, output_tokens, payload_units FROM boundaries "
        "WHERE session = ? AND route = ?",
        clean(route),
    )
    if not rows:
        return None, ()
    if any(type(value) is not int or value < 0 for value in rows[0]):
        return None, (Refusal("boundary", "shape", "its figures aren't whole numbers"),)
    boundary = AcceptedBoundary(*rows[0])
    if boundary.seq > len(log.events):
        text = f"it reaches to event {boundary.seq} of {len(log.events)}"
        return None, (Refusal("boundary", "beyond_history", text),)
    return boundary, ()


def _event(text: object, seq: object, expected: int) -> Event:
    event = event_of(text)
    if event.seq != expected or seq != expected:
        raise Refused("seq", f"it holds event {event.seq!r}, expected {expected}")
    return event


def text_digest(text: object) -> str:
    """The SHA-256 of a stored text; empty when it is none."""
    if not isinstance(text, str):
        return ""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

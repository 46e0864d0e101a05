"""Edge: what a conversation's file says, as text and back, and whether it may be believed (F12.2).

A completion record stands for the events 1..through_seq: the head that is shown in their place and
the memory that the strategy left. Its id follows from everything in it. Nothing here has an effect.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Literal, TypeAlias, get_args

from bench.errors import UsageError
from bench.events import Attachment, Event, Message, Role, ToolCall
from bench.history import History
from bench.invariants import violations
from bench.observations import item_from_json, item_to_json
from bench.projection import Item, Json, Native, Projection
from bench.store_rows import json_text

RECORD_VERSION = 1

# The promise that speaks of the current request, so that it can be broken for a while only.
_ABOUT_NOW = "H4"

Verify: TypeAlias = Callable[[Json, Sequence[Event]], str | None]
"""A strategy's pure check of a record against the events that are effective: a reason, or None."""


class ConversationError(UsageError):
    """The file can't be read or written, or its history is damaged."""


class StaleWrite(ConversationError):
    """Somebody else was faster; `what` says whether the log or the checkpoint moved on (F4.3)."""

    def __init__(self, what: Literal["log", "checkpoint"], text: str) -> None:
        super().__init__(text)
        self.what = what


class Refused(Exception):
    """Something stored that can't be used; `failure` is the short name of the failed check."""

    def __init__(self, failure: str, text: str) -> None:
        super().__init__(text)
        self.failure = failure
        self.text = text


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused on reading, and why.

    `subject` is what it was (projection, completion, state, boundary, compaction, reference ...),
    `position` its row in the log, 0 where it has none.
    """

    subject: str
    failure: str
    text: str
    position: int = 0


class PrefixDigests:
    """The SHA-256 of every prefix of a history, so that a check costs O(1) (F4.4)."""

    __slots__ = ("_found", "_running")

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._running = hashlib.sha256()
        self._found = [self._running.hexdigest()]
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """One more event."""
        self._running.update(event_text(event).encode() + b"\n")
        self._found.append(self._running.hexdigest())

    def at(self, events: int) -> str:
        """The digest of the first `events` events. Raises IndexError beyond what was added."""
        return self._found[events]


@dataclass(frozen=True, slots=True)
class Log:
    """The log of a conversation as far as it counts now.

    `events` are the effective ones: what was rewound isn't among them, and a place `seq` is used
    again after a rewind. `length` is the number of rows, `rewound_at` the row of the last rewind
    (0: none) and `completed_at` that of the newest completion behind it (0: none).
    """

    events: tuple[Event, ...]
    digests: PrefixDigests
    length: int
    rewound_at: int = 0
    completed_at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRecord:
    """One accepted compaction, as `compaction_completed` events and the projection row hold it.

    `previous_id` names the record that it replaces, empty for the first (F4.3). `route` is where it
    was made: native state in the head means something there only (F7.3). `head` holds items as
    `item_to_json` writes them.
    """

    version: int = RECORD_VERSION
    session: str
    strategy: str
    route: str
    previous_id: str
    through_seq: int
    source_digest: str
    head: tuple[Json, ...]
    memory: Json
    id: str = ""


def sealed(record: CompletionRecord) -> CompletionRecord:
    """The record with the id that its fields give it."""
    data = asdict(replace(record, id=""))
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return replace(record, id=hashlib.sha256(text.encode()).hexdigest())


def record_of(
    projection: Projection,
    digests: PrefixDigests,
    *,
    session: str,
    strategy: str,
    route: str,
    previous_id: str,
) -> CompletionRecord:
    """What has to be kept of a projection, so that it can be made again."""
    return sealed(
        CompletionRecord(
            session=session,
            strategy=strategy,
            route=route,
            previous_id=previous_id,
            through_seq=projection.tail_start,
            source_digest=digests.at(projection.tail_start),
            # Through JSON text and back: what is hashed must be what will be read.
            head=tuple(json.loads(json_text([item_to_json(item) for item in projection.head]))),
            memory=json.loads(json_text(projection.memory)),
        )
    )


def record_text(record: CompletionRecord) -> str:
    """The record as JSON text."""
    return json_text(asdict(record))


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """Everything that a stored record must pass before it is used (F12.2).

    `waived` names the promises that the strategy's policy gives up. `verify` is the strategy's own
    pure check; it sees the record as a JSON value and the effective events. `read` tells whether a
    record is sound, `hindrance` whether a sound one can be used here and now.
    """

    session: str
    strategy: str
    verify: Verify | None = None
    waived: frozenset[str] = frozenset()

    def read(self, text: object, log: Log) -> CompletionRecord:
        """The record in `text`. Raises Refused."""
        record = _read(parsed(text))
        if record.id != sealed(record).id:
            raise Refused("id_mismatch", "the id doesn't follow from the other fields")
        if record.session != self.session:
            raise Refused("session_mismatch", "it belongs to another session")
        if not 0 < record.through_seq <= len(log.events):
            reach = f"it covers events 1 to {record.through_seq} of {len(log.events)}"
            raise Refused("through_seq", reach)
        if record.source_digest != log.digests.at(record.through_seq):
            raise Refused("digest_mismatch", "the covered events aren't the ones it was made from")
        broken = self._broken(record, log, self.waived | {_ABOUT_NOW})
        if broken:
            raise Refused("broken_promise", broken[0])
        if record.strategy == self.strategy:
            self.verify_memory(record, record.memory, log)
        return record

    def hindrance(self, record: CompletionRecord, log: Log, route: str) -> Refused | None:
        """Why a sound record can't be used on this route and with this history; None: it can.

        Another strategy's memory and native state of another route mean nothing here (F7.3). What
        follows an answer may open a covered request again, until the next one is made (H4).
        """
        if record.strategy != self.strategy:
            made_by = f"made by {record.strategy!r}, not by {self.strategy!r}"
            return Refused("strategy_foreign", made_by)
        if not is_usable_on(record, route):
            made_on = f"its native state was made on {record.route!r}, not on {route!r}"
            return Refused("native_route_foreign", made_on)
        broken = self._broken(record, log, self.waived)
        return Refused("request_covered", broken[0]) if broken else None

    @staticmethod
    def _broken(record: CompletionRecord, log: Log, waived: frozenset[str]) -> tuple[str, ...]:
        projection = projection_of(record, History(log.events))
        return violations(projection, waived, on_the_wire=False)

    def verify_memory(self, record: CompletionRecord | None, memory: Json, log: Log) -> None:
        """The strategy's word on a memory that goes with a record. Raises Refused."""
        if self.verify is None:
            return
        shown = CompletionRecord(
            session=self.session,
            strategy=self.strategy,
            route="",
            previous_id="",
            through_seq=0,
            source_digest="",
            head=(),
            memory=memory,
        )
        known = shown if record is None else replace(record, memory=memory)
        try:
            reason = self.verify(asdict(known), log.events)
        except Exception as error:
            # A check that breaks on damaged data has found it to be no good.
            raise Refused("verify", f"the check raised {type(error).__name__}: {error}") from error
        if reason is not None:
            raise Refused("verify", reason)


def projection_of(record: CompletionRecord, history: History) -> Projection:
    """The projection of a record with everything behind it verbatim. Raises Refused."""
    try:
        head = tuple(item_from_json(item, history) for item in record.head)
        for item in head:
            _check_item(item)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise Refused("head", f"an item of the head can't be read: {error!r}") from error
    return Projection(history, head, record.through_seq, len(history), record.memory)


def _check_item(item: Item) -> None:
    """Raises TypeError when a field holds what no item of its kind holds."""
    message = item.message
    texts: list[object] = [message.text]
    numbers: list[object] = list(item.seqs)
    if isinstance(item, Native):
        texts += [item.route, item.state]
        numbers.append(item.tokens)
    if message.role not in get_args(Role):
        raise TypeError(f"{message.role!r} is no role")
    if any(type(each) is not str for each in texts):
        raise TypeError("a text is none")
    if any(type(each) is not int for each in numbers):
        raise TypeError("a number is none")


def is_usable_on(record: CompletionRecord, route: str) -> bool:
    """False for native state of another route: it is valid, but means nothing here (F7.3)."""
    return all(
        item.get("route") == route
        for item in record.head
        if isinstance(item, dict) and item.get("kind") == "native"
    )


def _read(value: Json) -> CompletionRecord:
    if not isinstance(value, dict):
        raise Refused("shape", "a completion record must be a JSON object")
    version = value.get("version")
    if version != RECORD_VERSION:
        raise Refused("version", f"record version {version!r}, only {RECORD_VERSION} is read")
    values: dict[str, Json] = {}
    for name, wanted in _SHAPE.items():
        if name not in value:
            raise Refused("shape", f"field {name} is missing")
        if type(value[name]) is not wanted:
            found = type(value[name]).__name__
            raise Refused("shape", f"field {name} must be {wanted.__name__}, not {found}")
        values[name] = value[name]
    if set(value) - set(_SHAPE) - {"memory"}:
        raise Refused("shape", "there are fields that no record has")
    values["head"] = tuple(values["head"])
    return CompletionRecord(**values, memory=value.get("memory"))


_SHAPE: dict[str, type] = {
    **dict.fromkeys((each.name for each in fields(CompletionRecord)), str),
    "version": int,
    "through_seq": int,
    "head": list,
}
del _SHAPE["memory"]


def parsed(text: object) -> Json:
    """JSON text as a value. Raises Refused."""
    try:
        if isinstance(text, str):
            return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused("not_json", f"it is no JSON text: {error}") from error
    raise Refused("not_json", f"it is no text, but {type(text).__name__}")


def event_text(event: Event) -> str:
    """An event as JSON text, every field of it."""
    return json_text(asdict(event))


def event_of(text: object) -> Event:
    """The inverse of `event_text`. Raises Refused."""
    try:
        data = parsed(text)
        message = data["message"]
        return Event(
            data["seq"],
            Message(
                message["role"],
                message["text"],
                tuple(ToolCall(**call) for call in message["calls"]),
                message["call_id"],
                tuple(Attachment(**item) for item in message["attachments"]),
                message["reasoning"],
            ),
            data["timestamp"],
            data["is_meta"],
        )
    except (KeyError, TypeError) as error:
        raise Refused("shape", f"it is no event: {error!r}") from error

"""Checkpoint V3: the record, its id, its canonical JSON, and the check against a history (F4).

A checkpoint stands for a prefix of the history, up to and including `through_seq`. Nothing here
has an effect: a store calls `verify` on what it reads, a strategy on what it remembers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from bench.projection import Json
from strategies.layered.encoding import (
    compact_json,
    is_blank,
    is_json,
    quoted,
    to_json,
    trimmed,
    utf8,
)
from strategies.layered.newest import Newest
from strategies.layered.source import SourceMessage, source_digest, until_seq, with_seq

SCHEMA_VERSION = 3
SOURCE_POLICY_VERSION = "message-prefix-v1"
SUMMARY_FORMAT_VERSION = "continuation-v2"
PROMPT_VERSION = "continuation-prompt-v2"

PHASES = ("pre_turn", "mid_turn", "standalone")
TEXT = "text"
NATIVE = "provider_native"
SEGMENTED = "segmented"
SESSION = "session"
NO_TIME = "0001-01-01T00:00:00Z"


class InvalidCheckpoint(Exception):
    """A record that can't be used; `failure` is the short name of the check that it failed."""

    def __init__(self, failure: str, text: str) -> None:
        super().__init__(text)
        self.failure = failure
        self.text = text


@dataclass(frozen=True, slots=True)
class Segment:
    """One summary inside a text checkpoint, for the messages from_seq..through_seq (F6.1)."""

    from_seq: int
    through_seq: int
    source_digest: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The record, field by field as F4.1 names them.

    `head_anchor_seq` is 0 where no user message is put back. `segments` None means that the field
    is absent, which isn't the same as empty. `provider_state` is JSON text that nobody interprets.
    `created_at` is RFC 3339 text. Token figures are estimates and aren't part of the id.
    """

    schema_version: int = SCHEMA_VERSION
    source_policy_version: str = SOURCE_POLICY_VERSION
    summary_format_version: str = SUMMARY_FORMAT_VERSION
    prompt_version: str = PROMPT_VERSION
    session_id: str = ""
    checkpoint_id: str = ""
    previous_checkpoint_id: str = ""
    phase: str = ""
    through_seq: int = 0
    head_anchor_seq: int = 0
    source_digest: str = ""
    projection_kind: str = TEXT
    level: str = ""
    segments: tuple[Segment, ...] | None = None
    provider_route: str = ""
    provider_state_kind: str = ""
    provider_state: str = ""
    summary: str = ""
    model: str = ""
    created_at: str = ""
    estimated_raw_tokens: int = 0
    estimated_tokens_before: int = 0
    estimated_tokens_after: int = 0

    @property
    def is_native(self) -> bool:
        """True for an opaque state of a provider's own (F7.2)."""
        return self.projection_kind == NATIVE


def segments_json(segments: Sequence[Segment] | None) -> str:
    """The segments as the id hashes them; null when absent."""
    if segments is None:
        return "null"
    listed = ",".join(
        f'{{"from_seq":{each.from_seq},"through_seq":{each.through_seq},'
        f'"source_digest":{quoted(each.source_digest)},"summary":{quoted(each.summary)}}}'
        for each in segments
    )
    return f"[{listed}]"


def computed_id(checkpoint: Checkpoint) -> str:
    """The id that follows from all key fields (F4.2): SHA-256 over 18 values, each ended by NUL.

    The id itself, the time and the token figures are no key fields.
    """
    values = (
        str(checkpoint.schema_version),
        checkpoint.source_policy_version,
        checkpoint.summary_format_version,
        checkpoint.prompt_version,
        checkpoint.session_id,
        checkpoint.phase,
        checkpoint.previous_checkpoint_id,
        str(checkpoint.through_seq),
        str(checkpoint.head_anchor_seq),
        checkpoint.source_digest,
        checkpoint.projection_kind,
        checkpoint.level,
        segments_json(checkpoint.segments),
        checkpoint.provider_route,
        checkpoint.provider_state_kind,
        checkpoint.provider_state,
        checkpoint.summary,
        checkpoint.model,
    )
    return hashlib.sha256(utf8("\0".join(values) + "\0")).hexdigest()


def sealed(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with the id that its fields give it."""
    return replace(checkpoint, checkpoint_id=computed_id(checkpoint))


def rendered(segments: Sequence[Segment]) -> str:
    """The text that stands for all segments: one as it is, several with index and seq range."""
    if len(segments) == 1:
        return trimmed(segments[0].summary)
    blocks = [
        f'<segment index="{index}" from_seq="{each.from_seq}" through_seq="{each.through_seq}">\n'
        f"{trimmed(each.summary)}\n</segment>"
        for index, each in enumerate(segments, start=1)
    ]
    return "\n".join(["<checkpoint_segments>", *blocks, "</checkpoint_segments>"])


def to_record(checkpoint: Checkpoint) -> dict[str, Json]:
    """The checkpoint as a JSON value; empty optional fields are left out.

    A provider's state is stored compact, so one that wasn't compact no longer fits its id.
    """
    record: dict[str, Json] = {}
    for name in _NAMES:
        value = getattr(checkpoint, name)
        if name == "segments":
            value = [
                {
                    "from_seq": each.from_seq,
                    "through_seq": each.through_seq,
                    "source_digest": each.source_digest,
                    "summary": each.summary,
                }
                for each in value or ()
            ]
        elif name == "provider_state":
            value = compact_json(value) or ""
        if value or name in _ALWAYS_WRITTEN:
            record[name] = value
    if is_stored_as_it_is(checkpoint):
        _NEWEST.wrote(checkpoint, record)
    return record


def is_stored_as_it_is(checkpoint: Checkpoint) -> bool:
    """True when reading its record must give the same checkpoint again.

    Only a state and the absence of segments may be written otherwise than they are.
    """
    return bool(checkpoint.segments) and not checkpoint.provider_state


_NEWEST: Newest[Checkpoint] = Newest()
_NAMES = tuple(field.name for field in fields(Checkpoint))
_ALWAYS_WRITTEN = frozenset({"schema_version", "checkpoint_id", "through_seq", "created_at"})


def to_canonical_json(checkpoint: Checkpoint) -> str:
    """The record as JSON text: fixed key order, no spaces, the same bytes for the same record."""
    return to_json(to_record(checkpoint))


def read_record(record: Json) -> Checkpoint:
    """The checkpoint that a record holds. Absent fields stay empty and unknown ones are ignored.

    Raises InvalidCheckpoint (failure "shape") on fields of another type. Nothing is converted and
    no older format is read (F4.5): `verify` then names what is missing.
    """
    if not isinstance(record, dict):
        raise InvalidCheckpoint("shape", "a checkpoint record must be a JSON object")
    known = _NEWEST.of_record(record)
    if known is not None:
        return known
    values: dict[str, Json] = {}
    for name, empty in _EMPTY.items():
        value = record.get(name)
        if value is None:
            values[name] = empty
        elif name == "segments":
            values[name] = _read_segments(value)
        else:
            values[name] = _typed(value, type(empty), name)
    return Checkpoint(**values)


# What an absent field holds. Never the constructor's default: a record without a version has none.
_NOTHING = Checkpoint()
_EMPTY: dict[str, Json] = {
    field.name: None if field.name == "segments" else type(getattr(_NOTHING, field.name))()
    for field in fields(Checkpoint)
}


def _typed(value: Json, wanted: type, name: str) -> Json:
    if type(value) is not wanted:
        raise InvalidCheckpoint(
            "shape",
            f"checkpoint field {name} must be {wanted.__name__}, not {type(value).__name__}",
        )
    return value


def _read_segments(value: Json) -> tuple[Segment, ...]:
    read = []
    for each in _typed(value, list, "segments"):
        known = _typed(each, dict, "segments")
        read.append(
            Segment(
                _typed(known.get("from_seq", 0), int, "segments.from_seq"),
                _typed(known.get("through_seq", 0), int, "segments.through_seq"),
                _typed(known.get("source_digest", ""), str, "segments.source_digest"),
                _typed(known.get("summary", ""), str, "segments.summary"),
            )
        )
    return tuple(read)


def verify(
    record: Json | Checkpoint,
    history: Sequence[SourceMessage],
    *,
    session_id: str,
    route: str | None = None,
    digest: str | None = None,
) -> Checkpoint:
    """The checkpoint, if it is whole and still fits the history (F4.4, F4.5, F12.2).

    `history` is every message that is effective now, in order (after a rewind: without what was
    taken back). With `route`, native state of another route is refused (F7.3). `digest` spares the
    hashing for a caller that keeps a `RunningDigest` of the messages up to `through_seq`.
    Raises InvalidCheckpoint with the name of the first failed check.
    """
    checkpoint = record if isinstance(record, Checkpoint) else read_record(record)
    failure = None
    if not _NEWEST.is_sound(checkpoint, session_id):
        failure = next(_record_failures(checkpoint, session_id), None)
        if failure is None:
            _NEWEST.found_sound(checkpoint, session_id)
    failure = failure or _history_failure(checkpoint, history, digest)
    if failure is None and checkpoint.is_native and route not in (None, checkpoint.provider_route):
        failure = (
            "native_route_foreign",
            f"made on {checkpoint.provider_route!r}, not on {route!r}",
        )
    if failure is not None:
        name, text = failure
        raise InvalidCheckpoint(name, f"checkpoint {checkpoint.checkpoint_id[:12]!r}: {text}")
    return checkpoint


Failure = tuple[str, str]


def _record_failures(checkpoint: Checkpoint, session_id: str) -> Iterator[Failure]:
    """What is wrong with the record itself, first things first."""
    if checkpoint.schema_version != SCHEMA_VERSION:
        found = checkpoint.schema_version
        yield "schema_version", f"schema version {found}, only {SCHEMA_VERSION} is read"
    if checkpoint.source_policy_version != SOURCE_POLICY_VERSION:
        yield "source_policy_version", f"source policy must be {SOURCE_POLICY_VERSION}"
    if checkpoint.summary_format_version != SUMMARY_FORMAT_VERSION:
        yield "summary_format_version", f"summary format must be {SUMMARY_FORMAT_VERSION}"
    if not checkpoint.prompt_version:
        yield "prompt_version", "the prompt version is missing"
    if not checkpoint.checkpoint_id:
        yield "id_empty", "the id is missing"
    if not checkpoint.session_id:
        yield "session_empty", "the session is missing"
    if checkpoint.session_id != session_id:
        yield "session_mismatch", "it belongs to another session"
    if checkpoint.phase not in PHASES:
        yield "phase", f"phase must be one of {', '.join(PHASES)}"
    if checkpoint.through_seq <= 0:
        yield "through_seq", "it covers nothing"
    if not checkpoint.source_digest:
        yield "source_digest_empty", "the source digest is missing"
    if not checkpoint.model:
        yield "model_empty", "the model is missing"
    if checkpoint.created_at in ("", NO_TIME):
        yield "created_at_zero", "the time of creation is missing"
    yield from _segment_failures(checkpoint)
    yield from _kind_failures(checkpoint)
    if checkpoint.checkpoint_id != computed_id(checkpoint):
        yield "id_mismatch", "the id doesn't follow from the other fields"


def _segment_failures(checkpoint: Checkpoint) -> Iterator[Failure]:
    end = 0
    for each in checkpoint.segments or ():
        if each.through_seq <= 0:
            yield "segment_through_zero", "a segment covers nothing"
        if each.from_seq > each.through_seq:
            yield "segment_reversed", f"segment {each.from_seq}..{each.through_seq} is reversed"
        if each.from_seq <= end and end:
            yield "segment_overlap", f"segment from {each.from_seq} starts before {end} ended"
        if is_blank(each.summary):
            yield "segment_summary_blank", "a segment has no summary"
        end = each.through_seq
    if checkpoint.segments and end != checkpoint.through_seq:
        yield (
            "segments_end_mismatch",
            f"segments end at {end}, the coverage at {checkpoint.through_seq}",
        )


def _kind_failures(checkpoint: Checkpoint) -> Iterator[Failure]:
    match checkpoint.projection_kind:
        case "text":
            if checkpoint.level not in (SEGMENTED, SESSION):
                yield "text_level", f"level must be {SEGMENTED} or {SESSION}"
            if is_blank(checkpoint.summary):
                yield "text_summary_blank", "the summary is missing"
            if not checkpoint.segments:
                yield "text_segments_empty", "a text checkpoint needs at least one segment"
            elif rendered(checkpoint.segments) != checkpoint.summary:
                yield "segments_summary_mismatch", "the summary isn't what its segments render"
        case "provider_native":
            if not checkpoint.provider_route:
                yield "native_route_empty", "native state without the route that it is bound to"
            if not checkpoint.provider_state_kind:
                yield "native_state_kind_empty", "native state without its kind"
            if not checkpoint.provider_state:
                yield "native_state_empty", "native state is missing"
            elif not is_json(checkpoint.provider_state):
                yield "native_state_invalid", "native state must be valid JSON"
        case other:
            yield "projection_kind", f"projection kind {other!r}, not {TEXT} or {NATIVE}"


def _history_failure(
    checkpoint: Checkpoint, history: Sequence[SourceMessage], digest: str | None
) -> Failure | None:
    covered = until_seq(history, checkpoint.through_seq)
    if (digest or source_digest(history[:covered])) != checkpoint.source_digest:
        return "digest_mismatch", "the covered messages aren't the ones that were summarised"
    if checkpoint.head_anchor_seq:
        anchor = with_seq(history, checkpoint.head_anchor_seq)
        if not anchor or anchor[0].seq > checkpoint.through_seq:
            return "anchor_not_in_prefix", "the head anchor isn't among the covered messages"
        if anchor[0].message.role != "user":
            return "anchor_not_user", "the head anchor isn't a user message"
    return None

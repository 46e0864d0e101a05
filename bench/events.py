"""Words: what was said and done in one session, before anything is compacted.

A session is an append-only log of events. Nothing in this project ever changes one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that an assistant message makes.

    `arguments` is the raw text as recorded (usually, not always, a JSON object).
    """

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a document inside a message; `data` is base64 text or an address.

    Attachments cost a flat number of tokens and are never read as text.
    """

    media_type: str
    data: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What a model can see of one event, or of one written item of a projection.

    `call_id` is set on tool results only. `reasoning` is kept for the record; providers drop it
    from earlier turns, so it is neither sent nor counted here.
    """

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    attachments: tuple[Attachment, ...] = ()
    reasoning: str = ""


def with_text(message: Message, text: str) -> Message:
    """The same message with another text. Twice as fast as `dataclasses.replace`."""
    return Message(
        message.role, text, message.calls, message.call_id, message.attachments, message.reasoning
    )


@dataclass(frozen=True, slots=True)
class Event:
    """One thing said or done, with its place `seq` (1, 2, 3 ... without gaps) in the session.

    `timestamp` is in seconds since the epoch, None when the recording has none. `is_meta` marks
    text that a runtime injected in a user's name: it is shown to the model but starts no turn.
    """

    seq: int
    message: Message
    timestamp: float | None = None
    is_meta: bool = False

    @property
    def starts_turn(self) -> bool:
        """True for a request that somebody really made."""
        return self.message.role == "user" and not self.is_meta


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool offered to the model; `parameters` is its JSON Schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Repair:
    """Something a reader put right: its kind, the place in the file, one sentence."""

    kind: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """A compaction that the recorded tool made. It is kept beside the history, never in it.

    It happened after the event `after_seq` (0: before the first). `kept_from_seq` is the first
    event that the tool kept verbatim, None when it kept none or the recording doesn't say.
    Token figures are the recording's own; None means unknown.
    """

    after_seq: int
    summary: str
    trigger: str = "auto"
    kept_from_seq: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedUsage:
    """What the real provider counted for the request that was answered by event `seq`."""

    seq: int
    input_tokens: int
    cached_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """One recorded or synthetic session.

    `events[i].seq == i + 1` always. `path` and `format` say where it came from; `is_slice` is true
    when the recording starts in the middle of a longer session. `cluster` groups sessions that
    aren't independent of each other (one project, one template).
    """

    id: str
    events: tuple[Event, ...]
    tools: tuple[ToolDefinition, ...] = ()
    path: str = ""
    format: str = ""
    is_slice: bool = False
    subagent_of: str | None = None
    cluster: str | None = None
    recorded_compactions: tuple[RecordedCompaction, ...] = ()
    recorded_usage: tuple[RecordedUsage, ...] = ()
    repairs: tuple[Repair, ...] = ()
    skipped_lines: int = 0

    def __post_init__(self) -> None:
        for position, event in enumerate(self.events):
            if event.seq != position + 1:
                raise ValueError(
                    f"session {self.id}: event {position} has seq {event.seq}, "
                    f"expected {position + 1}: seqs count from 1 without gaps"
                )


def requests_after(session: Session, seqs: Iterable[int]) -> tuple[int, ...]:
    """The indexes of the first requests made after each of these events, in order, each once.

    A request stands before every assistant message; an event that none follows is left out.
    """
    request_seqs = [event.seq for event in session.events if event.message.role == "assistant"]
    found = {bisect_right(request_seqs, seq) for seq in seqs}
    return tuple(sorted(index for index in found if index < len(request_seqs)))

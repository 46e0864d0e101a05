"""Edge: sessions written in the shapes of APIs and in the project's own JSONL.

What is written loads back equal to `carried(session, target)`: the session with everything that the
target can carry. What it can't is counted and named, never dropped in silence. Events are written
as they were recorded, also where an API would refuse them; `sessions validate` tells that.

- `own` carries everything.
- `openai`: a Chat Completions request, one file for a session. Images and files from users only.
- `anthropic`: a Messages request. One system text at the top; arguments as objects; images and
  files from users and in results.
- `responses`: one line for each exchange with the Responses API, request with the new items and
  response, so that usage, and times of responses, are carried too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.converting_shapes import WRITERS, is_address, is_image
from bench.errors import UsageError
from bench.events import (
    Attachment,
    Event,
    Message,
    RecordedUsage,
    Role,
    Session,
    ToolCall,
    ToolDefinition,
)
from bench.formats.content import as_json
from bench.formats.own import session_to_bytes
from bench.loading import load_sessions

TARGETS: tuple[str, ...] = ("openai", "anthropic", "responses", "own")
NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}

_FILE_NAME_LENGTH_MAX = 100


@dataclass(frozen=True, slots=True)
class _Abilities:
    """What a target can carry beside texts, calls and results."""

    attachments_of: frozenset[Role]
    suffix: str = ".json"
    has_reasoning: bool = False
    has_usage: bool = False
    has_later_system: bool = True
    has_free_arguments: bool = True
    has_bare_parameters: bool = True
    linked_file_type: str = "application/octet"


_ABILITIES: dict[str, _Abilities] = {
    "openai": _Abilities(frozenset({"user"})),
    "anthropic": _Abilities(
        frozenset({"user", "tool"}),
        has_later_system=False,
        has_free_arguments=False,
        has_bare_parameters=False,
        linked_file_type="application/pdf",
    ),
    "responses": _Abilities(
        frozenset({"user", "tool"}), suffix=".jsonl", has_reasoning=True, has_usage=True
    ),
}


@dataclass(frozen=True, slots=True)
class Carried:
    """A session as a target carries it, and a sentence for each kind of thing that it can't.

    `has_same_places` tells that every event has the seq that it had.
    """

    session: Session
    losses: tuple[str, ...] = ()
    has_same_places: bool = True


def carried(session: Session, target: str) -> Carried:
    """The part of a session that `target` can carry.

    Only `own` has what stands beside the messages: origin, recorded compactions, repairs.
    """
    if target == "own":
        return Carried(session)
    carrier = _Carrier(_ABILITIES[target])
    found = carrier.session(session)
    has_same_places = len(found.events) == len(session.events)
    return Carried(found, carrier.sentences(), has_same_places)


def converted(carried_session: Session, target: str) -> bytes:
    """A session that `target` can carry, written in its shape as UTF-8."""
    if target == "own":
        return session_to_bytes(carried_session)
    return WRITERS[target](carried_session).encode("utf-8", errors="replace")


def file_name(session: Session, target: str, taken: set[str]) -> str:
    """A name for the session's file that isn't taken; it is taken now. Case doesn't tell apart."""
    suffix = ".jsonl" if target == "own" else _ABILITIES[target].suffix
    stem = re.sub(r"[^\w.-]+", "_", session.id)[:_FILE_NAME_LENGTH_MAX].strip(".") or "session"
    name, number = f"{stem}{suffix}", 2
    while name.lower() in taken:
        name, number = f"{stem}~{number}{suffix}", number + 1
    taken.add(name.lower())
    return name


def is_same(written: Session, loaded: Session) -> bool:
    """Whether what was loaded says what was written.

    Where it was found, what was repaired and the marks of injected messages, which readers set by
    rules of their own, aren't compared.
    """
    return _comparable(written) == _comparable(loaded)


def differences(written: Mapping[Path, Session]) -> dict[Path, str]:
    """What is other than it was written when the files are loaded, recognised by their content.

    A sentence for each file that differs. They are loaded together, as people will do it: a
    conversation that another one begins with counts as a part of it there.
    """
    loaded = load_sessions(list(written))
    found = {Path(session.path): session for session in loaded.sessions}
    rejected = {Path(one.path): one.reason for one in loaded.rejected}
    problems: dict[Path, str] = {}
    for path, session in written.items():
        if path not in found:
            problems[path] = rejected.get(path, "no session is found in it")
        elif not is_same(session, found[path]):
            problems[path] = "readers move results that stand apart from their calls"
    return problems


def write_converted(session: Session, target: str, folder: Path, name: str) -> Path:
    """Write one session; the path. Raises UsageError when that fails."""
    path = folder / name
    try:
        path.write_bytes(converted(session, target))
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror or error}") from error
    return path


def _comparable(session: Session) -> Session:
    events = tuple(replace(event, is_meta=False) for event in session.events)
    return replace(session, events=events, path="", format="", repairs=(), skipped_lines=0)


@dataclass(slots=True)
class _Carrier:
    """Reduces a session to what a target can carry and counts what is left behind."""

    abilities: _Abilities
    losses: Counter[str] = field(default_factory=Counter)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{count:,} {what}" for what, count in self.losses.items() if count)

    def lose(self, what: str, count: int = 1) -> None:
        self.losses[what] += count

    def session(self, session: Session) -> Session:
        kept: list[tuple[int, Event]] = []
        for position, event in enumerate(self._with_one_system(session.events)):
            message = self._message(event.message, is_first=position == 0)
            if _is_empty(message):
                self.lose("empty messages: left out")
                continue
            seq = len(kept) + 1
            kept.append((event.seq, Event(seq, message, self._timestamp(event))))
            self.lose("marks of injected messages", event.is_meta)
        self.lose("recorded compactions", len(session.recorded_compactions))
        self.lose(
            "notes on where the session came from (cluster, slice, parent)",
            sum(map(bool, (session.cluster, session.is_slice, session.subagent_of))),
        )
        return Session(
            session.id,
            tuple(event for _, event in kept),
            tuple(self._tool(tool) for tool in session.tools),
            recorded_usage=self._usage(session.recorded_usage, kept),
        )

    def _with_one_system(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """All events; where a target has one system text, the leading ones as one."""
        if self.abilities.has_later_system:
            return events
        leading = next(
            (i for i, event in enumerate(events) if event.message.role != "system"), len(events)
        )
        if leading < 2:
            return events
        self.lose("leading system messages: joined to one", leading)
        text = "\n\n".join(event.message.text for event in events[:leading])
        attachments = tuple(a for event in events[:leading] for a in event.message.attachments)
        first = replace(events[0], message=Message("system", text, attachments=attachments))
        return (first, *events[leading:])

    def _message(self, message: Message, *, is_first: bool) -> Message:
        role, text = message.role, message.text
        if role == "system" and not (is_first or self.abilities.has_later_system):
            self.lose("system messages in mid-session: marked user messages instead")
            role, text = "user", f"[System note] {text}" if text.strip() else text
        attachments = tuple(map(self._attachment, message.attachments))
        if attachments and role not in self.abilities.attachments_of:
            self.lose(f"attachments of {role} messages: named in the text", len(attachments))
            named = (f"[{attachment.media_type}]" for attachment in attachments)
            text = "\n".join(part for part in (text, *named) if part)
            attachments = ()
        reasoning = message.reasoning
        if reasoning and not (self.abilities.has_reasoning and role == "assistant"):
            self.lose("texts of reasoning")
            reasoning = ""
        if role != "tool" and not text.strip():
            text = ""
        calls = tuple(self._call(call) for call in message.calls)
        return Message(role, text, calls, message.call_id, attachments, reasoning)

    def _attachment(self, attachment: Attachment) -> Attachment:
        """With a media type that comes back: parameters, and all of it at addresses, don't."""
        media_type = attachment.media_type.partition(";")[0].partition(",")[0] or "image"
        if is_address(attachment):
            is_shown = is_image(replace(attachment, media_type=media_type))
            media_type = "image" if is_shown else self.abilities.linked_file_type
        self.lose("media types in full", media_type != attachment.media_type)
        return replace(attachment, media_type=media_type)

    def _call(self, call: ToolCall) -> ToolCall:
        if not call.arguments.strip():
            return replace(call, arguments="{}")
        if self.abilities.has_free_arguments:
            return call
        try:
            value = json.loads(call.arguments)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self.lose("arguments that are no JSON object: carried under _raw")
            value = {"_raw": call.arguments}
        return replace(call, arguments=as_json(value))

    def _timestamp(self, event: Event) -> float | None:
        if event.timestamp is None:
            return None
        if self.abilities.has_usage and event.message.role == "assistant":
            return event.timestamp
        self.lose("timestamps")
        return None

    def _usage(
        self, usage: tuple[RecordedUsage, ...], kept: list[tuple[int, Event]]
    ) -> tuple[RecordedUsage, ...]:
        if not self.abilities.has_usage:
            self.lose("counts of recorded usage", len(usage))
            return ()
        seq_of = {old: event.seq for old, event in kept if event.message.role == "assistant"}
        newest = {seq_of[row.seq]: row for row in usage if row.seq in seq_of}
        self.lose("counts of recorded usage", len(usage) - len(newest))
        return tuple(replace(row, seq=seq) for seq, row in sorted(newest.items()))

    def _tool(self, tool: ToolDefinition) -> ToolDefinition:
        if tool.parameters or self.abilities.has_bare_parameters:
            return tool
        return replace(tool, parameters=NO_PARAMETERS)


def _is_empty(message: Message) -> bool:
    return message.role != "tool" and not (message.text or message.calls or message.attachments)

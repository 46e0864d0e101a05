"""goose sessions: `sessions/<id>.jsonl` (a header line, then messages) and JSON exports.

Content is a list of parts; calls are `toolRequest`, results `toolResponse` parts. A compaction
leaves the originals visible to the user only and adds messages that only the agent sees: the
first of those is the summary. Only the documented shape was seen, no recording. The SQLite store
of newer versions is not read; `goose session export --format json` gives what is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.events import Session
from bench.formats.building import CompactionDraft, Draft, SessionBuilder, seconds
from bench.formats.chat import ROLES
from bench.formats.content import attachment_of, flatten, kind_of, part_text, text_of
from bench.formats.source import Record, Sample, Source

NAME = "goose"
RANK = 42

_REQUESTS = frozenset({"toolRequest", "frontendToolRequest"})
_FOR_PEOPLE = frozenset(
    {"toolConfirmationRequest", "actionRequired", "systemNotification", "contextLengthExceeded"}
)
_THOUGHTS = frozenset({"thinking", "redactedThinking", "reasoning"})


def detect(sample: Sample) -> str | None:
    """A header with working_dir, or messages with toolRequest or toolResponse parts."""
    for record in sample.records:
        if isinstance(record.get("working_dir"), str) and "role" not in record:
            return "a header with working_dir"
        for message in _conversation(record) or [record]:
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else []:
                if isinstance(part, dict) and kind_of(part) in _REQUESTS | {"toolResponse"}:
                    return f"a content part of type {part['type']!r}"
    return None


def _conversation(record: Record) -> list[Any] | None:
    for key in ("conversation", "messages"):
        if isinstance(record.get(key), list):
            return list(record[key])
    return None


def read(source: Source) -> Iterator[Session]:
    """The session of the file, or of every record of an export."""
    lone = _Reader(source.name)
    for number, record in source.records():
        conversation = _conversation(record)
        if conversation is None and "role" in record:
            lone.take(record, source.where(number))
            continue
        reader = lone if conversation is None else _Reader(source.name)
        reader.header(record, source.where(number))
        if conversation is not None:
            for position, message in enumerate(conversation, 1):
                reader.take(message, f"message {position}")
            yield from reader.finished(source)
    yield from lone.finished(source)


class _Reader:
    def __init__(self, session_id: str) -> None:
        self.builder = SessionBuilder(session_id)
        self.compaction: CompactionDraft | None = None
        self.hidden = 0

    def header(self, record: Record, where: str) -> None:
        if not record.keys() & {"working_dir", "description", "id", "message_count", "name"}:
            self.builder.log.add("unknown_record", where, "neither a header nor a message")
            return
        self.builder.id = text_of(record.get("id")) or self.builder.id
        if isinstance(record.get("working_dir"), str):
            self.builder.cluster = record["working_dir"]

    def take(self, message: Any, where: str) -> None:
        role = kind_of(message, "role") if isinstance(message, dict) else ""
        if role not in ("user", "assistant", "system"):
            self.builder.log.add("unknown_role", where, f"a message of role {role!r} left out")
            return
        if _is_for_the_agent_only(message):
            self._compacted(message, where)
            return
        self.compaction = None
        timestamp = seconds(message.get("created"))
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        draft: Draft | None = None
        for part in parts:
            if isinstance(part, dict) and kind_of(part) == "toolResponse":
                self._result(part, where, timestamp)
                draft = None
                continue
            if isinstance(part, dict) and kind_of(part) in _FOR_PEOPLE:
                continue
            if draft is None:
                draft = self.builder.add(ROLES[role], where, timestamp=timestamp)
            self._part(draft, part)

    def _part(self, draft: Draft, part: Any) -> None:
        if not isinstance(part, dict):
            draft.texts.append(text_of(part))
            return
        kind = kind_of(part)
        if kind in _REQUESTS:
            outcome = part.get("toolCall")
            outcome = outcome if isinstance(outcome, dict) else {}
            value = outcome.get("value", outcome)
            value = value if isinstance(value, dict) else {}
            self.builder.add_call(draft, part.get("id"), value.get("name"), value.get("arguments"))
        elif kind in _THOUGHTS:
            draft.reasoning.append(text_of(part.get("thinking", part.get("text"))))
        elif (attachment := attachment_of(part)) is not None:
            draft.attachments.append(attachment)
        else:
            draft.texts.append(part_text(part))

    def _result(self, part: Record, where: str, timestamp: float | None) -> None:
        outcome = part.get("toolResult")
        value: Any = outcome
        if isinstance(outcome, dict):
            value = outcome.get("value", outcome.get("error", outcome))
            if isinstance(value, dict) and isinstance(value.get("content"), list):
                value = value["content"]
        self.builder.add_result(part.get("id"), value, where, timestamp=timestamp)

    def _compacted(self, message: Record, where: str) -> None:
        text = flatten(message.get("content"))[0]
        if self.compaction is None:
            self.compaction = self.builder.add_compaction(where)
            self.compaction.summary = text
            return
        # A note to go on, and the newest request again, which stands in the history already.
        self.hidden += 1
        for draft in reversed(self.builder.drafts):
            if draft.role == "user" and "\n".join(draft.texts) == text:
                self.compaction.kept_from = draft
                break

    def finished(self, source: Source) -> Iterator[Session]:
        if self.hidden:
            self.builder.log.add(
                "agent_only",
                "whole file",
                f"{self.hidden} messages behind a summary that only the agent saw left out",
            )
        session = self.builder.finish(source, NAME)
        if session is not None:
            yield session


def _is_for_the_agent_only(message: Record) -> bool:
    metadata = message.get("metadata")
    return (
        isinstance(metadata, dict)
        and metadata.get("userVisible") is False
        and metadata.get("agentVisible") is not False
    )

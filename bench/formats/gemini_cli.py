"""Gemini CLI sessions: `~/.gemini/tmp/<project>/chats/session-*.json`, newer ones as JSONL.

Messages of type user and gemini; results stand inside the calls. A message that is written again
under its id replaces the one before. Messages of other types (info, error) are shown to people
only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.events import Session
from bench.formats.building import Draft, SessionBuilder, seconds, whole
from bench.formats.content import as_json, flatten, kind_of, text_of
from bench.formats.gemini_contents import inline_attachment, response_text
from bench.formats.source import Record, Sample, Source

NAME = "gemini-cli"
RANK = 35

_SHOWN_TO_PEOPLE = frozenset({"info", "error", "warning"})


def detect(sample: Sample) -> str | None:
    """A header with sessionId and projectHash, or a message of type gemini."""
    for record in sample.records:
        if "sessionId" in record and "projectHash" in record:
            return "an object with sessionId and projectHash"
        if kind_of(record) == "gemini" and "content" in record:
            return "a message of type 'gemini'"
    return None


def read(source: Source) -> Iterator[Session]:
    """The session of every header in the file."""
    current: _Chat | None = None
    for number, record in source.records():
        where = source.where(number)
        if "sessionId" in record and "projectHash" in record:
            if current is not None:
                yield from current.finished(source)
            current = _Chat(record)
            messages = record.get("messages")
            for position, message in enumerate(messages if isinstance(messages, list) else [], 1):
                current.take(message, f"message {position}")
        elif kind_of(record):
            current = current or _Chat({})
            current.take(record, where)
        elif "$set" not in record:
            source.log.add("unknown_record", where, "neither a header nor a message")
    if current is not None:
        yield from current.finished(source)


class _Chat:
    def __init__(self, header: Record) -> None:
        self.header = header
        self.messages: dict[str, tuple[Any, str]] = {}

    def take(self, message: Any, where: str) -> None:
        named = message.get("id") if isinstance(message, dict) else None
        key = named if isinstance(named, str) else f"({len(self.messages)})"
        self.messages[key] = (message, where)

    def finished(self, source: Source) -> Iterator[Session]:
        builder = SessionBuilder(text_of(self.header.get("sessionId")) or source.name)
        if isinstance(self.header.get("projectHash"), str):
            builder.cluster = self.header["projectHash"]
        for message, where in self.messages.values():
            if not isinstance(message, dict):
                builder.log.add("not_an_object", where, f"a {type(message).__name__} left out")
                continue
            kind = kind_of(message)
            timestamp = seconds(message.get("timestamp"))
            if kind == "user":
                _fill(builder.add("user", where, timestamp=timestamp), message.get("content"))
            elif kind == "gemini":
                _add_answer(builder, message, where, timestamp)
            elif kind not in _SHOWN_TO_PEOPLE:
                builder.log.add("unknown_record", where, f"a message of type {kind!r} left out")
        session = builder.finish(source, NAME)
        if session is not None:
            yield session


def _add_answer(
    builder: SessionBuilder, message: Record, where: str, timestamp: float | None
) -> None:
    draft = builder.add("assistant", where, timestamp=timestamp)
    _fill(draft, message.get("content"))
    for thought in _objects(message.get("thoughts")):
        draft.reasoning.append(
            f"{text_of(thought.get('subject'))}: {text_of(thought.get('description'))}"
        )
    tokens = message.get("tokens")
    if isinstance(tokens, dict) and whole(tokens.get("input")):
        builder.add_usage(
            draft, tokens["input"], whole(tokens.get("cached")), whole(tokens.get("output"))
        )
    calls = _objects(message.get("toolCalls"))
    for call in calls:
        builder.add_call(draft, call.get("id"), call.get("name"), call.get("args"))
    for call in calls:
        if call.get("result") is None:
            continue
        result = builder.add_result(call.get("id"), None, where, timestamp=timestamp)
        for part in call["result"] if isinstance(call["result"], list) else [call["result"]]:
            response = part.get("functionResponse") if isinstance(part, dict) else None
            if isinstance(response, dict):
                result.texts.append(response_text(response))
            else:
                _fill(result, [part])


def _fill(draft: Draft, content: Any) -> None:
    if not isinstance(content, list):
        draft.texts.append(flatten(content)[0])
        return
    for part in content:
        if not isinstance(part, dict):
            draft.texts.append(text_of(part))
        elif (attachment := inline_attachment(part)) is not None:
            draft.attachments.append(attachment)
        elif "text" in part:
            draft.texts.append(text_of(part["text"]))
        else:
            draft.texts.append(as_json(part))


def _objects(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

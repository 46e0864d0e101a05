"""Edges: files of chat messages, however they are packed.

A list of messages or one message per line is one session. An object with `messages` (a request, a
stored conversation) is a session of its own, unless it continues one before it: a log in which each
request repeats the growing prefix of one conversation becomes one session, with the usage of every
request at the message that answered it. tau-bench results (`traj`) are one session each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.events import Session
from bench.formats.building import Draft, SessionBuilder
from bench.formats.chat import add_message, add_usage, looks_like_message, tool_definitions
from bench.formats.content import flatten, text_of
from bench.formats.source import Record, Source

_OPEN_CONVERSATIONS_MAX = 8
"""So many conversations of a request log may alternate; more than an agent with helpers needs."""

_LIST_KEYS = ("messages", "traj", "conversation", "conversations")
_ID_KEYS = ("session_id", "conversation_id", "thread_id", "instance_id", "custom_id", "id")


def messages_in(record: Mapping[str, Any]) -> list[Any] | None:
    """The message list of a conversation object, None when it has none."""
    request = record
    for wrapper in ("request", "body"):
        inner = record.get(wrapper)
        if isinstance(inner, dict) and isinstance(inner.get("messages"), list):
            request = inner
    for key in _LIST_KEYS:
        found = request.get(key)
        if isinstance(found, list) and any(
            isinstance(item, dict) and "role" in item for item in found
        ):
            return found
    return None


def request_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that holds the messages: the record itself, or its `request` or `body`."""
    for wrapper in ("request", "body"):
        inner = record.get(wrapper)
        if isinstance(inner, dict) and isinstance(inner.get("messages"), list):
            return inner
    return record


@dataclass(slots=True)
class _Conversation:
    number: int
    record: Record
    messages: list[Any]
    requests: list[tuple[int, Any]] = field(default_factory=list)


def read_conversations(source: Source, format_name: str) -> Iterator[Session]:
    """The sessions of one file, in the order in which they begin."""
    lone = SessionBuilder(source.name)
    waiting: list[_Conversation] = []
    is_single = source.sample.shape == "object"
    for number, record in source.records():
        messages = messages_in(record)
        if messages is None:
            if looks_like_message(record):
                add_message(lone, record, source.where(number))
            else:
                source.log.add(
                    "unknown_record", source.where(number), "neither a message nor a conversation"
                )
            continue
        _enqueue(waiting, _Conversation(number, record, _with_system(record, messages)))
        if len(waiting) > _OPEN_CONVERSATIONS_MAX:
            yield from _finished(waiting.pop(0), source, format_name, is_single)
    for conversation in waiting:
        yield from _finished(conversation, source, format_name, is_single)
    session = lone.finish(source, format_name)
    if session is not None:
        yield session


def _with_system(record: Mapping[str, Any], messages: list[Any]) -> list[Any]:
    system = request_of(record).get("system")
    if not isinstance(system, (str, list)) or not system:
        return messages
    return [{"role": "system", "content": system}, *messages]


def _enqueue(waiting: list[_Conversation], new: _Conversation) -> None:
    new.requests = [(len(new.messages), _usage(new.record))]
    if "traj" not in new.record:
        for index, known in enumerate(waiting):
            if known.messages == new.messages[: len(known.messages)]:
                new.requests = known.requests + new.requests
                new.number = known.number
                waiting[index] = new
                return
    waiting.append(new)


def _usage(record: Mapping[str, Any]) -> Any:
    response = record.get("response")
    if isinstance(response, dict) and isinstance(response.get("usage"), dict):
        return response["usage"]
    return record.get("usage")


def _response_message(record: Mapping[str, Any]) -> Any:
    """The answer that was recorded beside a request, None when there is none."""
    response = record.get("response")
    if not isinstance(response, dict):
        return None
    if isinstance(response.get("body"), dict):
        response = response["body"]
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0].get("message")
    return response if response.get("role") == "assistant" else None


def _finished(
    conversation: _Conversation, source: Source, format_name: str, is_single: bool
) -> Iterator[Session]:
    record = conversation.record
    builder = SessionBuilder(_session_id(conversation, source, is_single))
    builder.tools = tool_definitions(request_of(record).get("tools"))
    place = "" if is_single else f"{source.where(conversation.number)}, "
    first_drafts: list[Draft | None] = []
    answer = _response_message(record)
    for index, message in enumerate([*conversation.messages, *([answer] if answer else [])], 1):
        before = len(builder.drafts)
        where = f"{place}message {index}"
        if isinstance(message, dict):
            add_message(builder, message, where)
        else:
            builder.log.add("not_an_object", where, f"a {type(message).__name__} left out")
        grown = len(builder.drafts) > before
        first_drafts.append(builder.drafts[before] if grown else None)
    for length, usage in conversation.requests:
        draft = first_drafts[length] if length < len(first_drafts) else None
        if draft is not None and draft.role == "assistant":
            add_usage(builder, draft, usage)
    if len(conversation.requests) > 1:
        builder.log.add(
            "growing_prefix",
            source.where(conversation.number),
            f"{len(conversation.requests)} requests of one conversation became one session",
        )
    if "traj" in record:
        builder.cluster = _tau_bench_cluster(record)
    session = builder.finish(source, format_name)
    if session is not None:
        yield session


def _session_id(conversation: _Conversation, source: Source, is_single: bool) -> str:
    record = conversation.record
    if "traj" in record and "task_id" in record:
        trial = f"-trial-{record['trial']}" if "trial" in record else ""
        return f"{source.name}-task-{text_of(record['task_id'])}{trial}"
    for key in _ID_KEYS:
        if isinstance(record.get(key), str) and record[key]:
            return str(record[key])
    return source.name if is_single else f"{source.name}-{conversation.number}"


def _tau_bench_cluster(record: Mapping[str, Any]) -> str:
    """Trials of one task aren't independent; the policy's heading names the domain."""
    first = record["traj"][0]
    policy = flatten(first.get("content"))[0] if isinstance(first, dict) else ""
    heading = re.match(r"#\s*(\w+)\s+agent", policy, re.IGNORECASE)
    domain = heading.group(1).lower() if heading else "unknown"
    return f"tau-bench/{domain}/task-{text_of(record.get('task_id'))}"

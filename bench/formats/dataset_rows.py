"""Edges: rows of a data set become sessions; the columns are found by what they hold.

A row may be a record of a known format as it stands (OpenHands `history`, a SWE-agent trajectory).
Otherwise the conversation is a list of messages in a column, in an object in a column, or JSON text
of one. Messages have role and content, or `from` and `value` (ShareGPT), or `text` for content.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from bench.events import Session
from bench.formats import detected
from bench.formats.chat import ROLES
from bench.formats.content import text_of
from bench.formats.source import Record, RecordSource

_NAMES = (
    "messages",
    "conversations",
    "conversation",
    "trajectory",
    "traj",
    "history",
    "turns",
    "chat",
    "dialogue",
    "chosen",
    "prompt",
)
_ID_NAMES = (
    "session_id",
    "conversation_id",
    "trajectory_id",
    "traj_id",
    "thread_id",
    "instance_id",
    "task_id",
    "uuid",
    "id",
)
_CLUSTER_NAMES = ("instance_id", "task_id", "problem_id")
_ANSWER_NAMES = ("completion", "response")
_SPEAKERS = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "function_call": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
_OBJECTS_DEEP_MAX = 40


def sessions_of_row(row: Mapping[str, Any], name: str, number: int) -> Iterator[Session]:
    """The sessions in a row, usually one; none when no column holds a conversation.

    `name` is that of the data set and `number` counts its rows from 1: together they are the id
    of a session whose row has none.
    """
    record = _parsed({key: _plain(value) for key, value in row.items() if value is not None})
    identity = next((text_of(record[key]) for key in _ID_NAMES if record.get(key)), "")
    source = RecordSource(Path(name), record)
    found = detected(source.sample)
    if found is None or found[0].NAME in ("openai-chat", "anthropic-messages"):
        # General shapes have columns beside the conversation, so it is taken by the column.
        conversation = _conversation(record)
        if conversation is None:
            return
        shown = {"messages": conversation, "tools": record.get("tools")}
        source = RecordSource(Path(name), shown)
        found = detected(source.sample)
        if found is None:
            return
    fallback = f"{Path(name).stem}-{number}"
    cluster = next((text_of(record[key]) for key in _CLUSTER_NAMES if record.get(key)), None)
    for session in found[0].read(source):
        yield replace(
            session,
            id=identity or fallback,
            path=name,
            cluster=cluster or session.cluster,
        )


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON has it. Tables give every object all keys: those that are None go."""
    if isinstance(value, (str, int, float)) or value is None:
        return value
    if isinstance(value, Mapping) and depth < _OBJECTS_DEEP_MAX:
        return {
            str(key): _plain(item, depth + 1) for key, item in value.items() if item is not None
        }
    if isinstance(value, (list, tuple)) and depth < _OBJECTS_DEEP_MAX:
        return [_plain(item, depth + 1) for item in value]
    return value.isoformat() if isinstance(value, date) else None


def _parsed(record: Record) -> Record:
    return {key: _value(item) for key, item in record.items()}


def _value(item: Any) -> Any:
    """JSON text of a list or an object as what it says, anything else as it is."""
    if not (isinstance(item, str) and item.lstrip()[:1] in ("[", "{")):
        return item
    try:
        found = json.loads(item)
    except (ValueError, RecursionError):
        return item
    return found if isinstance(found, (list, dict)) else item


def _conversation(record: Record) -> list[Any] | None:
    """The messages in the column whose name tells most, else in the longest that has any."""
    found = {key: messages for key, value in record.items() if (messages := _messages(value))}
    if not found:
        return None
    named = next((key for key in _NAMES if key in found), None)
    key = named or max(found, key=lambda name: len(found[name]))
    messages = found[key]
    if key == "prompt":
        answer = next((found[name] for name in _ANSWER_NAMES if name in found), [])
        messages = messages + answer
    system = record.get("system", record.get("system_prompt"))
    if isinstance(system, str) and system and messages[0].get("role") != "system":
        messages = [{"role": "system", "content": system}, *messages]
    return messages


def _messages(value: Any) -> list[Record] | None:
    if isinstance(value, dict):
        if isinstance(value.get("role", value.get("from")), list):
            return _messages(_rows(value))
        return next((held for key in _NAMES if (held := _messages(value.get(key)))), None)
    if not isinstance(value, list):
        return None
    objects = [item for item in map(_value, value) if isinstance(item, dict)]
    messages = [message for item in objects if (message := _message(item)) is not None]
    # A list in which most is something else is no conversation.
    return messages if messages and 2 * len(messages) > len(value) else None


def _rows(columns: Record) -> list[Record]:
    """Some tables turn a list of objects into an object of lists: back again."""
    lists = {key: items for key, items in columns.items() if isinstance(items, list)}
    count = max(map(len, lists.values()), default=0)
    return [
        {key: items[place] for key, items in lists.items() if place < len(items)}
        for place in range(count)
    ]


def _message(item: Record) -> Record | None:
    if isinstance(item.get("from"), str) and "value" in item:
        role = _SPEAKERS.get(item["from"].lower())
        return None if role is None else {"role": role, "content": item["value"]}
    if not (isinstance(item.get("role"), str) and item["role"] in ROLES):
        return None
    message = dict(item)
    if message.get("content") is None and "text" in message:
        message["content"] = message["text"]
    if message.get("content") is None and isinstance(message.get("system_prompt"), str):
        message["content"] = message["system_prompt"]
    if isinstance(message.get("tool_calls"), str):
        message["tool_calls"] = _value(message["tool_calls"])
    message.setdefault("content", None)
    return message

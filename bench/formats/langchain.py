"""LangChain messages: `messages_to_dict` (`type`, `data`) and `dumpd` (`lc`, `id`, `kwargs`).

A list of them, one per line, or an object with `messages`. Calls have their arguments as objects.
Only the documented shape was seen, no recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.events import Session
from bench.formats.building import SessionBuilder
from bench.formats.chat import add_message
from bench.formats.content import kind_of, text_of
from bench.formats.source import Record, Sample, Source

NAME = "langchain"
RANK = 60

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_KEYS = ("messages", "chat_history", "history")


def detect(sample: Sample) -> str | None:
    """Messages with type and data, or constructors of message classes."""
    for record in sample.records:
        for message in _messages(record):
            if _role(message):
                return f"a message of type {_named(message)!r}"
    return None


def _messages(record: Record) -> list[Any]:
    for holder in (record, record.get("values"), record.get("kwargs")):
        for key in _KEYS:
            if isinstance(holder, dict) and isinstance(holder.get(key), list):
                return list(holder[key])
    return [record]


def _named(message: Record) -> str:
    """The type of a message, or the class of a constructor."""
    identity = message.get("id")
    if "lc" in message and isinstance(identity, list) and identity:
        return text_of(identity[-1]).removesuffix("Chunk")
    return kind_of(message) if isinstance(message.get("data"), dict) else ""


def _role(message: Any) -> str | None:
    return _ROLES.get(_named(message)) if isinstance(message, dict) else None


def read(source: Source) -> Iterator[Session]:
    """One session for all lone messages, one for every object with messages."""
    lone = SessionBuilder(source.name)
    is_single = source.sample.shape == "object"
    for number, record in source.records():
        messages = _messages(record)
        if messages == [record]:
            _add(lone, record, source.where(number))
            continue
        builder = SessionBuilder(source.name if is_single else f"{source.name}-{number}")
        for position, message in enumerate(messages, 1):
            _add(builder, message, f"{source.where(number)}, message {position}")
        session = builder.finish(source, NAME)
        if session is not None:
            yield session
    session = lone.finish(source, NAME)
    if session is not None:
        yield session


def _add(builder: SessionBuilder, message: Any, where: str) -> None:
    role = _role(message)
    fields = message.get("data", message.get("kwargs")) if isinstance(message, dict) else None
    if role is None or not isinstance(fields, dict):
        builder.log.add("unknown_record", where, "no message of a known type")
        return
    extra = fields.get("additional_kwargs")
    calls = fields.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, dict) else ())
    draft = add_message(builder, {**fields, "role": role, "tool_calls": None}, where)
    if draft is None or draft.role != "assistant" or draft.calls:
        return  # Content in Anthropic's blocks has said its calls already.
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            inner = call["function"] if isinstance(call.get("function"), dict) else call
            arguments = inner.get("args", inner.get("arguments"))
            builder.add_call(draft, call.get("id"), inner.get("name"), arguments)
    usage = fields.get("usage_metadata")
    if isinstance(usage, dict) and isinstance(usage.get("input_tokens"), int):
        details = usage.get("input_token_details")
        cached = details.get("cache_read") if isinstance(details, dict) else None
        written = usage.get("output_tokens")
        builder.add_usage(
            draft,
            usage["input_tokens"],
            cached if isinstance(cached, int) else None,
            written if isinstance(written, int) else None,
        )

"""Gemini contents: `role` user or model with `parts`, as the Gemini API takes them.

A list of contents, or an object with `contents` or `history`. Calls carry no ids here: responses
answer the calls of the message before by their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.events import Attachment, Session
from bench.formats.building import SessionBuilder, seconds
from bench.formats.chat import tool_definitions
from bench.formats.content import as_json, kind_of, text_of
from bench.formats.source import Record, Sample, Source

NAME = "gemini-contents"
RANK = 60

_ROLES = frozenset({"user", "model", "gemini", "function", "system"})


def detect(sample: Sample) -> str | None:
    """Messages with parts."""
    for record in sample.records:
        if _is_content(record):
            return f"a content of role {record['role']!r} with parts"
        if any(map(_is_content, _contents(record))):
            return "an object with a list of contents that have parts"
    return None


def _is_content(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and kind_of(record, "role") in _ROLES
        and isinstance(record.get("parts"), list)
    )


def _contents(record: Record) -> list[Any]:
    for key in ("contents", "history", "messages"):
        if isinstance(record.get(key), list):
            return list(record[key])
    return []


def read(source: Source) -> Iterator[Session]:
    """One session for lone contents, one for every object with a list of them."""
    lone = SessionBuilder(source.name)
    is_single = source.sample.shape == "object"
    for number, record in source.records():
        where = source.where(number)
        if _is_content(record):
            add_content(lone, record, where)
            continue
        builder = SessionBuilder(source.name if is_single else f"{source.name}-{number}")
        instruction = record.get("systemInstruction", record.get("system_instruction"))
        if isinstance(instruction, dict):
            add_content(builder, {**instruction, "role": "system"}, where)
        tools = record.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict):
                builder.tools += tool_definitions(tool.get("functionDeclarations"))
        for position, content in enumerate(_contents(record), 1):
            if _is_content(content):
                add_content(builder, content, f"{where}, message {position}")
        session = builder.finish(source, NAME)
        if session is not None:
            yield session
    session = lone.finish(source, NAME)
    if session is not None:
        yield session


def add_content(builder: SessionBuilder, content: Record, where: str) -> None:
    """Add one content; responses among its parts become results of their own, in front."""
    role = kind_of(content, "role")
    timestamp = seconds(content.get("ts", content.get("timestamp")))
    parts = [part for part in content.get("parts") or [] if isinstance(part, dict)]
    for part in parts:
        response = part.get("functionResponse", part.get("function_response"))
        if isinstance(response, dict):
            builder.add_result(
                response.get("id"), response_text(response), where, timestamp=timestamp
            )
    others = [
        part for part in parts if "functionResponse" not in part and "function_response" not in part
    ]
    if not others and parts:
        return
    draft = builder.add(
        "assistant" if role in ("model", "gemini") else "system" if role == "system" else "user",
        where,
        timestamp=timestamp,
    )
    for part in others:
        call = part.get("functionCall", part.get("function_call"))
        if isinstance(call, dict):
            builder.add_call(draft, call.get("id"), call.get("name"), call.get("args"))
        elif part.get("thought") is True:
            draft.reasoning.append(text_of(part.get("text")))
        elif (attachment := inline_attachment(part)) is not None:
            draft.attachments.append(attachment)
        elif "text" in part:
            draft.texts.append(text_of(part["text"]))
        else:
            draft.texts.append(as_json({k: v for k, v in part.items() if k != "thoughtSignature"}))


def response_text(response: Record) -> str:
    """The text of a function response: its output or error, else all of it."""
    inner = response.get("response")
    if isinstance(inner, dict) and len(inner) == 1:
        for key in ("output", "error", "result"):
            if key in inner:
                return text_of(inner[key])
    return text_of(inner)


def inline_attachment(part: Record) -> Attachment | None:
    """The data or file in a part, None when there is neither."""
    for key in ("inlineData", "inline_data", "fileData", "file_data"):
        found = part.get(key)
        if isinstance(found, dict):
            media_type = text_of(found.get("mimeType", found.get("mime_type")))
            data = found.get("data", found.get("fileUri", found.get("file_uri")))
            return Attachment(media_type or "application/octet-stream", text_of(data))
    return None

"""Cline and Roo-Code tasks: `tasks/<id>/api_conversation_history.json`.

Anthropic messages, as they were sent; the other files of the task folder are for its window. What
tools answered stands in the user's name in older files (`[read_file for 'x'] Result:`) and is then
`is_meta`. Roo-Code tags instead of deleting: a message with `isSummary` (its `condenseId` is the
`condenseParent` of what it stands for) and one with `isTruncationMarker` are compactions and are
kept beside the history. Only the documented shape was seen, no recording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.events import Session
from bench.formats.building import Draft, SessionBuilder, seconds
from bench.formats.chat import add_message, looks_like_message
from bench.formats.content import flatten
from bench.formats.conversations import messages_in
from bench.formats.source import Record, Sample, Source

NAME = "cline"
RANK = 45
PART = "a file of a task folder that shows its window"

_HISTORY_FILE = "api_conversation_history.json"
_OTHER_FILES = frozenset(
    {
        "ui_messages.json",
        "claude_messages.json",
        "task_metadata.json",
        "context_history.json",
        "history_item.json",
        "focus_chain.md",
    }
)
_TAGS = ("condenseParent", "condenseId", "truncationParent", "truncationId", "isSummary")
_TOOL_ANSWER = re.compile(r"\s*\[[a-zA-Z_]+( for [^\n]*)?\] Result:")


def detect(sample: Sample) -> str | None:
    """The name of the history file of a task, or messages with the tags of Roo-Code."""
    for record in sample.records:
        if not looks_like_message(record):
            continue
        if sample.path.name == _HISTORY_FILE:
            return f"messages in a file named {_HISTORY_FILE}"
        for tag in _TAGS:
            if tag in record:
                return f"a message with {tag}"
    return None


def part_of(path: Path) -> Path | None:
    """The history file beside a file that only shows the task."""
    history = path.with_name(_HISTORY_FILE)
    return history if path.name in _OTHER_FILES and history.is_file() else None


def read(source: Source) -> Iterator[Session]:
    """The one session of the task; its id is the name of the task folder."""
    is_task = source.path.name == _HISTORY_FILE
    builder = SessionBuilder((is_task and source.path.absolute().parent.name) or source.name)
    for number, record in source.records():
        held = messages_in(record)
        for position, message in enumerate([record] if held is None else held, 1):
            where = source.where(number)
            if held is not None:
                where = f"{where}, message {position}"
            _add(builder, message, where)
    session = builder.finish(source, NAME)
    if session is not None:
        yield session


def _add(builder: SessionBuilder, message: Any, where: str) -> None:
    if not (isinstance(message, dict) and looks_like_message(message)):
        builder.log.add("unknown_record", where, "no message of a known role")
        return
    if message.get("isSummary") is True or message.get("isTruncationMarker") is True:
        _compaction(builder, message, where)
        return
    before = len(builder.drafts)
    add_message(builder, message, where)
    moment = seconds(message.get("ts"))
    for draft in builder.drafts[before:]:
        draft.timestamp = draft.timestamp or moment
        if draft.role == "user":
            draft.is_meta = _is_tool_answer(draft)


def _is_tool_answer(draft: Draft) -> bool:
    return bool(draft.texts) and _TOOL_ANSWER.match(draft.texts[0]) is not None


def _compaction(builder: SessionBuilder, message: Record, where: str) -> None:
    compaction = builder.add_compaction(where)
    compaction.summary = flatten(message.get("content"))[0]
    if message.get("isTruncationMarker") is True:
        compaction.trigger = "truncation"

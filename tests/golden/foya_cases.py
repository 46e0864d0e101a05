"""Reads cases answered by the original program of the layered strategy and turns them into words.

A case file holds one JSON object a line: id, group, input, expect. Long texts stay folded until a
test unfolds them, so that collecting stays quick.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.events import Attachment, Message, ToolCall
from strategies.layered import checkpoint
from strategies.layered.encoding import compact_json, is_blank, quoted, to_json, trimmed
from strategies.layered.estimate import ToolText
from strategies.layered.source import SourceMessage

DEFAULT_FOLDER = Path(__file__).parents[2].parent / "shared" / "cases" / "foya"
MESSAGE_KINDS = ("message_end", "message_imported")
PLACES = ("content", "text", "system_prompt", "reasoning", "model_content")

Case = dict[str, Any]


def folder() -> Path:
    return Path(os.environ.get("FOYA_VECTORS") or DEFAULT_FOLDER)


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case in every *.jsonl of the folder; lines are split on LF only."""
    paths = sorted(folder().glob("*.jsonl"))
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").split("\n"))
    return tuple(json.loads(line) for line in lines if line.strip())


def cases(group: str) -> list[Case]:
    """All cases of one group."""
    return [case for case in all_cases() if case["group"] == group]


def unfolded(value: Any) -> str:
    """A text that may be given as repeated or joined parts."""
    if isinstance(value, str):
        return value
    if "rep" in value:
        unit, count = value["rep"]
        return unfolded(unit) * count
    return "".join(unfolded(part) for part in value["cat"])


def visible_text(given: dict[str, Any]) -> str:
    """What a model sees of a stored message."""
    content = unfolded(given.get("content", ""))
    override = unfolded(given.get("model_content", ""))
    if given["role"] == "user" and not is_blank(override):
        return override
    reasoning = trimmed(unfolded(given.get("reasoning", "")))
    if given["role"] == "assistant" and given.get("turn_status") == "cancelled" and reasoning:
        head = "" if is_blank(content) else f"{content}\n\n"
        return f"{head}{CANCELLED_NOTE}\n{reasoning}"
    return content


CANCELLED_NOTE = "[Interrupted assistant analysis preserved before cancellation]"


def raw_arguments(call: dict[str, Any]) -> str:
    """The raw text of a call's arguments: absent ones are null, a present empty text isn't JSON."""
    return (call["input_json"] or " ") if "input_json" in call else "null"


def message(given: dict[str, Any]) -> Message:
    """A stored message as a model sees it."""
    return Message(
        role=given["role"],
        text=visible_text(given),
        calls=tuple(
            ToolCall(call.get("id", ""), call.get("name", ""), raw_arguments(call))
            for call in given.get("tool_calls") or ()
        ),
        call_id=given.get("tool_call_id") or None,
        attachments=tuple(
            Attachment(each.get("media_type", "")) for each in given.get("attachments") or ()
        ),
    )


STORED_KEYS = (
    "role",
    "content",
    "model_content",
    "command",
    "skill_ref",
    "attachments",
    "browser_elements",
    "reasoning",
    "tool_calls",
    "tool_call_id",
    "diff",
    "turn_started_at",
    "turn_completed_at",
    "turn_status",
    "turn_reason",
)


def stored_json(given: dict[str, Any]) -> str:
    """The full JSON of a stored message, as digests are made of it."""
    parts = []
    for key in STORED_KEYS:
        value = given.get(key, "")
        if key == "tool_calls":
            text = ",".join(
                f'{{"id":{quoted(call.get("id", ""))},"name":{quoted(call.get("name", ""))},'
                f'"input":{compact_json(raw_arguments(call))}}}'
                for call in value or ()
            )
            text = f"[{text}]" if text else ""
        elif key in PLACES:
            text = quoted(unfolded(value)) if unfolded(value) or key == "content" else ""
        else:
            text = to_json(value) if value else ""
        if text:
            parts.append(f'"{key}":{text}')
    return "{" + ",".join(parts) + "}"


def history(events: list[dict[str, Any]]) -> tuple[SourceMessage, ...]:
    """The messages among stored events; every other kind of event is skipped."""
    return tuple(
        SourceMessage(event["seq"], message(event["message"]), stored_json(event["message"]))
        for event in events
        if event["kind"] in MESSAGE_KINDS and event.get("message")
    )


def listed_message(given: dict[str, Any]) -> SourceMessage:
    """A message outside an event; without a seq of its own it has seq 0."""
    return SourceMessage(given.get("event_seq", 0), message(given), stored_json(given))


def tools(given: list[dict[str, Any]]) -> tuple[ToolText, ...]:
    return tuple(
        ToolText(
            tool["function"].get("name", ""),
            tool["function"].get("description", ""),
            tool["function"].get("parameters_json", ""),
            tool.get("type", ""),
        )
        for tool in given
    )


def stored_checkpoint(given: Case) -> checkpoint.Checkpoint:
    record = dict(given)
    if "provider_state_json" in record:
        record["provider_state"] = record.pop("provider_state_json")
    return checkpoint.read_record(record)


Test = Callable[[Case], None]


def vectors(
    group: str, is_wanted: Callable[[Case], bool] = lambda given: True
) -> Callable[[Test], Test]:
    """One parameter for each case of the group whose input is wanted."""
    found = [pytest.param(case, id=case["id"]) for case in cases(group) if is_wanted(case["input"])]
    reason = f"no cases of group {group} in {folder()}: set FOYA_VECTORS to their folder"
    missing = [pytest.param({}, id="absent", marks=pytest.mark.skip(reason=reason))]
    return pytest.mark.parametrize("case", found or missing)

"""Reads the cases that the original of `head_tail` answered, and the shapes that they share.

The folder is named by the environment variable ZERO_VECTORS, else it is looked for beside the
repository. Texts are expanded when a test runs, never when tests are collected.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from bench.events import Attachment, Event, Message, Role, ToolCall, ToolDefinition
from bench.history import History
from bench.projection import Projection
from bench.provider import Compacted, ProviderError
from bench.strategy import Reply, Usage

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "cases" / "zero"


def folder() -> Path:
    return Path(os.environ.get("ZERO_VECTORS") or _BESIDE)


def read_cases() -> list[dict[str, Any]]:
    """All cases of all files, in the order of file names and lines."""
    cases = []
    for file in sorted(folder().glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            cases += [json.loads(line) for line in lines if line.strip()]
    return cases


def text_of(shape: Any) -> str:
    """A text, written out from `{"rep": [unit, n]}` and `{"cat": [text, ...]}`."""
    if isinstance(shape, str):
        return shape
    if "rep" in shape:
        unit, times = shape["rep"]
        return str(unit) * int(times)
    return "".join(text_of(part) for part in shape["cat"])


def message_of(shape: dict[str, Any]) -> Message:
    return Message(
        cast(Role, shape["role"]),
        text_of(shape["content"]),
        tuple(
            ToolCall(call["id"], call["name"], text_of(call["arguments"]))
            for call in shape.get("tool_calls") or ()
        ),
        shape.get("tool_call_id"),
        tuple(Attachment(image["media_type"]) for image in shape.get("images") or ()),
    )


def messages_of(shapes: Sequence[dict[str, Any]] | None) -> list[Message]:
    return [message_of(shape) for shape in shapes or ()]


def tools_of(shapes: Sequence[dict[str, Any]] | None) -> tuple[ToolDefinition, ...]:
    return tuple(
        ToolDefinition(shape["name"], shape.get("description", ""), shape.get("parameters") or {})
        for shape in shapes or ()
    )


def append(history: History, messages: Sequence[Message]) -> None:
    for message in messages:
        history.append(Event(len(history) + 1, message))


def sha256_16(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class ScriptedFailure(Exception):
    """The summariser of a script failed."""


def scripted_text(reply: dict[str, Any]) -> str:
    """The text of one reply; raises ScriptedFailure for an error, partial text is thrown away."""
    for kind in ("error", "stream_error"):
        if kind in reply:
            raise ScriptedFailure(reply[kind])
    return text_of(reply["text"])


@dataclass
class ScriptedProvider:
    """A provider whose answers to a strategy's questions are a script; the last one repeats."""

    window: int
    script: list[dict[str, Any]]
    asked: list[Sequence[Message]] = field(default_factory=list)
    route: str = "scripted"
    model: str = "script"

    def measure(self, projection: Projection) -> int:
        return len(projection.items)

    def send(self, projection: Projection) -> Usage:
        raise AssertionError("these cases send no requests")

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        reply = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(messages)
        try:
            return Reply(scripted_text(reply), "stop", Usage(0))
        except ScriptedFailure as failure:
            # The class says nothing, so that the text alone decides, as in the original.
            raise ProviderError("unknown", str(failure)) from failure

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        raise AssertionError("these cases know no native compaction")

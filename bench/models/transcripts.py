"""Edges: who said what in a transcript, however it is written.

Known are JSON messages, and text with role labels in one of three styles: "[user]" or
"[tool result call_7]" at the beginning of a line, "User:" or "**Assistant**:", and headings
("### Assistant"). The first label decides the style, so that a "user: x" in a tool's output is no
turn of a transcript with brackets. Text without labels is one piece by nobody known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bench.events import Message
from bench.models.text_units import Piece, Speaker

EARLIER_SUMMARY = re.compile(
    r"^\s*(?:\[?(?:summary of|earlier summary|previous summary|conversation summary|compacted|"
    r"checkpoint)\b|<[\w-]*(?:summary|checkpoint|snapshot)\b|this session is being continued|"
    r"\[[^\]\n]*(?:summary|segment)[^\]\n]*\]|"
    r"\[?(?:早前|之前|先前|此前|历史|对话)[^\n]{0,8}(?:摘要|总结))",
    re.IGNORECASE,
)

_LABEL_LINE = re.compile(r"^\[[^\]\n]*\][ \t]*(?:\n|$)")

_ROLE = (
    r"(?P<role>user|human|assistant|ai|agent|model|tool|function|system|summary|"
    r"用户|助手|工具|系统|摘要)"
    r"(?P<kind>[ _-]?(?:results?|outputs?|calls?|message|response|request|结果|调用|消息))?"
)
_NUMBER = r"[ \t]*(?:(?:\[\d{1,7}\]|#\d{1,7}:?)[ \t]+)?"
_STYLES = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"^{_NUMBER}[\[<]{_ROLE}(?:[ #:=,|][^\]>\n]{{0,80}})?[\]>][:：]?[ \t]*",
        rf"^{_NUMBER}(?:\*\*)?{_ROLE}(?:[ \t]\([^()\n]{{1,60}}\))?(?:\*\*)?[:：](?:\*\*)?[ \t]*",
        rf"^#{{1,6}}[ \t]+{_ROLE}[ \t]*[:：]?[ \t]*$",
    )
)
# What a label of each style can't do without, which is found much faster than a label.
_NEEDED = (re.compile(rf"[\[<]{_ROLE}", re.IGNORECASE), re.compile("[:：]"), re.compile("#"))
_SPEAKERS: dict[str, Speaker] = {
    "user": "user",
    "human": "user",
    "用户": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "助手": "assistant",
    "tool": "tool",
    "function": "tool",
    "工具": "tool",
    # A system message inside a conversation is a checkpoint or a note of the runtime.
    "system": "summary",
    "系统": "summary",
    "summary": "summary",
    "摘要": "summary",
}
_LABEL_CHARACTERS_MAX = 200
_ARGUMENT_CHARACTERS_MAX = 4_000


def label_starts(text: str, count: int) -> list[int]:
    """Where the first `count` role labels of the transcript's style begin."""
    return [label.start() for label in islice(_labels(text), count)]


def _labels(text: str) -> Iterator[re.Match[str]]:
    first = stop = len(text)
    chosen: re.Pattern[str] | None = None
    for style, needed in zip(_STYLES, _NEEDED, strict=True):
        if needed.search(text, 0, stop) is None:
            continue
        # Only a label before the first one of another style would matter.
        match = style.search(text, 0, stop)
        if match is not None and match.start() < first:
            first, chosen = match.start(), style
            stop = min(len(text), first + _LABEL_CHARACTERS_MAX)
    if chosen is None:
        return
    labels = chosen.finditer(text)
    label = next(labels, None)
    if label is None:
        return
    yield label
    # Most messages of a transcript stand by themselves, behind their only label.
    if _NEEDED[_STYLES.index(chosen)].search(text, label.end()) is not None:
        yield from labels


def pieces_of_message(message: Message, *, may_be_transcript: bool) -> Iterator[Piece]:
    """What one message says, its calls included.

    A user message `may_be_transcript` when nobody else speaks in the request.
    """
    if message.role == "user" and may_be_transcript and len(label_starts(message.text, 2)) == 2:
        yield from read_transcript(message.text)
    elif message.text:
        speaker = _SPEAKERS[message.role]
        yield from _turn(speaker, message.text)
    for call in message.calls:
        yield Piece("call", f"{call.name} {_argument_text(call.arguments)}")


def _argument_text(arguments: str) -> str:
    """Arguments as plain text, so that their entities read as they are meant."""
    try:
        value = json.loads(arguments) if len(arguments) <= _ARGUMENT_CHARACTERS_MAX else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return arguments
    return " ".join(
        f"{name}={part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)}"
        for name, part in value.items()
    )


def read_transcript(text: str) -> Iterator[Piece]:
    """The turns of a transcript in order."""
    stripped = text.strip()
    if stripped[:1] in ("[", "{"):
        pieces = list(_read_json(stripped))
        if pieces:
            yield from pieces
            return
    start = 0
    speaker: Speaker = "unknown"
    for label in _labels(text):
        yield from _turn(speaker, text[start : label.start()])
        start = label.end()
        speaker = _speaker(label["role"].lower(), (label["kind"] or "").lower())
    yield from _turn(speaker, text[start:])


def _speaker(role: str, kind: str) -> Speaker:
    if any(word in kind for word in ("result", "output", "结果")):
        return "tool"
    if any(word in kind for word in ("call", "调用")):
        return "call"
    return _SPEAKERS[role]


def _turn(speaker: Speaker, text: str) -> Iterator[Piece]:
    text = text.strip()
    if not text:
        return
    if speaker == "call":
        name, _, arguments = text.partition(" ")
        text = f"{name} {_argument_text(arguments)}" if arguments.startswith("{") else text
    # Only what can be a checkpoint is taken for one; a tool may print anything.
    may_be_summary = speaker in ("user", "assistant", "unknown")
    is_summary = may_be_summary and EARLIER_SUMMARY.match(text) is not None
    yield Piece("summary", _LABEL_LINE.sub("", text)) if is_summary else Piece(speaker, text)


def _read_json(text: str) -> Iterator[Piece]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = []
        for line in filter(str.strip, text.split("\n")):
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                return
    for value in values if isinstance(values, list) else [values]:
        yield from _read_json_message(value)


def _read_json_message(value: Any) -> Iterator[Piece]:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return
    speaker = _SPEAKERS.get(value["role"].lower(), "unknown")
    for name in ("content", "text", "message"):
        yield from _content(speaker, value.get(name))
    for name in ("tool_calls", "calls"):
        calls = value.get(name)
        for call in calls if isinstance(calls, list) else ():
            yield Piece("call", json.dumps(call, ensure_ascii=False))


def _content(speaker: Speaker, content: Any) -> Iterator[Piece]:
    if isinstance(content, str):
        yield from _turn(speaker, content)
    elif isinstance(content, list):
        for block in content:
            text = block.get("text") if isinstance(block, dict) else block
            if isinstance(text, str):
                yield from _turn(speaker, text)
            elif block:
                yield Piece("call", json.dumps(block, ensure_ascii=False))

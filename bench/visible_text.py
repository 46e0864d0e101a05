"""Judgement: the text of a message as a model reads it, escapes of call arguments decoded.

Recorded arguments are JSON text, in which a path or a line of code may be hidden behind escapes.
Looking facts up happens in what is said, not in how it is quoted.
"""

from __future__ import annotations

import json
import re
from typing import Any

from bench.events import Message

_ESCAPE = re.compile(r'\\(?:(["\\/])|([bfnrt])|u([0-9a-fA-F]{4}))')
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def visible_text(message: Message) -> str:
    """What is said, then each call: its name, then its argument values, one a line."""
    if not message.calls:
        return message.text
    lines = [message.text] if message.text else []
    for call in message.calls:
        lines.append(call.name)
        lines.append(arguments_text(call.arguments, with_names=True))
    return "\n".join(lines)


def used_text(message: Message) -> str:
    """What an agent says and passes to its tools, without the names of the tools."""
    if not message.calls:
        return message.text
    arguments = [arguments_text(call.arguments) for call in message.calls]
    return "\n".join([message.text, *arguments] if message.text else arguments)


def arguments_text(arguments: str, *, with_names: bool = False) -> str:
    """The values of a call's arguments, one a line.

    Names of parameters are left out, since the tool's definition holds them; `with_names` keeps
    those inside nested values. What isn't JSON is taken as it is, with its escapes decoded.
    """
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return _ESCAPE.sub(_unescaped, arguments)
    leaves: list[str] = []
    # A stack of its own: arguments are data and may nest as deep as they like.
    waiting: list[Any] = list(reversed(value.values())) if isinstance(value, dict) else [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            leaves.append(current)
        elif isinstance(current, dict):
            for name, inner in reversed(current.items()):
                waiting += [inner, name] if with_names else [inner]
        elif isinstance(current, list):
            waiting.extend(reversed(current))
        elif current is not None and not isinstance(current, bool):
            leaves.append(str(current))
    return "\n".join(leaves)


def argument_names(arguments: str) -> tuple[str, ...]:
    """The names of the parameters that a call passes; none when it passes no JSON object."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return ()
    return tuple(value) if isinstance(value, dict) else ()


def _unescaped(match: re.Match[str]) -> str:
    if match[3]:
        return chr(int(match[3], 16))
    return match[1] or _CONTROL[match[2]]

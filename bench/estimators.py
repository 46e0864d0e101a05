"""Words: the estimator that strategies get when they bring none of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bench.events import Message, ToolDefinition
from bench.strategy import Estimator

# What many runtimes take for a picture whatever its size.
_ATTACHMENT_CHARACTERS = 4_000


def _message_characters(message: Message) -> int:
    characters = len(message.text) + _ATTACHMENT_CHARACTERS * len(message.attachments)
    for call in message.calls:
        characters += len(call.name) + len(call.arguments)
    return characters


def _tools_characters(tools: Sequence[ToolDefinition]) -> int:
    return sum(
        len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters)))
        for tool in tools
    )


def _quarter(characters: int) -> int:
    return -(-characters // 4)


CHARACTERS = Estimator("characters", _message_characters, _tools_characters, _quarter)
"""Characters/4, as many runtimes do: right for English, about a third of the truth for Chinese."""

"""Anthropic Messages: content in blocks, results inside user messages, `system` beside the list.

Packed like OpenAI chat files; told from them by the block types. `server_tool_use` and
`mcp_tool_use` are calls with result block types of their own. Redacted thinking and signatures say
nothing to a reader and are left out whole, never shortened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Session
from bench.formats.chat import CALL_TYPES, is_result_type, looks_like_message
from bench.formats.content import kind_of
from bench.formats.conversations import messages_in, read_conversations, request_of
from bench.formats.source import Sample, Source

NAME = "anthropic-messages"
RANK = 80
REPEATS_PREFIXES = True


def detect(sample: Sample) -> str | None:
    """Blocks that only Anthropic has, `system` beside `messages`, an answer of type message."""
    for record in sample.records:
        messages = messages_in(record)
        for message in messages if messages is not None else [record]:
            if isinstance(message, dict) and looks_like_message(message):
                kind = _telling_block(message.get("content"))
                if kind:
                    return f"a content block of type {kind!r}"
        if messages is not None:
            response = record.get("response")
            if isinstance(response, dict) and response.get("type") == "message":
                return "a response of type 'message'"
            if isinstance(request_of(record).get("system"), (str, list)):
                return "a 'system' field beside 'messages'"
    return None


def _telling_block(content: Any) -> str | None:
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, Mapping):
            continue
        kind = kind_of(block)
        if (
            kind in CALL_TYPES
            or is_result_type(kind)
            or kind in ("thinking", "redacted_thinking")
            or (kind in ("image", "document") and isinstance(block.get("source"), Mapping))
        ):
            return kind
    return None


def read(source: Source) -> Iterator[Session]:
    """The sessions of the file."""
    return read_conversations(source, NAME)

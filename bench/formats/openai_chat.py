"""OpenAI chat: messages as Chat Completions takes them.

Read are a JSON list of messages, an object with `messages` (and `tools`, `response`), a list of
those, the same as JSONL, request logs with a growing prefix, and tau-bench result lists.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.events import Session
from bench.formats.chat import looks_like_message
from bench.formats.conversations import messages_in, read_conversations
from bench.formats.source import Sample, Source

NAME = "openai-chat"
RANK = 90
REPEATS_PREFIXES = True


def detect(sample: Sample) -> str | None:
    """Messages with a role, alone or in a list under `messages` or `traj`."""
    for record in sample.records:
        if looks_like_message(record):
            return f"a message of role {record['role']!r}"
        messages = messages_in(record)
        if messages is not None and any(
            isinstance(message, dict) and looks_like_message(message) for message in messages
        ):
            return "an object with a list of messages that have roles"
    return None


def read(source: Source) -> Iterator[Session]:
    """The sessions of the file."""
    return read_conversations(source, NAME)

"""What the summariser reads: the messages as one text, so that no API can refuse their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.events import Message


def transcript(messages: Sequence[Message]) -> str:
    """Each message under its role; calls, results and attachments named."""
    return "\n\n".join("\n".join(_lines(message)) for message in messages)


def _lines(message: Message) -> Iterator[str]:
    yield f"[{'tool result' if message.role == 'tool' else message.role}]"
    if message.text:
        yield message.text
    for call in message.calls:
        yield f"[call of {call.name}] {call.arguments}"
    for attachment in message.attachments:
        yield f"[attachment: {attachment.media_type}]"

"""What the summariser reads: the messages as one text, so that no API can refuse their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.events import Message


_CLOSING = "Now write the summary of the conversation in this transcript."


def question(prompt: str, messages: Sequence[Message]) -> tuple[Message, Message]:
    """The summariser's request: the prompt, then each message under its role.

    Tags keep the material apart from instructions; of several closing tags the last is the real
    one, since the material may hold others.
    """
    body = "\n\n".join("\n".join(_lines(message)) for message in messages)
    text = f"<transcript>\n{body}\n</transcript>\n\n{_CLOSING}"
    return Message("system", prompt), Message("user", text)


def _lines(message: Message) -> Iterator[str]:
    yield f"[{'tool result' if message.role == 'tool' else message.role}]"
    if message.text:
        yield message.text
    for call in message.calls:
        yield f"[tool call] {call.name} {call.arguments}"
    for attachment in message.attachments:
        yield f"(attachment, {attachment.media_type})"

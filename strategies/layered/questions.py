"""What the summariser is asked: instructions, then history as marked, untrusted data (F5, F6).

Always one system and one user message, so that no API can refuse their order. The append prompt
doesn't show the earlier summary, the merge prompt does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from bench.events import Message
from bench.joined_texts import joined
from strategies.layered.source import SourceMessage

HISTORY_TAG = "conversation_history"
PREVIOUS_TAG = "previous_checkpoint"
_END = f"</{HISTORY_TAG}"
_OPENED, _CLOSED = f"<{HISTORY_TAG}>\n", f"\n</{HISTORY_TAG}>"
CLOSING = "Now write the checkpoint of this conversation history."


@dataclass(frozen=True, slots=True)
class Question:
    """One request to the summariser, before it is rendered.

    `previous_summary` is empty when the summariser isn't to see the earlier summary.
    `repair_reason` says what was wrong with the first candidate, empty in a first request.
    """

    instructions: str
    source: tuple[SourceMessage, ...]
    output_tokens_max: int
    previous_summary: str = ""
    repair_reason: str = ""

    @property
    def is_repair(self) -> bool:
        """True for the one request for a shorter candidate (F5.3)."""
        return bool(self.repair_reason)

    @property
    def parts(self) -> int:
        """Instructions, earlier summary, source messages, closing words, repair: how many."""
        return 2 + bool(self.previous_summary) + len(self.source) + self.is_repair

    @property
    def messages(self) -> tuple[Message, Message]:
        """The request as it is sent."""
        closing = CLOSING
        if self.is_repair:
            closing = prompt("layered_repair").replace("{reason}", self.repair_reason).strip()
        transcript = _transcript(self.source)
        previous = ""
        if self.previous_summary:
            previous = _tagged(PREVIOUS_TAG, self.previous_summary) + "\n\n"
        # In one go: transcripts are long, and each copy of one takes its time.
        text = joined((previous, _OPENED, *transcript, _CLOSED, "\n\n", closing))
        if text.count(_END) != 1:
            inside = _tagged(HISTORY_TAG, "".join(transcript))
            text = joined((previous, inside, "\n\n", closing))
        return Message("system", self.instructions), Message("user", text)


@cache
def prompt(name: str) -> str:
    """A prompt by the name of its file in `strategies/prompts`."""
    return resources.files("strategies").joinpath(f"prompts/{name}.md").read_text("utf-8")


def instructions_for(is_append: bool, own_prompt: str | None = None) -> str:
    """The instructions of one mode, or somebody's own for both."""
    if own_prompt is not None:
        return own_prompt
    return prompt("layered_append" if is_append else "layered_merge")


def _tagged(tag: str, text: str) -> str:
    """Data between tags that it can't close itself."""
    end = f"</{tag}"
    inside = text.replace(end, f"<\\/{tag}") if end in text else text
    return f"<{tag}>\n{inside}\n</{tag}>"


def _transcript(sources: Sequence[SourceMessage]) -> list[str]:
    """The pieces of the messages, each behind its label, a blank line between them."""
    pieces: list[str] = []
    for _, message, _ in sources:
        if message.text:
            pieces.append(_LABELS_OF_TEXTS.get(message.role) or f"{_label(message.role)}\n")
            pieces.append(message.text)
        else:
            pieces.append(_label(message.role))
        for call in message.calls:
            pieces.append(f"\n[tool call] {call.name} ")
            pieces.append(call.arguments)
        if message.attachments:
            pieces += [f"\n(attachment, {each.media_type})" for each in message.attachments]
    if pieces:
        pieces[0] = pieces[0].lstrip()
    return pieces


def _label(role: str) -> str:
    return "\n\n[tool result]" if role == "tool" else f"\n\n[{role}]"


_LABELS_OF_TEXTS = {role: f"{_label(role)}\n" for role in ("system", "user", "assistant", "tool")}

"""How the original tells error texts apart: by substrings of the text in lower case (Z9).

No word boundaries and no collapsing of blanks: a file that "exceeds the maximum" size counts as an
overflow too, and a rate limit on "too many tokens" does. By default strategies trust the
provider's error class instead (F1.7, F2.5).
"""

from __future__ import annotations

from typing import Literal

from strategies.head_tail.go_text import lower

TextClass = Literal["context_limit", "image_rejection", "stream_timeout", "reconnect"]

_WORDINGS: dict[TextClass, tuple[str, ...]] = {
    "context_limit": (
        "context length",
        "context_length",
        "context limit",
        "context window",
        "exceeds the maximum",
        "input is too long",
        "maximum context",
        "prompt is too long",
        "reduce the length of the messages",
        "too many tokens",
    ),
    # Counts only beside the status of a request that the server refused to read.
    "image_rejection": ("image", "vision", "multimodal"),
    "stream_timeout": ("idle timeout", "no output for"),
    "reconnect": (
        "502",
        "503",
        "504",
        "broken pipe",
        "connection refused",
        "connection reset",
        "eof",
        "server closed",
        "timeout",
    ),
}


def text_classes(text: str) -> frozenset[TextClass]:
    """What an error text reads like: any number of classes, often none."""
    lowered = lower(text)
    found = {
        name
        for name, wordings in _WORDINGS.items()
        if any(wording in lowered for wording in wordings)
    }
    if "400" not in lowered:
        found.discard("image_rejection")
    return frozenset(found)


def is_context_limit(text: str) -> bool:
    """True when an error text reads like an input that is too long for the window."""
    return "context_limit" in text_classes(text)


def is_overflow(text: str) -> bool:
    """True when a refused request may be rescued by compaction; a refused image may not."""
    classes = text_classes(text)
    return "context_limit" in classes and "image_rejection" not in classes

"""How the original tells error texts apart: substrings of the text in lower case (Z9).

No word boundaries and no collapsing of blanks: a file that "exceeds the maximum" upload size counts
as an overflow too. By default strategies trust the provider's error class instead (F2.5).
"""

from __future__ import annotations

from strategies.head_tail.go_text import lower

CONTEXT_LIMIT_TEXTS = (
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
)


def is_context_limit(text: str) -> bool:
    """True when an error text reads like an input that is too long for the window."""
    lowered = lower(text)
    return any(wording in lowered for wording in CONTEXT_LIMIT_TEXTS)

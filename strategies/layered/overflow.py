"""How the original tells by its text that an input was too long (F2.2, F2.5).

Vetoes win over everything, and all are plain substrings: a body that merely mentions quota or
`max_tokens` is no overflow here. The strategy trusts the provider's error class instead, unless
its parameter `overflow` says otherwise.
"""

from __future__ import annotations

from strategies.layered.encoding import lowered

VETOES = (
    "rate limit",
    "rate_limit",
    "too many requests",
    "quota",
    "throttl",
    "max_tokens",
    "maximum number of tokens",
    "completion token",
    "output token",
)
WORDINGS = (
    "context length",
    "context_length",
    "context window",
    "context_window",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "input too long",
)
# A first wording counts only together with one of the others.
PAIRED_WORDINGS = (
    ("too many tokens", ("context", "input", "prompt")),
    ("request too large", ("context", "input token", "prompt")),
    ("request_too_large", ("context", "input token", "prompt")),
)


def is_overflow(text: str) -> bool:
    """True when an error text says plainly that the input context was too long."""
    said = lowered(text)
    if any(veto in said for veto in VETOES):
        return False
    if any(wording in said for wording in WORDINGS):
        return True
    return any(
        first in said and any(other in said for other in others)
        for first, others in PAIRED_WORDINGS
    )

"""Edges: the token figures in a refusal: how large the input was, and the window."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.provider_error_bodies import ErrorFields
from bench.provider_error_wordings import SAYS_COMBINED

_WINDOW = re.compile(
    r"(?:context|model)(?:'s)? (?:context )?(?:length|window|size|limit)"
    r"[^.|\d]{0,30}(?P<window>\d+)"
    r"|n_ctx:? \(?(?P<n_ctx>\d+)|model with (?P<with>\d+) maximum context",
    re.IGNORECASE,
)
_SUM = re.compile(r"(?P<input>\d+) ?\+ ?\d+ ?> ?(?P<window>\d+)")
_DIFFERENCE = re.compile(r"\d+ ?> ?(?P<window>\d+) ?- ?(?P<input>\d+)")
_TGI = re.compile(r"must be <= (?P<window>\d+)\.? given: (?P<input>\d+) `?inputs", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\((?P<parts>\d+ [^()]{1,200})\)")
_PART = re.compile(
    r"(?P<tokens>\d+)(?: tokens)? (?:in|of|for|from) (?:the |your )?(?P<what>[a-z ]+)",
    re.IGNORECASE,
)
_FROM_INPUT = re.compile(r"(?P<input>\d+) tokens from the input", re.IGNORECASE)
_INPUT_TOKENS = re.compile(
    r"(?P<bound>at least )?(?P<input>\d+) (?:input|prompt) tokens", re.IGNORECASE
)
_OUTPUT_PART = re.compile(r"completion|output|prediction|generat", re.IGNORECASE)
_LIMIT = re.compile(
    r"(?:limit|maximum|max|allowed|supports up to|budget|window|size|length|n_ctx)"
    r"(?: (?:of|is|number of tokens allowed|maximum))?:? ?\(?(?P<after>\d{2,})(?! ?>)"
    r"|> ?(?P<compared>\d{2,})|(?P<before>\d{2,}) maximum",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![\w.-])\d{2,9}(?![\w-]|\.\d)")


@dataclass(frozen=True, slots=True)
class Combined:
    """A refusal that counts input and output together.

    `input_tokens` and `window` are None where the text doesn't tell them apart; `is_at_least` is
    true when the provider stopped counting the input early.
    """

    input_tokens: int | None
    window: int | None
    is_at_least: bool = False


def combined_figures(text: str) -> Combined | None:
    """The halves of a combined refusal; None when the text isn't one."""
    for pattern in (_SUM, _DIFFERENCE, _TGI):
        match = pattern.search(text)
        if match is not None:
            return Combined(int(match["input"]), int(match["window"]))
    parts = _parts(text)
    if parts is not None:
        return Combined(parts, _window(text))
    if SAYS_COMBINED.search(text) is None:
        return None
    match = _FROM_INPUT.search(text) or _INPUT_TOKENS.search(text)
    if match is None:
        return Combined(None, _window(text))
    is_at_least = bool(match.groupdict().get("bound"))
    return Combined(int(match["input"]), _window(text), is_at_least)


def _parts(text: str) -> int | None:
    """The input of "(9591 in the messages, 10000 in the completion)"; None without an output."""
    for parenthesis in _PARENTHESIS.finditer(text):
        parts = [
            (int(part["tokens"]), part["what"]) for part in _PART.finditer(parenthesis["parts"])
        ]
        if any(_OUTPUT_PART.search(what) for _, what in parts) and len(parts) > 1:
            return sum(tokens for tokens, what in parts if not _OUTPUT_PART.search(what))
    return None


def _window(text: str) -> int | None:
    match = _WINDOW.search(text)
    return int(next(group for group in match.groups() if group)) if match is not None else None


def overflow_figures(fields: ErrorFields) -> tuple[int | None, int | None]:
    """Input and window as the provider gave them, None for what it didn't or left unclear."""
    sent, limit = fields.figures.get("prompt"), fields.figures.get("window")
    if sent is not None or limit is not None:
        return sent, limit
    text = fields.text
    combined = combined_figures(text)
    if combined is not None:
        return combined.input_tokens, combined.window
    figures = [int(match[0]) for match in _FIGURE.finditer(text)]
    limits = [int(next(filter(None, match.groups()))) for match in _LIMIT.finditer(text)]
    # Of two figures in an overflow the window is the smaller one, whatever the wording.
    window = min((found for found in limits if found in figures), default=None)
    if window is None:
        return None, None
    return next((found for found in figures if found > window), None), window

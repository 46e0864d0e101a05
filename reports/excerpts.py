"""Lines that tell the story of a loss: where the fact was said, what the summary says in its stead.

Lines are looked for only in the losses that somebody will see; they are cut where they are found,
so that a page of one endless line costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bench.events import Message
from bench.projection import Item, Native, Written

_WORD = re.compile(r"[^\W_]{2,}")
_LINE_CHARACTERS_MAX = 4_000
_LINES_MAX = 20_000
_SHARED_WORDS_MIN = 2
_AROUND_CHARACTERS = 110


def source_line(message: Message, text: str) -> str:
    """The line of an event that states the text; a long one is cut around it."""
    lines = [line for part in _parts(message) for line in _lines(part)]
    wanted = text.casefold()
    for line in lines:
        at = line.casefold().find(wanted)
        if at >= 0:
            return _around(line, at, len(text))
    return _closest(lines, text) or (lines[0] if lines else "")


def summary_line(items: Iterable[Item], text: str, source: str) -> str:
    """The line of the written summaries that comes closest to the fact; "" when none does.

    Of opaque state there is nothing to quote: it is named instead.
    """
    shown = list(items)
    opaque = next((item for item in shown if isinstance(item, Native)), None)
    if opaque is not None:
        return f"({opaque.tokens:,} tokens of opaque state of {opaque.route})"
    lines = [
        line for item in shown if isinstance(item, Written) for line in _lines(item.message.text)
    ]
    wanted = text.casefold()
    for line in lines:
        at = line.casefold().find(wanted)
        if at >= 0:
            return _around(line, at, len(text))
    return _closest(lines, f"{text} {source}")


def _parts(message: Message) -> Iterable[str]:
    yield message.text
    for call in message.calls:
        yield f"{call.name}({call.arguments})"


def _lines(text: str) -> list[str]:
    found = (line.strip() for line in text.split("\n", _LINES_MAX)[:_LINES_MAX])
    return [line for line in found if line]


def _around(line: str, at: int, length: int) -> str:
    if len(line) <= 2 * _AROUND_CHARACTERS:
        return line
    start = max(0, at - _AROUND_CHARACTERS)
    stop = min(len(line), at + length + _AROUND_CHARACTERS)
    return ("…" if start else "") + line[start:stop] + ("…" if stop < len(line) else "")


def _closest(lines: list[str], text: str) -> str:
    """The line that shares most words with the text, at least two; the first of equals."""
    wanted = _words(text)
    best, best_count = "", _SHARED_WORDS_MIN - 1
    for line in lines:
        count = len(wanted & _words(line))
        if count > best_count:
            best, best_count = line, count
    return best


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text[:_LINE_CHARACTERS_MAX])}

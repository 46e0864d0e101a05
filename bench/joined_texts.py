"""Words: a text that was put together of others, for as long as somebody may ask what is in it.

A summariser's request holds hundreds of messages. Whoever has counted these needn't count the
request from scratch, if it can be told of what pieces it was made.
"""

from __future__ import annotations

from collections.abc import Sequence

# Of texts and pieces together: some dozens of requests; forgotten all at once.
_CHARACTERS_MAX = 16_000_000


class _Joined:
    """By identity, which is quick to ask for; holding a text, its id can't be another's."""

    def __init__(self) -> None:
        self.by_id: dict[int, tuple[str, Sequence[str]]] = {}
        self.characters = 0


_JOINED = _Joined()


def joined(pieces: Sequence[str]) -> str:
    """All pieces as one text, which for a while can be told from others like it."""
    text = "".join(pieces)
    characters = 2 * len(text)
    if _JOINED.characters + characters > _CHARACTERS_MAX:
        forget()
    if characters <= _CHARACTERS_MAX:
        _JOINED.by_id[id(text)] = (text, pieces)
        _JOINED.characters += characters
    return text


def pieces_of(text: str) -> Sequence[str] | None:
    """What this very text was joined of; None when nobody did that, or too long ago."""
    known = _JOINED.by_id.get(id(text))
    return None if known is None else known[1]


def forget() -> None:
    """Lets all texts go; they are texts like others then."""
    _JOINED.by_id.clear()
    _JOINED.characters = 0

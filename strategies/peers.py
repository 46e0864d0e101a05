"""What the strategies have in common that run other libraries' compaction, `peer_*.py`.

They run the library's own code, installed with the extra `peers`, with the session's `ask` in the
place of its model. Nothing here knows any of the libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias

from bench.errors import UsageError
from bench.provider import ProviderError
from bench.strategy import Reply

MessageDict: TypeAlias = dict[str, Any]
# A promise that none of these libraries makes: the harness's own strategies do.
NO_PINNED_REQUEST = (
    "H4",
    "the library doesn't know which request is being worked on; it may summarise or drop it",
)
NEEDS_EXTRA = 'needs pip install "compaction-bench[peers]"'


def require(module: str, distribution: str) -> None:
    """Raises UsageError, one line, when the library isn't installed."""
    if find_spec(module) is None:
        raise UsageError(f"{distribution} isn't installed; {NEEDS_EXTRA}")


class PeerAsk:
    """The session's model as a library's adapter asks it; remembers how it was refused.

    Libraries wrap, retry or swallow errors; what the provider said is what the record shall show.
    """

    def __init__(self, ask: Callable[..., Reply]) -> None:
        self._ask = ask
        self.refusal: BaseException | None = None

    def __call__(self, messages: Sequence[MessageDict], *, output_tokens_max: int) -> Reply:
        """One question, in Chat Completions messages."""
        try:
            reply = self._ask(messages, output_tokens_max=output_tokens_max)
        except BaseException as error:
            self.refusal = error
            raise
        self.refusal = None
        return reply

    @contextmanager
    def surfacing(self) -> Iterator[None]:
        """What the library made of a refusal inside becomes the refusal again.

        Raises what the model raised when the library fails because of it. A refusal that the
        library got over is forgotten, but for a halt of the run.
        """
        try:
            yield
        except Exception:
            if self.refusal is not None:
                raise self.refusal from None
            raise
        if self.refusal is not None and not isinstance(self.refusal, Exception):
            raise self.refusal

    def give_up(self) -> None:
        """To be called when nothing came of it: raises the refusal, if that is why."""
        if self.refusal is not None:
            raise self.refusal

    @property
    def is_overflow(self) -> bool:
        """Whether the last question was too long for the window."""
        refusal = self.refusal
        return isinstance(refusal, ProviderError) and refusal.kind == "input_overflow"


class Translated:
    """Messages in a library's own objects, and the way back that changes nothing by itself.

    `make` turns one message into the library's object; an object that comes back as it was, or an
    equal one with the same id, is that very message again.
    """

    def __init__(
        self, messages: Sequence[MessageDict], make: Callable[[MessageDict, str], Any]
    ) -> None:
        self._messages = list(messages)
        self.objects = [make(message, f"m{place}") for place, message in enumerate(messages)]
        self._place_of = {id(made): place for place, made in enumerate(self.objects)}

    def place_of(self, made: Any, id_of: Callable[[Any], str | None]) -> int | None:
        """Which message an object still is; None when it is new or was changed."""
        place = self._place_of.get(id(made))
        if place is not None:
            return place
        word = id_of(made)
        if word is None or word[:1] != "m" or not word[1:].isdigit():
            return None
        place = int(word[1:])
        is_same = place < len(self.objects) and self.objects[place] == made
        return place if is_same else None

    def back(
        self,
        objects: Sequence[Any],
        write: Callable[[Any], MessageDict],
        id_of: Callable[[Any], str | None],
    ) -> list[MessageDict]:
        """The messages that these objects stand for; `write` makes one of what is new."""
        places = [self.place_of(made, id_of) for made in objects]
        return [
            write(made) if place is None else self._messages[place]
            for made, place in zip(objects, places, strict=True)
        ]


def leading_system(messages: Sequence[MessageDict]) -> int:
    """How many system messages open the list: libraries are given those apart."""
    for place, message in enumerate(messages):
        if message["role"] not in ("system", "developer"):
            return place
    return len(messages)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a content, whatever its form."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))

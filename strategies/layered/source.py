"""The covered history as digests and records see it: seq, message, and its full JSON text."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from bench.events import Event, Message, ToolCall
from strategies.layered.encoding import compact_json, quoted, utf8

# A history is digested anew at every try, and its messages never change.
JSON_TEXTS_REMEMBERED = 4_096
# A digest takes many messages in one go, yet never holds the text of a whole history.
_MESSAGES_AT_ONCE = 256


class SourceMessage(NamedTuple):
    """One message of the history with its seq.

    `message` is what a model sees of it. `stored_json` is the text that digests are made of, for a
    store that keeps more than a model sees; None makes it from the message.
    """

    seq: int
    message: Message
    stored_json: str | None = None

    @property
    def json(self) -> str:
        """The full JSON text of the message, without its seq."""
        return message_json(self.message) if self.stored_json is None else self.stored_json


def until_seq(messages: Sequence[SourceMessage], seq: int) -> int:
    """How many messages, which stand in order, there are up to and including `seq`."""
    return bisect_right(messages, seq, key=_seq_of)


def with_seq(messages: Sequence[SourceMessage], seq: int) -> tuple[SourceMessage, ...]:
    """The message with this seq, of messages in order; none when it isn't there."""
    stop = until_seq(messages, seq)
    return tuple(messages[stop - 1 : stop]) if stop and messages[stop - 1].seq == seq else ()


def _seq_of(source: SourceMessage) -> int:
    return source.seq


def sources(events: Iterable[Event]) -> tuple[SourceMessage, ...]:
    """The events of a harness history as sources."""
    return tuple(SourceMessage(event.seq, event.message) for event in events)


@lru_cache(maxsize=JSON_TEXTS_REMEMBERED)
def raw_json(text: str) -> str:
    """Raw JSON text made compact; nothing becomes null, what isn't JSON becomes one JSON string."""
    if not text:
        return "null"
    compact = compact_json(text)
    return quoted(text) if compact is None else compact


def call_json(call: ToolCall) -> str:
    """A call as a JSON object."""
    arguments = raw_json(call.arguments)
    return f'{{"id":{quoted(call.id)},"name":{quoted(call.name)},"input":{arguments}}}'


def message_json(message: Message) -> str:
    """Everything that the harness keeps of a message; role and text always, the rest if present."""
    known = _json_of.get(id(message))
    if known is not None and known[0] is message:
        return known[1]
    if len(_json_of) >= JSON_TEXTS_REMEMBERED:
        _json_of.clear()
    text = _message_json(message)
    _json_of[id(message)] = (message, text)
    return text


def _message_json(message: Message) -> str:
    role = _ROLES.get(message.role) or quoted(message.role)
    text = f'{{"role":{role},"content":{quoted(message.text)}'
    if message.attachments:
        listed = ",".join(
            f'{{"media_type":{quoted(each.media_type)},"data":{quoted(each.data)}}}'
            for each in message.attachments
        )
        text += f',"attachments":[{listed}]'
    if message.reasoning:
        text += f',"reasoning":{quoted(message.reasoning)}'
    if message.calls:
        text += f',"tool_calls":[{",".join(map(call_json, message.calls))}]'
    if message.call_id:
        text += f',"tool_call_id":{quoted(message.call_id)}'
    return text + "}"


_ROLES = {role: quoted(role) for role in ("system", "user", "assistant", "tool")}

# By identity, since a message is slow to hash; holding it keeps its id from being used again.
_json_of: dict[int, tuple[Message, str]] = {}


class RunningDigest:
    """The source digest while the history grows; `copy` makes a check cost only what is new.

    SHA-256 over, for each covered message in order: its decimal seq, NUL, its JSON, NUL (F4.4).
    """

    __slots__ = ("_state", "through_seq")

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self.through_seq = 0

    def add(self, source: SourceMessage) -> None:
        """Cover one more message."""
        self.add_all((source,), 0, 1)

    def add_all(self, messages: Sequence[SourceMessage], start: int, stop: int) -> None:
        """Cover the messages start..stop-1 too."""
        for first in range(start, stop, _MESSAGES_AT_ONCE):
            part = messages[first : min(stop, first + _MESSAGES_AT_ONCE)]
            self._state.update(utf8("".join([f"{each.seq}\0{each.json}\0" for each in part])))
            self.through_seq = part[-1].seq

    def copy(self) -> RunningDigest:
        """An independent digest of the same messages."""
        twin = RunningDigest()
        twin._state = self._state.copy()
        twin.through_seq = self.through_seq
        return twin

    def hexdigest(self) -> str:
        """The digest of everything covered so far."""
        return self._state.hexdigest()


def source_digest(covered: Sequence[SourceMessage]) -> str:
    """The digest of these messages (F4.4)."""
    running = RunningDigest()
    running.add_all(covered, 0, len(covered))
    return running.hexdigest()

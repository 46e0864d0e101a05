"""The covered history as digests and records see it: seq, message, and its full JSON text."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.events import Event, Message
from strategies.layered.encoded import json_bytes
from strategies.layered.encoding import utf8

# A digest takes several messages in one go, yet no more than the processor has near at hand.
_MESSAGES_AT_ONCE = 32


class SourceMessage(NamedTuple):
    """One message of the history with its seq.

    `message` is what a model sees of it. `stored_json` is the text that digests are made of, for a
    store that keeps more than a model sees; None makes it from the message.
    """

    seq: int
    message: Message
    stored_json: str | None = None


def until_seq(messages: Sequence[SourceMessage], seq: int) -> int:
    """How many messages, which stand in order, there are up to and including `seq`."""
    total = len(messages)
    # Nearly always seqs count from 1 without gaps.
    is_place = 0 < seq <= total and messages[seq - 1].seq == seq
    if is_place and (seq == total or messages[seq].seq > seq):
        return seq
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
            made = json_bytes([message for _, message, _ in part])
            encoded = [
                json if stored is None else utf8(stored)
                for (_, _, stored), json in zip(part, made, strict=True)
            ]
            self.add_encoded([seq for seq, _, _ in part], encoded)

    def add_encoded(self, seqs: Sequence[int], encoded: Sequence[bytes]) -> None:
        """Cover the messages with these seqs, each with the JSON that the digest takes in."""
        for first in range(0, len(seqs), _MESSAGES_AT_ONCE):
            stop = first + _MESSAGES_AT_ONCE
            pieces: list[bytes] = []
            for seq, json in zip(seqs[first:stop], encoded[first:stop], strict=True):
                pieces += (b"%d\0" % seq, json, b"\0")
            self._state.update(b"".join(pieces))
        if seqs:
            self.through_seq = seqs[-1]

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

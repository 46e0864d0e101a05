"""Judgement: where everything stands in one session, computed once and shared by all its cells.

The index answers one question quickly: which events hold this value? Values are located many at a
time in one pass over the text; afterwards "is it in this span of events" is a search in a short
sorted list. It holds one normalised copy of the text and nothing that a cell could change but the
memory of answers.
"""

from __future__ import annotations

import json
import string
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.events import Message, Session, ToolDefinition
from bench.history import History
from bench.matching import CASE_SENSITIVE_KINDS, contains, find, normalise
from bench.tokens import count
from bench.visible_text import argument_names, arguments_text

# Every byte that can't stand in an ASCII word becomes a blank: three times as fast as a pattern.
_WORD_BYTES = bytes(
    byte if chr(byte) in string.ascii_letters + string.digits + "_" else ord(" ")
    for byte in range(256)
)


def ascii_words(text: str) -> set[str]:
    """The distinct runs of ASCII letters, digits and `_`, with their case."""
    data = text.encode("utf-8", "surrogatepass").translate(_WORD_BYTES)
    return set(data.decode("ascii").split())


class Needle(NamedTuple):
    """A value to look up: its kind (an entity kind, else plain text) and its `matching.key_of`."""

    kind: str
    key: str


class Haystack:
    """A normalised text in which many needles are looked up; most misses cost one set look-up."""

    __slots__ = ("_lower", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lower = text.lower()
        self._words = ascii_words(self._lower)

    def find(self, needle: Needle) -> int:
        """The position of the first whole match, -1 when there is none."""
        if len(needle.key) > len(self.text):
            return -1
        # A v may join the first word of a version; other words of a key are whole words of a text.
        if needle.kind != "version" and not ascii_words(needle.key.lower()) <= self._words:
            return -1
        text = self.text if needle.kind in CASE_SENSITIVE_KINDS else self._lower
        return find(text, needle.key, needle.kind)

    def holds(self, needle: Needle) -> bool:
        """Whether the text holds the needle."""
        return self.find(needle) >= 0


class SessionIndex:
    """The text of a session by event, normalised, with token positions and located values.

    `texts[seq - 1]` is what `visible_text` shows of event `seq`, normalised; what is said stands
    before `said_stops[seq - 1]`, calls after it. `tokens_until[seq]` counts the true tokens of the
    events 1..seq, without wire overhead. `request_seqs` are the recorded assistant messages: each
    was answered to one request. `tool_definitions` is what every request shows of the tools,
    `tool_words` the names of tools and of their parameters, which are no entities.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.texts: list[str] = []
        self.said_stops = array("I")
        self.tokens_until = array("Q", [0])
        for event in session.events:
            said = normalise(event.message.text)
            called = _called(event.message)
            self.texts.append(f"{said} {called}" if called else said)
            self.said_stops.append(len(said))
            self.tokens_until.append(self.tokens_until[-1] + _tokens(event.message))
        self.tool_words = _tool_words(session)
        self.leading_system = _leading_system(session)
        self.request_seqs = array(
            "L", (event.seq for event in session.events if event.message.role == "assistant")
        )
        self.tool_definitions = Haystack(normalise(_tools_text(session.tools)))
        self._group_starts = group_starts(session)
        self._turn_seqs = array("I", (event.seq for event in session.events if event.starts_turn))
        self._located: dict[Needle, array[int]] = {}
        self._first_said: dict[Needle, int | None] = {}

    def locate(self, needles: Iterable[Needle]) -> None:
        """Find all events that hold these needles, in one pass; known ones cost nothing."""
        wanted = [needle for needle in dict.fromkeys(needles) if needle not in self._located]
        if not wanted:
            return
        found: dict[Needle, array[int]] = {needle: array("I") for needle in wanted}
        names = {needle.key: needle for needle in wanted if _is_one_name(needle)}
        by_anchor, unanchored = _by_anchor(needle for needle in wanted if not _is_one_name(needle))
        characters = frozenset(anchor for anchor in by_anchor if not anchor.isascii())
        for seq, text in enumerate(self.texts, start=1):
            words = ascii_words(text)
            lower = text.lower()
            is_ascii = text.isascii()
            for name in names.keys() & words:
                # Beside letters of another alphabet a name may be a part of a word.
                if is_ascii or find(text, name, names[name].kind) >= 0:
                    found[names[name]].append(seq)
            # Lower case may turn a letter beyond ASCII into one within.
            lower_words = set(map(str.lower, words)) if is_ascii else ascii_words(lower)
            hits = by_anchor.keys() & lower_words
            if characters and not is_ascii:
                hits |= characters.intersection(lower)
            for anchor in hits:
                for needle, needed in by_anchor[anchor]:
                    if needed <= lower_words:
                        _look(needle, text, lower, seq, found)
            for needle in unanchored:
                _look(needle, text, lower, seq, found)
        self._located.update(found)

    def occurrences(self, needle: Needle) -> Sequence[int]:
        """The seqs of all events that hold the needle, ascending."""
        if needle not in self._located:
            self.locate((needle,))
        return self._located[needle]

    def is_within(self, needle: Needle, first_seq: int, last_seq: int) -> bool:
        """Whether an event from first_seq up to and including last_seq holds the needle."""
        seqs = self.occurrences(needle)
        position = bisect_left(seqs, first_seq)
        return position < len(seqs) and seqs[position] <= last_seq

    def last_before(self, needle: Needle, seq: int) -> int | None:
        """The newest event before `seq` that holds the needle."""
        seqs = self.occurrences(needle)
        position = bisect_left(seqs, seq)
        return seqs[position - 1] if position else None

    def first_said(self, needle: Needle) -> int | None:
        """The first event whose own words hold the needle: neither a tool's nor those of a call."""
        if needle not in self._first_said:
            events = self.session.events
            self._first_said[needle] = next(
                (
                    seq
                    for seq in self.occurrences(needle)
                    if events[seq - 1].message.role != "tool" and self._is_said(needle, seq)
                ),
                None,
            )
        return self._first_said[needle]

    def _is_said(self, needle: Needle, seq: int) -> bool:
        said = self.texts[seq - 1][: self.said_stops[seq - 1]]
        return contains(said, needle.key, needle.kind)

    def newest_turn(self, seq: int) -> int | None:
        """The newest event before `seq` that starts a turn: the request that is being served."""
        position = bisect_left(self._turn_seqs, seq)
        return self._turn_seqs[position - 1] if position else None

    def always_shown(self, seq: int) -> tuple[int, int] | None:
        """First and last seq of what every strategy shows to the request for event `seq`.

        It is the newest user request with the group that it stands in, which can't be split;
        without any request the newest group. None before the first event.
        """
        newest = self.newest_turn(seq) or seq - 1
        return group_span(self._group_starts, newest, seq) if newest else None

    def age_tokens(self, mentioned_seq: int, seq: int) -> int:
        """True tokens of the events after `mentioned_seq` and before `seq`."""
        return self.tokens_until[seq - 1] - self.tokens_until[mentioned_seq]


def group_starts(session: Session) -> Sequence[int]:
    """For each event the position of the first event of its group."""
    history = History(session.events)
    return array("I", map(history.group_start, range(len(history))))


def group_span(starts: Sequence[int], seq: int, before_seq: int) -> tuple[int, int]:
    """First and last seq of the group that holds event `seq`, as far as it goes by `before_seq`."""
    start = starts[seq - 1]
    last = seq
    while last < before_seq - 1 and starts[last] == start:
        last += 1
    return start + 1, last


def _called(message: Message) -> str:
    if not message.calls:
        return ""
    return " ".join(
        f"{call.name} {normalise(arguments_text(call.arguments, with_names=True))}"
        for call in message.calls
    )


def _tokens(message: Message) -> int:
    # Counted part by part as the provider does, so that no text is tokenised twice.
    calls = sum(count(call.name) + count(call.arguments) for call in message.calls)
    return count(message.text) + calls


def _tool_words(session: Session) -> frozenset[str]:
    words = {tool.name for tool in session.tools}
    for event in session.events:
        for call in event.message.calls:
            words.add(call.name)
            words.update(argument_names(call.arguments))
    return frozenset(words)


def _tools_text(tools: Sequence[ToolDefinition]) -> str:
    return "\n".join(
        f"{tool.name} {tool.description} {json.dumps(dict(tool.parameters), ensure_ascii=False)}"
        for tool in tools
    )


def _leading_system(session: Session) -> int:
    for position, event in enumerate(session.events):
        if event.message.role != "system":
            return position
    return len(session.events)


def _is_one_name(needle: Needle) -> bool:
    """Whether an ASCII text holds the needle just when it is one of its words."""
    key = needle.key
    is_name = needle.kind == "identifier" and ascii_words(key) == {key}
    return is_name and not (key[0].isdigit() or key[-1].isdigit())


_Anchored = dict[str, list[tuple[Needle, frozenset[str]]]]


def _by_anchor(needles: Iterable[Needle]) -> tuple[_Anchored, list[Needle]]:
    """Needles by the word (or the Chinese character) that a text must have to hold them."""
    by_anchor: _Anchored = {}
    unanchored: list[Needle] = []
    for needle in needles:
        lower = needle.key.lower()
        words = ascii_words(lower)
        if needle.kind == "version":
            # A v may stand right before the first word and makes another word of it.
            words.discard(lower.partition(".")[0])
        if words:
            anchor = max(words, key=lambda word: (len(word), word))
        else:
            anchor = next((character for character in lower if not character.isascii()), "")
        if anchor:
            by_anchor.setdefault(anchor, []).append((needle, frozenset(words)))
        else:
            unanchored.append(needle)
    return by_anchor, unanchored


def _look(needle: Needle, text: str, lower: str, seq: int, found: dict[Needle, array[int]]) -> None:
    haystack = text if needle.kind in CASE_SENSITIVE_KINDS else lower
    if find(haystack, needle.key, needle.kind) >= 0:
        found[needle].append(seq)

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


class _Chunks:
    """Which events hold which chunk (what stands between blanks), and which chunks which word.

    A session repeats its chunks, so each is searched once instead of at every place. What is right
    for a chunk is right for a text: whether a match without blanks is whole is never decided beyond
    the next blank.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        # Most chunks stand in one event, whose number needs no list.
        self._seqs: dict[str, int | array[int]] = {}
        for seq, text in enumerate(texts, start=1):
            for chunk in set(text.split()):
                held = self._seqs.get(chunk)
                if held is None:
                    self._seqs[chunk] = seq
                elif isinstance(held, int):
                    self._seqs[chunk] = array("I", (held, seq))
                else:
                    held.append(seq)
        self._by_word: dict[str, list[str]] = {}
        for chunk in self._seqs:
            lower = chunk.lower()
            words = ascii_words(lower)
            if not lower.isascii():
                words.update(character for character in lower if not character.isascii())
            for word in words:
                self._by_word.setdefault(word, []).append(chunk)

    def seqs(self, needle: Needle) -> set[int]:
        """The events that hold a needle without blanks."""
        kind, key = needle
        if not key:
            return set()
        chunks = self._with_words(_words_needed(needle))
        return self._union(
            chunk
            for chunk, spelled in _spelled(chunks, kind)
            if key in spelled and find(spelled, key, kind) >= 0
        )

    def candidates(self, needle: Needle) -> set[int]:
        """The events in which the rarest parts of a needle stand that holds blanks."""
        parts = needle.key.split()
        found: list[list[str]] = []
        for position, part in enumerate(parts):
            words = _words_needed(Needle(needle.kind, part))
            if words:
                pairs = _spelled(self._with_words(words), needle.kind)
                if position == 0:
                    found.append([chunk for chunk, spelled in pairs if spelled.endswith(part)])
                elif position == len(parts) - 1:
                    found.append([chunk for chunk, spelled in pairs if spelled.startswith(part)])
                else:
                    found.append([chunk for chunk, spelled in pairs if spelled == part])
        if not found:
            return self._union(self._seqs)
        rarest, *others = sorted(found, key=self._places)
        seqs = self._union(rarest)
        return seqs & self._union(others[0]) if others and len(seqs) > 1 else seqs

    def _with_words(self, words: frozenset[str]) -> Sequence[str]:
        """The chunks that hold the rarest of these words: all when none is given."""
        if not words:
            return tuple(self._seqs)
        return min((self._by_word.get(word, ()) for word in words), key=len)

    def _places(self, chunks: Sequence[str]) -> int:
        held = (self._seqs[chunk] for chunk in chunks)
        return sum(1 if isinstance(seqs, int) else len(seqs) for seqs in held)

    def _union(self, chunks: Iterable[str]) -> set[int]:
        union: set[int] = set()
        for chunk in chunks:
            held = self._seqs[chunk]
            if isinstance(held, int):
                union.add(held)
            else:
                union.update(held)
        return union


def _words_needed(needle: Needle) -> frozenset[str]:
    """The ASCII words that a text must have to hold the needle, without any one such character."""
    lower = needle.key.lower()
    # A v may stand right before the first word of a version and makes another word of it.
    words = ascii_words(lower.partition(".")[2] if needle.kind == "version" else lower)
    if not words and needle.kind not in CASE_SENSITIVE_KINDS:
        return frozenset(character for character in lower if not character.isascii())
    return frozenset(words)


def _spelled(chunks: Sequence[str], kind: str) -> Iterable[tuple[str, str]]:
    """Chunks, each with its form that is compared with keys of a kind."""
    spelled = chunks if kind in CASE_SENSITIVE_KINDS else map(str.lower, chunks)
    return zip(chunks, spelled, strict=True)


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
        self._chunks = _Chunks(self.texts)
        self._located: dict[Needle, array[int]] = {}
        self._first_said: dict[Needle, int | None] = {}

    def locate(self, needles: Iterable[Needle]) -> None:
        """Find all events that hold these needles; known ones cost nothing."""
        wanted = [needle for needle in dict.fromkeys(needles) if needle not in self._located]
        by_seq: dict[int, list[Needle]] = {}
        for needle in wanted:
            if " " in needle.key:
                self._located[needle] = array("I")
                for seq in self._chunks.candidates(needle):
                    by_seq.setdefault(seq, []).append(needle)
            else:
                self._located[needle] = array("I", sorted(self._chunks.seqs(needle)))
        for seq in sorted(by_seq):
            text = self.texts[seq - 1]
            lower = text.lower()
            for needle in by_seq[seq]:
                haystack = text if needle.kind in CASE_SENSITIVE_KINDS else lower
                if find(haystack, needle.key, needle.kind) >= 0:
                    self._located[needle].append(seq)

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

"""Edges: units, the sentences and lines of a text that a stand-in model carries over or drops.

Reading is linear in the length of the text: one pass that splits, one look at each unit for the
words that mark rules, decisions, plans and errors, and for what it holds either one extraction of
typed entities for each text or, in a hurry, one look at each word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple, TypeAlias

from bench.entities import extract
from bench.models.marks import NO_MARKS, Marks, has_trigger, marks_of, words_of
from bench.models.signs import signs_of

Speaker = Literal["user", "assistant", "tool", "call", "summary", "unknown"]

# Longer lines are split at sentences, longer sentences at a blank or comma.
UNIT_CHARACTERS_MAX = 400

# The stop and the gap behind it; full-width stops need none.
_SENTENCE_END = re.compile(r"[.!?][ \t]+(?=[A-Z\"'`(\[一-鿿])|[。！？；](?=\S)")
_BULLET = re.compile(r"^(?:#{1,6}\s+|[-*+•·]\s+|\(?\d{1,3}[.)、]\s+|>\s+)+")
_BULLET_BEGINNINGS = frozenset("#-*+•·(>0123456789")
_HEADING = re.compile(r"^#{1,6}\s+(?P<markdown>\S.*)$|^\*\*(?P<bold>[^*]+)\*\*:?$")
# Endings by which validators recognise a summary that was cut off (F5.2); a unit must not fake one.
_CUT_OFF_ENDING = re.compile(
    r"(?:\s*(?:\[(?:truncated|continued)\]|to be continued|…|\.{3,}))+$", re.IGNORECASE
)
_CUT_OFF_LETTERS = ".…]dD"
_CUT_OFF_ENDINGS = ("...", "…", "[truncated]", "[continued]", "to be continued")
_EMPTY_UNIT = re.compile(
    r"^\(?(?:nothing (?:recorded|else|yet)|none|n/a|not applicable|no \w+ recorded"
    r"|无|暂无|没有记录)\)?[.。]?$",
    re.IGNORECASE,
)


_PIECES_REMEMBERED_MAX = 4_096
_SENTENCES_REMEMBERED_MAX = 8_192


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that was said: by whom, and the text."""

    speaker: Speaker
    text: str


class Unit(NamedTuple):
    """One sentence or line of the material.

    `entities` are the kinds and keys of its typed entities. `section` is the heading under which an
    earlier summary had it. `order` counts the units of a request, `piece` is the piece it is from.
    """

    text: str
    speaker: Speaker
    entities: tuple[str, ...] = ()
    section: str = ""
    is_rule: bool = False
    is_decision: bool = False
    is_plan: bool = False
    is_error: bool = False
    is_outcome: bool = False
    order: int = 0
    piece: int = 0

    @property
    def is_load_bearing(self) -> bool:
        """True when it holds a typed entity, a rule or a decision: a *unit* in lossy's sense."""
        return bool(self.entities) or self.is_rule or self.is_decision


# Made from a finished row, past the parameters: half of the cost.
_unit = partial(tuple.__new__, Unit)


def read_units(
    pieces: Sequence[Piece], *, tool_characters_max: int | None = None, is_hurried: bool = False
) -> tuple[Unit, ...]:
    """All units of the pieces in order, none twice (compared without case).

    What tools print and what they are called with counts only line by line where it holds an
    entity, an error or an outcome; of what is longer than `tool_characters_max` only the beginning
    and the end are read. With `is_hurried` entities are told by the look of single words.
    """
    units: list[Unit] = []
    seen: set[str] = set()
    for number, piece in enumerate(pieces):
        text = piece.text
        if tool_characters_max is not None and piece.speaker in ("tool", "call"):
            text = _ends(text, tool_characters_max)
        for lowered, cleaned, keys, section, marks in _read(piece.speaker, text, is_hurried):
            if lowered not in seen:
                seen.add(lowered)
                place = (len(units), number)
                units.append(_unit((cleaned, piece.speaker, keys, section, *marks, *place)))
    return tuple(units)


def _ends(text: str, characters_max: int) -> str:
    """Whole lines from the beginning and from the end, three parts to one."""
    if len(text) <= characters_max:
        return text
    head = text[: characters_max * 3 // 4]
    tail = text[-(characters_max // 4) :]
    return head[: head.rfind("\n") + 1 or len(head)] + tail[tail.find("\n") :]


# A unit before it has a place: lower-cased, cleaned, its entities, its section, its marks.
_Found: TypeAlias = tuple[str, str, tuple[str, ...], str, Marks]


@lru_cache(maxsize=_PIECES_REMEMBERED_MAX)
def _read(speaker: Speaker, text: str, is_hurried: bool) -> tuple[_Found, ...]:
    """The units of one piece; remembered by content."""
    return tuple((_hurried if is_hurried else _thorough)(speaker, text))


def _thorough(speaker: Speaker, text: str) -> Iterator[_Found]:
    entities = extract(text)
    next_entity = 0
    section = ""
    is_said = speaker not in ("tool", "call")
    whole = text.lower()
    is_plain = not has_trigger(whole, words_of(whole))
    for start, stop in _spans(text, by_sentence=is_said):
        first_entity = next_entity
        while next_entity < len(entities) and entities[next_entity].start < stop:
            next_entity += 1
        if is_plain and not is_said and first_entity == next_entity:
            continue
        raw = text[start:stop].strip()
        heading = _HEADING.match(raw) if speaker == "summary" else None
        if heading is not None:
            section = (heading["markdown"] or heading["bold"] or "").strip()
            continue
        cleaned = _cleaned(raw.split())
        if not cleaned:
            continue
        held = entities[first_entity:next_entity]
        keys = tuple(dict.fromkeys([f"{entity.kind}:{entity.key}" for entity in held]))
        lowered = cleaned.lower()
        marks = marks_of(lowered, is_said=is_said)
        if is_said or keys or marks.is_error or marks.is_outcome:
            yield lowered, cleaned, keys, section, marks


def _hurried(speaker: Speaker, text: str) -> Iterator[_Found]:
    section = ""
    is_said = speaker not in ("tool", "call")
    is_summary = speaker == "summary"
    for sentence in _sentences(text) if is_said else text.split("\n"):
        if is_summary and sentence.lstrip()[:1] in ("#", "*"):
            heading = _HEADING.match(" ".join(sentence.split()))
            if heading is not None:
                section = (heading["markdown"] or heading["bold"] or "").strip()
                continue
        found = _glance(sentence, is_said)
        if found is not None:
            lowered, cleaned, keys, marks = found
            yield lowered, cleaned, keys, section, marks


@lru_cache(maxsize=_SENTENCES_REMEMBERED_MAX)
def _glance(sentence: str, is_said: bool) -> tuple[str, str, tuple[str, ...], Marks] | None:
    """One sentence or line lower-cased, cleaned, its entities and marks; None for no unit.

    Remembered, since summaries come back with every later one and tools print the same lines.
    """
    words = sentence.split()
    keys, has_triggers = signs_of(words)
    if not (is_said or keys or has_triggers):
        return None
    cleaned = _cleaned(words)
    if not cleaned:
        return None
    lowered = cleaned.lower()
    marks = marks_of(lowered, is_said=is_said) if has_triggers else NO_MARKS
    if is_said or keys or marks.is_error or marks.is_outcome:
        return lowered, cleaned, keys, marks
    return None


def _spans(text: str, *, by_sentence: bool) -> Iterator[tuple[int, int]]:
    """Start and stop of every line, or of every sentence; a line too long is cut."""
    start = 0
    for line in text.split("\n"):
        stop = start + len(line)
        if len(line) > UNIT_CHARACTERS_MAX or (by_sentence and _may_have_gap(line)):
            sentence = start
            for gap in _SENTENCE_END.finditer(text, start, stop):
                yield from _short_spans(text, sentence, gap.start() + 1)
                sentence = gap.end()
            yield from _short_spans(text, sentence, stop)
        elif line:
            yield start, stop
        start = stop + 1


def _sentences(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= UNIT_CHARACTERS_MAX:
            if _may_have_gap(line):
                start = 0
                for gap in _SENTENCE_END.finditer(line):
                    yield line[start : gap.start() + 1]
                    start = gap.end()
                yield line[start:]
            else:
                yield line
        else:
            for start, stop in _spans(line, by_sentence=True):
                yield line[start:stop]


def _may_have_gap(line: str) -> bool:
    """False for a line that is surely one sentence, which most are."""
    return not line.isascii() or ". " in line or "! " in line or "? " in line or "\t" in line


def _short_spans(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while stop - start > UNIT_CHARACTERS_MAX:
        limit = start + UNIT_CHARACTERS_MAX
        cut = max(text.rfind(mark, start + 1, limit) for mark in (" ", ",", "，", "\t"))
        cut = limit if cut < 0 else cut + 1
        yield start, cut
        start = cut
    if start < stop:
        yield start, stop


def _cleaned(words: Sequence[str]) -> str:
    """The text without bullets, heading marks and endings that look cut off; "" for no content."""
    text = " ".join(words)
    if not text or (text[0] in "`~" and text.startswith(("```", "~~~"))):
        return ""
    if text[0] in _BULLET_BEGINNINGS:
        text = _BULLET.sub("", text)
    if text[-1] in _CUT_OFF_LETTERS and text[-15:].lower().endswith(_CUT_OFF_ENDINGS):
        text = _CUT_OFF_ENDING.sub("", text).strip()
    if len(text) < 30 and _EMPTY_UNIT.match(text):
        return ""
    return text if text[:1].isalnum() or any(map(str.isalnum, text)) else ""

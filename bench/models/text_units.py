"""Edges: units, the sentences and lines of a text that a stand-in model carries over or drops.

Reading is linear in the length of the text: one pass that splits, one extraction of typed entities
for each text, one look at each unit for the words that mark rules, decisions, plans and errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.entities import extract

Speaker = Literal["user", "assistant", "tool", "call", "summary", "unknown"]

# Longer lines are split at sentences, longer sentences at a blank or comma.
UNIT_CHARACTERS_MAX = 400

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+(?=[A-Z\"'`(\[一-鿿])|(?<=[。！？；])(?=\S)")
_BULLET = re.compile(r"^(?:#{1,6}\s+|[-*+•·]\s+|\(?\d{1,3}[.)、]\s+|>\s+)+")
_HEADING = re.compile(r"^#{1,6}\s+(?P<markdown>\S.*)$|^\*\*(?P<bold>[^*]+)\*\*:?$")
_FENCE = re.compile(r"^(?:`{3,}|~{3,})")
# Endings by which validators recognise a summary that was cut off (F5.2); a unit must not fake one.
_CUT_OFF_ENDING = re.compile(
    r"(?:\s*(?:\[(?:truncated|continued)\]|to be continued|…|\.{3,}))+$", re.I
)
_EMPTY_UNIT = re.compile(
    r"^\(?(?:nothing (?:recorded|else|yet)|none|n/a|not applicable|no \w+ recorded"
    r"|无|暂无|没有记录)"
    r"\)?[.。]?$",
    re.IGNORECASE,
)

_RULE = re.compile(
    r"\b(?:must|never|always|do not|don't|shall|should not|shouldn't|only use|forbidden|mandatory|"
    r"not allowed|required to|under no circumstances)\b"
    r"|不要|必须|禁止|务必|不得|不能|不许|不可以|一定要|只能|切勿|始终|严禁|请勿",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided?|decision|chose|chosen|choose|opted|because|instead of|rather than|agreed|"
    r"settled on|going with|went with|prefers?|preferred)\b"
    r"|决定|选择|选用|采用|因为|改用|敲定|选定",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:next|to-?do|remaining|still (?:need|open|have|to)|plan(?:ned)?|follow[- ]ups?|pending|"
    r"going to|need to|needs to|not yet|afterwards)\b|\[ \]"
    r"|下一步|接下来|待办|计划|还需|尚未|未完成|稍后",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:\w*error|\w*exception|fail(?:ed|ure|s|ing)?|traceback|panic|cannot|not found|denied|"
    r"timed? ?out|crash(?:ed|es)?|bug)\b|错误|异常|失败|报错|崩溃|超时",
    re.IGNORECASE,
)
_OUTCOME = re.compile(
    r"\b(?:done|fixed|added|created|implemented|updated|pass(?:ed|es)|works|completed?|removed|"
    r"merged|changed|refactored|verified|installed|deployed|success(?:ful(?:ly)?)?|exit code)\b"
    r"|完成|已经|修复|通过|实现|新增|添加|成功",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that was said: by whom, and the text."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence or line of the material.

    `order` counts units, `piece` the piece that it stands in. `entities` are the keys of its typed
    entities. `section` is the heading under which an earlier summary had it.
    """

    text: str
    speaker: Speaker
    order: int
    piece: int
    entities: tuple[str, ...] = ()
    section: str = ""
    is_rule: bool = False
    is_decision: bool = False
    is_plan: bool = False
    is_error: bool = False
    is_outcome: bool = False

    @property
    def is_load_bearing(self) -> bool:
        """True when it holds a typed entity, a rule or a decision: a *unit* in lossy's sense."""
        return bool(self.entities) or self.is_rule or self.is_decision


def read_units(pieces: Sequence[Piece]) -> tuple[Unit, ...]:
    """All units of the pieces in order, none twice (compared without case and blanks)."""
    units: list[Unit] = []
    seen: set[str] = set()
    for number, piece in enumerate(pieces):
        entities = sorted(
            (found.start, f"{found.kind}:{found.key}") for found in extract(piece.text)
        )
        next_entity = 0
        section = ""
        for start, stop in _spans(piece.text):
            first_entity = next_entity
            while next_entity < len(entities) and entities[next_entity][0] < stop:
                next_entity += 1
            raw = piece.text[start:stop].strip()
            heading = _HEADING.match(raw) if piece.speaker == "summary" else None
            if heading is not None:
                section = (heading["markdown"] or heading["bold"] or "").strip()
                continue
            text = _cleaned(raw)
            identity = "".join(text.casefold().split())
            if not text or identity in seen:
                continue
            seen.add(identity)
            keys = tuple(dict.fromkeys(key for _, key in entities[first_entity:next_entity]))
            units.append(_unit(text, piece.speaker, len(units), number, keys, section))
    return tuple(units)


def _unit(
    text: str, speaker: Speaker, order: int, piece: int, keys: tuple[str, ...], section: str
) -> Unit:
    # Words of a tool's output are nobody's rules, decisions or plans.
    is_said = speaker not in ("tool", "call")
    return Unit(
        text=text,
        speaker=speaker,
        order=order,
        piece=piece,
        entities=keys,
        section=section,
        is_rule=is_said and _RULE.search(text) is not None,
        is_decision=is_said and _DECISION.search(text) is not None,
        is_plan=is_said and _PLAN.search(text) is not None,
        is_error=_ERROR.search(text) is not None,
        is_outcome=_OUTCOME.search(text) is not None,
    )


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and stop of every sentence or line."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        sentence = start
        for gap in _SENTENCE_END.finditer(text, start, stop):
            yield from _short_spans(text, sentence, gap.start())
            sentence = gap.end()
        yield from _short_spans(text, sentence, stop)
        start = stop + 1


def _short_spans(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while stop - start > UNIT_CHARACTERS_MAX:
        limit = start + UNIT_CHARACTERS_MAX
        cut = max(text.rfind(mark, start + 1, limit) for mark in (" ", ",", "，", "\t"))
        cut = limit if cut < 0 else cut + 1
        yield start, cut
        start = cut
    if start < stop:
        yield start, stop


def _cleaned(raw: str) -> str:
    """The text without bullets, heading marks and endings that look cut off; "" for no content."""
    if _FENCE.match(raw):
        return ""
    text = _CUT_OFF_ENDING.sub("", _BULLET.sub("", raw)).strip()
    if _EMPTY_UNIT.match(text) or not any(character.isalnum() for character in text):
        return ""
    return " ".join(text.split())

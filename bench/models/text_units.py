"""Edges: units, the sentences and lines of a text that a stand-in model carries over or drops.

Reading is linear in the length of the text: one pass that splits, one extraction of typed entities
for each text, one look at each unit for the words that mark rules, decisions, plans and errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from bench.entities import extract

Speaker = Literal["user", "assistant", "tool", "call", "summary", "unknown"]

# Longer lines are split at sentences, longer sentences at a blank or comma.
UNIT_CHARACTERS_MAX = 400

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+(?=[A-Z\"'`(\[一-鿿])|(?<=[。！？；])(?=\S)")
_BULLET = re.compile(r"^(?:#{1,6}\s+|[-*+•·]\s+|\(?\d{1,3}[.)、]\s+|>\s+)+")
_BULLET_BEGINNINGS = frozenset("#-*+•·(>0123456789")
_HEADING = re.compile(r"^#{1,6}\s+(?P<markdown>\S.*)$|^\*\*(?P<bold>[^*]+)\*\*:?$")
# Endings by which validators recognise a summary that was cut off (F5.2); a unit must not fake one.
_CUT_OFF_ENDING = re.compile(
    r"(?:\s*(?:\[(?:truncated|continued)\]|to be continued|…|\.{3,}))+$", re.IGNORECASE
)
_EMPTY_UNIT = re.compile(
    r"^\(?(?:nothing (?:recorded|else|yet)|none|n/a|not applicable|no \w+ recorded"
    r"|无|暂无|没有记录)\)?[.。]?$",
    re.IGNORECASE,
)


class _Words:
    """Words that mark a unit: English ones by set, phrases and Chinese ones by substring.

    Looking words up is several times faster than a regular expression over the same words.
    """

    def __init__(self, english: str, phrases: str, chinese: str) -> None:
        self.english = frozenset(english.split())
        self.phrases = tuple(phrases.split("; "))
        self.chinese = tuple(chinese.split())

    def mark(self, lowered: str, words: frozenset[str]) -> bool:
        """True when the unit, lower-cased, or its words hold one of these."""
        return (
            not self.english.isdisjoint(words)
            or any(phrase in lowered for phrase in self.phrases)
            or (not lowered.isascii() and any(word in lowered for word in self.chinese))
        )


_RULE = _Words(
    "must never always don't shall shouldn't mustn't forbidden mandatory",
    "do not ; should not ; only use ; not allowed; required to ; under no circumst",
    "不要 必须 禁止 务必 不得 不能 不许 不可以 一定要 只能 切勿 始终 严禁 请勿",
)
_DECISION = _Words(
    "decide decided decides decision chose chosen choose opted because agreed prefer prefers "
    "preferred",
    "instead of ; rather than ; settled on ; going with ; went with ",
    "决定 选择 选用 采用 因为 改用 敲定 选定",
)
_PLAN = _Words(
    "next todo to-do remaining plan planned follow-up follow-ups pending afterwards",
    "going to ; need to ; needs to ; not yet; still open; still to ; [ ]",
    "下一步 接下来 待办 计划 还需 尚未 未完成 稍后",
)
_ERROR = _Words(
    "error errors exception fail fails failed failure failures failing traceback panic cannot "
    "denied timeout crash crashes crashed bug",
    "error:; not found; timed out; exception:",
    "错误 异常 失败 报错 崩溃 超时",
)
_OUTCOME = _Words(
    "done fixed added created implemented updated pass passed passes works complete completed "
    "removed merged changed refactored verified installed deployed success successful successfully",
    "exit code",
    "完成 已经 修复 通过 实现 新增 添加 成功",
)
_WORD = re.compile(r"[a-z][a-z'-]*")
_ALL_MARKS = (_RULE, _DECISION, _PLAN, _ERROR, _OUTCOME)
# Without one of these no unit is marked: most units are told so at once.
_TRIGGERS = frozenset(
    word
    for marks in _ALL_MARKS
    for word in (*marks.english, *_WORD.findall(" ".join(marks.phrases)))
)
_CHINESE_TRIGGER = re.compile("|".join(word for marks in _ALL_MARKS for word in marks.chinese))
_PIECES_REMEMBERED_MAX = 4_096


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


def read_units(
    pieces: Sequence[Piece], *, tool_characters_max: int | None = None
) -> tuple[Unit, ...]:
    """All units of the pieces in order, none twice (compared without case).

    What tools print and what they are called with counts only line by line where it holds an
    entity, an error or an outcome; of what is longer than `tool_characters_max` only the beginning
    and the end are read.
    """
    units: list[Unit] = []
    seen: set[str] = set()
    for number, piece in enumerate(pieces):
        text = piece.text
        if tool_characters_max is not None and piece.speaker in ("tool", "call"):
            text = _ends(text, tool_characters_max)
        for lowered, unit in _units_of(piece.speaker, text):
            if lowered not in seen:
                seen.add(lowered)
                units.append(Unit(*unit[:-2], len(units), number))
    return tuple(units)


def _ends(text: str, characters_max: int) -> str:
    """Whole lines from the beginning and from the end, three parts to one."""
    if len(text) <= characters_max:
        return text
    head = text[: characters_max * 3 // 4]
    tail = text[-(characters_max // 4) :]
    return head[: head.rfind("\n") + 1 or len(head)] + tail[tail.find("\n") :]


@lru_cache(maxsize=_PIECES_REMEMBERED_MAX)
def _units_of(speaker: Speaker, text: str) -> tuple[tuple[str, Unit], ...]:
    """The units of one piece, each with its text in lower case; remembered by content."""
    found: list[tuple[str, Unit]] = []
    entities = extract(text)
    next_entity = 0
    section = ""
    is_said = speaker not in ("tool", "call")
    whole = text.lower()
    is_plain = not _has_trigger(whole, _WORD.findall(whole))
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
        cleaned = _cleaned(raw)
        if not cleaned:
            continue
        held = entities[first_entity:next_entity]
        keys = tuple(dict.fromkeys([f"{entity.kind}:{entity.key}" for entity in held]))
        lowered = cleaned.lower()
        unit = Unit(cleaned, speaker, keys, section, *_marks(lowered, is_said=is_said))
        if is_said or keys or unit.is_error or unit.is_outcome:
            found.append((lowered, unit))
    return tuple(found)


def _marks(lowered: str, *, is_said: bool) -> tuple[bool, bool, bool, bool, bool]:
    """Rule, decision, plan, error, outcome; words of a tool's output are never the first three."""
    words = frozenset(_WORD.findall(lowered))
    if not _has_trigger(lowered, words) and "[ ]" not in lowered:
        return False, False, False, False, False
    return (
        is_said and _RULE.mark(lowered, words),
        is_said and _DECISION.mark(lowered, words),
        is_said and _PLAN.mark(lowered, words),
        _ERROR.mark(lowered, words),
        _OUTCOME.mark(lowered, words),
    )


def _has_trigger(lowered: str, words: Iterable[str]) -> bool:
    return not _TRIGGERS.isdisjoint(words) or (
        not lowered.isascii() and _CHINESE_TRIGGER.search(lowered) is not None
    )


def _spans(text: str, *, by_sentence: bool) -> Iterator[tuple[int, int]]:
    """Start and stop of every line, or of every sentence; a line too long is cut."""
    start = 0
    for line in text.split("\n"):
        stop = start + len(line)
        if by_sentence or len(line) > UNIT_CHARACTERS_MAX:
            sentence = start
            for gap in _SENTENCE_END.finditer(text, start, stop):
                yield from _short_spans(text, sentence, gap.start())
                sentence = gap.end()
            yield from _short_spans(text, sentence, stop)
        elif line:
            yield start, stop
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
    text = " ".join(raw.split())
    if not text or text.startswith(("```", "~~~")):
        return ""
    if text[0] in _BULLET_BEGINNINGS:
        text = _BULLET.sub("", text)
    if text.endswith(("...", "…", "]", "d", "D")):
        text = _CUT_OFF_ENDING.sub("", text).strip()
    if len(text) < 30 and _EMPTY_UNIT.match(text):
        return ""
    return text if text[:1].isalnum() or any(map(str.isalnum, text)) else ""

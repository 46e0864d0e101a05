"""Edges: the words that mark a unit as a rule, a decision, a plan, an error or an outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Marks(NamedTuple):
    """What a unit is, as far as its words tell."""

    is_rule: bool = False
    is_decision: bool = False
    is_plan: bool = False
    is_error: bool = False
    is_outcome: bool = False


NO_MARKS = Marks()


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
        if not self.english.isdisjoint(words):
            return True
        # Loops, since a generator costs more than it finds.
        for phrase in self.phrases:
            if phrase in lowered:
                return True
        return not lowered.isascii() and any(word in lowered for word in self.chinese)


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
# The same for a look at single words: of a phrase one word that is rare elsewhere.
_COMMON = frozenset(
    ["do", "to", "use", "with", "of", "than", "on", "open", "out", "code", "found", "no", "should"]
)
_TELLING = _TRIGGERS - _COMMON
_CHINESE_TRIGGER = re.compile("|".join(word for marks in _ALL_MARKS for word in marks.chinese))


def words_of(lowered: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(lowered)


def marks_of(lowered: str, *, is_said: bool) -> Marks:
    """The marks of a unit in lower case; words of a tool's output are never the first three."""
    words = frozenset(_WORD.findall(lowered))
    if not has_trigger(lowered, words) and "[ ]" not in lowered:
        return NO_MARKS
    return Marks(
        is_said and _RULE.mark(lowered, words),
        is_said and _DECISION.mark(lowered, words),
        is_said and _PLAN.mark(lowered, words),
        _ERROR.mark(lowered, words),
        _OUTCOME.mark(lowered, words),
    )


def is_telling(word: str) -> bool:
    """False when a word, in lower case, surely belongs to nothing that marks a unit."""
    return (
        word == "["
        or not _TELLING.isdisjoint(_WORD.findall(word))
        or (not word.isascii() and _CHINESE_TRIGGER.search(word) is not None)
    )


def is_telling_word(letters: str) -> bool:
    """The same for a word of nothing but ASCII letters."""
    return letters in _TELLING


def has_trigger(lowered: str, words: Iterable[str]) -> bool:
    """False when nothing in a text, or in its words, could mark it."""
    return not _TRIGGERS.isdisjoint(words) or (
        not lowered.isascii() and _CHINESE_TRIGGER.search(lowered) is not None
    )

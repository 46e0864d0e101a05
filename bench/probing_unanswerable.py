"""Judgement: questions that nothing in a session answers; what a reader answers is a guess.

They sound like the others and offer values of the session, but speak of things that it never names:
the name in each is made up and looked up first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import count

from bench.session_index import Needle, SessionIndex

_CHINESE_SHARE = 0.1

# Text with a gap for the name, and the entity kind of its options.
_ENGLISH: tuple[tuple[str, str], ...] = (
    ("Which value was agreed for the retry limit of {name}?", "number"),
    ("What is the identifier of the {name} migration?", "identifier"),
    ("Which file holds the settings of {name}?", "path"),
    ("How large was the backlog of {name} at hand-over?", "number"),
    ("Which switch turns {name} off?", "identifier"),
    ("On which date does the contract with {name} end?", "datetime"),
)
_CHINESE: tuple[tuple[str, str], ...] = (
    ("{name} 的重试上限定为多少？", "number"),
    ("{name} 迁移任务的编号是什么？", "identifier"),
    ("{name} 的配置在哪个文件？", "path"),
    ("交接时 {name} 的积压有多少？", "number"),
    ("哪个开关可以关闭 {name}？", "identifier"),
    ("与 {name} 的合同哪天到期？", "datetime"),
)
_BEGINNINGS = ("quill", "hazel", "ember", "thistle", "marlow", "copper", "juniper", "saffron")
_ENDINGS = ("marsh", "combe", "wick", "holt", "ford", "mere", "stead", "thorpe")


def unanswerable_questions(index: SessionIndex, questions_max: int) -> Iterator[tuple[str, str]]:
    """Questions with the entity kind of their options, in the language of the session."""
    bank = _CHINESE if _is_chinese(index) else _ENGLISH
    names = _made_up_names(index)
    for text, kind in bank[:questions_max]:
        yield text.format(name=next(names)), kind


def _made_up_names(index: SessionIndex) -> Iterator[str]:
    """Names that the session doesn't hold, the same for the same session."""
    used: set[str] = set()
    for number in count():
        digest = hashlib.sha256(
            f"{index.session.id}\0{number}".encode("utf-8", "surrogatepass")
        ).digest()
        name = _BEGINNINGS[digest[0] % len(_BEGINNINGS)] + _ENDINGS[digest[1] % len(_ENDINGS)]
        if number >= len(_BEGINNINGS) * len(_ENDINGS):
            name += str(number)
        if name not in used and not index.occurrences(Needle("text", name)):
            used.add(name)
            yield name


def _is_chinese(index: SessionIndex) -> bool:
    said = [text for text in index.texts if text][:200]
    characters = sum(len(text) for text in said)
    chinese = sum("\u3400" <= character <= "\u9fff" for text in said for character in text)
    return characters > 0 and chinese > _CHINESE_SHARE * characters

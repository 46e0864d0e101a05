"""Edges: what single words tell at a glance, for a reader in a hurry.

A word that looks like a path, a name from code or a figure stands for an entity; the extractor that
scores use sees more, and takes as long as tokenising. Most words of a session come again, so each
distinct one is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import filterfalse
from typing import NamedTuple

from bench.models.marks import is_telling, is_telling_word

_WORDS_REMEMBERED_MAX = 200_000
_WORD_CHARACTERS_MAX = 200
_AROUND = ".,;:!?()[]{}<>\"'`*，。；：！？、（）「」“”"
# A sign between letters or figures, three figures, a capital behind a small letter, a long flag.
_LOOKS_TYPED = re.compile(
    r"[A-Za-z0-9_][/.\\@:_=-]+[A-Za-z0-9_]|[0-9]{3}|[a-z][A-Z]|^--[a-z]|[0-9](?:ms|%|[kKMG]i?[bB])"
)
_JUST_WORDS = re.compile(r"[A-Za-z]+(?:[-:][A-Za-z]+)?")
_TYPED_PARTS = re.compile(r"[A-Za-z0-9_./\\@:=~-]+")
_EXTENSION = re.compile(r"\.[a-z]{1,5}$")


class _Signs(NamedTuple):
    entities: tuple[str, ...]
    has_trigger: bool


_plain: set[str] = set()
_telling: dict[str, _Signs] = {}


def signs_of(words: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """What looks like an entity in these words, as keys, and whether any could mark a unit."""
    telling = list(filterfalse(_plain.__contains__, words))
    if not telling:
        return (), False
    entities: list[str] = []
    has_triggers = False
    for word in telling:
        held, has_trigger = _telling.get(word) or _look_at(word)
        if held:
            entities += held
        if has_trigger:
            has_triggers = True
    if len(entities) > 1:
        return tuple(dict.fromkeys(entities)), has_triggers
    return tuple(entities), has_triggers


def forget() -> None:
    """Empties the memory of words; only benchmarks need that."""
    _plain.clear()
    _telling.clear()


def _look_at(word: str) -> _Signs:
    if len(_plain) + len(_telling) > _WORDS_REMEMBERED_MAX:
        forget()
    bare = word.strip(_AROUND)
    if bare.isalpha() and bare.isascii():
        signs = _Signs((), is_telling_word(bare.lower()))
    else:
        signs = _Signs(_entities_of(word), is_telling(word.lower()))
    if signs.entities or signs.has_trigger:
        _telling[word] = signs
    else:
        _plain.add(word)
    return signs


def _entities_of(word: str) -> tuple[str, ...]:
    if len(word) > _WORD_CHARACTERS_MAX:
        return ()
    if not word.isascii():
        return tuple(key for part in _TYPED_PARTS.findall(word) for key in _key_of(part))
    return _key_of(word)


def _key_of(word: str) -> tuple[str, ...]:
    bare = word.strip(_AROUND)
    if _LOOKS_TYPED.search(bare) is None:
        return ()
    if ("-" in bare or ":" in bare) and _JUST_WORDS.fullmatch(bare):
        return ()
    is_path = "/" in bare or ("." in bare and _EXTENSION.search(bare) is not None)
    return (f"path:{bare}",) if is_path else (f"name:{bare}",)

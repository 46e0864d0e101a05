"""Judgement: the extractor of typed entities.

One extractor serves uses, `invented` and the `lossy` model. Most text is plain words, so a text is
cut into chunks once and each distinct chunk is classified once; only what spans chunks (figures,
addresses, quoted literals, commands) has a pass of its own. CJK characters never belong to a chunk,
so a path inside a Chinese sentence needs no spaces around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from bench.entity_table import (
    BEFORE_COMMAND_PATTERN,
    CHUNK_LENGTH_MAX,
    CHUNK_PATTERN,
    COMMAND_LENGTH_MAX,
    COMMAND_NAMES,
    ENTITY_TABLE_VERSION,
    ENTITY_TYPES,
    LITERAL_LENGTH_MAX,
    NAME_PATTERN,
    EntityKind,
    EntityType,
)
from bench.matching import LETTERS, is_word, key_of

__all__ = ["ENTITY_TABLE_VERSION", "ENTITY_TYPES", "Entity", "EntityKind", "EntityType", "extract"]

_TEXTS_CACHED_MAX = 512
_CHUNKS_CACHED_MAX = 100_000


class Entity(NamedTuple):
    """A typed entity in a text: as written, the key it is compared by, and where it starts.

    `start` counts characters of the text that it was found in.
    """

    kind: EntityKind
    text: str
    key: str
    start: int


_ROWS: dict[str, EntityType] = {row.kind: row for row in ENTITY_TYPES}
_STOPPED = {row.kind: frozenset(word.lower() for word in row.stopped) for row in ENTITY_TYPES}
_COMPILED = {row.kind: re.compile(row.pattern) for row in ENTITY_TYPES}
# The order of the table is the order of precedence.
_CHUNK_KINDS = tuple(row.kind for row in ENTITY_TYPES if not row.spans_chunks)
_CHUNK = re.compile(CHUNK_PATTERN)
_NAME = re.compile(NAME_PATTERN)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+]*\Z")
_SCHEME_LENGTH_MAX = 12
_DIGITS = re.compile(r"\d+")
_IN_DATES = ("-", "年", ":")
_FIGURE_KINDS = ("datetime", "number")
_BEFORE_COMMAND = re.compile(BEFORE_COMMAND_PATTERN)
_BEFORE_COMMAND_LENGTH = 24
_PLAIN_WORD = re.compile(rf"(?!Makefile|Dockerfile)[{LETTERS}]?[a-z\u00df-\u00ff]*|\d+")
_INNER_SPLIT = re.compile(r"\.\.+|@")
_RECEIVER = re.compile(r"(?:self|this)\.(?=\w)")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(rf"[{LETTERS}]")
_AROUND_LITERALS = " \t\"'`"
_OPENING_BRACKETS = {")": "(", "]": "[", "}": "{"}

# What a chunk holds: kind, text, key, offset in the chunk.
_Found = tuple[EntityKind, str, str, int]
_classified: dict[str, tuple[_Found, ...]] = {}


def extract(text: str, *, stopped: frozenset[str] = frozenset()) -> tuple[Entity, ...]:
    """The typed entities of a text in the order in which they start.

    Entities whose text is in `stopped` (names of tools, for instance) are left out, and commands
    that begin with such a name: they are calls. A text that was asked for lately is answered from
    memory.
    """
    found = _extract(text)
    if not stopped:
        return found
    return tuple(entity for entity in found if _name_of(entity) not in stopped)


def _name_of(entity: Entity) -> str:
    return entity.text.split(None, 1)[0] if entity.kind == "command" else entity.text


@lru_cache(maxsize=_TEXTS_CACHED_MAX)
def _extract(text: str) -> tuple[Entity, ...]:
    addresses = list(_addresses(text)) if "://" in text else []
    found = [*addresses, *_figures(text), *_literals(text)]
    spans = [(entity.start, entity.start + len(entity.text)) for entity in addresses]
    address = 0
    for match in _CHUNK.finditer(text):
        chunk = match[0]
        held = _classified.get(chunk)
        if held is None:
            held = _classify_and_remember(chunk)
        if held:
            start = match.start()
            if chunk[0] == "-" and chunk[1] != "-" and start and not text[start - 1].isspace():
                # The end of a name whose beginning isn't known.
                continue
            while address < len(spans) and spans[address][1] <= start:
                address += 1
            if address == len(spans) or start < spans[address][0]:
                found += [Entity(kind, word, key, start + at) for kind, word, key, at in held]
        elif chunk in COMMAND_NAMES:
            command = _command(text, match.start())
            if command is not None:
                found.append(command)
    found.sort(key=lambda entity: entity.start)
    return tuple(_without_figures_in_names(found))


def _without_figures_in_names(found: list[Entity]) -> Iterator[Entity]:
    name_stop = 0
    for entity in found:
        if entity.kind in _FIGURE_KINDS:
            if entity.start < name_stop:
                continue
        elif entity.kind not in ("literal", "command"):
            name_stop = entity.start + len(entity.text)
        yield entity


def _classify_and_remember(chunk: str) -> tuple[_Found, ...]:
    if len(_classified) >= _CHUNKS_CACHED_MAX:
        _classified.clear()
    held: tuple[_Found, ...] = ()
    if len(chunk) <= CHUNK_LENGTH_MAX and not _PLAIN_WORD.fullmatch(chunk):
        names = _NAME.finditer(chunk)
        held = tuple(
            found
            for name in names
            if name.start() < 2 or chunk[name.start() - 1] != "-"
            for found in _classify(name[0], name.start())
        )
    _classified[chunk] = held
    return held


def _classify(name: str, offset: int) -> Iterator[_Found]:
    if _PLAIN_WORD.fullmatch(name):
        return
    receiver = _RECEIVER.match(name)
    if receiver:
        yield from _classify(name[receiver.end() :], offset + receiver.end())
        return
    for kind in _CHUNK_KINDS:
        if _COMPILED[kind].fullmatch(name):
            if _counts(kind, name):
                yield kind, name, key_of(name, kind), offset
            return
    start = 0
    splits = [*_INNER_SPLIT.finditer(name)]
    if splits:
        for split in splits:
            yield from _classify(name[start : split.start()], offset + start)
            start = split.end()
        yield from _classify(name[start:], offset + start)


def _counts(kind: EntityKind, text: str) -> bool:
    return len(text) >= _ROWS[kind].length_min and text.lower() not in _STOPPED[kind]


def _addresses(text: str) -> Iterator[Entity]:
    # Looking for the rare "://" first spares a try at every letter.
    position = text.find("://")
    while position >= 0:
        scheme = _SCHEME.search(text, max(0, position - _SCHEME_LENGTH_MAX), position)
        match = _COMPILED["url"].match(text, scheme.start()) if scheme else None
        position = text.find("://", match.end() if match else position + 3)
        if match is None:
            continue
        address = match[0].rstrip(".,;:!?'*_`")
        while address and address[-1] in _OPENING_BRACKETS:
            if address.count(_OPENING_BRACKETS[address[-1]]) >= address.count(address[-1]):
                break
            address = address[:-1].rstrip(".,;:!?'*_`")
        if _counts("url", address):
            yield Entity("url", address, key_of(address, "url"), match.start())


def _figures(text: str) -> Iterator[Entity]:
    resume = 0
    for digits in _DIGITS.finditer(text):
        start, stop = digits.span()
        if start < resume or (start and is_word(text[start - 1])):
            continue
        kind, match = _figure_at(text, start, stop)
        if match is None or not _stands_alone(text, start, match.end()):
            continue
        resume = match.end()
        if _counts(kind, match[0]):
            yield Entity(kind, match[0], key_of(match[0], kind), start)


def _figure_at(text: str, start: int, stop: int) -> tuple[EntityKind, re.Match[str] | None]:
    if text[stop : stop + 1] in _IN_DATES:
        match = _COMPILED["datetime"].match(text, start)
        if match is not None:
            return "datetime", match
    match = _COMPILED["number"].match(text, start)
    if match is not None:
        figure = match[0]
        if figure[-1].isdigit() and sum(map(str.isdigit, figure)) < 3:
            match = None
    return "number", match


def _stands_alone(text: str, start: int, stop: int) -> bool:
    before = text[start - 1] if start else " "
    if is_word(before) or before in "./\\":
        return False
    if before == "-" and start > 1 and is_word(text[start - 2]) and not text[start - 2].isdigit():
        return False
    after = text[stop] if stop < len(text) else " "
    beyond = text[stop + 1] if stop + 1 < len(text) else " "
    if is_word(after) and not _CHINESE.match(text[stop - 1]):
        return False
    if after in "/\\":
        return False
    return not (after in ".-@" and is_word(beyond) and not (after == "-" and beyond.isdigit()))


def _literals(text: str) -> Iterator[Entity]:
    for match in _COMPILED["literal"].finditer(text):
        inside = match[0][1:-1]
        literal = inside.strip(_AROUND_LITERALS).removesuffix("()")
        if not _ROWS["literal"].length_min <= len(literal) <= LITERAL_LENGTH_MAX:
            continue
        if _CHINESE.search(literal) is None:
            if _LETTER.search(literal) is None or literal.isalpha():
                continue
            held = _classified.get(literal)
            if held is None and _CHUNK.fullmatch(literal):
                held = _classify_and_remember(literal)
            if held and held[0][1] == literal:
                continue
        start = match.start() + 1 + inside.index(literal)
        key = key_of(literal, "literal")
        if key:
            yield Entity("literal", literal, key, start)


def _command(text: str, start: int) -> Entity | None:
    before = text[max(0, start - _BEFORE_COMMAND_LENGTH) : start]
    if start and not _BEFORE_COMMAND.search(before):
        return None
    match = _COMPILED["command"].match(text, start, start + COMMAND_LENGTH_MAX)
    if match is None:
        return None
    command = match[0]
    if (
        match.end() == start + COMMAND_LENGTH_MAX
        and not text[match.end() : match.end() + 1].isspace()
    ):
        # The limit cut a word in two.
        command = command.rpartition(" ")[0]
    command = command.rstrip(".:?!\\ \t")
    words = command.split(None, 2)
    if len(words) < 2 or words[1].lower() in _STOPPED["command"] or not _counts("command", command):
        return None
    return Entity("command", command, key_of(command, "command"), start)


def kind_of(value: str) -> EntityKind | None:
    """The kind of a value that is one typed entity from end to end, None for any other text."""
    for entity in extract(value):
        if entity.text == value.strip():
            return entity.kind
    return None

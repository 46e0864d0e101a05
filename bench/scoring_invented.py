"""Judgement: layer *invented*, typed entities that were written but never in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.entities import Entity, extract
from bench.projection import Written
from bench.scoring_visibility import Visibility
from bench.session_index import Needle

_LINE_LENGTH_MAX = 200
_TAG_LENGTH_MAX = 200
_TAG = re.compile(r"</?[A-Za-z][\w.-]*(?:\s+[\w.-]+=\"[^\"<>]*\")*\s*/?>")


@dataclass(frozen=True, slots=True)
class Invention:
    """An entity that no event before `at_seq` holds, and its place.

    It stands in the text that was written instead of the events first_seq..last_seq and first shown
    to the request for `at_seq`: at character `start`, in `line`.
    """

    kind: str
    text: str
    at_seq: int
    first_seq: int
    last_seq: int
    start: int
    line: str


def find_inventions(visibility: Visibility) -> tuple[tuple[Invention, ...], int]:
    """All inventions of a replay, and how many typed entities were written altogether.

    A text counts once, when it is first shown, and an entity once a text. Names of tools, what the
    tool definitions show, and tags around a summary are no inventions.
    """
    index = visibility.index
    shown = [
        (at_seq, item, _distinct(item.message.text, index.tool_words))
        for at_seq, item in _first_shown(visibility)
    ]
    index.locate(needle for _, _, entities in shown for needle in entities)
    inventions = [
        _invention(entity, at_seq, item)
        for at_seq, item, entities in shown
        for needle, entity in entities.items()
        if not index.is_within(needle, 1, at_seq - 1) and not index.tool_definitions.holds(needle)
    ]
    return tuple(inventions), sum(len(entities) for _, _, entities in shown)


def _first_shown(visibility: Visibility) -> Iterator[tuple[int, Written]]:
    heads: set[int] = set()
    texts: set[str] = set()
    for seen in visibility.replay.requests:
        if seen.head in heads:
            continue
        heads.add(seen.head)
        for item in visibility.head(seen).written:
            if item.message.text not in texts:
                texts.add(item.message.text)
                yield seen.at_seq, item


def _distinct(text: str, tool_words: frozenset[str]) -> dict[Needle, Entity]:
    distinct: dict[Needle, Entity] = {}
    for entity in extract(text, stopped=tool_words):
        if _is_tag(text, entity):
            continue
        distinct.setdefault(Needle(entity.kind, entity.key), entity)
    return distinct


def _is_tag(text: str, entity: Entity) -> bool:
    """Whether an entity stands in a tag or its attributes: the frame of a text claims nothing."""
    opening = text.rfind("<", max(0, entity.start - _TAG_LENGTH_MAX), entity.start)
    closing = text.find(">", entity.start, entity.start + _TAG_LENGTH_MAX)
    return opening >= 0 and closing >= 0 and bool(_TAG.fullmatch(text, opening, closing + 1))


def _invention(entity: Entity, at_seq: int, item: Written) -> Invention:
    text = item.message.text
    line_start = text.rfind("\n", 0, entity.start) + 1
    line_stop = text.find("\n", entity.start)
    line = text[line_start : line_stop if line_stop >= 0 else len(text)].strip()
    return Invention(
        kind=entity.kind,
        text=entity.text,
        at_seq=at_seq,
        first_seq=item.first_seq,
        last_seq=item.last_seq,
        start=entity.start,
        line=line[:_LINE_LENGTH_MAX],
    )

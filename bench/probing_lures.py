"""Judgement: lures, the wrong options of a closed question, all of them from the session itself.

A value that nobody said could be ruled out without reading; one that was said about something else
can't. Those that look most like the right one are chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256

from bench.entities import extract, kind_of
from bench.facts import Fact
from bench.scoring_facts import needle_of
from bench.session_index import Needle, SessionIndex
from bench.visible_text import visible_text

# Kinds whose values are phrases rather than typed entities, and so can stand in for each other.
_PHRASES = ("decision", "preference", "constraint", "next_step", "negation", "error", "update")
_PART = re.compile(r"[a-z]+|\d+|[\u3400-\u9fff]")


class Lures:
    """Candidates for wrong options of one session; the same question always gets the same ones."""

    def __init__(self, index: SessionIndex, facts: Sequence[Fact]) -> None:
        self._index = index
        self._facts = facts

    @cached_property
    def _by_kind(self) -> dict[str, dict[Needle, tuple[str, int]]]:
        """By entity kind: each entity as first written, and the event that said it first."""
        found: dict[str, dict[Needle, tuple[str, int]]] = {}
        for event in self._index.session.events:
            text = visible_text(event.message)
            for entity in extract(text, stopped=self._index.tool_words):
                of_kind = found.setdefault(entity.kind, {})
                of_kind.setdefault(Needle(entity.kind, entity.key), (entity.text, event.seq))
        return found

    def for_fact(self, fact: Fact, before_seq: int, wanted: int) -> list[str]:
        """Wrong options for a fact: entities of its value's type, else values of other facts."""
        right = {needle_of(value) for value in (fact.value, *fact.aliases, *fact.stale)}
        kind = kind_of(fact.value)
        typed = self._entities(kind, before_seq, right) if kind is not None else []
        chosen = _most_alike(fact.value, typed, wanted)
        if len(chosen) < wanted:
            chosen += self._other_values(fact, right, before_seq, wanted - len(chosen))
        return chosen

    def for_entity(
        self, needle: Needle, before_seq: int, wanted: int, *, near_seq: int
    ) -> list[str]:
        """Wrong options for a found entity: others of its kind, those that event `near_seq` or an
        earlier one holds first.
        """
        others = self._entities(needle.kind, before_seq, {needle})
        said = self._by_kind.get(needle.kind, {})
        spelled = said[needle][0] if needle in said else needle.key
        near = {text for text, seq in said.values() if seq <= near_seq}
        chosen = _most_alike(spelled, [text for text in others if text in near], wanted)
        if len(chosen) < wanted:
            rest = [text for text in others if text not in near]
            chosen += _most_alike(spelled, rest, wanted - len(chosen))
        return chosen

    def of_kind(self, kind: str, before_seq: int, wanted: int) -> list[str]:
        """Any entities of a kind, spread over the session."""
        others = self._entities(kind, before_seq, set())
        step = max(1, len(others) // max(1, wanted))
        return others[::step][:wanted]

    def _entities(self, kind: str, before_seq: int, right: set[Needle]) -> list[str]:
        found = self._by_kind.get(kind, {})
        keys = [needle.key.lower() for needle in right]
        return [
            text
            for needle, (text, seq) in found.items()
            if seq < before_seq and not _overlaps(needle.key.lower(), keys)
        ]

    def _other_values(
        self, fact: Fact, right: set[Needle], before_seq: int, wanted: int
    ) -> list[str]:
        """Values of other facts: of its kind, then phrases of any kind, then all; at last entities
        of any kind, so that hardly a fact is left without a lure.
        """
        others = sorted(
            (one for one in self._facts if one.id != fact.id),
            key=lambda one: (one.kind != fact.kind, not _is_phrase(one), _drawn(fact.id, one)),
        )
        keys = [needle.key.lower() for needle in right]
        values = dict.fromkeys(one.value for one in others)
        for kind in () if len(values) >= wanted else sorted(self._by_kind):
            values |= dict.fromkeys(self._entities(kind, before_seq, right)[-wanted:])
        return [v for v in values if not _overlaps(needle_of(v).key.lower(), keys)][:wanted]


def _is_phrase(fact: Fact) -> bool:
    return fact.kind in _PHRASES and kind_of(fact.value) is None


def _drawn(subject: str, fact: Fact) -> bytes:
    return sha256(f"{subject}\0{fact.value}".encode("utf-8", "surrogatepass")).digest()


def _overlaps(key: str, right: Iterable[str]) -> bool:
    """Whether one is the other or a part of it: both would be right."""
    return any(key in one or one in key for one in right)


def _most_alike(value: str, others: Sequence[str], wanted: int) -> list[str]:
    """Those of the others that share most parts with the value, in the order in which they came."""
    if wanted <= 0:
        return []
    parts = set(_PART.findall(value.lower()))
    shape = _shape(value)

    def likeness(other: str) -> tuple[int, bool, int]:
        own = set(_PART.findall(other.lower()))
        return len(parts & own), _shape(other) == shape, -abs(len(other) - len(value))

    ranked = sorted(range(len(others)), key=lambda i: (likeness(others[i]), -i), reverse=True)
    return [others[i] for i in sorted(ranked[:wanted])]


def _shape(value: str) -> str:
    """Letters and digits by their class, so that `tnt_1234567` and `tnt_7654321` are alike."""
    return re.sub(r"[a-zA-Z]+", "a", re.sub(r"\d+", "0", value))

"""Which facts a session gets: what they say, where they are stated and where they are needed.

All values are drawn before the session begins, so that a watch can keep them out of every other
text: only the events that state a fact, and from its probe on the agent, speak of its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from bench.facts import FACT_KINDS
from bench.generator.draws import Draw
from bench.generator.vocabulary import FactWords, Words
from bench.generator.world import Slots, World
from bench.matching import contains, key_of, normalise

Carrier = Literal["user", "agent", "tool"]

_CARRIERS: dict[str, Carrier] = {
    "constraint": "user",
    "decision": "agent",
    "path": "tool",
    "identifier": "tool",
    "number": "tool",
    "error": "tool",
    "command": "user",
    "next_step": "agent",
    "preference": "user",
    "negation": "user",
    "update": "user",
}

# How far apart statement and need are, as shares of the session, with weights.
_GAPS = ((0.03, 0.12, 0.25), (0.12, 0.45, 0.42), (0.45, 0.9, 0.33))


@dataclass(slots=True)
class Planned:
    """A fact on its way: `*_at` is the seq from which on it may happen, `*_seq` where it did."""

    words: FactWords
    carrier: Carrier
    subject: str
    value: str
    statement: str
    use: str
    question: str
    old: str
    first: str
    near: str
    aliases: tuple[str, ...]
    first_at: int
    plant_at: int
    probe_at: int
    keys: tuple[str, ...]
    first_seq: int = 0
    plant_seq: int = 0
    probe_seq: int = 0
    near_seq: int = 0

    @property
    def is_ready(self) -> bool:
        """An update can only supersede what has been said."""
        return not self.first or self.first_seq > 0


@dataclass(slots=True)
class Watch:
    """Finds values of facts in texts where they must not stand."""

    planned: list[Planned]
    _open: list[Planned] = field(init=False)

    def __post_init__(self) -> None:
        self._open = list(self.planned)

    def hits(self, text: str) -> list[Planned]:
        """The facts, not probed yet, whose value, alias or superseded value the text holds."""
        normal = normalise(text).lower()
        return [fact for fact in self._open if any(_holds(normal, key, fact) for key in fact.keys)]

    def close(self, fact: Planned) -> None:
        """After its probe a value may be said by anybody."""
        self._open.remove(fact)


def _holds(normal: str, key: str, fact: Planned) -> bool:
    return key in normal and contains(normal, key, fact.words.kind)


def holds_value(text: str, fact: Planned) -> bool:
    """Whether a text states the current value of a fact."""
    kind = fact.words.kind
    return contains(normalise(text), key_of(fact.value, kind), kind)


_DRAWN = re.compile(r"<(?:(hex|d)(\d+)|([\d.]+)-([\d.]+)(?:/(\d+))?)>")


def draw_value(template: str, slots: Slots, draw: Draw) -> str:
    """Fill `<hex8>`, `<d5>`, `<120-480/5>` and {slots} of a value."""

    def one(match: re.Match[str]) -> str:
        form, size, low, high, step = match.groups()
        if form == "hex":
            # A letter first, or a hash of digits alone would read as a number.
            return "abcdef"[draw.between(0, 5)] + draw.hexadecimal(int(size) - 1)
        if form == "d":
            return draw.digits(int(size))
        if "." in low:
            return f"{draw.real(float(low), float(high), 1)}"
        return str(draw.between(int(low), int(high), int(step or 1)))

    return slots.say(_DRAWN.sub(one, template))


def _aliases(words: Words, kind: str, value: str) -> tuple[str, ...]:
    if kind != "negation":
        return ()
    prefix = words.negation_prefixes[0]
    rest = value.removeprefix(prefix)
    return tuple(other + rest for other in words.negation_prefixes[1:])


def _plan_one(
    words: Words, fact: FactWords, world: World, draw: Draw, places: tuple[int, int, int]
) -> Planned:
    slots = Slots(world, draw)
    slots["subject"] = slots.say(fact.subject)
    slots["value"] = draw_value(fact.value, slots, draw)
    slots["old"] = ""
    if fact.first:
        other = Slots(world, draw)
        slots["old"] = draw_value(fact.value, other, draw)
    aliases = _aliases(words, fact.kind, slots["value"])
    said = (slots["value"], slots["old"], *aliases)
    return Planned(
        words=fact,
        carrier=_CARRIERS[fact.kind],
        subject=slots["subject"],
        value=slots["value"],
        statement=_capital(slots.say(fact.statement), fact),
        use=_capital(slots.say(fact.use), fact),
        question=slots.say(fact.question),
        old=slots["old"],
        first=slots.say(fact.first),
        near=draw_value(fact.near, slots, draw),
        aliases=aliases,
        first_at=places[0],
        plant_at=places[1],
        probe_at=places[2],
        keys=tuple(key_of(text, fact.kind).lower() for text in said if text),
    )


def _capital(sentence: str, fact: FactWords) -> str:
    # What a tool prints keeps its small letters; sentences of people begin with a capital.
    if _CARRIERS[fact.kind] == "tool" and sentence[:1].islower() and "`" not in sentence[:1]:
        return sentence
    return sentence[:1].upper() + sentence[1:]


def _places(draw: Draw, share: float, events: int, *, is_update: bool) -> tuple[int, int, int]:
    plant = max(share, 0.12) if is_update else share
    first = max(0.01, plant - draw.real(0.08, 0.4, 4)) if is_update else 0.0
    # Only gaps that end before the session does; otherwise its last message would need everything.
    gaps = [((low, high), weight) for low, high, weight in _GAPS if plant + low <= 0.94]
    low, high = draw.pick_weighted(gaps)
    probe = plant + draw.real(low, min(high, 0.97 - plant), 4)
    return int(first * events) + 2, int(plant * events) + 2, int(probe * events) + 3


def _clashes(one: Planned, others: list[Planned]) -> bool:
    texts = [f"{one.statement} {one.first} {one.near} {one.question}"]
    for other in others:
        theirs = f"{other.statement} {other.first} {other.near} {other.question}"
        if any(key in normalise(theirs).lower() for key in one.keys):
            return True
        if any(key in normalise(texts[0]).lower() for key in other.keys):
            return True
        if one.subject == other.subject:
            return True
    asked = normalise(f"{one.subject} {one.question} {one.near}").lower()
    return any(key in asked for key in one.keys) or one.value == one.old


def plan_facts(
    words: Words, world: World, draw: Draw, kind: str, events: int, wanted: int
) -> list[Planned]:
    """Up to `wanted` facts for a session of `events` events, kinds in turn, places spread."""
    by_kind = {
        name: draw.some([f for f in words.facts if f.kind == name and kind in f.scopes.split()], 99)
        for name in FACT_KINDS
    }
    order = draw.some(FACT_KINDS, len(FACT_KINDS))
    shares = draw.some([(i + draw.real(0.1, 0.9)) / wanted for i in range(wanted)], wanted)
    planned: list[Planned] = []
    for index in range(wanted):
        name = order[index % len(order)]
        bank = by_kind[name]
        fact = bank[(index // len(order)) % len(bank)]
        places = _places(draw, 0.9 * shares[index], events, is_update=bool(fact.first))
        for _ in range(40):
            one = _plan_one(words, fact, world, draw, places)
            if not _clashes(one, planned):
                planned.append(one)
                break
    return planned

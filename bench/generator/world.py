"""The world of one session: its product, people and services, and what has been seen so far.

Slots are filled from here. Within one turn a slot keeps its value, so that request, tool calls and
report speak of the same thing; over the session a few services, tables and people keep coming back.
"""

from __future__ import annotations

from collections import deque

from bench.generator.domains import (
    AREAS,
    DOMAINS,
    ENVIRONMENTS,
    ERRORS,
    METRICS,
    REGIONS,
    ROLES,
    VERBS,
)
from bench.generator.draws import Draw
from bench.generator.vocabulary import Words

# Memory of a session that never ends stays bounded: only the newest entities can be used again.
_SEEN_MAX = 1500


class World:
    """Everything that stays the same during a session, and the entities that turned up in it."""

    def __init__(self, words: Words, draw: Draw) -> None:
        self.words = words
        self.draw = draw
        self.domain = draw.pick(DOMAINS)
        self.product = self.domain.product
        self.people = draw.some(words.people, 7)
        self.nouns = self.domain.nouns
        self.services = [
            f"{noun}-{role}"
            for (noun, _), role in zip(
                draw.some(self.nouns, 6),
                draw.some(
                    ("writer", "api", "runner", "gateway", "scheduler", "sync", "indexer"), 6
                ),
                strict=True,
            )
        ]
        self.tables = [
            f"{noun}_{suffix}"
            for (noun, _), suffix in zip(
                draw.some(self.nouns, 6),
                draw.some(("daily", "events", "facts", "snapshot", "history", "rollup"), 6),
                strict=True,
            )
        ]
        self.cities = draw.some(words.cities, 4)
        self.clock = 1_767_600_000.0 + draw.between(0, 9_000_000)
        self.seen: dict[str, deque[str]] = {
            "path": deque(maxlen=_SEEN_MAX),
            "id": deque(maxlen=_SEEN_MAX),
            "number": deque(maxlen=_SEEN_MAX),
            "case": deque(maxlen=_SEEN_MAX),
        }

    def advance(self, seconds: float) -> float:
        """Let time pass; the new time in seconds since the epoch."""
        self.clock = round(self.clock + seconds, 3)
        return self.clock

    def notice(self, kind: str, text: str) -> str:
        """Remember an entity that a tool or a person brought up."""
        self.seen[kind].append(text)
        return text

    def earlier(self, kind: str, draw: Draw) -> str | None:
        """An entity seen before: mostly a recent one, sometimes one from long ago."""
        seen = self.seen[kind]
        if not seen:
            return None
        reach = draw.pick_weighted(((12, 0.45), (60, 0.3), (200, 0.17), (_SEEN_MAX, 0.08)))
        return seen[-1 - draw.between(0, min(reach, len(seen)) - 1)]


class Slots(dict[str, str]):
    """The values of a turn: drawn when first asked for, kept afterwards."""

    def __init__(self, world: World, draw: Draw) -> None:
        super().__init__()
        self.world = world
        self.draw = draw

    def __missing__(self, name: str) -> str:
        self[name] = fill_slot(self.world, self.draw, self, name)
        return self[name]

    def say(self, template: str) -> str:
        """The template with its slots filled."""
        return template.format_map(self)


def module_path(world: World, draw: Draw, noun: str) -> str:
    """A source path of the product, about one noun."""
    return f"{world.product}/{draw.pick(AREAS)}/{noun}_{draw.pick(ROLES)}.py"


def _names(world: World, draw: Draw, slots: Slots, kind: str, noun: str) -> str | None:
    """Slots that name code and people."""
    match kind:
        case "noun":
            return _spoken(world, noun)
        case "Noun":
            return noun.capitalize()
        case "verb":
            return draw.pick(VERBS)
        case "field":
            return draw.pick(world.domain.fields)
        case "FIELD":
            return draw.pick(world.domain.fields).upper()
        case "product":
            return world.product
        case "path":
            return module_path(world, draw, noun)
        case "function":
            return f"{slots['verb']}_{noun}_{draw.pick(world.domain.fields)}"
        case "test":
            return f"tests/{draw.pick(AREAS)}/test_{noun}_{draw.pick(ROLES)}.py"
        case "config":
            return f"config/{draw.pick(ENVIRONMENTS)}/{noun}.toml"
        case "service":
            return draw.pick(world.services)
        case "table":
            return draw.pick(world.tables)
        case "column":
            return draw.pick(world.domain.fields)
        case "metric":
            return draw.pick(METRICS)
        case "error":
            return draw.pick(ERRORS)
        case "env":
            return draw.pick(ENVIRONMENTS)
        case "region":
            return draw.pick(REGIONS)
        case "person":
            return draw.pick(world.people)
        case "team":
            return draw.pick(world.words.teams)
        case "city":
            return draw.pick(world.cities)
    return None


def _spoken(world: World, noun: str) -> str:
    """The noun as prose says it: its Chinese word in Chinese."""
    if world.words.language == "zh":
        return dict(world.nouns).get(noun, noun)
    return noun


def _figures(world: World, draw: Draw, kind: str) -> str | None:
    """Slots that are numbers, identifiers and times."""
    match kind:
        case "count":
            return str(draw.between(11, 4800))
        case "few":
            return str(draw.between(2, 9))
        case "percent":
            return f"{draw.real(0.4, 38.0, 1)}%"
        case "high":
            return f"{draw.real(71.0, 99.6, 1)}%"
        case "morning":
            return f"{draw.between(6, 10):02d}:{draw.between(0, 45, 15):02d}"
        case "evening":
            return f"{draw.between(17, 22):02d}:{draw.between(0, 45, 15):02d}"
        case "ms":
            return f"{draw.between(14, 2900)} ms"
        case "minutes":
            return str(draw.between(11, 55))
        case "line":
            return str(draw.between(12, 340))
        case "hour":
            return f"{draw.between(7, 21):02d}:{draw.between(0, 55, 5):02d}"
        case "date":
            return f"2026-{draw.between(1, 6):02d}-{draw.between(1, 28):02d}"
        case "commit":
            return draw.hexadecimal(8)
        case "request_id":
            return f"req_{draw.hexadecimal(10)}"
        case "order":
            return f"ORD-{draw.digits(6)}"
        case "customer":
            return f"C-{draw.digits(5)}"
        case "case":
            return f"CASE-{draw.digits(5)}"
        case "version":
            return f"{draw.between(1, 6)}.{draw.between(0, 30)}.{draw.between(0, 12)}"
        case "price":
            return str(draw.between(18, 640))
        case "branch":
            return f"fix/{draw.pick(VERBS)}-{draw.pick(world.nouns)[0]}-{draw.digits(3)}"
    return None


_FALLBACK = {"path": "path", "id": "request_id", "number": "count", "case": "case"}


def fill_slot(world: World, draw: Draw, slots: Slots, name: str) -> str:
    """Draw the value of a slot. A suffix `_b` or `_c` asks for another one of the same kind."""
    suffix = name[-2:] if name.endswith(("_b", "_c")) else ""
    kind = name.removesuffix(suffix)
    if kind == "id_noun":
        taken = slots.get("id_noun") if suffix else None
        return draw.pick([noun for noun, _ in world.nouns if noun != taken])
    if kind.startswith("earlier_"):
        what = kind.removeprefix("earlier_")
        return world.earlier(what, draw) or slots[_FALLBACK[what]]
    if suffix and kind in ("count", "few"):
        # "{few} of {few_b}" must make sense: the second figure is the larger one.
        smaller = int(slots[kind])
        return str(smaller + draw.between(1, max(6, smaller // 2)))
    # Files of one turn belong together; other words with a suffix are about something else.
    noun = slots["id_noun" if kind in ("path", "test") else "id_noun" + suffix]
    value = None
    for _ in range(8):
        value = _figures(world, draw, kind) or _names(world, draw, slots, kind, noun)
        if not suffix or value != slots.get(kind):
            break
    if value is None:
        raise KeyError(f"no slot named {name!r}: the generator's words use one that worlds lack")
    return value

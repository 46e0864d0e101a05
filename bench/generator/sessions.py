"""Whole sessions: the kinds, the languages, and one function per way to get one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.events import Event, Session
from bench.facts import Fact, Probe
from bench.generator.assembling import Assembly, Distractor
from bench.generator.tool_definitions import tool_definitions
from bench.generator.vocabulary import Words

KINDS: tuple[str, ...] = ("coding", "incident", "analysis", "support", "chat")
LANGUAGES: tuple[str, ...] = ("en", "zh")
FACTS_DEFAULT = 20

_EVENTS_PER_FACT_MIN = 6


@dataclass(frozen=True, slots=True)
class Generated:
    """A session with its ground truth: facts, what misleads, and questions without an answer."""

    session: Session
    facts: tuple[Fact, ...]
    distractors: tuple[Distractor, ...]
    unanswerable: tuple[Probe, ...]


def words_of(language: str) -> Words:
    """The words of a language; raises ValueError for one that isn't there."""
    if language == "en":
        from bench.generator.words_en import WORDS

        return WORDS
    if language == "zh":
        from bench.generator.words_zh import WORDS as CHINESE

        return CHINESE
    raise ValueError(f"no language {language!r}: there are {', '.join(LANGUAGES)}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a session is made from; `name` is its id and the name of its file."""

    kind: str
    language: str
    events: int
    seed: int

    @property
    def name(self) -> str:
        """The id of the session."""
        return f"{self.kind}-{self.language}-{self.seed:04d}"


def assembly(recipe: Recipe, facts_wanted: int = FACTS_DEFAULT) -> Assembly:
    """A session that is made while it is iterated over."""
    if recipe.kind not in KINDS:
        raise ValueError(f"no kind of session {recipe.kind!r}: there are {', '.join(KINDS)}")
    wanted = min(facts_wanted, recipe.events // _EVENTS_PER_FACT_MIN)
    words = words_of(recipe.language)
    seed = f"{recipe.name}/{recipe.events}/{wanted}"
    return Assembly(recipe.name, words, recipe.kind, recipe.events, seed, wanted)


def session_shell(recipe: Recipe, making: Assembly) -> Session:
    """The session without its events."""
    return Session(
        id=recipe.name,
        events=(),
        tools=tool_definitions(recipe.kind),
        cluster=f"{recipe.kind}-{recipe.language}-{making.product}",
    )


def generate(
    kind: str, language: str, events: int, seed: int, facts_wanted: int = FACTS_DEFAULT
) -> Generated:
    """A session of exactly `events` events with its facts and distractors."""
    recipe = Recipe(kind, language, events, seed)
    making = assembly(recipe, facts_wanted)
    session = replace(session_shell(recipe, making), events=tuple(making))
    return Generated(session, making.facts(), making.distractors(), making.unanswerable())


def generate_session(
    kind: str, language: str, events: int, seed: int, facts_wanted: int = FACTS_DEFAULT
) -> tuple[Session, tuple[Fact, ...]]:
    """A session of exactly `events` events and the facts that were planted in it.

    `kind` is one of KINDS, `language` one of LANGUAGES. Short sessions get fewer facts than
    `facts_wanted`. Raises ValueError for an unknown kind or language or fewer than EVENTS_MIN
    events.
    """
    made = generate(kind, language, events, seed, facts_wanted)
    return made.session, made.facts


def iter_events(
    kind: str, language: str, events: int, seed: int, facts_wanted: int = FACTS_DEFAULT
) -> Iterator[Event]:
    """The events of `generate_session`, one at a time: memory doesn't grow with their number."""
    return iter(assembly(Recipe(kind, language, events, seed), facts_wanted))

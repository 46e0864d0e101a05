"""Turns into events: one stream per session, deterministic, of any length, in bounded memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.events import Event, Message, ToolCall
from bench.facts import Fact, Probe
from bench.generator.draws import Draw
from bench.generator.planting import Carrier, Planned, Watch, holds_value, plan_facts
from bench.generator.remarks import with_remark
from bench.generator.speech import Speech
from bench.generator.tools import MAKERS, Step
from bench.generator.vocabulary import Words
from bench.generator.world import Slots, World

EVENTS_MIN = 12

# Tokens that a result is meant to have: low, high, weight. A few are huge, as they are in life.
_SIZES = ((90, 450, 0.5), (450, 1400, 0.34), (1400, 3000, 0.135), (3000, 5600, 0.025))
_CALLS = (1, 2, 3, 4)
# A session that never ends must not remember ever more of them.
_DISTRACTORS_MAX = 200
_STEPS = {
    "coding": (2, 7),
    "incident": (2, 7),
    "analysis": (2, 6),
    "support": (1, 5),
    "chat": (0, 4),
}
_ATTEMPTS = 200
_ATTEMPTS_WITH_SLOTS = 20
_FAILURES = ("error: timed out after 30 s, no output", "error: 502 bad gateway, try again")


@dataclass(frozen=True, slots=True)
class Distractor:
    """What only looks like something to keep: a kind, its event and its text.

    Kinds: injected_instruction, fake_secret, near_duplicate.
    """

    seq: int
    kind: str
    text: str


class Assembly:
    """One session that is being made. Iterate over it once, then read what was planted.

    Every event passes the watch: a text that happens to hold the value of a fact which isn't
    stated there is drawn again.
    """

    def __init__(
        self, session_id: str, words: Words, kind: str, events: int, seed: str, facts_wanted: int
    ) -> None:
        if events < EVENTS_MIN:
            raise ValueError(f"a session of {events} events: at least {EVENTS_MIN} are needed")
        self._session_id = session_id
        self._kind = kind
        self._events = events
        self._draw = Draw(seed)
        self._world = World(words, self._draw.fork("world"))
        self._speech = Speech(words, kind, self._world, self._draw.fork("speech"))
        self._planned = plan_facts(
            words, self._world, self._draw.fork("facts"), kind, events, facts_wanted
        )
        self._watch = Watch(self._planned)
        self._seq = 0
        self._request = ""
        self._slots = Slots(self._world, self._draw)
        self._spent_paths: set[str] = set()
        self._asked: set[str] = set()
        self._is_first_step = True
        self._was_told = False
        self._distractors: list[Distractor] = []

    def __iter__(self) -> Iterator[Event]:
        yield self._event(self._said("system", lambda: self._speech.system(self._slots)))
        while self._left > 0:
            yield from self._turn()

    @property
    def product(self) -> str:
        """The made-up product that the session is about."""
        return self._world.product

    @property
    def _left(self) -> int:
        return self._events - self._seq

    def facts(self) -> tuple[Fact, ...]:
        """The facts that were stated and then needed, in the order of their statements."""
        found = sorted(
            (fact for fact in self._planned if fact.plant_seq and fact.probe_seq),
            key=lambda fact: (fact.plant_seq, fact.probe_seq, fact.subject),
        )
        return tuple(
            Fact(
                id=f"{self._session_id}/{number:02d}",
                session=self._session_id,
                kind=fact.words.kind,
                subject=fact.subject,
                value=fact.value,
                aliases=fact.aliases,
                stale=(fact.old,) if fact.old else (),
                source_seqs=(fact.plant_seq,),
                born_seq=fact.plant_seq,
                probe=Probe(fact.probe_seq, fact.question),
            )
            for number, fact in enumerate(found, 1)
        )

    def distractors(self) -> tuple[Distractor, ...]:
        """What was put there to mislead, in the order of the session."""
        return tuple(sorted(self._distractors, key=lambda one: one.seq))

    def unanswerable(self) -> tuple[Probe, ...]:
        """Questions to the last request that nothing in the session answers."""
        return tuple(Probe(None, text) for text in self._speech.unanswerable(2))

    def _event(self, message: Message) -> Event:
        self._seq += 1
        pause = {"user": (25, 900), "assistant": (2, 45), "tool": (0, 14), "system": (0, 0)}
        self._world.advance(self._draw.real(*pause[message.role], 3) + 0.001)
        return Event(self._seq, message, self._world.clock)

    def _said(self, role: str, make: Callable[[], str], *facts: Planned) -> Message:
        """A message whose text holds no value but those of `facts`."""
        text = self._clean(make, facts)
        return Message(role, text)  # type: ignore[arg-type]

    def _clean(self, make: Callable[[], str], facts: tuple[Planned, ...]) -> str:
        for attempt in range(1, _ATTEMPTS + 1):
            text = make()
            if all(fact in facts for fact in self._watch.hits(text)):
                return text
            if attempt % _ATTEMPTS_WITH_SLOTS == 0:
                # What this turn is about may itself be spelled like a fact: let it be another.
                self._slots = Slots(self._world, self._draw)
        raise AssertionError(f"{self._session_id}: event {self._seq + 1} can't avoid a fact")

    def _due(self, carrier: Carrier) -> list[Planned]:
        at = self._seq + 1
        return [
            fact
            for fact in self._planned
            if fact.carrier == carrier
            and not fact.plant_seq
            and fact.is_ready
            and fact.plant_at <= at
        ]

    def _turn(self) -> Iterator[Event]:
        self._slots = Slots(self._world, self._draw)
        self._asked.clear()
        self._is_first_step = True
        yield self._user()
        low, high = _STEPS[self._kind]
        steps = self._draw.between(low, high)
        while any(map(self._may_step, _CALLS)) and (steps > 0 or not self._may_end()):
            steps -= 1
            yield from self._step()
            self._is_first_step = False
        yield self._report()

    def _may_end(self) -> bool:
        """Whether a final message now leaves room for whole turns only."""
        after = self._left - 1
        return after in (0, 2) or after >= 4

    def _may_step(self, calls: int) -> bool:
        after = self._left - 1 - calls
        return after == 1 or after >= 3

    def _user(self) -> Event:
        at = self._seq + 1
        firsts = [f for f in self._planned if f.first and not f.first_seq and f.first_at <= at][:1]
        stated = [fact for fact in self._due("user") if fact not in firsts][:2]
        for fact in firsts:
            fact.first_seq = at
        for fact in stated:
            fact.plant_seq = at
        soon = [f for f in self._needed(at + 8) if f not in stated and f not in firsts]
        cue = soon[0].subject if soon and self._draw.chance(0.4) else ""
        said = [fact.first for fact in firsts] + [fact.statement for fact in stated]
        self._was_told = bool(said)
        message = self._said(
            "user", lambda: self._speech.request(self._slots, said, cue), *firsts, *stated
        )
        self._request = message.text
        return self._event(message)

    def _needed(self, at: int) -> list[Planned]:
        """Facts that were stated before and are to be needed by event `at`."""
        return [
            fact
            for fact in self._planned
            if fact.plant_seq
            and fact.plant_seq < self._seq + 1
            and not fact.probe_seq
            and fact.probe_at <= at
        ]

    def _uses(self, most: int) -> list[Planned]:
        """The facts that the message being made needs; its request must not tell them."""
        is_last = self._left == 1
        due = self._needed(self._events * 2 if is_last else self._seq + 1)
        told = {id(fact) for fact in due if holds_value(self._request, fact)}
        chosen = [fact for fact in due if id(fact) not in told]
        chosen = chosen if is_last else chosen[:most]
        for fact in chosen:
            fact.probe_seq = self._seq + 1
        return chosen

    def _step(self) -> Iterator[Event]:
        wanted = self._draw.pick_weighted(((1, 0.64), (2, 0.22), (3, 0.1), (4, 0.04)))
        count = next(number for number in (wanted, *_CALLS) if self._may_step(number))
        uses = self._uses(1)
        steps = self._choose(count, uses)
        text = self._clean(
            lambda: self._speech.thought(
                self._slots,
                steps,
                [fact.use for fact in uses],
                is_first=self._is_first_step,
                was_told=self._was_told,
            ),
            tuple(uses),
        )
        calls = tuple(
            ToolCall(f"call_{self._draw.hexadecimal(12)}", step.tool, _arguments(step))
            for step in steps
        )
        yield self._event(Message("assistant", text, calls))
        for fact in uses:
            self._watch.close(fact)
        answers = list(zip(calls, steps, strict=True))
        if count > 1 and self._draw.chance(0.2):
            answers = self._draw.some(answers, count)
        for call, step in answers:
            yield self._event(Message("tool", self._result(step), call_id=call.id))

    def _choose(self, count: int, uses: list[Planned]) -> list[Step]:
        steps: list[Step] = []
        if count < 3 and self._draw.chance(0.11):
            steps.append(self._speech.plan_step(self._slots))
        for _ in range(60):
            if len(steps) == count:
                break
            step = self._draw.pick_weighted(MAKERS[self._kind])(
                self._world, self._draw, self._slots
            )
            said = f"{step.target} {_arguments(step)}"
            if step.target in self._spent_paths or said in self._asked:
                continue
            if any(fact not in uses for fact in self._watch.hits(said)):
                continue
            steps.append(step)
            self._asked.add(said)
        while len(steps) < count:
            steps.append(self._speech.plan_step(self._slots))
        return steps

    def _result(self, step: Step) -> str:
        if not step.line_tokens:
            return self._clean(lambda: step.render(self._draw, 0), ())
        if self._draw.chance(0.03):
            return self._draw.pick(_FAILURES)
        low, high = self._draw.pick_weighted([((low, high), share) for low, high, share in _SIZES])
        lines = max(1, self._draw.between(low, high) // step.line_tokens)
        planted = self._due("tool")[:1]
        remarks = [fact.statement for fact in planted] + self._misleading()
        for fact in planted:
            fact.plant_seq = self._seq + 1
        if planted and step.tool == "read_file":
            # Read again it would say the fact a second time, or not at all.
            self._spent_paths.add(step.target)

        attempts = itertools.count()

        def render() -> str:
            # The same call gives the same answer, unless that would tell what isn't to be told.
            fixed = self._world.draw.fork(f"{step.tool}/{_arguments(step)}/{next(attempts)}")
            text = step.render(self._draw if step.is_live else fixed, lines)
            for remark in remarks:
                text = with_remark(text, remark, step.style, self._draw)
            return text

        return self._clean(render, tuple(planted))

    def _misleading(self) -> list[str]:
        """Near duplicates of planted facts, injected instructions and made-up secrets."""
        at = self._seq + 1
        found = []
        for fact in self._planned:
            if fact.near and not fact.near_seq and abs(fact.plant_at - at) < 8:
                fact.near_seq = at
                found.append(("near_duplicate", fact.near))
                break
        may_add = len(self._distractors) < _DISTRACTORS_MAX
        if may_add and self._draw.chance(0.03):
            found.append(("injected_instruction", self._speech.injection()))
        if may_add and self._draw.chance(0.03):
            found.append(("fake_secret", self._speech.secret()))
        clean = [(kind, text) for kind, text in found if not self._watch.hits(text)]
        self._distractors += [Distractor(at, kind, text) for kind, text in clean]
        return [text for _, text in clean]

    def _report(self) -> Event:
        uses = self._uses(2)
        stated = self._due("agent")[:1]
        for fact in stated:
            fact.plant_seq = self._seq + 1
        message = self._said(
            "assistant",
            lambda: self._speech.report(
                self._slots, [fact.use for fact in uses], [fact.statement for fact in stated]
            ),
            *uses,
            *stated,
        )
        event = self._event(message)
        for fact in uses:
            self._watch.close(fact)
        return event


def _arguments(step: Step) -> str:
    return json.dumps(step.arguments, ensure_ascii=False)

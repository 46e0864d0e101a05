"""What people and the agent say: requests, thoughts, plans and reports of one session."""

from __future__ import annotations

from collections.abc import Sequence

from bench.generator.draws import Draw
from bench.generator.tools import Step
from bench.generator.vocabulary import Words
from bench.generator.world import Slots, World

# Which findings may answer a request, by place in `requests` and `findings` of a kind.
ANSWERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "coding": (
        (0,), (1,), (5,), (3,), (4,), (2,), (6, 8), (5,), (10,), (11,), (7,), (9,), (12,), (13,),
    ),
    "incident": (
        (0, 1, 8), (0, 1), (6,), (3,), (4,), (7,), (0, 8), (2,), (5,), (1, 8), (10,), (9,),
    ),
    "analysis": (
        (9, 1), (0,), (4,), (5,), (1,), (9, 7), (10,), (2,), (8,), (3,), (6,), (11,),
    ),
    "support": ((0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (10,), (11,), (9,)),
    "chat": (
        (0,), (10,), (1,), (2,), (3,), (4,), (9,), (11,), (8,), (7,), (5,), (6,), (12,), (13,),
    ),
}  # fmt: skip


class Speech:
    """Sentences of one session; a bank is used up before one of its sentences comes again."""

    def __init__(self, words: Words, kind: str, world: World, draw: Draw) -> None:
        self._words = words
        self._kind = words.kinds[kind]
        self._answers = ANSWERS[kind]
        self._asked = 0
        self._world = world
        self._draw = draw
        self._decks: dict[tuple[str, ...], list[str]] = {}
        self._plan: list[tuple[str, str]] = []

    def _next(self, bank: tuple[str, ...]) -> str:
        deck = self._decks.get(bank)
        if not deck:
            deck = self._decks[bank] = self._draw.some(bank, len(bank))
        return deck.pop()

    def _join(self, sentences: Sequence[str]) -> str:
        return self._words.joiner.join(sentence for sentence in sentences if sentence)

    def system(self, slots: Slots) -> str:
        """The system prompt."""
        return slots.say(self._kind.system)

    def request(self, slots: Slots, stated: Sequence[str], cue: str) -> str:
        """A user's message; `stated` are facts it tells, `cue` the subject of one needed soon."""
        asked = self._next(self._kind.requests)
        self._asked = self._kind.requests.index(asked)
        if self._kind.queries:
            slots["query"] = slots.say(self._kind.queries[self._asked])
        parts = [slots.say(asked)]
        has_context = self._draw.chance(0.65)
        if has_context:
            parts.append(slots.say(self._next(self._kind.contexts)))
        if cue:
            parts.append(self._next(self._words.cues).format(subject=cue))
        if not has_context or self._draw.chance(0.4):
            parts.append(slots.say(self._next(self._kind.wishes)))
        text = self._join(parts)
        if stated:
            told = self._join(stated)
            text = f"{text}\n\n{told}" if self._draw.chance(0.6) else self._join([told, text])
        return text

    def thought(
        self,
        slots: Slots,
        steps: Sequence[Step],
        uses: Sequence[str],
        *,
        is_first: bool,
        was_told: bool,
    ) -> str:
        """What the agent says before it calls tools.

        At first in a turn it can't have seen anything yet; when the request told it something to
        keep in mind, it says that it heard.
        """
        thoughts = self._kind.thoughts
        lead = steps[0]
        slots["target"] = lead.target
        bank = thoughts.get(lead.tool, thoughts[""]) if len(steps) == 1 else thoughts[""]
        said = slots.say(self._next(bank)) if uses or self._draw.chance(0.85) else ""
        seen = self._detail() if said and not is_first and self._draw.chance(0.45) else ""
        heard = is_first and was_told and self._draw.chance(0.7)
        acknowledged = self._next(self._words.acknowledgements) if heard else ""
        return self._join([acknowledged, *uses, seen, said])

    def _detail(self) -> str:
        return Slots(self._world, self._draw).say(self._next(self._kind.details))

    def report(self, slots: Slots, uses: Sequence[str], stated: Sequence[str]) -> str:
        """The agent's final message of a turn."""
        answers = self._answers[self._asked]
        chosen = self._draw.some(answers, self._draw.between(1, 2))
        findings = [slots.say(self._kind.findings[index]) for index in chosen]
        bank = self._kind.details
        drawn = [self._next(bank) for _ in range(self._draw.between(2, 5))]
        # The deck may have been shuffled anew in between.
        details = [
            Slots(self._world, self._draw).say(template) for template in dict.fromkeys(drawn)
        ]
        offer = slots.say(self._next(self._kind.offers)) if self._draw.chance(0.7) else ""
        if self._draw.chance(0.4) and len(details) > 1:
            listed = "\n".join(f"- {detail}" for detail in details)
            text = f"{self._join([*uses, *findings])}\n\n{listed}"
            return "\n\n".join(part for part in (text, self._join([*stated, offer])) if part)
        return self._join([*uses, *findings, *details, *stated, offer])

    def plan_step(self, slots: Slots) -> Step:
        """An update of the plan: what is done falls off at the front, new steps come behind."""
        plan = [(step, "completed") if status == "in_progress" else (step, status)
                for step, status in self._plan]  # fmt: skip
        done = [index for index, (_, status) in enumerate(plan) if status == "completed"]
        if len(done) > 3:
            plan = plan[done[-2] :]
        while sum(status == "pending" for _, status in plan) < 3:
            plan.append((slots.say(self._next(self._kind.plan)), "pending"))
        current = next(index for index, (_, status) in enumerate(plan) if status == "pending")
        plan[current] = (plan[current][0], "in_progress")
        self._plan = plan
        items = [{"step": step, "status": status} for step, status in plan]
        return Step(
            "update_plan", {"plan": items}, plan[current][0], lambda _, __: "Plan updated.", 0
        )

    def injection(self) -> str:
        """An instruction that a tool result tries to give the agent."""
        return Slots(self._world, self._draw).say(self._next(self._words.injections))

    def secret(self) -> str:
        """Something that looks like a secret and says that it isn't one."""
        return Slots(self._world, self._draw).say(self._next(self._words.secrets))

    def unanswerable(self, count: int) -> list[str]:
        """Questions that nothing in the session answers."""
        bank = self._draw.some(self._words.unanswerable, count)
        return [Slots(self._world, self._draw).say(question) for question in bank]

"""Assembly: a compaction judged by the messages before and after it, without having run it.

The session is the one before; what stands after is compared with it message by message, so where
each came from is *inferred*. Facts are asked for at the end of the session, the request that the
compaction was made for, between the same two controls as everywhere: the whole session (ceiling)
and its bare newest request (floor).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bench.annotating import FACT_KIND_OF, draft_facts
from bench.canaries import canary_shares, plant
from bench.engine_asking import MeteredAsk
from bench.events import Event, Message, Session
from bench.facts import Fact, Probe, Use
from bench.foreign.provenance import inferred
from bench.foreign.shown import Shown, ShownMessage
from bench.found_facts import find_uses
from bench.history import History
from bench.invariants import violations
from bench.models import OfflineModel
from bench.observations import Replay, RequestObservation, Retries
from bench.plan import CONTROLS
from bench.projection import Kept, Projection, Shortened, Written
from bench.providers.simulated import SimulatedProvider, message_tokens
from bench.registry import make_strategy
from bench.scoring import Scores, Share, score
from bench.scoring_facts import needle_of
from bench.session_index import Needle, SessionIndex
from bench.strategy import Budget
from bench.wire.rendering import render, visible_texts

# Answers at the end of the session whose entities must still be there to go on.
LAST_ANSWERS = 10
FOUND_FACTS_MAX = 60
_CEILING, _FLOOR = CONTROLS


@dataclass(frozen=True, slots=True)
class Problem:
    """Something broken in what stands after: its kind, and one sentence."""

    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class View:
    """What one list of messages shows of the session: the result, the ceiling or the floor.

    `present` is over all facts, `current` over those that have a wrong form, `bound` over those
    with a subject: the value stands beside it. `recent` is over the entities that the last answers
    used. `invented` counts written entities that were never said.
    """

    name: str
    messages: int
    tokens: int
    present: Share
    current: Share
    stale: Share
    bound: Share
    recent: Share
    invented: Share
    scores: Scores


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Everything that is found out. `basis` says what facts are asked for, "facts" or "found".

    `retention` is the share of facts kept between floor and ceiling, None with `reason` where there
    is none. `canaries` are how many were planted, and shown by the ceiling and by the floor.
    """

    projection: Projection
    facts: tuple[Fact, ...]
    basis: str
    after: View
    ceiling: View
    floor: View
    problems: tuple[Problem, ...]
    not_told: tuple[str, ...]
    canaries: tuple[int, int, int]

    @property
    def retention(self) -> float | None:
        """(after - floor) / (ceiling - floor), over facts that are current, else present."""
        after, floor, ceiling = (
            view.scores.retained.value for view in (self.after, self.floor, self.ceiling)
        )
        if after is None or floor is None or ceiling is None or floor == ceiling:
            return None
        return (after - floor) / (ceiling - floor)

    @property
    def reason(self) -> str:
        """Why there is no verdict; empty when there is one."""
        planted, shown, leaked = self.canaries
        if (shown, leaked) != (planted, 0):
            return (
                f"controls out of line: of {planted} canaries the whole session showed {shown} "
                f"and its bare request {leaked}"
            )
        if not self.facts:
            return "nothing was measured: no fact is given and no value was used again"
        if self.retention is None:
            return "nothing was measured: the whole session and its bare request show the same"
        return ""


def measure(before: Session, after: Session, facts: Sequence[Fact] = ()) -> BeforeAfter:
    """Compares what stands after with the session before; `facts` are drafted when none is given.

    Raises ValueError when one of the two holds no message.
    """
    if not before.events or not after.events:
        raise ValueError("both sides need at least one message")
    # The next answer is unknown; an empty one makes the end of the session a request.
    next_seq = len(before.events) + 1
    session = replace(before, events=(*before.events, Event(next_seq, Message("assistant"))))
    index = SessionIndex(session)
    asked = tuple(replace(fact, probe=Probe()) for fact in facts) or found_facts(session, index)
    recent = recent_uses(index)
    projection = compared(before, after)
    history = History(session.events)

    def view(name: str, seen: Replay, messages: Sequence[Message] | None = None) -> View:
        shown = seen.projection(0, history)
        scores = score(index, asked, recent, seen, history)
        return _view(name, scores, shown.messages if messages is None else messages)

    controls = {name: _control(session, name) for name in CONTROLS}
    return BeforeAfter(
        projection=projection,
        facts=asked,
        basis="facts" if facts else "found",
        after=view("after", _replay_of(session.id, projection), [e.message for e in after.events]),
        ceiling=view(_CEILING, controls[_CEILING]),
        floor=view(_FLOOR, controls[_FLOOR]),
        problems=tuple(find_problems(before, after, projection)),
        not_told=_not_told(index, asked),
        canaries=_canaries(session),
    )


def compared(before: Session, after: Session) -> Projection:
    """The messages after as a projection of the session before, by comparing alone."""
    whole = Projection.whole(History(before.events))
    told = tuple(
        ShownMessage(_neutral(item.message), item, place) for place, item in enumerate(whole.items)
    )
    shown = Shown("openai", None, [], [], told, whole.leading_system)
    return inferred(whole, shown, [_neutral(event.message) for event in after.events])


def _neutral(message: Message) -> Message:
    return replace(message, reasoning="")


def found_facts(session: Session, index: SessionIndex) -> tuple[Fact, ...]:
    """Values that the agent came back to, as facts that are asked for at the end.

    Those that it came back to after a long time, where there are any, else all. Values that the
    bare newest request shows anyway tell nothing and are left out.
    """
    drafts = draft_facts(session, facts_max=FOUND_FACTS_MAX)
    if not drafts:
        uses = {(use.kind, use.key): use for use in find_uses(index)}
        drafts = tuple(
            Fact(
                f"found-{number}",
                session.id,
                FACT_KIND_OF.get(use.kind, "identifier"),
                "",
                use.text,
            )
            for number, use in enumerate(uses.values(), start=1)
        )
    at_end = (replace(fact, probe=Probe()) for fact in drafts)
    return tuple(fact for fact in at_end if not _always_shown(index, needle_of(fact.value)))


def recent_uses(index: SessionIndex) -> tuple[Use, ...]:
    """What the last answers used of earlier events, each once, as if it were used at the end."""
    last = len(index.request_seqs) - 1
    end = index.request_seqs[-1]
    found: dict[tuple[str, str], Use] = {}
    for use in find_uses(index):
        needle = Needle(use.kind, use.key)
        if use.request >= last - LAST_ANSWERS and not _always_shown(index, needle):
            last_seq = index.last_before(needle, end) or use.last_seq
            age = index.age_tokens(last_seq, end)
            moved = replace(use, request=last, at_seq=end, last_seq=last_seq, age_tokens=age)
            found.setdefault((use.kind, use.key), moved)
    return tuple(found.values())


def _always_shown(index: SessionIndex, needle: Needle) -> bool:
    spans = [(1, index.leading_system)]
    newest = index.always_shown(index.request_seqs[-1])
    if newest is not None:
        spans.append(newest)
    return any(index.is_within(needle, first, last) for first, last in spans)


def _control(session: Session, name: str) -> Replay:
    """What a control shows to the request that the end of the session makes."""
    whole = Projection.whole(History(session.events), len(session.events) - 1)
    budget = Budget(
        window=0, threshold_tokens=0, size_tokens=0, trigger="budget", stage=name, phase="automatic"
    )
    nobody = MeteredAsk(SimulatedProvider(OfflineModel(), 0))
    shown = make_strategy(name).strategy.compact(whole, budget, nobody)
    return _replay_of(session.id, whole if shown is None else shown)


def _replay_of(session_id: str, projection: Projection) -> Replay:
    request = RequestObservation(
        index=0,
        at_seq=projection.stop + 1,
        is_served=True,
        tokens=0,
        cached_tokens=0,
        estimate=0,
        head=0,
        tail_start=projection.tail_start,
        stop=projection.stop,
    )
    return Replay(session_id, (request,), 1, (projection.head,), (), Retries(), None)


def _view(name: str, scores: Scores, messages: Sequence[Message]) -> View:
    currencies = [one.currency for one in scores.facts if one.currency is not None]
    return View(
        name=name,
        messages=len(messages),
        tokens=sum(map(message_tokens, messages)),
        present=scores.present,
        current=_share(one in ("current_only", "both") for one in currencies),
        stale=scores.stale,
        bound=scores.bound,
        recent=_share(bool(each) for each in scores.visible),
        invented=scores.invented,
        scores=scores,
    )


def _share(answers: Iterable[bool]) -> Share:
    counted = list(answers)
    return Share(sum(counted), len(counted))


def _not_told(index: SessionIndex, facts: Sequence[Fact]) -> tuple[str, ...]:
    """The facts that the session before doesn't hold at all: nobody could have kept them."""
    last = len(index.session.events)
    return tuple(
        fact.id
        for fact in facts
        if not any(
            index.is_within(needle_of(value), 1, last)
            for value in (fact.value, *fact.aliases)
            if value.strip()
        )
    )


def _canaries(session: Session) -> tuple[int, int, int]:
    """How many tokens were planted in a copy, and how many each control shows of them."""
    planted, canaries = plant(session, seed=0)
    if not canaries:
        return 0, 0, 0
    history = History(planted.events)
    found = []
    for name in CONTROLS:
        shown = _control(planted, name).projection(0, history)
        text = "\n".join(visible_texts(render(shown)))
        found.append(round(canary_shares(text, canaries) * len(canaries)))
    return len(canaries), found[0], found[1]


_KIND_OF = {"H1": "split group", "H3": "changed history", "H5": "refused by APIs"}
# What readers put right in silence elsewhere is a defect of what stands after.
_KIND_OF_REPAIR = {
    "late_result": "result out of place",
    "result_before_call": "result out of place",
    "duplicate_result": "result twice",
    "conflicting_result": "result twice",
}


def find_problems(before: Session, after: Session, projection: Projection) -> list[Problem]:
    """What is broken: groups, results, system prompt, newest request, order, size."""
    problems = [_named(sentence) for sentence in violations(projection)]
    known = {repair.what for repair in before.repairs}
    problems += [
        Problem(_KIND_OF_REPAIR[repair.kind], f"{repair.where}: {repair.what}")
        for repair in after.repairs
        if repair.kind in _KIND_OF_REPAIR and repair.what not in known
    ]
    tokens = [sum(message_tokens(e.message) for e in one.events) for one in (before, after)]
    if tokens[1] > tokens[0]:
        problems.append(Problem("grew", f"{tokens[1]:,} tokens instead of {tokens[0]:,}"))
    return problems


def _named(sentence: str) -> Problem:
    promise, _, what = sentence.partition(": ")
    if promise == "H4":
        kind = "lost system prompt" if "system message" in what else "lost newest request"
        return Problem(kind, what)
    if promise == "H1" and ("has no call" in what or "without the start" in what):
        return Problem("orphaned result", what)
    return Problem(_KIND_OF.get(promise, promise), what)


def counts_by_kind(projection: Projection) -> dict[str, int]:
    """How many items were kept, shortened and written, and how many events are gone."""
    items = projection.items
    counts = {
        "kept": sum(isinstance(item, Kept) for item in items),
        "shortened": sum(isinstance(item, Shortened) for item in items),
        "written": sum(isinstance(item, Written) for item in items),
    }
    return {**counts, "gone": projection.stop - counts["kept"] - counts["shortened"]}


def written_tokens(projection: Projection) -> int:
    """The tokens of all that was written."""
    return sum(message_tokens(one.message) for one in projection.items if isinstance(one, Written))

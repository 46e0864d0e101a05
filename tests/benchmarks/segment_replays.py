"""Sessions through segments and through re-summarising, and what became of the first summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.engine import Engine
from bench.entities import extract
from bench.events import Session
from bench.facts import Fact
from bench.history import History
from bench.matching import normalise
from bench.models import make_model
from bench.observations import CompactionObservation
from bench.projection import Kept, Projection, Shortened, Written
from bench.providers.simulated import SimulatedProvider
from bench.replay import attempt_request, forced_requests
from bench.scoring_facts import needle_of
from bench.session_index import Haystack, Needle, SessionIndex
from bench.strategy import Strategy
from bench.tokens import count
from strategies.head_tail import HeadTail
from strategies.layered import Layered

LAYERED, HEAD_TAIL, RESUMMARISE = "layered", "head_tail", "layered(mode=resummarise)"
FIRST_SUMMARY, SAID, FACTS = "first summary", "said", "facts"
COHORTS = (FIRST_SUMMARY, SAID, FACTS)
ARMS = (LAYERED, HEAD_TAIL, RESUMMARISE)
# Nothing but the forced points may trigger anything, and no summariser may overflow.
WINDOW = 2_000_000
TOLERANCE = 0.02
_FITTING_TRIES = 14
# More than any tool result: head_tail's pruning is off, so that the arms differ in summaries only.
_NEVER = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """`summary_tokens_max` is the cap of one segment; the other arms' caps are fitted to it.

    `place` is "turns" or "even", `equal` is "written" or "shown".
    """

    p: float = 0.9
    cuts: int = 8
    seeds: int = 5
    summary_tokens_max: int = 800
    equal: str = "written"
    place: str = "turns"


@dataclass(frozen=True, slots=True)
class Generation:
    """What stood in the request right after one compaction: its summaries and its events.

    `verbatim_head` are the seqs of events that are shown in front of the tail, `rewrites` how
    often the first span had been written down by then.
    """

    at_seq: int
    summaries: tuple[str, ...]
    verbatim_head: frozenset[int]
    first_through_seq: int
    rewrites: int

    @property
    def shown_tokens(self) -> int:
        """True tokens of the summaries."""
        return sum(map(count, self.summaries))


@dataclass(frozen=True, slots=True)
class Ran:
    """One arm over one session: its generations for each seed, and the tokens of its summaries."""

    cap: int
    generations: tuple[tuple[Generation, ...], ...]
    output_tokens: int

    def spent(self, equal: str) -> int:
        """What is made equal: tokens got from the summariser, or tokens shown."""
        if equal == "written":
            return self.output_tokens
        return sum(one.shown_tokens for run in self.generations for one in run)


@dataclass(frozen=True, slots=True)
class Counted:
    """Of `at_risk` of a cohort after one compaction, how many `survived`: means over seeds."""

    at_risk: float
    survived: float


@dataclass(frozen=True, slots=True)
class Studied:
    """One session: what each arm did, and what became of each cohort by generation."""

    session: str
    cluster: str
    ran: dict[str, Ran]
    counted: dict[tuple[str, str], tuple[Counted, ...]]


def strategy_of(arm: str, cap: int) -> Strategy:
    """The strategy of an arm whose summaries have at most `cap` tokens."""
    if arm == HEAD_TAIL:
        return HeadTail(summary_tokens_max=cap, protect=_NEVER, reclaim=_NEVER)
    if arm == RESUMMARISE:
        return Layered(summary_tokens_max=cap, mode="resummarise")
    return Layered(summary_tokens_max=cap)


def run_arm(session: Session, arm: str, cap: int, options: Options) -> Ran:
    """All seeds of one arm over one session."""
    engines = [_compacted(session, arm, cap, seed, options) for seed in range(options.seeds)]
    return Ran(
        cap,
        tuple(_generations(engine, arm) for engine in engines),
        sum(one.ask_output_tokens for engine in engines for one in engine.compactions),
    )


def forced_points(session: Session, options: Options) -> frozenset[int]:
    """The requests before which everything is compacted, evenly spaced.

    Between turns: of the requests that open a turn those nearest to such points, each once.
    """
    total = sum(event.message.role == "assistant" for event in session.events)
    even = sorted(forced_requests(total, options.cuts) or ())
    if options.place == "even":
        return frozenset(even)
    openings: list[int] = []
    requests, is_open = 0, False
    for event in session.events:
        is_open = is_open or event.starts_turn
        if event.message.role == "assistant":
            if is_open and requests:
                openings.append(requests)
            requests, is_open = requests + 1, False
    chosen: list[int] = []
    for point in even:
        left = [one for one in openings if not chosen or one > chosen[-1]]
        if left:
            chosen.append(min(left, key=lambda one: (abs(one - point), one)))
    return frozenset(chosen)


def _compacted(session: Session, arm: str, cap: int, seed: int, options: Options) -> Engine:
    """The engine after a replay with the forced points."""
    provider = SimulatedProvider(
        make_model(f"lossy({options.p})"), WINDOW, tools=session.tools, seed=seed
    )
    points = forced_points(session, options)
    engine = Engine(strategy_of(arm, cap), provider, session, forced_requests=points)
    history = History()
    projection = Projection.whole(history)
    request = 0
    for event in session.events:
        if event.message.role == "assistant":
            projection = attempt_request(engine, provider, projection.advance(), request).projection
            request += 1
        history.append(event)
        if event.starts_turn:
            engine.begin_turn()
    return engine


def _generations(engine: Engine, arm: str) -> tuple[Generation, ...]:
    found: list[Generation] = []
    for one in engine.compactions:
        head = engine.heads[one.head]
        if one.outcome != "accepted" or one.stage not in ("compact", "summarise"):
            continue
        written = [item for item in head if isinstance(item, Written)]
        if not written:
            continue
        first = found[0].first_through_seq if found else max(item.last_seq for item in written)
        rewrites = found[-1].rewrites + _rewrites(one, arm) if found else 1
        found.append(
            Generation(
                at_seq=one.at_seq,
                summaries=tuple(item.message.text for item in written),
                verbatim_head=frozenset(
                    item.event.seq for item in head if isinstance(item, Kept | Shortened)
                ),
                first_through_seq=first,
                rewrites=rewrites,
            )
        )
    return tuple(found)


def _rewrites(one: CompactionObservation, arm: str) -> int:
    """Whether this compaction wrote the first span down again: unless a segment was appended."""
    return int(arm != LAYERED or one.segments == 1)


def fitted(session: Session, arm: str, target: int, options: Options, first_cap: int) -> Ran:
    """The arm under the cap with which it spends nearest to `target` tokens.

    What is spent grows with the cap but for chance, so the cap is bracketed and then interpolated.
    """
    tried: dict[int, Ran] = {}
    low, high = 0, 0
    cap = first_cap
    best: Ran | None = None
    for _ in range(_FITTING_TRIES):
        if cap in tried:
            break
        ran = tried[cap] = run_arm(session, arm, cap, options)
        spent = ran.spent(options.equal)
        if best is None or abs(spent - target) < abs(best.spent(options.equal) - target):
            best = ran
        if abs(spent - target) <= TOLERANCE / 4 * target:
            break
        if spent < target:
            low = max(low, cap)
        else:
            high = min(high, cap) if high else cap
        cap = _next_cap(cap, spent, target, low, high)
    assert best is not None
    return best


def _next_cap(cap: int, spent: int, target: int, low: int, high: int) -> int:
    guess = round(cap * target / max(1, spent))
    if not high:
        return max(low + 1, min(guess, 4 * cap))
    return guess if low < guess < high else (low + high) // 2


def study(session: Session, facts: Sequence[Fact], options: Options) -> Studied | None:
    """One session through all arms; None when some arm never wrote a summary."""
    layered = run_arm(session, LAYERED, options.summary_tokens_max, options)
    ran = {LAYERED: layered}
    target = layered.spent(options.equal)
    if not target:
        return None
    for arm in (HEAD_TAIL, RESUMMARISE):
        ran[arm] = fitted(session, arm, target, options, options.summary_tokens_max)
    runs = [run for one in ran.values() for run in one.generations]
    if not all(runs):
        return None
    span = min(run[0].first_through_seq for run in runs)
    index = SessionIndex(session)
    said, told = _said_entities(index, span), _facts_told(facts, span)
    counted: dict[tuple[str, str], tuple[Counted, ...]] = {}
    for arm, own in ran.items():
        first = [_first_summary(index, span, run[0]) for run in own.generations]
        for name, cohorts in (
            (FIRST_SUMMARY, first),
            (SAID, [said] * len(first)),
            (FACTS, [told] * len(first)),
        ):
            counted[name, arm] = _followed(index, span, runs, own, cohorts)
    return Studied(session.id, session.cluster or session.id, ran, counted)


Cohort = list[tuple[Needle, ...]]


def _said_entities(index: SessionIndex, span: int) -> Cohort:
    """The typed entities in the words of the user and the agent."""
    texts = [
        event.message.text
        for event in index.session.events[index.leading_system : span]
        if event.message.role in ("user", "assistant")
    ]
    return _entities(index, span, texts)


def _first_summary(index: SessionIndex, span: int, first: Generation) -> Cohort:
    """The typed entities that a first summary holds."""
    return _entities(index, span, first.summaries)


def _entities(index: SessionIndex, span: int, texts: Iterable[str]) -> Cohort:
    """Those entities of the texts, once each, that the span alone told."""
    needles = {
        Needle(entity.kind, entity.key): None
        for text in texts
        for entity in extract(text, stopped=index.tool_words)
    }
    index.locate(needles)
    return [
        (needle,)
        for needle in needles
        if index.is_within(needle, index.leading_system + 1, span)
        and not index.is_within(needle, 1, index.leading_system)
        and not index.tool_definitions.holds(needle)
    ]


def _facts_told(facts: Sequence[Fact], span: int) -> Cohort:
    """The planted facts whose every source lies in the span: value and aliases of each."""
    return [
        tuple(needle_of(value) for value in (fact.value, *fact.aliases) if value.strip())
        for fact in facts
        if fact.source_seqs and max(fact.source_seqs) <= span
    ]


def _followed(
    index: SessionIndex,
    span: int,
    runs: Sequence[tuple[Generation, ...]],
    own: Ran,
    cohorts: Sequence[Cohort],
) -> tuple[Counted, ...]:
    """Counts cohorts, one a seed, at every generation that all arms and seeds have in one place."""
    found: list[Counted] = []
    for number in range(min(len(run) for run in runs)):
        generation = [run[number] for run in runs]
        at_seq = generation[0].at_seq
        if any(one.at_seq != at_seq for one in generation):
            break
        verbatim = frozenset[int]().union(*(one.verbatim_head for one in generation))
        at_risk = survived = 0
        for cohort, run in zip(cohorts, own.generations, strict=True):
            exposed = [
                needles
                for needles in cohort
                if not any(
                    index.is_within(needle, span + 1, at_seq - 1)
                    or not verbatim.isdisjoint(index.occurrences(needle))
                    for needle in needles
                )
            ]
            at_risk += len(exposed)
            survived += _shown(exposed, run[number].summaries)
        seeds = len(own.generations)
        found.append(Counted(at_risk / seeds, survived / seeds))
    return tuple(found)


def _shown(cohort: Iterable[Sequence[Needle]], summaries: Sequence[str]) -> int:
    texts = [Haystack(normalise(text)) for text in summaries]
    return sum(any(text.holds(one) for text in texts for one in needles) for needles in cohort)

"""What a replay of 20,000 events costs beside a bare tiktoken pass over the same text.

Part `replay` of `python -m tests.benchmarks`. *Cold* means that no text was ever counted on this
machine, *warm* that all were, by an earlier process: in both the process itself remembers nothing.
The strategies' summaries come from a model that answers at once, which is the harness alone; with
"offline" from the stand-in, which reads what it summarises. `prune` by itself stops where nothing
is left to prune, so its figures are those of a part of the session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bench.events import Session
from bench.found_facts import find_uses
from bench.generator import generate_session
from bench.history import History
from bench.judging import Judge
from bench.models import Model, make_model
from bench.observations import Replay
from bench.scoring import score
from bench.session_index import SessionIndex
from tests.benchmarks import measuring
from tests.benchmarks.measuring import Bare, InstantModel, replay_of

EVENTS = 20_000
SEED = 3
REPEATS = 3
LIMITS = {"cold": 1.5, "warm": 0.3, "scoring": 4.0}

WORK: dict[str, tuple[str, Model]] = {
    "keep_all": ("keep_all", InstantModel()),
    "prune": ("prune", InstantModel()),
    "head_tail": ("head_tail", InstantModel()),
    "layered": ("layered", InstantModel()),
    "empty": ("empty", InstantModel()),
    "head_tail, offline": ("head_tail", make_model("offline")),
    "layered, offline": ("layered", make_model("offline")),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Ratios to a bare pass; microseconds an event are those of a warm replay, lookups included."""

    name: str
    cold: float
    cold_fast: float
    warm: float
    microseconds: float
    compactions: int


def measure_replays(
    session: Session, names: Sequence[str], repeats: int, progress: Callable[[str], None]
) -> list[Cost]:
    """The costs of these pieces of work on one session."""
    bare = Bare.over(measuring.texts_of(session))
    costs: list[Cost] = []
    for name in names:
        started = time.perf_counter()
        spec, model = WORK[name]
        work = partial(replay_of, session, spec, model)
        cold: list[float] = []
        cold_fast: list[float] = []
        warm: list[float] = []
        for _ in range(repeats):
            with measuring.caches(counts=True, fast=True):
                cold_fast.append(measuring.ratio_to(bare, work, measuring.forget_everything))
            with measuring.caches(counts=True):
                cold.append(measuring.ratio_to(bare, work, measuring.forget_everything))
                warm.append(measuring.ratio_to(bare, work, measuring.forget_everything))
        seen: Replay = work()
        pass_seconds = bare.seconds()
        costs.append(
            Cost(
                name=name,
                cold=measuring.median(cold),
                cold_fast=measuring.median(cold_fast),
                warm=measuring.median(warm),
                microseconds=measuring.median(warm) * pass_seconds / len(session.events) * 1e6,
                compactions=sum(one.outcome == "accepted" for one in seen.compactions),
            )
        )
        progress(f"{name}: {time.perf_counter() - started:.0f} s")
    return costs


@dataclass(frozen=True, slots=True)
class ScoringCost:
    """Ratios to a bare pass: entity extraction and scoring of one replay, anew and kept."""

    anew: float
    kept: float


def measure_scoring(session: Session, repeats: int) -> ScoringCost:
    """Scores follow a replay, which has counted every text already."""
    bare = Bare.over(measuring.texts_of(session))
    seen = replay_of(session, "head_tail", make_model("offline"))
    history = History(session.events)

    def anew() -> None:
        index = SessionIndex(session)
        score(index, (), find_uses(index), seen, history)

    def judged() -> None:
        judge = Judge.of(session, ())
        assert judge.uses
        judge.scores_of(seen, is_exercised=True)

    def counted() -> None:
        measuring.forget_everything()
        replay_of(session, "keep_all", InstantModel())

    with measuring.caches(counts=True, scores=True):
        first = [measuring.ratio_to(bare, anew, counted) for _ in range(repeats)]
        judged()
        kept = [measuring.ratio_to(bare, judged, counted) for _ in range(repeats)]
    return ScoringCost(measuring.median(first), measuring.median(kept))


def measure(
    events: int, repeats: int, progress: Callable[[str], None]
) -> tuple[list[Cost], ScoringCost, float]:
    """Everything about one synthetic session, and the megabytes of its text."""
    session, _ = generate_session(kind="coding", language="en", events=events, seed=SEED)
    megabytes = sum(len(text.encode()) for text in measuring.texts_of(session)) / 1e6
    costs = measure_replays(session, list(WORK), repeats, progress)
    scoring = measure_scoring(session, repeats)
    progress("scoring measured")
    return costs, scoring, megabytes


def table(costs: Sequence[Cost], scoring: ScoringCost) -> str:
    """Ratios to a bare tiktoken pass, beside their limits."""
    heads = [
        "replay",
        f"cold (at most {LIMITS['cold']})",
        "cold, `fast`",
        f"warm (at most {LIMITS['warm']})",
        "warm, us an event",
        "compactions",
    ]
    rows = [
        [
            one.name,
            f"{one.cold:.2f}",
            f"{one.cold_fast:.2f}",
            f"{one.warm:.2f}",
            f"{one.microseconds:.0f}",
            f"{one.compactions:,}",
        ]
        for one in costs
    ]
    entities = (
        f"Entity extraction and scoring of one replay: {scoring.anew:.2f} passes (at most "
        f"{LIMITS['scoring']:g}), {scoring.kept:.2f} when an earlier run on this machine kept them."
    )
    return f"{measuring.markdown_table(heads, rows)}\n\n{entities}"

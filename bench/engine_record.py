"""Judgement: how one try at compacting is written down, and the heads that it refers to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.engine_asking import MeteredAsk
from bench.engine_coverage import Coverage, coverage, diagnostics_of, written_count
from bench.observations import CompactionObservation, Outcome
from bench.projection import Item, Projection
from bench.strategy import Budget

_HEADS_COMPARED = 4


@dataclass(frozen=True, slots=True)
class Tried:
    """One try: what it was made of, what it cost, what became of it.

    `after` is what stands afterwards, the view itself unless the outcome is "accepted".
    """

    view: Projection
    after: Projection
    budget: Budget
    request: int
    ask: MeteredAsk
    outcome: Outcome
    reason: str
    violations: tuple[str, ...] = ()
    repetition: int = 0

    @property
    def is_accepted(self) -> bool:
        """True when the result counts."""
        return self.outcome == "accepted"


class Heads:
    """The heads of a replay in the order in which they were first seen; the empty one is first."""

    def __init__(self) -> None:
        self.known: list[tuple[Item, ...]] = [()]

    def index(self, projection: Projection) -> int:
        """The place of the projection's head, entered when it is new.

        A result that serves one request only is often made again for the next, so equal heads
        among the newest are one head.
        """
        known, head = self.known, projection.head
        if known[-1] is head:
            return len(known) - 1
        newest = range(len(known) - 1, max(-1, len(known) - 1 - _HEADS_COMPARED), -1)
        for index in newest:
            if known[index] is head:
                return index
        for index in newest:
            if known[index] == head:
                return index
        known.append(head)
        return len(known) - 1


def observed(
    tried: Tried,
    heads: Heads,
    generation: int,
    true_tokens: Callable[[Projection], int],
    estimate: Callable[[Projection], int],
) -> CompactionObservation:
    """The observation of one try; `generation` counts the accepted summaries, this one included."""
    view, after, budget, ask = tried.view, tried.after, tried.budget, tried.ask
    diagnostics = diagnostics_of(after) if tried.is_accepted else {}
    segments = diagnostics["segments"] if "segments" in diagnostics else written_count(after)
    covered = coverage(view, after) if tried.is_accepted else Coverage()
    head_before = heads.index(view)
    return CompactionObservation(
        request=tried.request,
        at_seq=view.stop + 1,
        trigger=budget.trigger,
        phase=str(diagnostics.get("phase", budget.phase)),
        stage=budget.stage,
        outcome=tried.outcome,
        reason=tried.reason,
        generation=int(diagnostics.get("generation", generation)),
        segments=int(segments),
        covered_messages=covered.items,
        covered_first_seq=covered.first_seq,
        covered_last_seq=covered.last_seq,
        tokens_before=true_tokens(view),
        tokens_after=true_tokens(after),
        estimate_before=budget.size_tokens,
        estimate_after=estimate(after),
        asked=ask.asked,
        ask_input_tokens=ask.input_tokens,
        ask_output_tokens=ask.output_tokens,
        head_before=head_before,
        head=heads.index(after),
        violations=tried.violations,
        details=diagnostics,
        ask_cached_tokens=ask.cached_tokens,
        repetition=tried.repetition,
        tail_start=after.tail_start,
    )

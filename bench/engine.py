"""Judgement: when a strategy fires, what becomes of its result, how a refused request is rescued.

One engine runs the `Policy` of every strategy: trigger, stages in order, low-water mark, recovery
and the acceptance gate are data. A fault at any point leaves the old projection (H8).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from bench.engine_asking import MeteredAsk
from bench.engine_boundary import AcceptedBoundary
from bench.engine_coverage import diagnostics_of
from bench.engine_policy import estimator_of, policy_of, threshold_of
from bench.engine_record import Heads, Tried, observed
from bench.events import Event, Session
from bench.invariants import violations
from bench.observations import CompactionObservation, Outcome, Retries
from bench.projection import Item, Native, Projection, Written
from bench.provider import Provider, ProviderError
from bench.sizes import ProjectionSizes
from bench.strategy import (
    Budget,
    Declined,
    Phase,
    Stage,
    Strategy,
    Trigger,
    Usage,
)

# Without the constructor of a named tuple, which takes twice as long: some are made a request.
_tuple = tuple.__new__

OnAccepted: TypeAlias = Callable[[Projection, Stage], tuple[Outcome, str]]


class Prepared(NamedTuple):
    """What to send now, and what the next request starts from (`lasting`).

    A tuple, since one is made for every request: frozen dataclasses take twice as long to make.
    `outcomes` names what the stages came to, in order; `is_due` is false when nothing was tried.
    """

    lasting: Projection
    sent: Projection
    outcomes: tuple[Outcome, ...] = ()
    is_due: bool = False


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a refused request: `prepared` None means that it isn't sent again.

    `is_spent` tells whether the turn's allowance is used up, `reason` why there is no retry. When
    something was tried in vain, `lasting` is what the next request starts from.
    """

    prepared: Prepared | None
    is_spent: bool
    reason: str = ""
    lasting: Projection | None = None


def _decisive(outcomes: Sequence[Outcome]) -> Outcome:
    """What several stages came to: a success, else the last that did anything at all."""
    if "accepted" in outcomes:
        return "accepted"
    return next((each for each in reversed(outcomes) if each != "nothing"), "nothing")


class Engine:
    """Runs one strategy over one session.

    `low_water` and `recoveries` belong to one turn, `accepted` to the provider's route (F9), so
    whoever keeps a conversation saves them and sets them again. `on_accepted` is asked before a
    result counts: it may keep it, or refuse it with an outcome and a reason (F8.5). `repeat` is how
    often each span is summarised in a row: twice and more is a cascade of summaries.
    """

    def __init__(
        self,
        strategy: Strategy,
        provider: Provider,
        session: Session,
        *,
        forced_requests: frozenset[int] | None = None,
        repeat: int = 1,
    ) -> None:
        self.policy = policy_of(strategy)
        self.threshold = threshold_of(self.policy, provider.window)
        self.low_water = 0
        self.recoveries = 0
        self.generation = 0
        self._accepted: AcceptedBoundary | None = None
        self._served: tuple[Projection, Usage] | None = None
        self.on_accepted: OnAccepted | None = None
        self.compactions: list[CompactionObservation] = []
        self.retries = Retries()
        self._strategy = strategy
        self._provider = provider
        self._session = session
        own_requests = self.policy.at_requests
        self._forced_requests = forced_requests if own_requests is None else frozenset(own_requests)
        self._waived = frozenset(name for name, _ in self.policy.waives)
        self._estimator = estimator_of(strategy)
        self._heads = Heads()
        self._repeat = repeat
        self._repetition = 0
        # The last projection whose size was asked for, where sizes are no matter of usage.
        self._sized: tuple[Projection | None, int] = (None, 0)
        # The newest projection in which the gate found nothing.
        self._sound: Projection | None = None
        self._sizes = ProjectionSizes(self._estimator.message_units, native_size=self._native_units)
        self._fixed_units = self._estimator.envelope_units
        if self.policy.count_tools:
            self._fixed_units += self._estimator.tools_units(session.tools)

    def expect(self, events: Sequence[Event]) -> None:
        """These events will be told next: they are measured now, in one go."""
        self._sizes.expect(events)

    def begin_turn(self) -> None:
        """A user spoke: the low-water mark and the recovery allowance start anew (Z8, Z10)."""
        self.low_water = 0
        self.recoveries = 0

    def served(self, sent: Projection, usage: Usage) -> None:
        """The provider accepted `sent`: remember how far it came and what it counted (F9.1)."""
        self._served = (sent, usage)

    @property
    def accepted(self) -> AcceptedBoundary | None:
        """The newest request that this route served; None before the first (F9)."""
        # Most requests are followed by another before anybody asks.
        if self._served is not None:
            sent, usage = self._served
            self._accepted = _tuple(
                AcceptedBoundary,
                (sent.stop, usage.input_tokens, usage.output_tokens, self._units(sent)),
            )
            self._served = None
        return self._accepted

    @accepted.setter
    def accepted(self, boundary: AcceptedBoundary | None) -> None:
        self._accepted, self._served = boundary, None

    def size(self, projection: Projection) -> int:
        """The strategy's estimate of a request with this projection."""
        if not self.policy.anchor_to_usage:
            sized = self._sized
            if projection is not sized[0]:
                tokens = self._estimator.tokens(self._units(projection))
                sized = self._sized = (projection, tokens)
            return sized[1]
        served = self._served
        if served is not None:
            sent, usage = served
            # Asked first: the units of the last request are still at hand.
            input_tokens, last_units = usage.input_tokens, self._units(sent)
            units = last_units if sent is projection else self._units(projection)
        else:
            units, last = self._units(projection), self._accepted
            if last is None:
                return self._estimator.tokens(units)
            input_tokens, last_units = last.input_tokens, last.payload_units
        difference = self._estimator.tokens(abs(units - last_units))
        return max(0, input_tokens + (difference if units >= last_units else -difference))

    def _units(self, projection: Projection) -> int:
        return self._fixed_units + self._sizes.total(projection)

    def _native_units(self, native: Native) -> int:
        """The fewest units that make as many tokens as the state's maker says that it costs."""
        tokens = self._estimator.tokens
        units_max = 1
        while tokens(units_max) < native.tokens:
            units_max *= 2
        return bisect_left(range(units_max), native.tokens, key=tokens)

    def prepare(self, projection: Projection, request: int) -> Prepared:
        """Before a request: compact when it is due. The result may still be too large."""
        if not self.policy.stages or self._provider.window <= 0:
            return _tuple(Prepared, (projection, projection, (), False))
        size = self.size(projection)
        if self._forced_requests is not None:
            is_due = request in self._forced_requests
        else:
            is_guarded = self.policy.low_water and self.low_water > 0 and size <= self.low_water
            is_due = size > self.threshold and not is_guarded
        if not is_due:
            return _tuple(Prepared, (projection, projection, (), False))
        target = 0 if self._forced_requests is not None else self.threshold
        prepared = self._run_stages(projection, self.policy.stages, "budget", request, target)
        prepared = self._repeated(prepared, request)
        last = prepared.outcomes[-1] if prepared.outcomes else "nothing"
        if last not in ("failed", "suppressed"):
            self.low_water = self.size(prepared.lasting)
        return prepared

    def is_overflow(self, error: ProviderError) -> bool:
        """Whether this strategy takes a refusal for an input that was too long (Z9, F2.2)."""
        if self.policy.overflow_text is not None:
            return self.policy.overflow_text(error.text)
        return error.kind == "input_overflow"

    def recover(
        self, projection: Projection, request: int, lasting: Projection | None = None
    ) -> Recovery:
        """After an overflow: compact whatever the estimate says, at most once a turn (Z9, F2.4).

        `projection` was refused; `lasting` is what the next request would have started from.
        """
        if self._provider.window <= 0 or not self.policy.recovery_stages:
            return Recovery(None, False, "this strategy doesn't recover")
        if self.recoveries >= self.policy.recoveries_per_turn:
            return Recovery(None, False, "the recovery of this turn is used up")
        stages = self.policy.recovery_stages
        prepared = self._run_stages(
            projection, stages, "provider", request, self.threshold, lasting
        )
        decisive = _decisive(prepared.outcomes)
        is_spent = decisive in self.policy.spent_by
        self.recoveries += is_spent
        if decisive != "accepted":
            found = "nothing to compact"
            if decisive != "nothing":
                found = f"{decisive}: {self.compactions[-1].reason}"
            return Recovery(None, is_spent, found, prepared.lasting)
        prepared = self._repeated(prepared, request)
        self.low_water = self.size(prepared.lasting)
        self.retries = replace(self.retries, overflow=self.retries.overflow + 1)
        return Recovery(prepared, is_spent)

    def compact_now(self, projection: Projection, request: int) -> Prepared:
        """Manual compaction of an idle session (F2.3)."""
        return self._run_stages(projection, self.policy.stages, "manual", request, 0)

    def _repeated(self, prepared: Prepared, request: int) -> Prepared:
        """The same span compacted again with nothing in between, until nothing comes of it.

        A summary of a summary needn't be shorter to be one, so no gain is asked of it.
        """
        if self._repeat <= 1:
            return prepared
        stages = [replace(one, must_shrink=False) for one in self.policy.stages if one.is_lasting]
        outcomes = prepared.outcomes
        for repetition in range(1, self._repeat):
            if "accepted" not in outcomes:
                break
            self._repetition = repetition
            again = self._run_stages(prepared.lasting, stages, "manual", request, 0)
            outcomes = again.outcomes
            if "accepted" in outcomes:
                prepared = prepared._replace(lasting=again.lasting, sent=again.sent)
        self._repetition = 0
        return prepared

    def _run_stages(
        self,
        projection: Projection,
        stages: Sequence[Stage],
        trigger: Trigger,
        request: int,
        target: int,
        lasting: Projection | None = None,
    ) -> Prepared:
        """Tries the stages in order until one gets the size to `target` or below.

        What serves one request only is for a request that would be too large: manual compaction
        goes without, and so does a forced one that isn't over the threshold.
        """
        sent = projection
        lasting = projection if lasting is None else lasting
        outcomes: list[Outcome] = []
        for attempt, stage in enumerate(stages, start=1):
            is_needed = trigger != "manual" and (
                target == self.threshold or self.size(sent) > self.threshold
            )
            if not stage.is_lasting and not is_needed:
                continue
            outcome, candidate = self._try(sent, stage, trigger, request, attempt)
            outcomes.append(outcome)
            if outcome == "accepted":
                sent = candidate
                lasting = candidate if stage.is_lasting else lasting.remember(candidate.memory)
            else:
                lasting = lasting.remember(candidate.memory)
                sent = sent.remember(candidate.memory)
            if outcome == "accepted" and self.size(sent) <= target:
                break
        return Prepared(lasting, sent, tuple(outcomes), is_due=True)

    def _try(
        self, view: Projection, stage: Stage, trigger: Trigger, request: int, attempt: int
    ) -> tuple[Outcome, Projection]:
        """One stage. On any outcome but "accepted" the projection is the view, memory apart."""
        ask = MeteredAsk(self._provider)
        budget = self._budget(view, stage, trigger, attempt)
        broken: tuple[str, ...] = ()
        candidate: Projection | None = None
        outcome: Outcome
        try:
            answer: object = self._strategy.compact(view, budget, ask)
            if answer is not None and not isinstance(answer, Projection):
                raise TypeError(f"compact returned {type(answer).__name__}, not a Projection")
            candidate = answer
        except Declined as declined:
            outcome, reason = declined.kind, declined.reason
            if declined.memory is not None:
                view = view.remember(declined.memory)
            broken = tuple(one for one in declined.violations if one[:2] not in self._waived)
            self._count_retries(declined.repairs, declined.replans, outcome == "suppressed")
        except ProviderError as error:
            outcome, reason = "failed", f"{error.kind}: {error.text}"
        except Exception as error:
            # H8: whatever a strategy does, the projection that was valid stays.
            outcome, reason = "failed", f"strategy raised {type(error).__name__}: {error}"
        else:
            if candidate is None and ask.asked == 0:
                return "nothing", view
            candidate = view if candidate is None else candidate
            outcome, reason, broken = self._judge(view, candidate, stage, ask.asked > 0)
            if outcome == "accepted" and self.on_accepted is not None:
                outcome, reason = self.on_accepted(candidate, stage)
        if outcome == "nothing" and candidate is not None:
            return outcome, view.remember(candidate.memory)
        after = candidate if outcome == "accepted" and candidate is not None else view
        repetition = self._repetition
        self._record(Tried(view, after, budget, request, ask, outcome, reason, broken, repetition))
        return outcome, after

    def _judge(
        self, view: Projection, candidate: Projection, stage: Stage, is_paid: bool
    ) -> tuple[Outcome, str, tuple[str, ...]]:
        """The acceptance gate: valid, and smaller than what it replaces (H2, F8.6)."""
        if candidate.history is not view.history or candidate.stop != view.stop:
            foreign = "H3: the result is no projection of the history as far as it was told"
            return "rejected", foreign, (foreign,)
        # A paid try that changed nothing is one that didn't shrink: its tokens count (Z12).
        if not is_paid and candidate.shows_the_same_as(view):
            return "nothing", "nothing changed", ()
        last = self._sound
        is_sound = last is not None and last.head is view.head and last.history is view.history
        sound_head = view.head if is_sound else ()
        broken = violations(candidate, self._waived, on_the_wire=False, sound_head=sound_head)
        if not broken and not self._waived:
            self._sound = candidate
        if broken and stage.must_be_valid:
            return "rejected", broken[0], broken
        if stage.must_shrink and self._units(candidate) >= self._units(view):
            return "rejected", "not smaller than what it replaces", ()
        return "accepted", "", broken

    def _budget(self, view: Projection, stage: Stage, trigger: Trigger, attempt: int) -> Budget:
        newest: Event | None = view.history[view.stop - 1] if view.stop else None
        now = 0.0 if newest is None else float(newest.timestamp or newest.seq)
        phase: Phase = "standalone" if trigger == "manual" else "automatic"
        return Budget(
            window=self._provider.window,
            threshold_tokens=self.threshold,
            size_tokens=self.size(view),
            trigger=trigger,
            stage=stage.name,
            phase=phase,
            route=self._provider.route,
            model=self._provider.model,
            session=self._session.id,
            accepted_seq=self.accepted.seq if self.accepted is not None else None,
            attempt=attempt,
            now=now,
            tools=self._session.tools,
            seed=int(getattr(self._provider, "seed", 0)),
        )

    def _count_retries(self, repairs: int, replans: int, is_suppressed: bool) -> None:
        if not (repairs or replans or is_suppressed):
            return
        self.retries = replace(
            self.retries,
            repair=self.retries.repair + repairs,
            replan=self.retries.replan + replans,
            suppressed=self.retries.suppressed + is_suppressed,
        )

    @property
    def heads(self) -> Sequence[tuple[Item, ...]]:
        """All heads that were sent or tried, each once; observations refer to them by index."""
        return self._heads.known

    def head_index(self, projection: Projection) -> int:
        """The place of the projection's head in `heads`, entered when it is new."""
        return self._heads.index(projection)

    def _record(self, tried: Tried) -> None:
        """Writes down one try."""
        if tried.is_accepted:
            found = diagnostics_of(tried.after)
            self.generation += any(isinstance(each, (Written, Native)) for each in tried.after.head)
            self._count_retries(int(found.get("repairs", 0)), int(found.get("replans", 0)), False)
        self.compactions.append(
            observed(tried, self._heads, self.generation, self._provider.measure, self.size)
        )

"""One engine for every policy: trigger, stages, low-water mark, recovery, gate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from bench.engine import Engine
from bench.engine_policy import threshold_of
from bench.events import Message
from bench.history import History
from bench.models import OfflineModel
from bench.projection import Native, Projection
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.replay import forced_requests, replay
from bench.strategy import Ask, Budget, Declined, Estimator, Policy, Reply, Stage, Usage
from tests.builders import long_session, session

Compact = Callable[[Projection, Budget, Ask], Projection | None]

CHARACTERS = Estimator("characters", lambda m: len(m.text), lambda tools: 100 * len(tools))


@dataclass
class Scripted:
    """A strategy whose stages are functions."""

    stages: dict[str, Compact]
    policy: Policy
    estimator: Estimator = CHARACTERS
    calls: list[tuple[str, str, int]] = field(default_factory=list)

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        self.calls.append((budget.stage, budget.trigger, budget.attempt))
        return self.stages[budget.stage](view, budget, ask)


def keep_two(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
    return view.keep(view.groups[-2:])


def nothing(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
    return None


def fails(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
    raise Declined("summariser broke", memory={"failed": True})


def suppressed(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
    raise Declined("it failed before", kind="suppressed")


def grows(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
    return view.summarise(view.groups[1:2], "long " * 5_000)


def halves(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
    return view.keep(view.groups[len(view.groups) // 2 :])


def one_stage(compact: Compact, **policy: object) -> Scripted:
    return Scripted({"compact": compact}, Policy(**policy))  # type: ignore[arg-type]


def engine_for(
    strategy: Scripted, window: int = 1_000, steps: int = 10
) -> tuple[Engine, Projection]:
    told = long_session(steps, words_per_result=20)
    provider = SimulatedProvider(OfflineModel(), window)
    view = Projection.whole(History(told.events[:-1]))
    return Engine(strategy, provider, told), view


@pytest.mark.parametrize(
    ("policy", "threshold"),
    [
        (Policy(), 800),
        (Policy(threshold_fraction=0.7), 700),
        (Policy(threshold_tokens=123), 123),
        (Policy(threshold_tokens=123, reserve_tokens=100), 900),
        (Policy(reserve_tokens=5_000), 0),
    ],
)
def test_threshold(policy: Policy, threshold: int) -> None:
    assert threshold_of(policy, 1_000) == threshold


def test_trigger_is_strict() -> None:
    for threshold_is_reached, fires in ((0, False), (-1, True)):
        strategy = one_stage(keep_two)
        engine, view = engine_for(strategy)
        engine.threshold = engine.size(view) + threshold_is_reached
        assert engine.prepare(view, 0).is_due is fires


def test_stages_run_in_order_until_one_gets_below() -> None:
    stages = {"free": nothing, "cheap": halves, "hard": keep_two}
    policy = Policy(stages=(Stage("free"), Stage("cheap"), Stage("hard")), threshold_tokens=10)
    strategy = Scripted(stages, policy)
    engine, view = engine_for(strategy)
    prepared = engine.prepare(view, 0)
    assert prepared.outcomes == ("nothing", "accepted", "accepted")
    assert [one.stage for one in engine.compactions] == ["cheap", "hard"]
    assert [attempt for _, _, attempt in strategy.calls] == [1, 2, 3]
    engine.threshold = engine.size(view) - 1
    engine.begin_turn()
    assert engine.prepare(view, 1).outcomes == ("nothing", "accepted")


def test_stage_for_one_request_only_leaves_the_next_as_it_was() -> None:
    policy = Policy(stages=(Stage("compact", is_lasting=False),), threshold_tokens=10)
    engine, view = engine_for(Scripted({"compact": keep_two}, policy))
    prepared = engine.prepare(view, 0)
    assert prepared.lasting.items == view.items
    assert len(prepared.sent.items) < len(view.items)


def test_low_water_mark_stops_asking_until_the_history_grows() -> None:
    strategy = one_stage(keep_two, threshold_tokens=10)
    engine, view = engine_for(strategy)
    small = engine.prepare(view, 0).lasting
    assert engine.low_water == engine.size(small)
    assert not engine.prepare(small, 1).is_due
    engine.begin_turn()
    assert engine.prepare(small, 2).is_due


def test_useless_result_moves_the_mark_and_a_failure_leaves_it() -> None:
    engine, view = engine_for(one_stage(grows, threshold_tokens=10))
    assert engine.prepare(view, 0).outcomes == ("rejected",)
    assert engine.low_water == engine.size(view)
    engine, view = engine_for(one_stage(fails, threshold_tokens=10))
    assert engine.prepare(view, 0).outcomes == ("failed",)
    assert engine.low_water == 0


def test_policy_without_low_water_asks_every_time() -> None:
    strategy = one_stage(fails, threshold_tokens=10, low_water=False)
    engine, view = engine_for(strategy)
    for request in range(3):
        engine.prepare(view, request)
    assert len(strategy.calls) == 3


def test_refusal_keeps_the_projection_and_its_memory_is_remembered() -> None:
    engine, view = engine_for(one_stage(fails, threshold_tokens=10))
    prepared = engine.prepare(view, 0)
    assert prepared.lasting.items == view.items
    assert prepared.lasting.memory == {"failed": True}
    assert engine.compactions[0].reason == "summariser broke"


@pytest.mark.parametrize(
    ("compact", "is_spent", "reason"),
    [
        (nothing, False, "nothing to compact"),
        (grows, False, "rejected: not smaller than what it replaces"),
        (fails, True, "failed: summariser broke"),
        (suppressed, False, "suppressed: it failed before"),
    ],
)
def test_recovery_that_gets_nowhere(compact: Compact, is_spent: bool, reason: str) -> None:
    engine, view = engine_for(one_stage(compact))
    recovery = engine.recover(view, 0)
    assert (recovery.prepared, recovery.is_spent, recovery.reason) == (None, is_spent, reason)


def test_recovery_says_what_a_stage_did_and_not_that_others_did_nothing() -> None:
    policy = Policy(recovery_stages=(Stage("first"), Stage("second", is_lasting=False)))
    engine, view = engine_for(Scripted({"first": suppressed, "second": nothing}, policy))
    recovery = engine.recover(view, 0)
    assert (recovery.prepared, recovery.reason) == (None, "suppressed: it failed before")


def test_recovery_is_allowed_once_a_turn() -> None:
    engine, view = engine_for(one_stage(halves))
    first = engine.recover(view, 0)
    assert first.prepared is not None
    assert first.is_spent
    assert engine.retries.overflow == 1
    assert engine.recover(first.prepared.lasting, 1).reason == (
        "the recovery of this turn is used up"
    )
    engine.begin_turn()
    assert engine.recover(first.prepared.lasting, 2).prepared is not None


def test_unspent_recovery_can_be_tried_again_when_the_history_is_longer() -> None:
    engine, view = engine_for(one_stage(nothing))
    assert not engine.recover(view, 0).is_spent
    engine._strategy = one_stage(halves)
    assert engine.recover(view, 1).prepared is not None


def test_size_is_anchored_to_what_the_provider_counted() -> None:
    engine, view = engine_for(one_stage(nothing, anchor_to_usage=True))
    estimate = engine.size(view)
    engine.served(view, Usage(input_tokens=7_000))
    assert engine.size(view) == 7_000
    shorter = view.keep(view.groups[-2:])
    assert engine.size(shorter) == 7_000 - (estimate - CHARACTERS.tokens(
        sum(CHARACTERS.message_units(m) for m in shorter.messages)
    ))  # fmt: skip
    engine.served(view, Usage(input_tokens=5))
    assert engine.size(shorter) == 0


def test_native_state_counts_the_units_that_make_its_tokens() -> None:
    quarters = Estimator("quarters", lambda m: 0, lambda tools: 0, lambda units: -(-units // 4))
    strategy = one_stage(nothing)
    strategy.estimator = quarters
    engine, view = engine_for(strategy)
    shown = view.with_items([Native("simulated", "{}", 1, view.stop, 250)])
    assert engine.size(shown) == 250
    engine.served(shown, Usage(300))
    assert engine.accepted is not None
    assert engine.accepted.payload_units == 997


def test_tools_count_where_the_policy_says_so() -> None:
    from dataclasses import replace

    from bench.events import ToolDefinition

    told = replace(long_session(2), tools=(ToolDefinition("a"), ToolDefinition("b")))
    provider = SimulatedProvider(OfflineModel(), 1_000)
    view = Projection.whole(History(told.events))
    with_tools = Engine(one_stage(nothing), provider, told)
    without = Engine(one_stage(nothing, count_tools=False), provider, told)
    assert with_tools.size(view) - without.size(view) == 200


def test_overflow_by_underestimation_is_rescued_and_counted() -> None:
    blind = Estimator("blind", lambda m: 1, lambda tools: 0)
    strategy = Scripted({"compact": keep_two}, Policy(), blind)
    told = long_session(30, words_per_result=50)
    seen = replay(told, strategy, SimulatedProvider(OfflineModel(), 1_000))
    assert seen.stopped is not None, "a second overflow in the same turn can't be rescued"
    assert seen.retries.overflow == 1
    many_turns = long_session(3, words_per_result=50, turns=10)
    seen = replay(many_turns, strategy, SimulatedProvider(OfflineModel(), 1_000))
    assert seen.stopped is None
    assert seen.retries.overflow == sum(
        one.trigger == "provider" and one.outcome == "accepted" for one in seen.compactions
    )
    assert seen.retries.overflow >= 2


def test_stopped_replay_says_where_and_why() -> None:
    seen = replay(long_session(30), one_stage(nothing), SimulatedProvider(OfflineModel(), 1_000))
    assert seen.stopped is not None
    assert seen.stopped.at_request == len(seen.requests) - 1
    assert "maximum context length" in seen.stopped.reason
    assert "nothing to compact" in seen.stopped.reason
    assert [one.is_served for one in seen.requests][-2:] == [True, False]
    assert seen.requests_total == 31


def test_forced_cuts_are_evenly_spaced_and_ignore_the_threshold() -> None:
    assert forced_requests(100, 3) == {25, 50, 75}
    assert forced_requests(100, None) is None
    strategy = one_stage(halves)
    seen = replay(long_session(20), strategy, SimulatedProvider(OfflineModel(), 1_000_000), cuts=3)
    assert [one.request for one in seen.compactions] == [5, 10, 16]


@pytest.mark.parametrize(
    ("threshold", "stages"), [(100_000, ["lasting"]), (10, ["lasting", "once"])]
)
def test_forced_cut_runs_what_serves_one_request_only_above_the_threshold(
    threshold: int, stages: list[str]
) -> None:
    policy = Policy(
        stages=(Stage("lasting"), Stage("once", is_lasting=False)), threshold_tokens=threshold
    )
    strategy = Scripted({"lasting": halves, "once": keep_two}, policy)
    seen = replay(long_session(20), strategy, SimulatedProvider(OfflineModel(), 1_000_000), cuts=1)
    assert [one.stage for one in seen.compactions] == stages


def test_manual_compaction_at_the_end() -> None:
    told = long_session(10)
    provider = SimulatedProvider(OfflineModel(), 1_000_000)
    seen = replay(told, one_stage(halves), provider, manual=True)
    assert seen.final is not None
    assert [one.trigger for one in seen.compactions] == ["manual"]
    assert seen.compactions[0].phase == "standalone"
    assert len(seen.final.items) < len(told.events)


def test_budget_tells_the_newest_accepted_event_and_logical_time() -> None:
    budgets: list[Budget] = []

    def watches(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        budgets.append(budget)
        return None

    told = session("user: go", "call a", "result a: 1", "call b", "result b: 2", "assistant: x")
    replay(told, one_stage(watches, threshold_tokens=0, low_water=False),
           SimulatedProvider(OfflineModel(), 1_000))  # fmt: skip
    assert [budget.accepted_seq for budget in budgets] == [None, 1, 3]
    assert [budget.now for budget in budgets] == [1.0, 3.0, 5.0]
    assert {budget.session for budget in budgets} == {"by-hand"}


def test_questions_are_metered_even_when_the_answer_is_useless() -> None:
    def asks(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        ask([Message("user", "Summarise this: the gate is blue.")], output_tokens_max=50)
        raise Declined("no good", kind="rejected", repairs=1, replans=2)

    engine, view = engine_for(one_stage(asks, threshold_tokens=10))
    engine.prepare(view, 0)
    seen = engine.compactions[0]
    assert seen.asked == 1
    assert seen.ask_input_tokens > 0
    assert (engine.retries.repair, engine.retries.replan) == (1, 2)
    assert seen.outcome == "rejected"


def test_provider_error_inside_a_strategy_is_a_failed_try() -> None:
    class Broken(SimulatedProvider):
        def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
            raise ProviderError("rate_limit", "too many tokens per minute", status=429)

    def asks(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        ask([Message("user", "x")], output_tokens_max=5)
        return None

    told = long_session(3)
    engine = Engine(one_stage(asks, threshold_tokens=0), Broken(OfflineModel(), 900), told)
    assert engine.prepare(Projection.whole(History(told.events)), 0).outcomes == ("failed",)
    assert engine.compactions[0].reason.startswith("rate_limit")


def test_only_an_overflow_is_rescued() -> None:
    class Busy(SimulatedProvider):
        def send(self, projection: Projection) -> Usage:
            raise ProviderError("rate_limit", "slow down: too many tokens", status=429)

    seen = replay(long_session(3), one_stage(halves), Busy(OfflineModel(), 1_000))
    assert seen.compactions == ()
    assert seen.stopped is not None
    assert seen.stopped.reason.startswith("rate_limit")


def test_question_whose_answer_changes_nothing_is_recorded_with_its_cost() -> None:
    def asks_for_nothing(view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        ask([Message("user", "Summarise this.")], output_tokens_max=50)
        return None

    engine, view = engine_for(one_stage(asks_for_nothing, threshold_tokens=10))
    assert engine.prepare(view, 0).outcomes == ("rejected",)
    assert engine.compactions[0].ask_input_tokens > 0

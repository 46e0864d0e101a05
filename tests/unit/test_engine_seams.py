"""What a running conversation needs of the engine: a say before a result counts, and its memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.engine import Engine
from bench.estimators import CHARACTERS
from bench.events import Session
from bench.history import History
from bench.observations import Outcome
from bench.projection import Projection
from bench.replay import attempt_request
from bench.strategy import Ask, Budget, Declined, Policy, Stage
from tests.builders import long_session
from tests.conversation_parts import RoutedProvider

Compact = Callable[[Projection], Projection | None]


@dataclass
class Stages:
    """A strategy whose stages are functions of the view."""

    stages: dict[str, Compact]
    policy: Policy

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        del ask
        return self.stages[budget.stage](view)


def newest(view: Projection) -> Projection:
    return view.keep(view.groups[-2:])


def shortened(view: Projection) -> Projection:
    return view.shorten({item.event.seq: "cut" for item in view.items if item.event.seq > 2})  # type: ignore[union-attr]


def declined(view: Projection) -> Projection:
    raise Declined("in vain", memory={"failed": 1})


def engine_for(
    stages: dict[str, Compact], policy: Policy, *, window: int = 2_000
) -> tuple[Engine, Projection, RoutedProvider]:
    told = long_session(6)
    provider = RoutedProvider(window=window)
    engine = Engine(Stages(stages, policy), provider, Session("s", ()))
    return engine, Projection.whole(History(told.events)), provider


def test_a_result_counts_only_when_it_is_kept() -> None:
    policy = Policy(threshold_tokens=10)
    engine, view, _ = engine_for({"compact": newest}, policy)
    asked: list[tuple[Projection, Stage]] = []

    def refuse(candidate: Projection, stage: Stage) -> tuple[Outcome, str]:
        asked.append((candidate, stage))
        return "rejected", "stale: another one stands"

    engine.on_accepted = refuse
    prepared = engine.prepare(view, 0)
    assert [(each.items, stage.name) for each, stage in asked] == [(newest(view).items, "compact")]
    assert (prepared.outcomes, prepared.lasting) == (("rejected",), view)
    assert engine.compactions[0].reason == "stale: another one stands"
    engine.on_accepted = lambda candidate, stage: ("accepted", "")
    engine.begin_turn()
    assert engine.prepare(view, 1).lasting.items == newest(view).items


def test_what_is_no_good_is_never_offered() -> None:
    policy = Policy(threshold_tokens=10)
    engine, view, _ = engine_for({"compact": lambda view: view.remember({})}, policy)
    engine.on_accepted = lambda candidate, stage: 1 / 0  # type: ignore[assignment,return-value]
    assert engine.prepare(view, 0).outcomes == ("nothing",)


def test_the_boundary_holds_what_the_provider_counted() -> None:
    policy = Policy(threshold_tokens=10**6)
    engine, view, provider = engine_for({}, policy, window=10**6)
    assert engine.accepted is None
    attempt = attempt_request(engine, provider, view, 0)
    assert attempt.refusal is None
    assert engine.accepted is not None
    assert engine.accepted.seq == view.stop
    assert engine.accepted.input_tokens == provider.measure(view)
    assert engine.accepted.output_tokens == 7
    assert engine.accepted.payload_units == sum(
        CHARACTERS.message_units(each) for each in view.messages
    )


def test_what_a_vain_recovery_learned_is_remembered() -> None:
    policy = Policy(threshold_tokens=10**6)
    engine, view, provider = engine_for({"compact": declined}, policy, window=900)
    attempt = attempt_request(engine, provider, view, 0)
    assert attempt.refusal is not None
    assert "failed: in vain" in attempt.refusal
    assert attempt.projection.memory == {"failed": 1}
    assert attempt.projection.items == view.items


def test_what_serves_one_request_only_doesnt_outlast_a_recovery() -> None:
    """The refused projection was shortened already; the next request starts without that."""
    once = Stage("cut", is_lasting=False)
    policy = Policy(
        threshold_tokens=100,
        low_water=False,
        stages=(Stage("compact"), once),
        recovery_stages=(Stage("compact"), Stage("harder", is_lasting=False)),
    )
    stages: dict[str, Compact] = {"compact": declined, "cut": shortened, "harder": newest}
    engine, view, provider = engine_for(stages, policy, window=60)
    attempt = attempt_request(engine, provider, view, 0)
    assert attempt.refusal is None
    assert engine.retries.overflow == 1
    assert provider.sent[0].items == newest(shortened(view)).items
    assert attempt.projection.items == view.items
    assert attempt.projection.memory == {"failed": 1}

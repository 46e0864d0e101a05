"""The strategy under any order of events, compactions, failures, route switches and damage.

After every step: the history is what was told, the projection is one that an API would take, it
never grew by a compaction, coverage never went back, and the lineage is unbroken.
"""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bench.events import Event, Message, ToolCall
from bench.history import History
from bench.invariants import violations
from bench.projection import Native, Projection
from bench.provider import ProviderError
from bench.strategy import Declined
from strategies.layered import Layered
from strategies.layered.checkpoint import InvalidCheckpoint, verify
from strategies.layered.estimate import ESTIMATOR
from strategies.layered.source import sources
from tests.layered_parts import NO_NATIVE, OVERFLOW, Scribe, budget, summary

REPLIES = {
    "good": summary(),
    "bad": "no sections",
    "cut": (summary(), "length"),
    "long": summary("word " * 4_000),
    "overflow": OVERFLOW,
    "busy": ProviderError("rate_limit", "slow down", status=429),
}
SCENARIOS = st.sampled_from(
    (
        ("good",),
        ("good",),
        ("good",),
        ("bad", "good"),
        ("cut", "good"),
        ("overflow", "good"),
        ("bad", "overflow", "good"),
        ("bad", "bad"),
        ("overflow", "overflow"),
        ("long",),
        ("busy",),
    )
)
ROUTES = st.sampled_from(("simulated", "elsewhere"))
WORDS = st.sampled_from(("short", "row of output " * 60, "很长的输出 " * 120))


def size(projection: Projection) -> int:
    return sum(
        item.tokens if isinstance(item, Native) else ESTIMATOR.message_units(item.message)
        for item in projection.items
    )


class Machine(RuleBasedStateMachine):
    """One session with one strategy that tries everything."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Event] = []
        self.view = Projection.whole(History())
        self.strategy = Layered(suppress_after=2)
        self.route = "simulated"
        self.accepted: int | None = None
        self.open_calls: list[str] = []
        self.calls_made = 0
        self.checkpoints: list[str] = [""]
        self.through = 0
        # A session that was tidied while idle goes on with somebody's request.
        self.waits_for_user = False

    def tell(self, message: Message, *, is_meta: bool = False) -> None:
        event = Event(len(self.told) + 1, message, is_meta=is_meta)
        self.told.append(event)
        self.view.history.append(event)
        self.view = self.view.advance()

    @initialize(has_system=st.booleans(), compactor=st.sampled_from(("text", "native")))
    def begin(self, has_system: bool, compactor: str) -> None:
        self.strategy = replace(self.strategy, compactor=compactor)  # type: ignore[arg-type]
        if has_system:
            self.tell(Message("system", "be terse"))
        self.tell(Message("user", "go"))

    @rule(text=WORDS, is_meta=st.booleans())
    def a_user_speaks(self, text: str, is_meta: bool) -> None:
        self.tell(Message("user", text), is_meta=is_meta and not self.waits_for_user)
        self.waits_for_user = False

    @precondition(lambda self: not self.waits_for_user)
    @rule(text=WORDS)
    def the_assistant_answers(self, text: str) -> None:
        self.open_calls = []
        self.tell(Message("assistant", text))

    @precondition(lambda self: not self.waits_for_user)
    @rule(count=st.integers(1, 3), reuses_id=st.booleans())
    def the_assistant_calls(self, count: int, reuses_id: bool) -> None:
        self.calls_made += not reuses_id
        self.open_calls = [f"c{self.calls_made}_{index}" for index in range(count)]
        self.tell(Message("assistant", "", tuple(ToolCall(i, "read") for i in self.open_calls)))

    @precondition(lambda self: not self.waits_for_user)
    @rule(text=WORDS, is_orphan=st.booleans())
    def a_result_comes(self, text: str, is_orphan: bool) -> None:
        call_id = "ghost" if is_orphan or not self.open_calls else self.open_calls.pop()
        self.tell(Message("tool", text, call_id=call_id))

    @precondition(lambda self: not self.waits_for_user)
    @rule(words=st.integers(1, 4))
    def a_whole_step_happens(self, words: int) -> None:
        self.the_assistant_calls(1, False)
        self.a_result_comes("found it " * 100 * words, False)

    @rule(steps=st.integers(1, 3), is_answered=st.booleans())
    def a_turn_is_worked_on(self, steps: int, is_answered: bool) -> None:
        self.a_user_speaks("please " * 30, False)
        for _ in range(steps):
            self.a_whole_step_happens(2)
        if is_answered:
            self.the_assistant_answers("done")

    @rule()
    def the_route_accepts_what_is_shown(self) -> None:
        self.accepted = self.view.stop

    @rule(route=ROUTES)
    def the_route_changes(self, route: str) -> None:
        # An accepted boundary is never shared across routes (F9.3).
        self.accepted = self.accepted if route == self.route else None
        self.route = route

    @rule(
        phase=st.sampled_from(("automatic", "pre_turn", "mid_turn", "standalone")),
        replies=SCENARIOS,
        has_native=st.booleans(),
    )
    def it_compacts(self, phase: str, replies: tuple[str, ...], has_native: bool) -> None:
        state = Native(self.route, '{"blob":1}', 1, max(1, self.view.stop), 30)
        scribe = Scribe(
            [REPLIES[name] for name in replies],
            native_answer=state if has_native else NO_NATIVE,
        )
        asked = replace(
            budget(accepted_seq=self.accepted),
            phase=phase,  # type: ignore[arg-type]
            route=self.route,
        )
        before = self.view
        try:
            found = self.strategy.compact(before, asked, scribe)
        except Declined as declined:
            if declined.memory is not None:
                assert declined.memory["checkpoint"] == (before.memory or {}).get("checkpoint")
                self.view = before.remember(declined.memory)
            return
        if found is None:
            assert not scribe.asked
            return
        self.judge(before, found)

    @rule()
    def a_turn_is_worked_on_and_compacted(self) -> None:
        self.a_turn_is_worked_on(3, False)
        self.it_compacts("automatic", ("good",), False)

    def judge(self, before: Projection, found: Projection) -> None:
        """What the engine's gate asks, and what a checkpoint promises besides."""
        assert violations(found) == ()
        record = found.memory["checkpoint"]
        told = sources(self.told)
        made = verify(record, told, session_id="by-hand", route=self.route)
        assert found.memory["failures"] == []
        if "refused_checkpoint" in found.memory["diagnostics"]:
            assert made.previous_checkpoint_id == ""
        else:
            assert made.previous_checkpoint_id == self.checkpoints[-1]
            assert made.through_seq >= self.through
        if size(found) >= size(before):
            return
        self.view = found
        self.waits_for_user = made.phase == "standalone"
        self.through = made.through_seq
        self.checkpoints.append(made.checkpoint_id)

    @rule(stage=st.sampled_from(("bound_older", "bound_all")))
    def large_results_are_shortened_for_one_request(self, stage: str) -> None:
        found = self.strategy.compact(self.view, budget(stage), Scribe())
        if found is not None:
            assert violations(found) == ()
            assert size(found) < size(self.view)

    @rule(key=st.sampled_from(("schema_version", "summary", "source_digest", "checkpoint_id")))
    def the_memory_is_damaged(self, key: str) -> None:
        memory = json.loads(json.dumps(self.view.memory))
        if not memory or not memory["checkpoint"]:
            return
        memory["checkpoint"][key] = 2 if key == "schema_version" else "damaged"
        try:
            verify(memory["checkpoint"], sources(self.told), session_id="by-hand")
        except InvalidCheckpoint as refused:
            assert refused.failure
        else:
            raise AssertionError(f"a damaged {key} was accepted")
        self.view = self.view.remember(memory)

    @invariant()
    def the_history_is_what_was_told(self) -> None:
        assert list(self.view.events) == self.told

    @invariant()
    def what_is_shown_is_valid(self) -> None:
        if self.told:
            assert violations(self.view) == ()

    @invariant()
    def memory_is_json(self) -> None:
        assert json.loads(json.dumps(self.view.memory)) == self.view.memory


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)

"""The strategy as a whole: triggers, projections, repair, retreat, failures, native state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.engine import Engine
from bench.engine_policy import threshold_of
from bench.events import Event, Message
from bench.history import History
from bench.invariants import violations
from bench.models import OfflineModel
from bench.projection import Kept, Native, Projection, Written
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.strategy import Budget, Declined, Reply, Usage
from strategies.layered import DIVERGENCES, PRESETS, STRATEGIES, Layered
from strategies.layered.failures import FINGERPRINTS_MAX, Failed, with_failure
from tests.builders import long_session, session
from tests.layered_parts import OVERFLOW, Scribe, budget, steps, summary, turns, view_of

LAYERED = Layered()
BUDGET = budget()


def compacted(
    view: Projection, scribe: Scribe, strategy: Layered = LAYERED, asked: Budget = BUDGET
) -> Projection:
    found = strategy.compact(view, asked, scribe)
    assert found is not None
    assert violations(found) == ()
    return found


def declined(
    view: Projection, scribe: Scribe, strategy: Layered = LAYERED, asked: Budget = BUDGET
) -> Declined:
    with pytest.raises(Declined) as refusal:
        strategy.compact(view, asked, scribe)
    return refusal.value


def grown(projection: Projection, *lines: str) -> Projection:
    """The same projection after more was said."""
    for event in session(*lines).events:
        projection.history.append(Event(len(projection.history) + 1, event.message))
    return projection.advance()


class TestProjection:
    def test_f1_1_the_history_stays_and_a_checkpoint_is_added(self) -> None:
        view = view_of("system: be terse", *turns(3))
        before = view.events
        found = compacted(view, Scribe())
        assert found.history is view.history
        assert found.events == before

    def test_f1_3_request_and_newest_step_stay_verbatim(self) -> None:
        view = view_of(*turns(2), *steps(4))
        found = compacted(view, Scribe())
        kept = [item.event.seq for item in found.items if isinstance(item, Kept)]
        assert kept == [9, 16, 17]

    def test_f3_2_checkpoint_then_request_then_newest_step(self) -> None:
        found = compacted(view_of("system: be terse", *turns(1), *steps(4)), Scribe())
        roles = [message.role for message in found.messages]
        assert roles == ["system", "system", "user", "assistant", "tool"]
        written = found.items[1]
        assert isinstance(written, Written)
        assert written.seqs == (2, 12)
        assert summary() in written.message.text

    def test_f6_segments_show_their_index_and_range(self) -> None:
        first = compacted(view_of(*turns(3)), Scribe([summary("one")]))
        later = grown(first, "assistant: fine", *turns(2))
        found = compacted(later, Scribe([summary("two")]))
        text = found.messages[0].text
        assert '<segment index="1" from_seq="1" through_seq="12">' in text
        assert '<segment index="2" from_seq="13" through_seq="22">' in text
        assert text.index("ship one") < text.index("ship two")

    def test_f6_1_the_append_prompt_hides_the_earlier_summary_and_a_merge_shows_it(self) -> None:
        view, seen = view_of(*turns(3)), []
        for number in range(5):
            scribe = Scribe([summary(f"n{number}")])
            view = grown(compacted(view, scribe), "assistant: fine", *turns(2))
            seen.append("previous_checkpoint" in scribe.asked[0][1].text)
        assert seen == [False, False, False, False, True]

    def test_resummarising_merges_every_time(self) -> None:
        view, strategy = view_of(*turns(3)), Layered(mode="resummarise")
        view = grown(compacted(view, Scribe(), strategy), "assistant: fine", *turns(2))
        scribe = Scribe()
        found = compacted(view, scribe, strategy)
        assert "previous_checkpoint" in scribe.asked[0][1].text
        assert found.memory["diagnostics"]["segments"] == 1

    def test_f3_4_a_manual_compaction_covers_an_idle_session(self) -> None:
        manual = replace(budget(), phase="standalone", trigger="manual")
        found = compacted(view_of(*turns(3)[:-1]), Scribe(), asked=manual)
        assert len(found.items) == 1
        still_open = compacted(view_of(*turns(3)), Scribe(), asked=manual)
        assert [message.text for message in still_open.messages][-1] == "now"

    def test_nothing_to_cover_is_nothing_to_do(self) -> None:
        assert Layered().compact(view_of("user: go"), budget(), Scribe()) is None

    def test_f1_5_a_changed_checkpoint_is_refused_by_name_and_history_used(self) -> None:
        first = compacted(view_of(*turns(3)), Scribe([summary("one")]))
        memory = json.loads(json.dumps(first.memory))
        memory["checkpoint"]["schema_version"] = 2
        later = grown(first, "assistant: fine", *turns(2)).remember(memory)
        found = compacted(later, Scribe([summary("two")]))
        assert "ship one" not in found.messages[0].text
        refused = found.memory["diagnostics"]["refused_checkpoint"]
        assert refused.startswith("schema_version: ")

    def test_memory_of_another_shape_is_no_memory(self) -> None:
        for memory in ("x", [], {"failures": 3, "generation": "y"}, {"failures": [1, {}]}):
            found = compacted(view_of(*turns(3)).remember(memory), Scribe())
            assert found.memory["generation"] == 1


class TestSecondTries:
    def test_f5_3_one_shorter_repair_then_given_up(self) -> None:
        scribe = Scribe(["bad", summary()])
        found = compacted(view_of(*turns(3)), scribe)
        assert found.memory["diagnostics"]["repairs"] == 1
        assert "shorter" in scribe.asked[1][1].text
        refusal = declined(view_of(*turns(3)), bad := Scribe(["bad"]))
        assert len(bad.asked) == 2
        assert (refusal.kind, refusal.repairs, refusal.deterministic) == ("failed", 1, True)

    def test_f5_2_a_summary_that_ran_out_of_room_is_repaired(self) -> None:
        found = compacted(view_of(*turns(3)), Scribe([(summary(), "length"), summary()]))
        assert found.memory["diagnostics"]["repairs"] == 1

    def test_f9_2_an_overflow_of_the_request_retreats_to_what_was_accepted(self) -> None:
        scribe = Scribe([OVERFLOW, summary()])
        found = compacted(view_of(*turns(3)), scribe, asked=budget(accepted_seq=5))
        assert found.memory["diagnostics"]["replans"] == 1
        assert found.memory["checkpoint"]["through_seq"] == 5
        assert len(scribe.asked[1][1].text) < len(scribe.asked[0][1].text)

    def test_f9_2_without_a_smaller_boundary_there_is_no_retreat(self) -> None:
        for accepted in (None, 0, 12, 99):
            scribe = Scribe([OVERFLOW])
            refusal = declined(view_of(*turns(3)), scribe, asked=budget(accepted_seq=accepted))
            assert (len(scribe.asked), refusal.replans) == (1, 0)

    def test_f8_6_a_summary_without_savings_is_rejected(self) -> None:
        view = view_of("user: a", "assistant: b", "user: c")
        refusal = declined(view, Scribe())
        assert (refusal.kind, refusal.deterministic) == ("rejected", True)
        assert "no savings" in refusal.reason

    def test_f1_6_f11_1_a_failure_leaves_the_checkpoint_as_it_was(self) -> None:
        first = compacted(view_of(*turns(3)), Scribe())
        later = grown(first, "assistant: fine", *turns(2))
        refusal = declined(later, Scribe(["bad"]))
        assert refusal.memory["checkpoint"] == first.memory["checkpoint"]
        again = compacted(later.remember(refusal.memory), Scribe(), Layered(suppress_after=2))
        assert again.memory["diagnostics"]["segments"] == 2


class TestFailureMemory:
    def test_f11_2_an_equivalent_plan_is_suppressed(self) -> None:
        view = view_of(*turns(3))
        refusal = declined(view, Scribe(["bad"]))
        scribe = Scribe()
        suppressed = declined(view.remember(refusal.memory), scribe)
        assert (suppressed.kind, scribe.asked) == ("suppressed", [])

    def test_f11_2_suppression_may_wait(self) -> None:
        view, patient = view_of(*turns(3)), Layered(suppress_after=2)
        for kind in ("failed", "failed", "suppressed"):
            refusal = declined(view, Scribe(["bad"]), patient)
            assert refusal.kind == kind
            view = view.remember(refusal.memory)

    def test_f11_2_new_history_or_another_prompt_may_be_tried(self) -> None:
        view = view_of(*turns(3))
        view = view.remember(declined(view, Scribe(["bad"])).memory)
        compacted(view, Scribe(), Layered(prompt="Another prompt."))
        compacted(view, Scribe(), asked=replace(budget(), route="another"))
        compacted(grown(view, "assistant: fine", *turns(1)), Scribe())

    def test_f11_2_what_may_pass_is_not_remembered(self) -> None:
        busy = ProviderError("rate_limit", "slow down", status=429)
        refusal = declined(view_of(*turns(3)), Scribe([busy]))
        assert (refusal.deterministic, refusal.memory["failures"]) == (False, [])

    def test_f11_3_sixteen_fingerprints_first_in_first_out(self) -> None:
        failures: tuple[Failed, ...] = ()
        for number in range(20):
            failures = with_failure(failures, f"mark {number}")
        assert len(failures) == FINGERPRINTS_MAX == 16
        assert failures[0].fingerprint == "mark 4"
        assert with_failure(failures, "mark 9")[5] == Failed("mark 9", 2)

    def test_f11_3_a_success_clears_them(self) -> None:
        view = view_of(*turns(3))
        view = view.remember(declined(view, Scribe(["bad"])).memory)
        assert view.memory["failures"]
        found = compacted(grown(view, "assistant: fine", *turns(1)), Scribe())
        assert found.memory["failures"] == []


def native_state(route: str = "simulated", state: str = '{"blob": 1}', tokens: int = 50) -> Native:
    return Native(route, state, 1, 12, tokens)


class TestNative:
    STRATEGY = Layered(compactor="native")

    def test_f7_2_native_state_is_taken_as_it_is_and_bound_to_its_route(self) -> None:
        scribe = Scribe(native_answer=native_state())
        found = compacted(view_of(*turns(3)), scribe, self.STRATEGY)
        item = found.items[0]
        assert isinstance(item, Native)
        assert (item.route, item.state, item.seqs) == ("simulated", '{"blob":1}', (1, 12))
        assert scribe.asked == []
        assert scribe.native_views[0].stop == 12

    def test_f7_3_state_of_another_route_is_never_used(self) -> None:
        first = compacted(view_of(*turns(3)), Scribe(native_answer=native_state()), self.STRATEGY)
        later = grown(first, "assistant: fine", *turns(2))
        elsewhere = replace(budget(), route="elsewhere")
        found = compacted(later, Scribe(), self.STRATEGY, elsewhere)
        assert not any(isinstance(item, Native) for item in found.items)
        diagnostics = found.memory["diagnostics"]
        assert diagnostics["refused_checkpoint"].startswith("native_route_foreign")

    @pytest.mark.parametrize(
        "answer",
        [
            ProviderError("invalid_request", "unsupported", status=404),
            native_state(state="{broken"),
            native_state(route="elsewhere"),
            native_state(tokens=10**6),
        ],
    )
    def test_f7_4_f8_3_unsupported_or_invalid_state_falls_back_to_text(
        self, answer: Native | ProviderError
    ) -> None:
        scribe = Scribe(native_answer=answer)
        found = compacted(view_of(*turns(3)), scribe, self.STRATEGY)
        assert isinstance(found.items[0], Written)
        assert len(scribe.asked) == 1
        assert found.memory["diagnostics"]["refused_native"]

    def test_f7_1_a_text_summariser_starts_from_the_history_and_names_the_native_parent(
        self,
    ) -> None:
        first = compacted(view_of(*turns(3)), Scribe(native_answer=native_state()), self.STRATEGY)
        later = grown(first, "assistant: fine", *turns(2))
        found = compacted(later, Scribe())
        record = found.memory["checkpoint"]
        assert record["previous_checkpoint_id"] == first.memory["checkpoint"]["checkpoint_id"]
        assert record["segments"][0]["from_seq"] == 1


class Provider(SimulatedProvider):
    """The simulated provider with a summariser that answers what the test says."""

    def __init__(self, window: int, text: str | ProviderError) -> None:
        super().__init__(OfflineModel(), window)
        self.text = text
        self.questions = 0

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        self.questions += 1
        if isinstance(self.text, ProviderError):
            raise self.text
        return Reply(self.text, "stop", Usage(10, 10))


class TestInTheEngine:
    def test_f2_1_it_fires_above_the_high_water_mark(self) -> None:
        policy = Layered().policy
        assert threshold_of(policy, 16_000) == 12_000
        assert threshold_of(policy, 200_000) == 200_000 - 16_384
        assert threshold_of(Layered(reserve_tokens=5_000).policy, 16_000) == 11_000
        seen = replay(long_session(40), Layered(), SimulatedProvider(OfflineModel(), 6_000))
        assert seen.stopped is None
        assert max(request.tokens for request in seen.requests) <= 6_000
        assert {c.trigger for c in seen.compactions} == {"budget"}

    def test_f2_2_f2_4_an_overflow_is_recovered_once_a_turn(self) -> None:
        told = session(*turns(12)).events
        provider = Provider(16_000, summary())
        engine = Engine(Layered(), provider, session(*turns(12)))
        view = Projection.whole(History(told))
        first = engine.recover(view, 0)
        assert first.prepared is not None
        assert first.is_spent
        second = engine.recover(first.prepared.sent, 0)
        assert second.prepared is None
        engine.begin_turn()
        later = grown(first.prepared.lasting, "assistant: fine", *turns(12))
        assert engine.recover(later, 1).prepared is not None

    @pytest.mark.parametrize("kind", ["rate_limit", "quota", "output_limit"])
    def test_f1_7_f2_5_only_an_input_overflow_counts(self, kind: str) -> None:
        engine = Engine(Layered(), Provider(16_000, summary()), session("user: go"))
        assert engine.is_overflow(OVERFLOW)
        assert not engine.is_overflow(ProviderError(kind, "context window"))  # type: ignore[arg-type]

    def test_f2_3_it_can_be_asked_by_hand(self) -> None:
        provider = SimulatedProvider(OfflineModel(), 100_000)
        seen = replay(long_session(30), Layered(), provider, manual=True)
        assert [(c.trigger, c.phase) for c in seen.compactions] == [("manual", "standalone")]

    def test_f10_1_one_giant_newest_result_is_shortened_for_the_request_alone(self) -> None:
        told = session("user: go", "call a", "result a: " + "big " * 9_000, "assistant: done")
        provider = SimulatedProvider(OfflineModel(), 6_000)
        seen = replay(told, Layered(), provider)
        assert seen.stopped is None
        stages = [(c.stage, c.outcome) for c in seen.compactions]
        assert stages == [("bound_all", "accepted")]
        assert seen.final is not None
        assert seen.final.messages[2].text == told.events[2].message.text

    def test_f11_2_a_summariser_that_always_fails_is_paid_for_once_a_plan(self) -> None:
        provider = Provider(6_000, "bad")
        told = session(*turns(1, words=100), *steps(12, words=400), "assistant: done")
        seen = replay(told, Layered(), provider)
        outcomes = [c.outcome for c in seen.compactions if c.stage == "compact"]
        assert outcomes.count("failed") > 1
        assert provider.questions == 2 * outcomes.count("failed")
        assert seen.retries.suppressed == outcomes.count("suppressed")

    def test_f11_4_every_try_is_recorded_with_its_figures(self) -> None:
        seen = replay(long_session(40), Layered(), SimulatedProvider(OfflineModel(), 6_000))
        made = [c for c in seen.compactions if c.stage == "compact" and c.outcome == "accepted"]
        assert made
        for number, one in enumerate(made, start=1):
            assert one.trigger == "budget"
            assert one.phase in ("pre_turn", "mid_turn")
            assert one.generation == number
            assert 1 <= one.segments <= 4
            assert one.covered_messages > 0
            assert one.estimate_after < one.estimate_before
            assert {"level", "repairs", "replans"} <= set(one.details)

    def test_f13_3_the_summariser_is_the_sessions_own_model(self) -> None:
        found = compacted(view_of(*turns(3)), Scribe(), asked=replace(budget(), model="mine"))
        assert found.memory["checkpoint"]["model"] == "mine"

    def test_a_replay_is_the_same_twice(self) -> None:
        runs = [
            replay(long_session(40), Layered(), SimulatedProvider(OfflineModel(), 6_000))
            for _ in range(2)
        ]
        assert runs[0].heads == runs[1].heads
        assert runs[0].compactions == runs[1].compactions


class TestDeclared:
    def test_names(self) -> None:
        assert set(STRATEGIES) == {"layered"}
        assert set(PRESETS) == {"foya"}

    def test_every_difference_says_why(self) -> None:
        assert len({each.name for each in DIVERGENCES}) == len(DIVERGENCES)
        assert all(each.original and each.here and each.reason for each in DIVERGENCES)

    @pytest.mark.parametrize("name", ["reserve_tokens", "result_tokens_max", "segments_max"])
    def test_senseless_parameters_are_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match=name):
            Layered(**{name: 0})  # type: ignore[arg-type]

    def test_limits_shrink_with_the_window(self) -> None:
        scribe = Scribe()
        compacted(view_of(*turns(3)), scribe, asked=budget(window=16_000))
        compacted(view_of(*turns(3)), scribe, asked=budget(window=200_000))
        compacted(view_of(*turns(3)), scribe, PRESETS["foya"], budget(window=16_000))  # type: ignore[arg-type]
        assert scribe.caps == [1_000, 4_096, 4_096]

"""`native`: state that only its provider can read, and what the strategy does with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cli.native_options import native_warnings, with_native
from bench.conversation import Conversation
from bench.costs import DEFAULT_PRICES, billed, costs
from bench.engine import Engine
from bench.errors import UsageError
from bench.events import Event, Message, Session
from bench.history import History
from bench.judging import replay_control
from bench.models import LossyModel, OfflineModel
from bench.observations import Replay
from bench.projection import Native, Projection
from bench.provider import Compacted, ProviderError
from bench.providers.sealing import BrokenSeal, seal, unseal
from bench.providers.simulated import SimulatedProvider, message_tokens
from bench.providers.simulated_native import INSTRUCTIONS
from bench.registry import make_strategies
from bench.replay import replay
from bench.strategy import Usage
from bench.testing import check_strategy
from strategies.native import CLEARED, NativeCompaction
from tests.builders import long_session, session
from tests.conversation_parts import OPENING, RoutedProvider, shown, steps, tell
from tests.faulty_sqlite import unsynced
from tests.native_parts import TellingModel, natives, told

MARKED = ("system: Be terse.", "user: fix src/harbour/tide.py, never touch config/prod.yaml")


def marked_session(count: int = 12) -> Session:
    """A session with two names at its beginning, then steps with large results."""
    return session(*MARKED, *steps(0, count, words=60), "user: now the docs", "assistant: done")


def provider(window: int = 2_000, **options: object) -> SimulatedProvider:
    return SimulatedProvider(TellingModel(), window, **options)  # type: ignore[arg-type]


def compacted(arbiter: SimulatedProvider, form: str = "auto") -> tuple[Projection, Native]:
    """A whole session as one state, and the projection that shows it."""
    history = History(marked_session(4).events)
    view = Projection.whole(history, len(history) - 2)
    made = arbiter.native(view, form=form)
    return Projection(history, (made.native,), view.stop, len(history)), made.native


# The seal


@given(st.text(max_size=300), st.text(max_size=20))
def test_what_is_sealed_comes_back_on_its_route(text: str, route: str) -> None:
    assert unseal(seal(text, route=route), route=route) == text


@given(st.text(min_size=8, max_size=80), st.data())
def test_any_change_breaks_the_seal(text: str, data: st.DataObject) -> None:
    sealed = seal(text, route="here")
    place = data.draw(st.integers(0, len(sealed) - 1))
    letter = data.draw(st.sampled_from("Aa0-_=é"))
    changed = sealed[:place] + letter + sealed[place + 1 :]
    if changed != sealed:
        with pytest.raises(BrokenSeal):
            unseal(changed, route="here")
    with pytest.raises(BrokenSeal):
        unseal(sealed, route="there")
    with pytest.raises(BrokenSeal):
        unseal(sealed + "AA", route="here")


# The simulated provider's own state


def test_state_is_opaque_to_everybody_but_its_provider() -> None:
    arbiter = provider()
    view, native = compacted(arbiter)
    assert json.loads(native.state).keys() == {"sealed"}
    for name in ("tide", "harbour", "prod.yaml"):
        assert name not in native.state
    assert "config/prod.yaml" in told(arbiter, view)


@pytest.mark.parametrize(
    "foreign",
    [
        lambda native: replace(native, route="simulated/lossy(0.9)"),
        lambda native: replace(native, state=native.state[:-4] + 'AA"}'),
        lambda native: replace(native, state='{"sealed":"aGk"}'),
        lambda native: replace(native, state="[]"),
        lambda native: replace(native, state="[" * 100_000),
    ],
)
def test_foreign_and_changed_state_is_refused_as_vendors_do(foreign) -> None:  # type: ignore[no-untyped-def]
    arbiter = provider()
    view, native = compacted(arbiter)
    arbiter.send(view)
    broken = replace(view, head=(foreign(native),))
    for refused in (
        lambda: arbiter.send(broken),
        lambda: arbiter.native(broken),
        lambda: told(arbiter, broken),
    ):
        with pytest.raises(ProviderError) as refusal:
            refused()
        assert refusal.value.kind == "invalid_request"
        assert json.loads(refusal.value.body)["error"]["code"] == "invalid_encrypted_content"


def test_another_model_cant_use_the_state() -> None:
    view, native = compacted(provider())
    other = SimulatedProvider(LossyModel(0.9), 2_000)
    renamed = replace(view, head=(replace(native, route=other.route),))
    for one in (view, renamed):
        with pytest.raises(ProviderError, match="could not be verified"):
            other.send(one)


def test_state_costs_what_its_model_reads_whatever_it_claims() -> None:
    arbiter = provider()
    view, native = compacted(arbiter)
    texts = told(arbiter, view).split("now the docs")[0].removesuffix("\n")
    assert native.tokens == message_tokens(Message("user", texts))
    cheaper = replace(view, head=(replace(native, tokens=1),))
    assert arbiter.measure(cheaper) == arbiter.measure(view)


def test_the_pass_is_billed_and_reads_the_cache() -> None:
    arbiter = provider(8_000)
    history = History(long_session(12).events)
    view = Projection.whole(history)
    arbiter.send(view)
    made = arbiter.native(view)
    sent = arbiter.measure(view)
    assert made.usage.input_tokens == sent + message_tokens(INSTRUCTIONS)
    assert made.usage.output_tokens > 0
    assert 1_024 <= (made.usage.cached_tokens or 0) <= sent


def test_a_request_behind_state_shares_its_prefix() -> None:
    arbiter = provider(8_000, overhead_tokens=2_000)
    view, _ = compacted(arbiter)
    first = arbiter.send(view)
    again = arbiter.send(replace(view, head=tuple(view.head)))
    assert again.cached_tokens == first.input_tokens // 128 * 128


def test_the_pass_must_itself_fit_the_window() -> None:
    history = History(long_session(12).events)
    with pytest.raises(ProviderError) as refusal:
        provider(1_000).native(Projection.whole(history))
    assert refusal.value.kind == "input_overflow"


def test_compact_keeps_what_the_user_said_over_generations() -> None:
    arbiter = provider(8_000)
    once, _ = compacted(arbiter, "compact")
    twice = arbiter.native(once.advance(), form="compact").native
    said = told(arbiter, replace(once, head=(twice,), tail_start=once.stop))
    assert MARKED[1].removeprefix("user: ") in said
    assert "now the docs" in said


def test_unknown_form_is_named() -> None:
    with pytest.raises(ProviderError, match="no form 'inline', it has: on_demand, compact"):
        provider().native(Projection.whole(History(session("user: go").events)), form="inline")


def test_a_model_of_text_alone_has_no_compaction_of_its_own() -> None:
    class ChatModel(TellingModel):
        is_stand_in = False

    arbiter = SimulatedProvider(ChatModel("openai:small", False), 2_000)
    with pytest.raises(ProviderError, match="no compaction of its own"):
        arbiter.native(Projection.whole(History(session("user: go").events)))


# The strategy


def replayed(window: int = 2_000, strategy: NativeCompaction | None = None) -> Replay:
    return replay(marked_session(40), strategy or NativeCompaction(), provider(window))


def accepted(seen: Replay) -> list[int]:
    return [one.request for one in seen.compactions if one.outcome == "accepted"]


def test_it_fires_again_and_again_and_the_last_state_still_holds_the_first() -> None:
    seen = replayed()
    assert seen.stopped is None
    assert len(accepted(seen)) >= 3
    history = History(marked_session(40).events)
    last = seen.projection(len(seen.requests) - 1, history)
    assert len(natives(last)) == 1
    assert natives(last)[0].first_seq == 2
    assert "src/harbour/tide.py" in told(provider(), last)
    assert seen.compactions[-1].generation == len(accepted(seen))


def test_its_cost_is_counted() -> None:
    seen = replayed()
    for one in seen.compactions:
        assert one.asked >= 1
        assert one.ask_input_tokens > one.tokens_after
        assert one.ask_output_tokens > 0
    assert seen.summariser_tokens > 0


def test_what_the_route_accepted_is_compacted_when_everything_is_too_much() -> None:
    big = session(
        *MARKED,
        *steps(0, 8, words=60),
        "call big",
        "result big: " + "flood " * 1_500,
        "assistant: seen",
    )
    seen = replay(big, NativeCompaction(threshold=1), provider(2_600))
    rescued = seen.compactions[-1]
    assert (rescued.outcome, rescued.asked, seen.retries.replan) == ("accepted", 2, 1)
    assert rescued.covered_last_seq < len(big.events) - 2
    assert seen.stopped is None


class WithoutNative(SimulatedProvider):
    """A route that lacks the endpoint."""

    asked = 0

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        self.asked += 1
        raise ProviderError("invalid_request", "no such endpoint", status=404)


def test_a_route_without_native_compaction_is_asked_once() -> None:
    arbiter = WithoutNative(OfflineModel(), 2_000)
    seen = replay(marked_session(40), NativeCompaction(), arbiter)
    assert arbiter.asked == 1
    assert seen.compactions[0].outcome == "failed"
    assert {one.outcome for one in seen.compactions[1:]} == {"suppressed"}
    assert seen.retries.suppressed == len(seen.compactions) - 1
    assert seen.stopped is not None


def test_foreign_state_is_refused_before_anything_is_sent() -> None:
    told_session = marked_session(40)
    history = History(told_session.events)
    foreign = Native("elsewhere/x", '{"v":1}', 2, 30, 50)
    view = Projection(history, (foreign,), 30, len(history))
    arbiter = provider()
    engine = Engine(NativeCompaction(), arbiter, told_session)
    prepared = engine.compact_now(view, 0)
    assert prepared.outcomes == ("suppressed",)
    assert "means nothing on 'simulated/offline'" in engine.compactions[-1].reason
    assert engine.compactions[-1].asked == 0
    with pytest.raises(ProviderError, match="another route"):
        arbiter.send(view)


@pytest.mark.parametrize(
    ("native", "words"),
    [
        (Native("elsewhere", "{}", 1, 2, 5), "not on 'simulated/offline'"),
        (Native("simulated/offline", "{broken", 1, 2, 5), "isn't valid JSON"),
    ],
)
def test_state_that_cant_be_used_is_rejected_and_nothing_changes(
    native: Native, words: str
) -> None:
    class Careless(SimulatedProvider):
        def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
            return Compacted(native, Usage(10, 5))

    seen = replay(marked_session(30), NativeCompaction(), Careless(OfflineModel(), 2_000))
    assert {one.outcome for one in seen.compactions} == {"rejected"}
    assert words in seen.compactions[0].reason
    assert seen.compactions[0].ask_output_tokens == 5
    assert all(request.head == 0 for request in seen.requests)


def test_newest_groups_stay_verbatim() -> None:
    seen = replayed(strategy=NativeCompaction(preserve_last=3))
    first = seen.compactions[0]
    assert first.covered_last_seq <= first.at_seq - 1 - 3
    history = History(marked_session(40).events)
    for request in seen.requests:
        view = seen.projection(request.index, history)
        if natives(view):
            assert view.items[-1].message == history.message(view.stop - 1)


def test_context_editing_clears_all_but_the_newest_results_and_stays_readable() -> None:
    arbiter = provider()
    seen = replay(marked_session(40), NativeCompaction(form="clear_tool_uses"), arbiter)
    assert accepted(seen)
    assert sum(one.asked for one in seen.compactions) == 0
    history = History(marked_session(40).events)
    request = seen.requests[accepted(seen)[0]]
    view = seen.projection(request.index, history)
    results = [item.message.text for item in view.items if item.message.role == "tool"]
    assert set(results[:-3]) == {CLEARED}
    assert CLEARED not in results[-3:]
    assert not natives(view)


def test_context_editing_waits_until_it_is_worth_it() -> None:
    never = NativeCompaction(form="clear_tool_uses", clear_at_least=100_000)
    assert not accepted(replay(marked_session(40), never, provider()))


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0}, {"threshold": 1.5}, {"preserve_last": -1}, {"clear_at_least": -5}]
)
def test_parameters_out_of_range_are_named(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NativeCompaction(**wrong)  # type: ignore[arg-type]


def test_it_keeps_the_promises_with_newest_groups_and_requests_kept() -> None:
    check_strategy(NativeCompaction(form="compact", preserve_last=2), examples=12)


def test_f7_3_a_conversation_falls_back_to_its_history_on_another_route(tmp_path: Path) -> None:
    strategy = NativeCompaction(threshold=0.5)
    path = tmp_path / "talk.sqlite"
    first = RoutedProvider(native_tokens=40)
    with Conversation.open(path, "talk", strategy, first, connect=unsynced) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        assert conversation.request().refusal is None
        state = shown(conversation.projection)
        assert natives(conversation.projection)
        conversation.switch(RoutedProvider("two/small", window=5_000))
        assert [each.failure for each in conversation.refusals] == ["native_route_foreign"]
        assert conversation.projection.head == ()
        assert conversation.request().refusal is None
        conversation.switch(first)
        assert shown(conversation.projection)[:3] == state[:3]


def test_manual_compaction_of_an_idle_session_ends_with_a_request_that_apis_accept() -> None:
    events = marked_session(6).events
    told_session = Session("idle", (*events, Event(len(events) + 1, Message("user", "thanks"))))
    seen = replay(told_session, NativeCompaction(), provider(8_000), manual=True)
    assert seen.final is not None
    assert natives(seen.final)
    assert seen.compactions[-1].outcome == "accepted"
    assert not seen.compactions[-1].violations


# What can be asked of which model, before anything is replayed


def chosen(text: str, *models: str, is_default: bool = False) -> list[str]:
    return [one.spec for one in with_native(make_strategies(text), models, is_default=is_default)]


@pytest.mark.parametrize(
    ("spec", "model"),
    [
        ("native", "offline"),
        ("native(form=compact)", "lossy(0.9)"),
        ("native(form=inline)", "responses:x"),
        ("native(form=threshold)", "anthropic:x"),
        ("native(form=clear_tool_uses)", "openai:x"),
        ("prune", "openai:x"),
    ],
)
def test_forms_that_a_provider_has(spec: str, model: str) -> None:
    assert chosen(spec, model) == [spec]


@pytest.mark.parametrize(
    ("spec", "model", "words"),
    [
        ("native", "openai:x", "has no compaction of its own"),
        ("native(form=inline)", "offline", "it has: on_demand, compact"),
        ("native(form=compact)", "anthropic:x", "it has: on_demand, threshold"),
        ("native(form=on_demand)", "responses:x", "it has: compact, inline"),
    ],
)
def test_forms_that_it_lacks_are_said_at_once(spec: str, model: str, words: str) -> None:
    with pytest.raises(UsageError) as refusal:
        chosen(spec, model)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith(f"--strategy {spec}: ")
    # Where nobody asked for it, it is left out.
    assert chosen(spec, model, is_default=True) == []
    # One model that has it is enough.
    assert chosen("native", "openai:x", "offline") == ["native"]


def test_what_is_left_out_is_said() -> None:
    assert native_warnings(["prune"], ["openai:x"], is_default=False) == []
    assert native_warnings(["native"], ["offline"], is_default=True) == []
    (left_out,) = native_warnings(["prune"], ["openai:x"], is_default=True)
    assert left_out.startswith("native is left out: the API of openai:x has no compaction")
    (partly,) = native_warnings(["native"], ["openai:x", "offline"], is_default=True)
    assert partly.startswith("native compacts nothing with some models: the API of openai:x")


def test_what_the_pass_reads_from_the_cache_is_billed_so() -> None:
    told_session = marked_session(40)
    arbiter = provider(8_000, overhead_tokens=2_000)
    seen = replay(told_session, NativeCompaction(), arbiter)
    first = next(one for one in seen.compactions if one.outcome == "accepted")
    assert 1_024 <= first.ask_cached_tokens <= first.ask_input_tokens
    ceiling = replay_control(told_session, "keep_all", overhead_tokens=2_000)
    nothing_cached = replace(
        seen, compactions=tuple(replace(c, ask_cached_tokens=0) for c in seen.compactions)
    )
    dear, cheap = (costs(one, ceiling) for one in (nothing_cached, seen))
    assert (dear.tokens_sent, dear.tokens_saved) == (cheap.tokens_sent, cheap.tokens_saved)
    assert dear.cost_ratio is not None
    assert cheap.cost_ratio is not None
    baseline = sum(billed(one, DEFAULT_PRICES) for one in ceiling.requests)
    cached = sum(one.ask_cached_tokens for one in seen.compactions)
    saved = cached * (1 - DEFAULT_PRICES.read) / baseline
    assert dear.cost_ratio - cheap.cost_ratio == pytest.approx(saved)

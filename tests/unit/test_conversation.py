"""A conversation that goes on: it survives a restart and runs the engine of the replays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from bench.conversation import Conversation
from bench.conversation_records import ConversationError, Refusal, StaleWrite
from bench.conversation_store import ConversationStore
from bench.events import Event, Message, Session
from bench.history import History
from bench.models import OfflineModel
from bench.projection import Json, Kept, Native, Projection, Written
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.strategy import Ask, Budget, Policy, Stage, Strategy
from strategies.head_tail import HeadTail
from strategies.layered import Layered
from strategies.layered.history_read import ReadRefused, effective, read_tool_result
from strategies.layered.stored import check_stored
from strategies.prune import Prune
from tests.conversation_parts import (
    OPENING,
    SESSION,
    RoutedProvider,
    compacted,
    opened,
    rows,
    shown,
    steps,
    tell,
)
from tests.generators import sessions

HERE = ":memory:"


def test_f12_after_a_restart_the_same_projection_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        before = conversation.projection
        identity = conversation.checkpoint_id
        accepted = conversation.engine.accepted
    with opened(path) as again:
        assert shown(again.projection) == shown(before)
        assert isinstance(again.projection.head[1], Written)
        assert (again.checkpoint_id, again.refusals) == (identity, [])
        assert again.engine.accepted == accepted
        tell(again, *steps(12, 14))
        assert again.request().refusal is None


def test_f6_segments_grow_across_restarts_with_lineage(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    ids: list[tuple[str, str]] = []
    for round_ in range(1, 4):
        with opened(path) as conversation:
            earlier = conversation.checkpoint_id
            tell(conversation, *steps(12 * round_, 12 * round_ + 12))
            assert conversation.request().refusal is None
            assert conversation.checkpoint_id != earlier
            ids.append((earlier, conversation.checkpoint_id))
            assert conversation.compactions[-1].generation == round_ + 1
    assert [a for a, _ in ids[1:]] == [b for _, b in ids[:-1]]
    completions = [row for row in rows(path) if row[2] == "compaction_completed"]
    assert len(completions) == 4


@pytest.mark.parametrize("path", [HERE, "file"])
def test_in_memory_and_in_a_file_it_is_the_same_code(tmp_path: Path, path: str) -> None:
    place = path if path == HERE else tmp_path / "c.sqlite"
    with compacted(place) as conversation:
        before = shown(conversation.projection)
        conversation.refresh()
        assert shown(conversation.projection) == before


@settings(max_examples=25)
@given(sessions(max_turns=3, max_steps=6))
def test_a_conversation_asks_what_a_replay_asks(session: Session) -> None:
    """Replays keep nothing, and yet everything they observe is what a conversation does."""
    made: tuple[Strategy, ...] = (Layered(), HeadTail(preserve_last=4), Prune())
    for strategy in made:
        window = 900
        seen = replay(session, strategy, _simulated(session, window))
        with Conversation.open(
            HERE,
            session.id,
            strategy,
            _simulated(session, window),
            check_stored if isinstance(strategy, Layered) else None,
            tools=session.tools,
        ) as conversation:
            observations = []
            for event in session.events:
                if event.message.role == "assistant":
                    attempt = conversation.request()
                    observations.append(attempt.observation)
                    if attempt.refusal is not None:
                        break
                conversation.append(event)
            assert tuple(observations) == seen.requests
            assert tuple(conversation.compactions) == seen.compactions
            assert conversation.refusals == []
            assert seen.final is not None
            assert shown(conversation.projection)[1:3] == shown(seen.final)[1:3]
            before = shown(conversation.projection)
            conversation.refresh()
            assert shown(conversation.projection) == before


def _simulated(session: Session, window: int) -> SimulatedProvider:
    return SimulatedProvider(OfflineModel(), window, tools=session.tools)


# Accepted boundaries (F9)


def test_f9_boundaries_survive_a_restart_and_are_never_shared(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as conversation:
        tell(conversation, *OPENING, "assistant: gladly", "user: go on")
        assert conversation.engine.accepted is None
        conversation.request()
        accepted = conversation.engine.accepted
        assert accepted is not None
        assert (accepted.seq, accepted.output_tokens) == (4, 7)
        assert accepted.input_tokens == RoutedProvider().measure(conversation.projection)
        assert accepted.payload_units > accepted.input_tokens
        conversation.switch(RoutedProvider("two/small"))
        assert conversation.engine.accepted is None
        tell(conversation, "assistant: done", "user: more")
        conversation.request()
        other = conversation.engine.accepted
        assert other is not None
        assert other.seq == 6
    with opened(path) as again:
        assert again.engine.accepted == accepted
    with opened(path, RoutedProvider("two/small")) as again:
        assert again.engine.accepted == other
    with opened(path, session="another") as another:
        assert another.engine.accepted is None


def test_f9_a_refused_request_moves_no_boundary(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path, RoutedProvider(window=20)) as conversation:
        tell(conversation, *OPENING, "assistant: gladly", "user: " + "long " * 90)
        assert conversation.request().refusal is not None
        assert conversation.engine.accepted is None
    assert rows(path, "boundaries") == []


def test_f9_a_rewind_limits_what_was_accepted(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as conversation:
        tell(conversation, *OPENING, "assistant: gladly", "user: go on")
        conversation.request()
        before = conversation.engine.accepted
        assert before is not None
        conversation.rewind(2)
        assert conversation.engine.accepted == replace(before, seq=2)
        conversation.rewind(0)
        assert conversation.engine.accepted is None
    assert rows(path, "boundaries") == []


def test_f9_2_the_retreat_uses_the_boundary_of_before_the_restart(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as conversation:
        tell(conversation, *OPENING, *steps(0, 4))
        conversation.request()
        assert conversation.compactions == []
    overflow = ProviderError("input_overflow", "prompt is too long")
    provider = RoutedProvider(replies=(overflow, "no summary", "no summary"))
    with opened(path, provider) as again:
        tell(again, *steps(4, 12))
        again.request()
        assert again.engine.retries.replan == 1


# Failures (F11)


def test_f11_2_failures_are_remembered_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    useless = RoutedProvider(replies=("no summary",))
    with opened(path, useless) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        conversation.compact()
        assert useless.asked == 2
        assert not conversation.checkpoint_id
    again_useless = RoutedProvider(replies=("no summary",))
    with opened(path, again_useless) as again:
        again.compact()
        assert again_useless.asked == 0
        assert again.compactions[0].outcome == "suppressed"


def test_f11_3_sixteen_failures_are_kept_and_a_success_clears_them(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    for round_ in range(18):
        with opened(path, RoutedProvider(replies=("no summary",), window=700)) as conversation:
            if not round_:
                tell(conversation, *OPENING, *steps(0, 9))
            tell(conversation, *steps(9 + round_, 10 + round_, words=1))
            conversation.compact()
            kept = conversation.projection.memory["failures"]
            assert len(kept) == min(round_ + 1, 16)
    with opened(path) as conversation:
        assert conversation.projection.memory["failures"] == kept
        tell(conversation, *steps(30, 31))
        assert conversation.compact().outcomes[0] == "accepted"
    with opened(path) as conversation:
        assert conversation.projection.memory["failures"] == []


def test_f2_4_the_recovery_of_a_turn_isnt_given_again_by_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path, RoutedProvider(window=20)) as conversation:
        tell(conversation, *OPENING, "assistant: gladly", "user: " + "long " * 90)
        assert "used up" not in str(conversation.request().refusal)
        assert "used up" in str(conversation.request().refusal)
        conversation.switch(RoutedProvider("two/small", window=20))
        assert "used up" in str(conversation.request().refusal)
    with opened(path, RoutedProvider(window=20)) as again:
        assert "used up" in str(again.request().refusal)
        tell(again, "assistant: hm", "user: " + "longer " * 90)
        assert "used up" not in str(again.request().refusal)
    with opened(path, RoutedProvider(window=20)) as again:
        assert "used up" in str(again.request().refusal)


def test_f11_4_every_try_is_kept_for_the_record(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    with opened(path) as again:
        (told,) = again.diagnostics()
    assert (told["trigger"], told["phase"], told["stage"]) == ("budget", "mid_turn", "compact")
    assert (told["outcome"], told["reason"]) == ("accepted", "")
    assert told["covered_messages"] > 3
    assert told["estimate_before"] > told["estimate_after"]


# Rewinds (F12.4)


def test_f12_4_only_checkpoints_after_the_rewind_count(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        total = len(conversation.events)
        log = rows(path)
        covered = conversation.projection.tail_start
        # Even what the checkpoint covers is still there: it was made before the rewind.
        assert covered < total - 1
        conversation.rewind(total - 1)
        assert rows(path)[: len(log)] == log
        assert conversation.checkpoint_id == ""
        assert conversation.projection.head == ()
        assert len(conversation.events) == total - 1
        assert conversation.request().refusal is None
        assert conversation.checkpoint_id
        after = shown(conversation.projection)
    with opened(path) as again:
        assert shown(again.projection) == after
        with pytest.raises(ValueError, match="rewind to event 99"):
            again.rewind(99)


def test_f10_4_a_reference_to_rewound_or_changed_content_is_refused_by_name() -> None:
    with opened(HERE) as conversation:
        tell(conversation, *OPENING, *steps(0, 2))
        ask = '{"event_seq":6,"tool_call_id":"s1","operation":"inspect"}'
        answer = read_tool_result(ask, effective(conversation.events), SESSION)
        known = ask[:-1] + f',"expected_sha256":"{answer["sha256"]}"}}'
        assert read_tool_result(known, effective(conversation.events), SESSION) == answer
        conversation.rewind(4)
        assert _refused(conversation, known) == "not_found"
        tell(conversation, "call s1", "result s1: something else")
        assert _refused(conversation, known) == "changed"
        conversation.rewind(4)
        tell(conversation, "assistant: no", "user: other")
        assert _refused(conversation, known) == "mismatch"
        names = [each["failure"] for each in conversation.diagnostics()]
        assert names == ["not_found", "changed", "mismatch"]


def _refused(conversation: Conversation, arguments: str) -> str:
    with pytest.raises(ReadRefused) as refused:
        read_tool_result(arguments, effective(conversation.events), SESSION)
    conversation.note(Refusal("reference", refused.value.kind, refused.value.text))
    return refused.value.kind


# Routes (F7)


def test_f7_3_native_state_stays_on_its_route_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    strategy = Layered(compactor="native", result_tokens_max=120)
    provider = RoutedProvider(native_tokens=40)
    with opened(path, provider, strategy=strategy) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        conversation.request()
        native = shown(conversation.projection)
        assert isinstance(conversation.projection.head[1], Native)
        conversation.switch(RoutedProvider("two/large", window=9_000))
        # Nothing is lost: the other route is shown the history.
        assert [each.failure for each in conversation.refusals] == ["native_route_foreign"]
        assert conversation.projection.head == ()
        assert conversation.request().refusal is None
        conversation.switch(provider)
        assert shown(conversation.projection) == native


def test_on_another_route_an_older_text_stands_in_and_lineage_names_the_state(
    tmp_path: Path,
) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        text = shown(conversation.projection)[1:]
        first = conversation.checkpoint_id
    native = Layered(compactor="native", result_tokens_max=120)
    with opened(path, RoutedProvider(native_tokens=5), strategy=native) as conversation:
        tell(conversation, *steps(12, 24))
        conversation.request()
        second = conversation.checkpoint_id
        assert second != first
        conversation.switch(RoutedProvider("two/small"))
        assert shown(conversation.projection)[1:] == text
        assert conversation.checkpoint_id == second
        assert conversation.request().refusal is None
        assert conversation.checkpoint_id not in (first, second)
        assert conversation.compactions[-1].outcome == "accepted"


# Two at once (F4.3)


def test_f4_3_of_two_compactors_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as first, opened(path, RoutedProvider(replies=("x",))) as second:
        tell(first, *OPENING, *steps(0, 12))
        second.refresh()
        third = opened(path)
        assert first.request().refusal is None
        won = first.checkpoint_id
        before = shown(third.projection)
        attempt = third.request()
        # The loser goes on with what it had, by the rungs that keep nothing.
        assert third.compactions[0].outcome == "rejected"
        assert "stale: this compaction was made on checkpoint none" in third.compactions[0].reason
        assert won[:12] in third.compactions[0].reason
        assert shown(attempt.projection)[:3] == before[:3]
        third.refresh()
        assert third.checkpoint_id == won
        assert shown(third.projection)[:3] == shown(first.projection)[:3]
        third.close()


def test_f4_3_of_many_at_the_same_moment_one_wins(tmp_path: Path) -> None:
    for round_ in range(6):
        path = tmp_path / f"{round_}.sqlite"
        with opened(path) as conversation:
            tell(conversation, *OPENING, *steps(0, 12))
        outcomes: list[str] = []
        barrier = threading.Barrier(3)

        def compact(path: Path, barrier: threading.Barrier, outcomes: list[str]) -> None:
            with opened(path) as conversation:
                barrier.wait()
                conversation.compact()
                outcomes += [each.outcome for each in conversation.compactions]

        threads = [
            threading.Thread(target=compact, args=(path, barrier, outcomes)) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["accepted", "rejected", "rejected"]
        assert sum(row[2] == "compaction_completed" for row in rows(path)) == 1


def test_who_tells_late_is_stale_by_name_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as first, opened(path) as second:
        tell(first, *OPENING)
        with pytest.raises(StaleWrite, match="stale: the log has 2 rows, 0 were known") as stale:
            tell(second, "user: mine")
        assert stale.value.what == "log"
        with pytest.raises(StaleWrite):
            second.rewind(0)
        second.refresh()
        tell(second, "assistant: mine")
        assert [each.message.text for each in second.events][-1] == "mine"
        with pytest.raises(StaleWrite):
            tell(first, "assistant: too late")
        first.refresh()
        assert first.events == second.events


def test_a_rewind_meanwhile_makes_a_compaction_stale(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as first, opened(path) as second:
        tell(first, *OPENING, *steps(0, 12))
        second.refresh()
        first.rewind(3)
        second.request()
        assert second.compactions[0].outcome == "rejected"
        assert "it was rewound meanwhile" in second.compactions[0].reason
        assert second.checkpoint_id == ""
        tell(first, "user: other")
        second.refresh()
        assert second.events == first.events


def test_what_an_outdated_conversation_saves_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as first, opened(path, RoutedProvider("two/large", 9_000)) as second:
        tell(first, *OPENING, *steps(0, 12))
        second.refresh()
        first.request()
        states = rows(path, "states")
        # A state that goes with no checkpoint says nothing about the one that stands.
        assert second.request().refusal is None
        assert rows(path, "states") == states
        assert [row[1] for row in rows(path, "boundaries")] == ["one/small", "two/large"]
        first.rewind(3)
        assert [row[2] for row in rows(path, "boundaries")] == [3, 3]
        # What was accepted of a history that was taken back isn't noted any more.
        second.request()
        assert [row[2] for row in rows(path, "boundaries")] == [3, 3]
        assert rows(path, "states") == []
        assert second.refusals[-1].failure == "not_saved"
        assert "it was rewound meanwhile" in second.refusals[-1].text


def test_many_conversations_live_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as first, opened(path, session="other") as second:
        before = shown(first.projection)
        tell(second, "user: hello")
        second.rewind(0)
        assert second.events == ()
        first.refresh()
        assert shown(first.projection) == before
    with ConversationStore(path) as store:
        assert store.sessions() == (SESSION, "other")


# The promises, whatever happens


def test_a_late_result_uncovers_its_group_again() -> None:
    with opened(HERE) as conversation:
        tell(conversation, *OPENING, *steps(0, 10), "call a b", "result a: x", "user: next")
        assert conversation.compact().outcomes == ("accepted",)
        tell(conversation, "result b: late")
        assert [each.failure for each in conversation.refusals] == ["broken_promise"]
        assert "H1" in conversation.refusals[0].text
        assert conversation.projection.head == ()


def test_what_follows_an_answer_opens_a_covered_request_again(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path) as conversation:
        tell(conversation, *OPENING, *steps(0, 8), "assistant: here it is")
        assert conversation.compact().outcomes == ("accepted",)
        assert not any(isinstance(each, Kept) for each in conversation.projection.head[1:])
        tell(conversation, "assistant: wait, one more look")
        # Answered is answered: nothing is open while the last word is an answer.
        assert conversation.checkpoint_id
        tell(conversation, *steps(8, 9))
        assert {each.failure for each in conversation.refusals} == {"request_covered"}
        assert "H4" in conversation.refusals[0].text
        assert conversation.projection.head == ()
        after = shown(conversation.projection)
    with opened(path) as again:
        assert shown(again.projection) == after
        # Once it is answered, or another request is made, the compaction can be used again.
        tell(again, "assistant: that is all")
        assert again.projection.head
        again.request()
        again.refresh()
        assert again.projection.head


class Forgetful:
    """Keeps the newest events; its memory is what the test wants it to be."""

    def __init__(self, memory: Any) -> None:
        self.policy = Policy(threshold_fraction=0.5, stages=(Stage("drop"),))
        self._memory = memory

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        del budget, ask
        return view.keep(view.groups[-2:]).remember(self._memory)


def test_a_strategy_without_a_check_of_its_own_is_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    provider = RoutedProvider()
    with Conversation.open(path, SESSION, Forgetful({"n": 1}), provider) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        conversation.request()
        assert conversation.checkpoint_id
        before = shown(conversation.projection)
    with Conversation.open(path, SESSION, Forgetful({"n": 1}), provider) as again:
        assert shown(again.projection) == before
        assert again.projection.memory == {"n": 1}
    with opened(path) as foreign:
        assert foreign.refusals[0].failure == "strategy_foreign"
        assert foreign.projection.head == ()
        assert foreign.checkpoint_id
    with Conversation.open(path, SESSION, Forgetful({"n": 1}), provider) as again:
        assert shown(again.projection) == before


def test_a_memory_that_is_no_json_is_a_failed_compaction() -> None:
    with Conversation.open(HERE, SESSION, Forgetful({1, 2}), RoutedProvider()) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        conversation.request()
        assert conversation.compactions[0].outcome == "failed"
        assert "no JSON value" in conversation.compactions[0].reason
        assert conversation.projection.head == ()


def test_a_check_that_breaks_refuses(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()

    def broken(record: Json, events: object) -> str | None:
        raise KeyError("memory")

    with Conversation.open(path, SESSION, Layered(), RoutedProvider(), broken) as again:
        assert {each.failure for each in again.refusals} == {"verify"}
        assert "the check raised KeyError" in again.refusals[0].text
        assert again.projection.head == ()
        assert len(again.events) == 26


def test_events_come_back_as_they_were_told(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    told = (
        Event(1, Message("user", "lone \ud800 surrogate \x00 and 中文"), timestamp=float("1e300")),
        Event(2, Message("user", "<hook>"), is_meta=True),
        Event(3, Message("assistant", "", reasoning="because"), timestamp=5),
    )
    with opened(path, session="\ud800 odd") as conversation:
        for event in told:
            conversation.append(event)
        with pytest.raises(ValueError, match="event seq 3: expected 4"):
            conversation.append(told[2])
    with opened(path, session="\ud800 odd") as again:
        assert again.events == told


@settings(max_examples=20)
@given(sessions(max_turns=2, max_steps=4))
def test_every_session_comes_back_as_it_was_told(session: Session) -> None:
    with opened(HERE, RoutedProvider(window=10**9)) as conversation:
        for event in session.events:
            conversation.append(event)
        conversation.refresh()
        assert conversation.events == session.events
        assert conversation.projection == Projection.whole(conversation.projection.history)
        assert conversation.projection.history is not History(session.events)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda path: path.write_bytes(b"no database" * 100), "can't be opened"),
        (lambda path: path.mkdir(), "can't be opened"),
    ],
    ids=["other bytes", "folder"],
)
def test_a_file_that_is_none_is_one_line(
    tmp_path: Path, make: Callable[[Path], object], wrong: str
) -> None:
    path = tmp_path / "c.sqlite"
    make(path)
    with pytest.raises(ConversationError, match=wrong) as error:
        opened(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)

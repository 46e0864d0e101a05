"""Conversations that change routes, are shared, are interrupted, and keep their promises."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from bench.conversation import Conversation
from bench.conversation_records import ConversationError, Refusal, StaleWrite
from bench.conversation_store import ConversationStore
from bench.events import Event, Message, Session
from bench.history import History
from bench.projection import Json, Kept, Native, Projection, Written
from bench.strategy import Ask, Budget, Declined, Policy, Stage, Usage
from strategies.layered import Layered
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
        assert [each.failure for each in conversation.refusals] == ["native_route_foreign"]


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
        # Its next act begins with what stands.
        tell(third, "assistant: fine")
        assert third.checkpoint_id == won
        first.refresh()
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


def test_events_told_meanwhile_dont_hinder_a_compaction_and_are_read_next(
    tmp_path: Path,
) -> None:
    """A compaction covers a prefix, which what is told behind it doesn't change (F1.2)."""
    path = tmp_path / "c.sqlite"
    with opened(path) as first, opened(path) as second:
        tell(first, *OPENING, *steps(0, 12))
        second.refresh()
        tell(second, "assistant: theirs")
        assert first.compact().outcomes == ("accepted",)
        with pytest.raises(StaleWrite, match="event 27 was told meanwhile"):
            first.append(Event(27, Message("assistant", "mine")))
        assert first.events[-1].message.text == "theirs"
        tell(first, "user: next")
        assert first.projection.head
        second.refresh()
        assert shown(second.projection) == shown(first.projection)


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


class Interrupted(RoutedProvider):
    """Somebody presses Ctrl-C while the compacted request is on its way."""

    def send(self, projection: Projection) -> Usage:
        raise KeyboardInterrupt


def test_an_interruption_behind_the_commit_leaves_what_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path, Interrupted()) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        with pytest.raises(KeyboardInterrupt):
            conversation.request()
        conversation.switch(RoutedProvider())
        assert isinstance(conversation.projection.head[1], Written)
        conversation.note(Refusal("reference", "not_found", "no such event"))
        before = shown(conversation.projection)
    with opened(path) as again:
        assert (again.refusals, shown(again.projection)) == ([], before)


def test_an_interruption_is_settled_by_the_next_act(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with opened(path, Interrupted()) as conversation:
        tell(conversation, *OPENING, *steps(0, 12))
        with pytest.raises(KeyboardInterrupt):
            conversation.request()
        tell(conversation, "assistant: done")
        assert isinstance(conversation.projection.head[1], Written)


def test_what_is_held_back_for_long_is_said_once() -> None:
    with opened(HERE) as conversation:
        tell(conversation, *OPENING, *steps(0, 8), "assistant: here it is")
        conversation.compact()
        tell(conversation, *steps(8, 11))
        assert [each.failure for each in conversation.refusals] == ["request_covered"]
        conversation.request()
        kept = [each["failure"] for each in conversation.diagnostics() if "failure" in each]
        assert kept == ["request_covered"]


class Learning:
    """Never succeeds; what it remembers is what the test wants it to be."""

    policy = Policy(threshold_fraction=0.1, low_water=False)

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        raise Declined("in vain", memory=self._memory)


def test_a_memory_that_cannot_be_kept_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with Conversation.open(path, SESSION, Learning({1}), RoutedProvider()) as conversation:
        tell(conversation, *OPENING, *steps(0, 6))
        assert conversation.request().refusal is None
        assert [each.failure for each in conversation.refusals] == ["not_json"]
    with Conversation.open(path, SESSION, Learning([1]), RoutedProvider()) as again:
        assert again.projection.memory is None
        again.request()
        again.refresh()
        assert again.projection.memory == [1]


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


class Summing:
    """Summarises all but the newest events and remembers nothing."""

    policy = Policy(threshold_fraction=0.5)

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        return view.summarise(view.groups[1:-2], "so far so good")


def test_generations_are_counted_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    for round_ in range(3):
        with Conversation.open(path, SESSION, Summing(), RoutedProvider()) as conversation:
            tell(conversation, *([] if round_ else OPENING), *steps(12 * round_, 12 * round_ + 12))
            conversation.request()
            assert [each.generation for each in conversation.compactions] == [round_ + 1]


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

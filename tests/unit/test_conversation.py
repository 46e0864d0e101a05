"""A conversation that goes on: it survives a restart and runs the engine of the replays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from bench.conversation import Conversation
from bench.conversation_records import Refusal
from bench.events import Session
from bench.models import OfflineModel
from bench.projection import Written
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.strategy import Strategy
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
from tests.faulty_sqlite import connect_with, faulty
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
        assert conversation.engine.accepted == before._replace(seq=2)
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
    # A new turn has a new allowance, whoever is there when it begins.
    with opened(path, RoutedProvider(window=20)) as again:
        assert "used up" not in str(again.request().refusal)
    with opened(path, RoutedProvider(window=20)) as again:
        assert "used up" in str(again.request().refusal)


def test_f2_4_a_recovery_that_could_not_be_saved_counts_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    kind = faulty(is_lasting=True)
    connect = connect_with(kind)
    with opened(path, RoutedProvider(window=20), connect=connect) as conversation:
        tell(conversation, *OPENING, "assistant: gladly", "user: " + "long " * 90)
        kind.statements, kind.fails_at = 0, 1
        assert "used up" not in str(conversation.request().refusal)
        assert conversation.refusals[-1].failure == "not_saved"
        kind.fails_at = 0
        conversation.refresh()
        assert "used up" in str(conversation.request().refusal)


def test_f11_4_every_try_is_kept_for_the_record(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    with opened(path) as again:
        again.request()
        again.request()
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

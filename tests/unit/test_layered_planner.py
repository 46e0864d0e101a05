"""The planner: which prefix may be covered. Test names begin with the clause that they prove."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Session
from bench.history import History
from bench.projection import Projection
from strategies.layered.checkpoint import Checkpoint, Segment, rendered, sealed
from strategies.layered.groups import groups_as_original
from strategies.layered.planner import (
    Plan,
    Refused,
    Span,
    plan,
    span_as_original,
    span_of,
)
from tests.builders import session
from tests.generators import sessions
from tests.layered_parts import span, steps, summary, turns


def reason(
    found: Span, phase: str, previous: Checkpoint | None = None, limit: int | None = None
) -> str:
    with pytest.raises(Refused) as refused:
        plan(found, phase, previous, limit)
    return refused.value.reason


def after(planned: Plan, **changed: object) -> Checkpoint:
    """The checkpoint that a plan would lead to."""
    old = (planned.previous.segments or ()) if planned.previous and planned.is_append else ()
    segment = Segment(planned.segment_from_seq, planned.through_seq, "x", summary())
    fields = {
        "session_id": "by-hand",
        "phase": planned.phase,
        "through_seq": planned.through_seq,
        "head_anchor_seq": planned.head_anchor_seq,
        "source_digest": planned.digest,
        "level": planned.level,
        "segments": (*old, segment),
        "summary": rendered((*old, segment)),
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        **changed,
    }
    return sealed(Checkpoint(**fields))  # type: ignore[arg-type]


class TestBoundaries:
    def test_f3_1_pre_turn_covers_all_before_the_newest_user_message(self) -> None:
        planned = plan(span(*turns(2)), "pre_turn")
        assert (planned.through_seq, planned.head_anchor_seq) == (8, 0)

    def test_f3_1_pre_turn_needs_something_before_the_user_message(self) -> None:
        assert reason(span("system: s", "user: go"), "pre_turn") == "nothing_before_last_user"
        assert reason(span("assistant: hello"), "pre_turn") == "no_user"
        assert reason(span(), "pre_turn") == "no_messages"

    def test_f3_2_mid_turn_keeps_the_newest_step_and_anchors_the_user_message(self) -> None:
        planned = plan(span(*turns(1), *steps(3)), "mid_turn")
        assert (planned.through_seq, planned.head_anchor_seq) == (9, 5)

    def test_f3_2_mid_turn_keeps_a_runtimes_words_behind_the_newest_step(self) -> None:
        lines = session(*turns(0), *steps(3), "user: reminder")
        events = [*lines.events]
        note = events[-1]
        events[-1] = type(note)(note.seq, note.message, is_meta=True)
        planned = plan(span_of(Projection.whole(History(events))), "mid_turn")
        assert (planned.through_seq, planned.head_anchor_seq) == (5, 1)

    def test_f3_3_mid_turn_needs_two_steps_after_the_user_message(self) -> None:
        assert reason(span(*turns(1), *steps(1)), "mid_turn") == "fewer_than_two_groups_after_user"

    def test_f3_3_an_anchor_inside_a_group_is_left_there(self) -> None:
        found = span("user: a", "call x", "user: wait", "result x: r", *steps(3))
        assert reason(found, "mid_turn") == "user_inside_group"

    def test_f3_4_standalone_covers_everything(self) -> None:
        assert plan(span(*turns(2)[:-1]), "standalone").through_seq == 8

    def test_f3_5_an_unfinished_group_is_never_covered(self) -> None:
        found = span("user: a", "call x y", "result x: r")
        assert plan(found, "standalone").through_seq == 1
        assert reason(span("call x y", "result x: r"), "standalone") == "first_group_incomplete"

    def test_automatic_takes_mid_turn_only_when_it_covers_further(self) -> None:
        assert plan(span(*turns(2), *steps(1)), "auto").phase == "pre_turn"
        assert plan(span(*turns(2), *steps(3)), "auto").phase == "mid_turn"
        both = "pre_turn:nothing_before_last_user;mid_turn:fewer_than_two_groups_after_user"
        assert reason(span("user: a", "assistant: b"), "auto") == both

    def test_unknown_phases_are_refused(self) -> None:
        assert reason(span(*turns(1)), "sideways") == "unknown_phase"


class TestDeadCalls:
    LINES = ("user: a", "call x", "user: b", "assistant: c", "user: d", "assistant: e", "user: f")

    def test_h5_a_dead_call_blocks_nothing(self) -> None:
        assert plan(span(*self.LINES), "pre_turn").through_seq == 6

    def test_h5_a_pending_call_blocks(self) -> None:
        assert plan(span("user: a", "assistant: b", "call x"), "standalone").through_seq == 2

    def test_h5_an_orphan_result_blocks_nothing(self) -> None:
        found = span("user: a", "result ghost: r", "assistant: b", "user: c")
        assert plan(found, "pre_turn").through_seq == 3

    def test_the_original_is_blocked_for_good(self) -> None:
        found = span_as_original(span(*self.LINES).messages)
        assert plan(found, "pre_turn").through_seq == 1


class TestCoverage:
    def test_coverage_never_goes_back_and_is_never_repeated(self) -> None:
        found = span(*turns(3))
        first = after(plan(found, "pre_turn"))
        assert reason(found, "pre_turn", first) == "not_beyond_previous"

    def test_f9_2_a_retreat_ends_at_a_group(self) -> None:
        planned = plan(span(*turns(3)), "pre_turn", None, 6)
        assert planned.through_seq == 5

    def test_f9_2_a_retreat_to_nothing_is_refused(self) -> None:
        assert reason(span(*turns(2)), "pre_turn", None, 0) == "retreat_empty"

    def test_f9_2_a_mid_turn_retreat_must_pass_the_user_message(self) -> None:
        found = span(*turns(1), *steps(3))
        assert reason(found, "mid_turn", None, 5) == "retreat_not_past_user"

    def test_leading_system_messages_are_digested_but_never_summarised(self) -> None:
        planned = plan(span("system: s", *turns(2)), "pre_turn")
        assert [each.seq for each in planned.source] == [2, 3, 4, 5, 6, 7, 8, 9]
        assert planned.covered[0].seq == 2
        alone = plan(span(*turns(2)), "pre_turn")
        assert planned.digest != alone.digest


class TestSegments:
    def test_f6_1_only_new_history_is_handed_to_the_summariser(self) -> None:
        lines = turns(3)
        first = after(plan(span(*lines[:5]), "pre_turn"))
        second = plan(span(*lines), "pre_turn", first)
        assert second.is_append
        assert [each.seq for each in second.source] == [5, 6, 7, 8, 9, 10, 11, 12]
        assert (second.segment_from_seq, second.level) == (5, "segmented")

    def test_f6_2_a_changed_anchor_forbids_appending(self) -> None:
        lines = [*turns(1), *steps(4)]
        first = after(plan(span(*lines[:9]), "mid_turn"))
        assert first.head_anchor_seq == 5
        second = plan(span(*lines), "mid_turn", first)
        assert second.is_append
        moved = after(plan(span(*lines[:9]), "mid_turn"), head_anchor_seq=0)
        assert not plan(span(*lines), "mid_turn", moved).is_append

    def test_f6_2_the_anchor_zero_is_unchanged_between_pre_turn_and_standalone(self) -> None:
        lines = turns(3)
        first = after(plan(span(*lines[:5]), "pre_turn"))
        assert plan(span(*lines), "standalone", first).is_append

    def test_f6_2_native_state_is_never_appended_to(self) -> None:
        lines = turns(3)
        native = after(
            plan(span(*lines[:5]), "pre_turn"), projection_kind="provider_native", segments=None
        )
        assert not plan(span(*lines), "pre_turn", native).is_append

    def test_f6_3_at_four_segments_everything_becomes_one(self) -> None:
        lines = turns(6)
        standing: Checkpoint | None = None
        kinds = []
        for turn in range(1, 7):
            planned = plan(span(*lines[: 4 * turn + 1]), "pre_turn", standing)
            standing = after(planned)
            kinds.append((planned.is_append, planned.level, len(standing.segments or ())))
        assert kinds == [
            (False, "segmented", 1),
            (True, "segmented", 2),
            (True, "segmented", 3),
            (True, "segmented", 4),
            (False, "session", 1),
            (True, "segmented", 2),
        ]

    def test_f6_3_a_merge_reads_the_old_anchor_and_the_new_history_only(self) -> None:
        lines = [*turns(1), *steps(3), "assistant: done", "user: next"]
        first = after(plan(span(*lines[:11]), "mid_turn"))
        merged = plan(span(*lines), "pre_turn", first)
        assert not merged.is_append
        assert merged.carries_previous_summary
        assert [each.seq for each in merged.source] == [5, 10, 11, 12]
        assert merged.segment_from_seq == 1


@given(sessions(), st.sampled_from(("pre_turn", "mid_turn", "standalone", "auto")), st.data())
def test_f1_2_f1_4_coverage_is_a_prefix_that_cuts_no_group(
    given_session: Session, phase: str, data: st.DataObject
) -> None:
    history = History(given_session.events)
    stop = data.draw(st.integers(0, len(history)))
    view = Projection.whole(History(history.events(0, stop)))
    limit = data.draw(st.none() | st.integers(0, stop + 1))
    try:
        planned = plan(span_of(view), phase, None, limit)
    except Refused:
        return
    covered = [each.seq for each in planned.covered]
    assert covered == list(range(view.leading_system + 1, planned.through_seq + 1))
    if planned.through_seq < stop:
        starts = view.history.group_start
        assert starts(planned.through_seq) == planned.through_seq
    assert not any(view.history.is_pending(seq - 1, stop) for seq in covered)
    assert limit is None or planned.through_seq <= limit
    if phase != "standalone" and view.request_position is not None:
        request_seq = view.request_position + 1
        assert request_seq in (planned.head_anchor_seq, *range(planned.through_seq + 1, stop + 1))


@given(sessions())
def test_f1_4_groups_of_the_original_partition_the_history(given_session: Session) -> None:
    messages = span_of(Projection.whole(History(given_session.events))).messages
    groups = groups_as_original(messages)
    assert [each.start for each in groups[1:]] == [each.stop for each in groups[:-1]]
    assert sum(each.stop - each.start for each in groups) == len(messages)

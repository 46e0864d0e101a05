"""`recorded`: what the recording's own tool did, replayed where it did it."""

from dataclasses import replace

import pytest
from hypothesis import given

from bench.engine_policy import policy_of
from bench.events import RecordedCompaction, Session, requests_after
from bench.history import History
from bench.invariants import violations
from bench.models import OfflineModel
from bench.observations import Replay
from bench.projection import Kept, Written
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import cut_points, replay
from bench.runner import RunOptions, perform, plan_run, tasks_of
from bench.strategy import Declined, Strategy, strategy_for
from bench.testing.histories import recorded_sessions
from strategies.recorded import Recorded
from tests.builders import long_session, session


def _provider() -> SimulatedProvider:
    return SimulatedProvider(OfflineModel(), 4_000, ignore_window=True)


def _seen(of: Session, **options: bool) -> Replay:
    return replay(of, strategy_for(Recorded(), of), _provider(), **options)


def _compacted(*made: RecordedCompaction, steps: int = 6) -> Session:
    return replace(long_session(steps), recorded_compactions=made)


def test_summary_stands_for_everything_before_the_boundary() -> None:
    # Events: system, request, then call and result in turn: 3 and 4, 5 and 6, ...
    told = _compacted(RecordedCompaction(6, "They asked for request 0."))
    seen = _seen(told)
    assert [(one.request, one.outcome) for one in seen.compactions] == [(2, "accepted")]
    items = seen.projection(2, History(told.events)).items
    assert [item.seqs for item in items] == [(1, 1), (2, 6)]
    assert isinstance(items[0], Kept)
    assert isinstance(items[1], Written)
    assert (items[1].message.role, items[1].message.text) == ("user", "They asked for request 0.")
    later = seen.projection(4, History(told.events)).items
    assert [item.seqs for item in later[2:]] == [(seq, seq) for seq in (7, 8, 9, 10)]


def test_kept_tail_stays_verbatim() -> None:
    told = _compacted(RecordedCompaction(8, "A summary.", kept_from_seq=5, tokens_before=175_004))
    seen = _seen(told)
    items = seen.projection(3, History(told.events)).items
    assert [item.seqs for item in items] == [(1, 1), (2, 4), (5, 5), (6, 6), (7, 7), (8, 8)]
    assert seen.compactions[0].details == {
        "recorded_number": 1,
        "recorded_trigger": "auto",
        "recorded_tokens_before": 175_004,
        "kept_events": 4,
    }


def test_tail_that_begins_inside_a_group_is_widened_and_counted() -> None:
    told = _compacted(RecordedCompaction(8, "A summary.", kept_from_seq=6))
    seen = _seen(told)
    assert [item.seqs for item in seen.projection(3, History(told.events)).items][1:3] == [
        (2, 4),
        (5, 5),
    ]
    assert seen.compactions[0].details["kept_to_keep_a_group_whole"] == 1


def test_boundary_between_a_call_and_its_result_keeps_both() -> None:
    told = replace(
        session(
            "user: go", "call a", "result a: 1", "call b c", "result b: 2", "result c: 3",
            "assistant: done", "user: more", "assistant: yes",
        ),
        recorded_compactions=(RecordedCompaction(5, "Went."),),
    )  # fmt: skip
    seen = _seen(told)
    assert [item.seqs for item in seen.projection(2, History(told.events)).items] == [
        (1, 3),
        (4, 4),
        (5, 5),
        (6, 6),
    ]


def test_second_compaction_replaces_the_first() -> None:
    told = _compacted(
        RecordedCompaction(6, "First."), RecordedCompaction(10, "Second.", kept_from_seq=9)
    )
    seen = _seen(told)
    assert [one.request for one in seen.compactions] == [2, 4]
    last = seen.projection(4, History(told.events))
    written = [item for item in last.items if isinstance(item, Written)]
    assert [(item.message.text, item.seqs) for item in written] == [("Second.", (2, 8))]


def test_two_compactions_before_one_request_count_once() -> None:
    told = _compacted(RecordedCompaction(6, "First."), RecordedCompaction(6, "Second."))
    seen = _seen(told)
    assert len(seen.compactions) == 1
    assert seen.compactions[0].details["recorded_number"] == 2


def test_longer_summary_than_what_it_replaced_is_taken_as_it_was() -> None:
    told = replace(
        session("user: go", "assistant: a", "user: more", "assistant: b"),
        recorded_compactions=(RecordedCompaction(2, "long " * 200),),
    )
    (made,) = _seen(told).compactions
    assert made.outcome == "accepted"
    assert made.tokens_after > made.tokens_before


def test_compaction_without_readable_summary_leaves_what_was_shown() -> None:
    told = _compacted(RecordedCompaction(6, " \n"), RecordedCompaction(10, "Readable."))
    seen = _seen(told)
    assert [(one.request, one.outcome) for one in seen.compactions] == [
        (2, "failed"),
        (4, "accepted"),
    ]
    assert "no readable summary of its compaction 1" in seen.compactions[0].reason


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ((), "this recording holds no compaction"),
        ((RecordedCompaction(6, ""),), "left no readable summary"),
        ((RecordedCompaction(15, "At the end."),), "no request follows"),
    ],
)
def test_recording_that_gives_nothing_to_replay_is_declined(
    made: tuple[RecordedCompaction, ...], reason: str
) -> None:
    with pytest.raises(Declined, match=reason):
        strategy_for(Recorded(), _compacted(*made))


def test_session_that_begins_with_a_summary_of_an_earlier_one_is_left_alone() -> None:
    told = _compacted(RecordedCompaction(0, "Continued from elsewhere."))
    assert _seen(told).compactions == ()


def test_manual_compaction_takes_one_that_no_request_followed() -> None:
    told = _compacted(RecordedCompaction(6, "First."), RecordedCompaction(15, "At the end."))
    final = _seen(told, manual=True).final
    assert final is not None
    assert [item.message.text for item in final.items if isinstance(item, Written)] == [
        "At the end."
    ]


def test_without_its_session_it_refuses() -> None:
    told = long_session(20)
    seen = replay(told, Recorded(), _provider())
    assert {one.outcome for one in seen.compactions} == {"suppressed"}


def test_requests_after_events() -> None:
    told = session("user: a", "assistant: b", "user: c", "assistant: d", "assistant: e")
    assert requests_after(told, (0, 1, 2, 3, 4, 5)) == (0, 1, 2)
    assert requests_after(told, (5,)) == ()


def test_recorded_cut_points_are_forced_on_every_strategy() -> None:
    told = _compacted(RecordedCompaction(6, "a"), RecordedCompaction(10, "b"), steps=20)
    assert cut_points(told, 21, "recorded") == {2, 4}
    assert cut_points(long_session(20), 21, "recorded") == set()
    provider = SimulatedProvider(OfflineModel(), 1_000_000)
    seen = replay(told, make_strategy("layered").strategy, provider, cuts="recorded")
    assert {one.request for one in seen.compactions} <= {2, 4}
    assert seen.compactions


def test_its_own_points_hold_whatever_is_forced() -> None:
    told = _compacted(RecordedCompaction(6, "a"), steps=20)
    strategy = strategy_for(Recorded(), told)
    assert [one.request for one in replay(told, strategy, _provider(), cuts=5).compactions] == [2]


@given(recorded_sessions())
def test_whatever_was_recorded_gives_valid_requests_and_one_summary(told: Session) -> None:
    try:
        strategy: Strategy = strategy_for(Recorded(), told)
    except Declined as declined:
        assert declined.reason
        return
    seen = replay(told, strategy, _provider())
    waived = frozenset(name for name, _ in policy_of(strategy).waives)
    history = History(told.events)
    points = cut_points(told, seen.requests_total, "recorded")
    assert points is not None
    assert {one.request for one in seen.compactions} <= points
    assert not any(one.outcome == "rejected" for one in seen.compactions)
    for index in range(len(seen.requests)):
        shown = seen.projection(index, history)
        assert violations(shown, waived) == ()
        written = [item for item in shown.items if isinstance(item, Written)]
        assert len(written) <= 1
        shown_seqs = [item.event.seq for item in shown.items if isinstance(item, Kept)]
        covered = set(range(written[0].first_seq, written[0].last_seq + 1)) if written else set()
        assert covered.isdisjoint(shown_seqs)
        assert covered | set(shown_seqs) == set(range(1, shown.stop + 1))


def test_runner_says_why_a_session_wasnt_exercised() -> None:
    plain, made = long_session(8), _compacted(RecordedCompaction(6, "a"), steps=8)
    made = replace(made, id="made", events=made.events[:-1])
    options = RunOptions(specs=("recorded", "prune"), windows=(50_000,), cuts="recorded")
    plan, surveyed = plan_run((plain, made), options, lambda _: None)
    tasks = tasks_of(plan, (plain, made), surveyed, {}, options, lambda _: False)
    cells = {
        (one.cell.session, one.cell.spec): one for task in tasks for one in perform(task).cells
    }
    assert cells["long", "recorded"].status == "not_exercised"
    assert cells["long", "recorded"].reason == "this recording holds no compaction"
    assert "holds no compaction to cut at" in cells["long", "prune"].reason
    assert cells["made", "recorded"].status == "ok"
    assert "nothing to compact" in cells["made", "prune"].reason

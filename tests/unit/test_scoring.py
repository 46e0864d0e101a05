"""Scores over generated sessions and by hand: controls, stops, opaque state, what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Message, Session
from bench.facts import Fact, Probe
from bench.found_facts import find_uses
from bench.history import History
from bench.projection import Native, Projection
from bench.scoring import (
    NO_SPREAD_REASON,
    NOTHING_MEASURED_REASON,
    OPAQUE_REASON,
    Share,
    normalised,
    retention,
    retention_needed,
    score,
)
from bench.scoring_survival import GENERATIONS_MAX, HORIZONS_STEPS
from bench.session_index import SessionIndex
from tests.generators import sessions
from tests.hand_replays import (
    call,
    everything,
    pinned_only,
    replay_by_hand,
    scores_of,
    session_of,
    summary_of,
)

FILLER = "plain words without any meaning " * 600


def long_session() -> Session:
    """The rule in 1 and the file in 3 are needed again by 7, far behind."""
    return session_of(
        "Please keep retry_limit at 7.",
        call("list", "{}", "I look.", call_id="a"),
        Message("tool", "src/tide.py", call_id="a"),
        Message("assistant", FILLER),
        "Go on.",
        Message("assistant", FILLER),
        Message("assistant", "src/tide.py holds retry_limit."),
    )


def fact(kind: str, value: str, **more: object) -> Fact:
    return Fact("f", "by-hand", kind, "", value, **more)  # type: ignore[arg-type]


@given(sessions())
def test_everything_scores_one(session: Session) -> None:
    scores = scores_of(session, replay_by_hand(session, everything))
    assert all(was_there is True for was_there in scores.visible)
    assert scores.needed.hits == scores.needed.total
    assert scores.inventions == ()


@given(sessions())
def test_the_floor_scores_zero(session: Session) -> None:
    scores = scores_of(session, replay_by_hand(session, pinned_only))
    assert not any(scores.visible)
    assert scores.needed.hits == 0


@given(sessions(), st.randoms(use_true_random=False))
def test_showing_more_never_lowers_what_is_present(session: Session, draw: object) -> None:
    chosen: dict[int, bool] = {
        event.seq: draw.random() < 0.5  # type: ignore[attr-defined]
        for event in session.events
    }

    def less(view: Projection) -> Projection:
        return view.with_items([item for item in view.items if chosen[item.seqs[0]]])

    def more(view: Projection) -> Projection:
        return view.with_items(
            [item for item in view.items if chosen[item.seqs[0]] or item.seqs[0] % 3 == 0]
        )

    facts = [fact("path", "src/harbour/tide.py"), fact("text", "4500", aliases=("crane",))]
    with_less = scores_of(session, replay_by_hand(session, less), facts)
    with_more = scores_of(session, replay_by_hand(session, more), facts)
    pairs = zip(with_less.visible, with_more.visible, strict=True)
    assert all(after or not before for before, after in pairs)
    assert with_less.present.hits <= with_more.present.hits
    assert with_less.needed.hits <= with_more.needed.hits


def test_needed_counts_what_is_old_and_splits_it() -> None:
    session = long_session()
    scores = scores_of(session, replay_by_hand(session, summary_of("Work on src/tide.py.", 4)))
    assert scores.needed == Share(1, 2)
    assert scores.needed_by_severity == {"said_once": Share(0, 1), "re_readable": Share(1, 1)}
    assert scores.needed_by_kind == {"identifier": Share(0, 1), "path": Share(1, 1)}
    assert sum(share.total for share in scores.needed_by_age.values()) == 2
    assert scores.needed_by_age["0-2k"] == Share(0, 0)
    assert scores.needed_after_recorded_compaction.value is None


@pytest.mark.parametrize("stopped_at", [2, 3])
def test_a_refused_request_and_those_after_it_showed_nothing(stopped_at: int) -> None:
    session = long_session()
    seen = replay_by_hand(session, stopped_at=stopped_at)
    scores = scores_of(session, seen, [fact("identifier", "retry_limit")])
    assert scores.needed == Share(0, 2)
    assert scores.present == Share(0, 1)
    assert scores.facts[0].is_served is False
    assert scores.facts[0].is_told is True


def test_opaque_state_gives_no_share() -> None:
    session = long_session()

    def show(view: Projection) -> Projection:
        opaque = Native("simulated", '"sealed"', 1, 4, 10)
        return view if view.stop < 5 else view.with_items([opaque, *view.items[4:]])

    seen = replay_by_hand(session, show)
    scores = scores_of(session, seen, [fact("path", "src/tide.py"), fact("text", "Go on.")])
    assert scores.needed == Share(0, 2, 2)
    assert scores.needed.value is None
    assert [outcome.is_present for outcome in scores.facts] == [None, True]
    full = scores_of(session, replay_by_hand(session), [fact("text", "Go on.")])
    assert retention_needed(scores, full, full).reason == OPAQUE_REASON


def test_retention_stands_between_the_controls() -> None:
    session = long_session()
    facts = [fact("path", "src/tide.py"), fact("identifier", "retry_limit"), fact("text", "Go on.")]
    shows = (summary_of("On src/tide.py.", 4), pinned_only, everything)
    middle, floor, ceiling = (scores_of(session, replay_by_hand(session, s), facts) for s in shows)
    kept = retention(middle, floor, ceiling)
    assert (kept.basis, kept.value) == ("facts", pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3)))
    assert retention_needed(middle, floor, ceiling).value == 0.5
    assert retention(ceiling, floor, ceiling).value == 1
    assert retention(floor, floor, ceiling).value == 0


def test_retention_without_facts_is_that_of_uses() -> None:
    session = long_session()
    shows = (summary_of("On src/tide.py.", 4), pinned_only, everything)
    middle, floor, ceiling = (scores_of(session, replay_by_hand(session, s)) for s in shows)
    assert retention(middle, floor, ceiling) == retention_needed(middle, floor, ceiling)
    assert retention(middle, floor, ceiling).basis == "found uses"


def test_where_nothing_can_be_lost_there_is_no_retention() -> None:
    short = session_of("hello", "world")
    scores = scores_of(short, replay_by_hand(short))
    assert retention(scores, scores, scores).reason == NOTHING_MEASURED_REASON
    same = scores_of(short, replay_by_hand(short), [fact("text", "hello")])
    assert retention(same, same, same).reason == NO_SPREAD_REASON


@pytest.mark.parametrize(
    ("value", "floor", "ceiling", "expected"),
    [
        (0.5, 0.0, 1.0, 0.5),
        (0.6, 0.2, 1.0, 0.5),
        (0.1, 0.2, 1.0, -0.125),
        (0.5, 0.5, 0.5, None),
        (None, 0.0, 1.0, None),
        (0.5, None, 1.0, None),
    ],
)
def test_normalised(
    value: float | None, floor: float | None, ceiling: float | None, expected: float | None
) -> None:
    found = normalised(value, floor, ceiling)
    assert found == (None if expected is None else pytest.approx(expected))


def test_the_probe_says_where_a_fact_is_asked_for() -> None:
    session = session_of("The crane is blue.", "noted", "And now?", "well", "Bye.", "bye")
    show = summary_of("nothing of note", 2)
    for at_seq, expected in ((2, True), (3, True), (4, False), (None, False)):
        asked = fact("text", "crane is blue", probe=Probe(at_seq))
        outcome = scores_of(session, replay_by_hand(session, show), [asked]).facts[0]
        assert (at_seq, outcome.is_present) == (at_seq, expected)


def test_facts_that_were_never_told_are_marked() -> None:
    session = session_of("The crane is blue.", "noted")
    facts = [fact("text", "crane is blue"), fact("text", "crane is red")]
    scores = scores_of(session, replay_by_hand(session), facts)
    assert [outcome.is_told for outcome in scores.facts] == [True, False]
    assert scores.losses == ()


def test_sessions_without_requests_have_facts_that_nobody_saw() -> None:
    session = session_of("only this")
    scores = scores_of(session, replay_by_hand(session), [fact("text", "only this")])
    assert scores.facts[0].at_seq is None
    assert scores.present == Share(0, 1)


def test_inventions_are_named_with_their_place() -> None:
    session = long_session()
    summary = "Notes\n- retry_limit is 7 in src/tide.py\n- see src/quay.py, commit abc1234\n"
    scores = scores_of(session, replay_by_hand(session, summary_of(summary, 4)))
    assert [one.text for one in scores.inventions] == ["src/quay.py", "abc1234"]
    assert scores.invented == Share(2, 4)
    first = scores.inventions[0]
    assert (first.line, first.first_seq, first.last_seq) == (
        "- see src/quay.py, commit abc1234",
        1,
        4,
    )
    assert summary[first.start :].startswith("src/quay.py")
    assert first.at_seq == 6


def test_what_comes_later_is_still_invented_when_it_is_written() -> None:
    session = session_of("one", "two", "three", "four", "see src/quay.py", "five")
    scores = scores_of(session, replay_by_hand(session, summary_of("src/quay.py", 2)))
    assert [one.text for one in scores.inventions] == ["src/quay.py"]


def test_survival_follows_what_is_needed_next() -> None:
    session = long_session()
    seen = replay_by_hand(session, summary_of("Work on src/tide.py.", 4), compacted_at=[6])
    rows = scores_of(session, seen).survival
    assert {row.horizon_steps for row in rows} == set(HORIZONS_STEPS)
    by_kind = {row.kind: (row.at_risk, row.survived) for row in rows if row.horizon_steps == 5}
    assert by_kind == {"identifier": (1, 0), "path": (1, 1)}
    assert {row.generation for row in rows} == {1}


def test_survival_counts_generations_up_to_a_bound() -> None:
    session = long_session()
    show = summary_of("Work on src/tide.py.", 4)
    twice = scores_of(session, replay_by_hand(session, show, compacted_at=[6, 7])).survival
    assert {row.generation for row in twice} == {1, 2}
    often = replay_by_hand(session, show, compacted_at=[2] * GENERATIONS_MAX + [6])
    assert {row.generation for row in scores_of(session, often).survival} == {GENERATIONS_MAX}


def test_survival_leaves_out_what_a_tool_brought_back() -> None:
    events = [*long_session().events]
    messages = [event.message for event in events]
    messages[5:5] = [call("list", "{}", call_id="b"), Message("tool", "src/tide.py", call_id="b")]
    session = session_of(*messages)
    seen = replay_by_hand(session, summary_of("gone", 4), compacted_at=[6])
    kinds = {row.kind for row in scores_of(session, seen).survival}
    assert kinds == {"identifier"}


def test_losses_put_what_was_said_once_first() -> None:
    session = long_session()
    summary = "Progress\n- looked at files under src\n- nothing else"
    planted = fact("constraint", "retry_limit at 7", source_seqs=(1,), must_keep=True)
    seen = replay_by_hand(session, summary_of(summary, 4))
    losses = scores_of(session, seen, [planted]).losses
    assert [(lost.origin, lost.text, lost.severity) for lost in losses] == [
        ("planted", "retry_limit at 7", "said_once"),
        ("found", "retry_limit", "said_once"),
        ("found", "src/tide.py", "re_readable"),
    ]
    tide = losses[2]
    assert (tide.source_seq, tide.source_line, tide.needed_at_seq) == (3, "src/tide.py", 7)
    assert tide.summary_line == "- looked at files under src"
    assert losses[1].source_line == "Please keep retry_limit at 7."
    assert losses[0].must_keep


def test_a_rule_is_worse_lost_than_an_older_file() -> None:
    session = session_of(
        "Go.",
        call("list", "{}", call_id="a"),
        Message("tool", "src/tide.py", call_id="a"),
        Message("assistant", FILLER),
        "Mind retry_limit.",
        Message("assistant", FILLER),
        "Now.",
        Message("assistant", "src/tide.py holds retry_limit."),
    )
    losses = scores_of(session, replay_by_hand(session, pinned_only)).losses
    assert [lost.text for lost in losses] == ["retry_limit", "src/tide.py"]
    assert losses[0].age_tokens < losses[1].age_tokens


def test_losses_without_a_summary_have_no_summary_line() -> None:
    session = long_session()
    losses = scores_of(session, replay_by_hand(session, pinned_only)).losses
    assert losses and all(lost.summary_line is None for lost in losses)


def test_another_sessions_replay_is_refused() -> None:
    session = long_session()
    index = SessionIndex(session)
    other = replace(replay_by_hand(session), session="other")
    with pytest.raises(ValueError, match="must be of session by-hand"):
        score(index, (), find_uses(index), other, History(session.events))

"""F6 under a forgetful summariser: what a first segment holds outlives repeated re-summarising.

True by construction while segments are appended: nothing rewrites the first one. Not true by
construction: that the fitted caps make both cost the same, how much a cap drops beside the coin,
and what is left when four segments are merged into one summary (F6.3).
"""

from __future__ import annotations

import pytest

from bench.generator import generate_session
from reports import style
from reports.charts import segment_survival
from tests.benchmarks.segment_replays import (
    ARMS,
    FIRST_SUMMARY,
    HEAD_TAIL,
    LAYERED,
    RESUMMARISE,
    SAID,
    TOLERANCE,
    Options,
    Studied,
    forced_points,
    study,
)
from tests.benchmarks.segment_survival import markdown, rows_of

OPTIONS = Options(cuts=5, seeds=3, summary_tokens_max=500)
APPENDED = range(4)
"""The compactions, counted from 0, after which the first segment still stands as it was written."""


def studied_one(seed: int, options: Options = OPTIONS) -> Studied:
    session, facts = generate_session(kind="chat", language="en", events=150, seed=seed)
    found = study(session, facts, options)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def studied() -> list[Studied]:
    return [studied_one(seed) for seed in (1, 2, 3, 4)]


def shares(studied: list[Studied], cohort: str, arm: str) -> list[float]:
    rows = rows_of(studied, cohort, "turns")
    found = [row["share"] for row in rows if row["strategy"] == arm]
    assert len(found) == OPTIONS.cuts
    assert None not in found
    return found


def test_all_arms_wrote_as_many_summary_tokens(studied: list[Studied]) -> None:
    written = {arm: sum(one.ran[arm].output_tokens for one in studied) for arm in ARMS}
    for arm in (HEAD_TAIL, RESUMMARISE):
        assert written[arm] == pytest.approx(written[LAYERED], rel=TOLERANCE)


def test_f6_1_a_first_segment_outlives_re_summarising(studied: list[Studied]) -> None:
    for arm in (HEAD_TAIL, RESUMMARISE):
        layered, rewritten = (shares(studied, FIRST_SUMMARY, one) for one in (LAYERED, arm))
        assert [layered[number] for number in APPENDED] == [1.0] * len(APPENDED)
        assert rewritten[3] < rewritten[2] < rewritten[1] < 1
        assert layered[3] - rewritten[3] > 0.15


def test_f6_1_what_was_said_in_the_first_span_survives_better(studied: list[Studied]) -> None:
    layered, rewritten = (shares(studied, SAID, arm) for arm in (LAYERED, HEAD_TAIL))
    lost = [shares[0] - shares[3] for shares in (layered, rewritten)]
    assert layered[3] > rewritten[3]
    assert lost[0] < lost[1]


def test_f6_2_f6_3_the_first_span_is_written_again_only_when_segments_are_merged(
    studied: list[Studied],
) -> None:
    for one in studied:
        for run in one.ran[LAYERED].generations:
            assert [generation.rewrites for generation in run] == [1, 1, 1, 1, 2]
            assert [len(generation.summaries) for generation in run] == [1] * 5
        for run in one.ran[HEAD_TAIL].generations:
            assert [generation.rewrites for generation in run] == [1, 2, 3, 4, 5]
    assert shares(studied, FIRST_SUMMARY, LAYERED)[4] < 1


def test_a_head_anchor_that_changes_costs_the_advantage() -> None:
    """F6.3: cut inside of turns, each with an anchor of its own, every summary is rewritten."""
    inside = Options(cuts=4, seeds=1, summary_tokens_max=500, place="even")
    session, _ = generate_session(kind="coding", language="en", events=150, seed=1)
    found = study(session, (), inside)
    assert found is not None
    assert found.ran[LAYERED].generations[0][-1].rewrites > 1


def test_points_between_turns_are_requests_that_open_one() -> None:
    session, _ = generate_session(kind="chat", language="en", events=150, seed=1)
    answers = [event.seq for event in session.events if event.message.role == "assistant"]
    points = forced_points(session, OPTIONS)
    assert len(points) == OPTIONS.cuts
    for point in points:
        assert session.events[answers[point] - 2].message.role == "user"


def test_the_same_study_gives_the_same_bytes(studied: list[Studied]) -> None:
    again = studied_one(1)
    assert again == studied[0]
    rounds = {"turns": studied}
    assert markdown(rounds, OPTIONS) == markdown({"turns": [again, *studied[1:]]}, OPTIONS)
    rows = rows_of(studied, FIRST_SUMMARY, "turns")
    first, second = (style.to_svg(segment_survival.draw(rows, OPTIONS.p)) for _ in range(2))
    assert first == second
    assert "compacted between turns" in first
    assert "compacted anywhere" not in first


def test_nothing_at_risk_is_said_so() -> None:
    svg = style.to_svg(segment_survival.draw([], 0.9))
    assert "Nothing of a first summary was at risk." in svg

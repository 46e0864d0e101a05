"""Chart data of a run small enough to be worked out by hand: frames, not pixels.

Two sessions A and B; `near` keeps more, `far` saves more and wasn't exercised in B.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from reports import chart_frames, fact_frames
from reports.frames import (
    CELLS,
    COMPACTIONS,
    FACTS,
    REQUESTS,
    SURVIVAL,
    About,
    RunData,
    frame_of,
)
from reports.losses import lost, worst
from reports.summary import summarise


def key(session: str, strategy: str) -> dict[str, Any]:
    return {
        "session": session,
        "strategy": strategy,
        "window": 1_000,
        "window_asked": "1000",
        "model": "offline",
        "seed": 0,
    }


def cell(
    session: str, strategy: str, kept: float | None, sent: int, baseline: int, compactions: int
) -> dict[str, Any]:
    return {
        **key(session, strategy),
        "status": "not_exercised" if kept is None else "ok",
        "is_control": strategy in ("keep_all", "empty"),
        "retention": kept,
        "retention_layer": "present",
        "tokens_sent": sent,
        "tokens_baseline": baseline,
        "tokens_summariser": 50 * compactions,
        "cost_ratio": sent / baseline,
        "compactions": compactions,
        "overflow": compactions,
        "requests_served": 3,
        "requests_total": 3,
    }


def request(session: str, strategy: str, index: int, tokens: int, cached: int) -> dict[str, Any]:
    return {
        **key(session, strategy),
        "index": index,
        "at_seq": 2 * index + 2,
        "tokens": tokens,
        "cached_tokens": cached,
        "is_served": True,
        "is_compacted": cached == 0 and index > 0,
    }


def fact(
    session: str, strategy: str, kind: str, outcome: str, age: int, position: float, needed: int = 6
) -> dict[str, Any]:
    return {
        **key(session, strategy),
        "origin": "found",
        "kind": kind,
        "text": f"{kind} of {session}",
        "outcome": outcome,
        "is_counted": age >= 2_000,
        "age_tokens": age,
        "position": position,
        "source_seq": 1,
        "needed_at_seq": needed,
    }


@pytest.fixture(scope="module")
def run() -> RunData:
    cells = [
        cell("A", "near", 0.8, 600, 1_000, 2),
        cell("B", "near", 0.6, 1_500, 2_000, 1),
        cell("A", "far", 0.5, 300, 1_000, 1),
        cell("B", "far", None, 2_000, 2_000, 0),
        cell("A", "keep_all", 1.0, 1_000, 1_000, 0),
        cell("B", "keep_all", 1.0, 2_000, 2_000, 0),
        cell("A", "empty", 0.0, 100, 1_000, 0),
        cell("B", "empty", 0.0, 200, 2_000, 0),
    ]
    requests = [
        request("A", "near", 0, 100, 0),
        request("A", "near", 1, 400, 0),
        request("A", "near", 2, 100, 90),
        request("A", "keep_all", 0, 100, 0),
        request("A", "keep_all", 1, 300, 100),
        request("A", "keep_all", 2, 600, 300),
    ]
    compaction = {
        **key("A", "near"),
        "request": 1,
        "at_seq": 4,
        "outcome": "accepted",
        "generation": 1,
        "asked": 1,
        "ask_input_tokens": 40,
        "ask_output_tokens": 10,
    }
    facts = [
        fact("A", "near", "path", "present", 100, 0.0),
        fact("A", "near", "path", "present", 3_000, 0.1),
        fact("A", "near", "number", "lost_re_readable", 3_000, 0.9),
        fact("B", "near", "path", "present", 50_000, 0.3),
        fact("A", "far", "path", "lost_said_once", 3_000, 0.1),
        fact("A", "far", "path", "lost_said_once", 3_500, 0.1, needed=8),
        fact("A", "far", "number", "stale", 3_000, 0.9),
        fact("A", "keep_all", "path", "present", 3_000, 0.1),
        fact("A", "empty", "path", "lost_said_once", 3_000, 0.1),
    ]
    survival = [
        {**key("A", "near"), "generation": 1, "horizon_steps": 100, "kind": "path",
         "at_risk": 4, "survived": 3, "unreadable": 0},
        {**key("A", "near"), "generation": 1, "horizon_steps": 5, "kind": "path",
         "at_risk": 1, "survived": 0, "unreadable": 0},
        {**key("B", "near"), "generation": 1, "horizon_steps": 100, "kind": "number",
         "at_risk": 3, "survived": 1, "unreadable": 1},
        {**key("A", "near"), "generation": 2, "horizon_steps": 100, "kind": "path",
         "at_risk": 2, "survived": 0, "unreadable": 0},
    ]  # fmt: skip
    return RunData(
        About(),
        frame_of(cells, CELLS),
        frame_of(requests, REQUESTS),
        frame_of([compaction], COMPACTIONS),
        frame_of(facts, FACTS),
        frame_of(survival, SURVIVAL),
    )


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Chosen columns as rounded tuples; NaN as None."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return None if math.isnan(value) else round(value, 4)
        return value.item() if hasattr(value, "item") else value

    return [tuple(map(plain, row)) for row in frame[list(columns)].itertuples(index=False)]


def test_summary(run: RunData) -> None:
    shown = rows(
        summarise(run.cells),
        "strategy",
        "sessions",
        "sessions_total",
        "fired",
        "retention",
        "overflow",
    )
    assert shown == [
        ("far", 1, 2, 1, 0.5, 1.0),
        ("near", 2, 2, 2, 0.7, 3.0),
        ("keep_all", 2, 2, 0, 1.0, 0.0),
        ("empty", 2, 2, 0, 0.0, 0.0),
    ]


def test_savings_are_a_ratio_of_sums(run: RunData) -> None:
    saved = {row.strategy: row.tokens_saved for row in summarise(run.cells).itertuples()}
    # near: 1 - 2100 / 3000, not the mean of 40% and 25%
    assert saved["near"] == pytest.approx(0.3)
    assert saved["empty"] == pytest.approx(0.9)


def test_frontier(run: RunData) -> None:
    frame = chart_frames.frontier(run)
    assert rows(frame, "strategy", "place", "is_control", "is_dominated", "retention") == [
        ("far", 0, False, True, 0.5),  # saves 1 - 2300/3000 = 23%, near saves 30% and keeps more
        ("near", 1, False, False, 0.7),
        ("keep_all", -1, True, False, 1.0),
        ("empty", -1, True, False, 0.0),
    ]
    near = frame[frame["strategy"] == "near"].iloc[0]
    # t with one degree of freedom: 0.7 ± 12.7 x 0.1, cut at what a share can be
    assert (near["retention_low"], near["retention_high"]) == (0.0, 1.0)
    far = frame[frame["strategy"] == "far"].iloc[0]
    assert math.isnan(far["retention_low"]), "one session has no interval"


def test_sawtooth(run: RunData) -> None:
    frame = chart_frames.sawtooth(run, "A")
    assert rows(
        frame, "strategy", "index", "tokens", "cached_tokens", "is_compacted", "window"
    ) == [
        ("near", 0, 100, 0, False, 1000.0),
        ("near", 1, 400, 0, True, 1000.0),
        ("near", 2, 100, 90, False, 1000.0),
        ("keep_all", 0, 100, 0, False, 1000.0),
        ("keep_all", 1, 300, 100, False, 1000.0),
        ("keep_all", 2, 600, 300, False, 1000.0),
    ]


def test_by_age_counts_every_use(run: RunData) -> None:
    frame = fact_frames.by_age(run)
    assert rows(frame, "strategy", "age", "retention", "facts", "sessions") == [
        ("far", "2-10k", 0.0, 3, 1),
        ("near", "0-2k", 1.0, 1, 1),
        ("near", "2-10k", 0.5, 2, 1),
        ("near", "40k+", 1.0, 1, 1),
    ]


def test_outcomes_count_only_what_the_score_counts(run: RunData) -> None:
    frame = fact_frames.outcomes(run)
    shown = rows(frame[frame["facts"] > 0], "strategy", "outcome", "facts", "share")
    assert shown == [
        ("far", "stale", 1, 0.3333),
        ("far", "lost_said_once", 2, 0.6667),
        ("near", "present", 2, 0.6667),
        ("near", "lost_re_readable", 1, 0.3333),
        ("keep_all", "present", 1, 1.0),
        ("empty", "lost_said_once", 1, 1.0),
    ]


def test_kinds(run: RunData) -> None:
    frame = fact_frames.kinds_by_strategy(run)
    assert rows(frame, "kind", "column", "retention", "facts") == [
        ("number", "far", 0.0, 1),
        ("number", "near", 0.0, 1),
        ("path", "empty", 0.0, 1),
        ("path", "far", 0.0, 2),
        ("path", "keep_all", 1.0, 1),
        ("path", "near", 1.0, 2),
    ]
    frame = fact_frames.kinds_by_position(run)
    # A keeps 1 of 3 paths of the first fifth, the other path stands in the second fifth of B.
    assert rows(frame, "kind", "column", "retention", "facts") == [
        ("number", "last fifth", 0.0, 2),
        ("path", "first fifth", 0.3333, 3),
        ("path", "second", 1.0, 1),
    ]


def test_costs_and_break_even(run: RunData) -> None:
    frame = chart_frames.costs(run)
    assert rows(frame, "strategy", "baseline", "dropped", "summariser", "sent", "broke_even") == [
        ("far", 1500.0, 375.0, 25.0, 1150.0, 0),
        ("near", 1500.0, 525.0, 75.0, 1050.0, 1),
    ]
    # near: 100, 550 with the summariser, 650; full history: 100, 400, 1000: ahead from request 2
    assert rows(frame[frame["strategy"] == "near"], "break_even") == [(2.0,)]


def test_paired_differences_use_shared_sessions_only(run: RunData) -> None:
    frame = chart_frames.paired_differences(run)
    assert rows(frame, "first", "second", "difference", "low", "sessions") == [
        ("far", "near", -0.3, None, 1)
    ]


def test_sessions(run: RunData) -> None:
    frame = chart_frames.by_session_and_strategy(run)
    assert rows(frame, "session", "strategy", "retention", "status") == [
        ("A", "near", 0.8, "ok"),
        ("A", "far", 0.5, "ok"),
        ("B", "near", 0.6, "ok"),
        ("B", "far", None, "not_exercised"),
    ]


def test_survival_is_a_mean_over_sessions_at_the_longest_horizon(run: RunData) -> None:
    frame = fact_frames.by_generation(run)
    assert rows(frame, "kind", "generation", "retention", "facts", "sessions") == [
        ("all", 1, 0.625, 6, 2),  # (3/4 + 1/2) / 2: what is unreadable isn't at risk
        ("all", 2, 0.0, 2, 1),
        ("number", 1, 0.5, 2, 1),
        ("path", 1, 0.75, 4, 1),
        ("path", 2, 0.0, 2, 1),
    ]


def test_retries_per_compaction(run: RunData) -> None:
    frame = chart_frames.retries(run)
    chosen = frame[frame["kind"].isin(["overflow", "re-read"])]
    assert rows(chosen, "strategy", "kind", "count", "per_compaction", "compactions") == [
        ("far", "overflow", 1.0, 1.0, 1.0),
        ("far", "re-read", 0.0, 0.0, 1.0),
        ("near", "overflow", 3.0, 1.0, 3.0),
        ("near", "re-read", 1.0, 0.3333, 3.0),
    ]


def test_losses_are_ranked_and_each_shown_once(run: RunData) -> None:
    assert rows(lost(run), "strategy", "kind", "outcome", "times") == [
        ("far", "number", "stale", 1),
        ("far", "path", "lost_said_once", 2),
        ("near", "number", "lost_re_readable", 1),
    ]
    first, second = worst(run, 10)
    assert (first["kind"], first["strategy"], first["also"]) == ("number", "far", ["near"])
    assert (second["kind"], second["times"], second["needed_at_seq"]) == ("path", 2, 8.0)

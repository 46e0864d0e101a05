"""The verdict: what it says, when it says nothing, and that a reader can follow it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.verdict import Verdict, compare_all, ranking, verdict
from bench.verdict_table import table


@dataclass(frozen=True)
class Canary:
    session: str
    control: str
    planted: int
    found: int


def cell(strategy: str, session: int, retention: float | None, **fields: Any) -> dict[str, Any]:
    return {
        "session": f"s{session}",
        "strategy": strategy,
        "window": 8_000 + session,
        "window_asked": "auto",
        "model": "offline",
        "seed": 0,
        "status": "ok",
        "reason": "",
        "retention": retention,
        "retention_layer": "present",
        "retention_basis": "facts",
        "retention_needed": retention,
        "retention_said_once": retention,
        "retention_re_readable": None if retention is None else retention / 2,
        "tokens_sent": 600,
        "tokens_baseline": 1_000,
        "cost_ratio": 0.7,
        "compactions": 3,
        "retries": {"overflow": 0, "repair": 0, "replan": 0, "transport": 0, "suppressed": 0},
        "requests_served": 10,
        "requests_total": 10,
        "invalid_projections": 0,
        "grew": 0,
        "seconds": 0.1,
        **fields,
    }


def controls(sessions: Iterable[int]) -> list[dict[str, Any]]:
    return [
        cell(name, session, value, compactions=0)
        for session in sessions
        for name, value in (("keep_all", 1.0), ("empty", 0.0))
    ]


def compared(
    first: Sequence[float | None], second: Sequence[float | None], **fields: Any
) -> list[dict[str, Any]]:
    cells = [cell("head_tail", i, value, **fields) for i, value in enumerate(first)]
    cells += [cell("prune", i, value) for i, value in enumerate(second)]
    return cells + controls(range(len(first)))


BETTER = [0.70, 0.72, 0.74, 0.66, 0.71, 0.69, 0.73, 0.75]
WORSE = [0.60, 0.55, 0.61, 0.58, 0.57, 0.60, 0.59, 0.54]


def test_a_clear_difference_is_a_verdict() -> None:
    result = verdict(compared(BETTER, WORSE))
    assert result.decided
    assert result.exit_code == 0
    # Mean difference 0.1325, deviation 0.043343: 0.1325 -+ 2.3646 * 0.043343 / sqrt(8).
    # All eight signs are equal: p = 2 / 256.
    assert result.sentences[0] == (
        "head_tail kept more of what was needed later: 71% against 58% for prune, 13 points more "
        "(95% interval 9.6 to 17 points, 8 sessions, p = 0.008)."
    )
    assert result.sentences[1] == (
        "Tokens sent, against the full history: head_tail 40% fewer and prune 40% fewer; "
        "no second tries."
    )
    assert result.sentences[2] == (
        "Of what was said only once (rules, decisions: lost for good) head_tail kept 71% and prune "
        "58%; of what a tool could read again head_tail kept 36% and prune 29%."
    )
    assert result.controls == (
        "Controls in line: the full history (keep_all) kept 100%, a bare request (empty) 0%."
    )
    assert result.fired == (
        "What fired: head_tail compacted 24 times in 8 of 8 sessions; "
        "prune compacted 24 times in 8 of 8 sessions."
    )
    assert result.basis == (
        "These numbers stand on 8 sessions, the window auto (8,000 to 8,007 tokens), the stand-in "
        "model offline (it copies sentences instead of writing them: it shows mechanics, not "
        "wording) and the layer present (the words stand in the request: an upper bound on what a "
        "model would recall). What a session needed: facts that were planted in it or written down "
        "for it."
    )
    assert result.warnings == ()
    assert len(result.lines) == 6


def test_the_order_of_the_cells_changes_nothing() -> None:
    cells = compared(BETTER, WORSE)
    assert verdict(cells[::-1]).sentences[0] == verdict(cells).sentences[0]
    assert verdict(compared(WORSE, BETTER)).sentences[0].startswith("prune kept more")


def test_a_difference_that_may_be_chance_is_said_and_not_decided() -> None:
    result = verdict(
        compared([0.7, 0.5, 0.6, 0.8, 0.4, 0.6, 0.7], [0.5, 0.6, 0.6, 0.6, 0.5, 0.5, 0.6])
    )
    assert not result.decided
    assert result.exit_code == 0
    # Sum 4 of 2 2 1 1 1 1 tenths and a zero: 13 of 32 sign patterns are as extreme.
    assert result.sentences[0].startswith(
        "Not decided: head_tail kept 61% of what was needed later and prune 56%, 5.7 points less "
        "(95% interval -6.1 to 17 points, 7 sessions, p = 0.41), which may be chance; about "
    )
    assert (
        "sessions would show such a difference, these could have shown one of"
        in (result.sentences[0])
    )


def test_too_few_sessions_decide_nothing_but_say_what_was_seen() -> None:
    result = verdict(compared(BETTER[:3], WORSE[:3]))
    assert not result.decided
    assert result.exit_code == 0
    assert (
        "head_tail kept 72% of what was needed later and prune 59%, 13 points less"
        in (result.sentences[0])
    )
    assert result.sentences[0].endswith(
        "3 sessions can't tell this from chance, at least 6 are needed."
    )
    assert "p " not in result.sentences[0].split("(")[1].split(")")[0]


def test_sessions_of_few_projects_decide_nothing() -> None:
    clusters = {f"s{i}": i % 3 for i in range(8)}
    result = verdict(compared(BETTER, WORSE), clusters=clusters)
    assert not result.decided
    assert "too few independent projects" in result.sentences[0]


def test_no_difference_at_all() -> None:
    result = verdict(compared(BETTER, list(BETTER)))
    assert not result.decided
    assert "and prune 71%, no difference (" in result.sentences[0]


def test_missing_cells_decide_nothing() -> None:
    cells = compared(BETTER, WORSE)
    failed = {"status": "error", "reason": "KeyError: 'x'", "retention": None, "compactions": None}
    cells[3] = {**cells[3], **failed}
    result = verdict(cells)
    assert not result.decided
    assert result.sentences[0].startswith(
        "Not decided, since 1 of 32 cells is missing, and what they hold could change it; so far "
        "head_tail kept 72%"
    )
    assert result.warnings[0] == (
        "1 of 32 cells is missing, the first: head_tail on session s3: KeyError: 'x'"
    )
    assert "head_tail compacted 21 times in 7 of 8 sessions and failed in 1" in result.fired
    without = [one for one in compared(BETTER, WORSE) if one["session"] != "s2"]
    without += [one for one in compared(BETTER, WORSE) if one["session"] == "s2"][1:]
    assert (
        "1 of 32 cells is missing, the first: head_tail on session s2: it wasn't run"
        in (verdict(without).warnings[0])
    )


def test_what_never_fired_has_no_score_and_is_no_winner() -> None:
    idle = {"status": "not_exercised", "compactions": 0}
    cells = compared(BETTER, WORSE)
    cells += [cell("native", i, None, **idle) for i in range(8)]
    result = verdict(cells)
    assert result.decided
    assert "native" not in " ".join(result.sentences)
    assert result.fired.endswith("native never fired, so it has no score.")


def test_sessions_in_which_one_never_fired_are_no_pairs() -> None:
    idle = {"status": "not_exercised", "compactions": 0}
    cells = compared([*BETTER, None], [*WORSE, 0.99])
    cells[8] = {**cells[8], **idle}
    assert "8 sessions, p = 0.008" in verdict(cells).sentences[0]


def test_three_strategies_are_ranked_and_tested_together() -> None:
    cells = compared(BETTER, WORSE) + [cell("native", i, w - 0.2) for i, w in enumerate(WORSE)]
    result = verdict(cells)
    assert result.decided
    assert result.sentences[0] == (
        "head_tail kept the most of what was needed later: 71% against 58% for prune, 13 points "
        "more (95% interval 9.6 to 17 points, 8 sessions, p = 0.023 allowing for 3 comparisons). "
        "It also kept more than native (38%)."
    )


def test_a_tie_at_the_top_still_names_who_is_behind() -> None:
    near = [
        b + d
        for b, d in zip(BETTER, [0.02, -0.03, 0.01, 0.0, -0.01, 0.02, -0.02, 0.0], strict=True)
    ]
    cells = compared(BETTER, near) + [cell("native", i, w) for i, w in enumerate(WORSE)]
    result = verdict(cells)
    assert not result.decided
    assert result.sentences[0].startswith("Not decided: head_tail kept 71%")
    assert result.sentences[0].endswith("head_tail did keep more than native (58%).")


def test_one_strategy_is_described() -> None:
    cells = [cell("prune", i, w) for i, w in enumerate(WORSE)] + controls(range(8))
    result = verdict(cells)
    assert not result.decided
    assert result.exit_code == 0
    assert result.sentences[0] == (
        "prune kept 58% of what was needed later (95% interval 56% to 60%, 8 sessions); "
        "there is no second strategy with a score to compare it with."
    )


def test_strategies_without_a_common_session_are_not_compared() -> None:
    cells = compared([0.5, None], [None, 0.6])
    assert verdict(cells).sentences[0].endswith("so they can't be compared.")


def test_costs_and_second_tries_are_said() -> None:
    tries = {"overflow": 1, "repair": 2, "replan": 0, "transport": 0, "suppressed": 5}
    cells = compared(BETTER, WORSE, tokens_sent=1_250, retries=tries)
    assert verdict(cells).sentences[1] == (
        "Tokens sent, against the full history: head_tail 25% more and prune 40% fewer; second "
        "tries: head_tail 24 (8 overflow, 16 repair)."
    )


def test_stops_invalid_requests_and_growth_are_said() -> None:
    cells = compared(BETTER, WORSE, status="stopped", invalid_projections=2, grew=1)
    result = verdict(cells)
    assert "head_tail compacted 24 times in 8 of 8 sessions and stopped early in 8" in result.fired
    assert result.warnings == (
        "requests that a provider's API would refuse as malformed: head_tail 16",
        "accepted compactions that made the context larger: head_tail 8",
    )


def test_what_stopped_without_firing_has_a_score() -> None:
    cells = compared([0.0] * 8, WORSE, status="stopped", compactions=0)
    assert verdict(cells).fired.startswith(
        "What fired: head_tail never fired and stopped early in 8 (what came after counts as lost);"
    )


def is_refused(result: Verdict) -> bool:
    return not result.decided and result.exit_code == 3 and len(result.sentences) == 1


@pytest.mark.parametrize(
    ("control", "fields", "problem"),
    [
        ("keep_all", {"retention": 0.9}, "keep_all kept 90% in session s2 where it must keep 100%"),
        ("empty", {"retention_needed": 0.1}, "empty kept 10% in session s2 where it must keep 0%"),
        (
            "keep_all",
            {"status": "stopped", "reason": "input_overflow"},
            "keep_all did not get through session s2: input_overflow",
        ),
    ],
)
def test_a_control_out_of_line_refuses_every_verdict(
    control: str, fields: dict[str, Any], problem: str
) -> None:
    cells = [
        {**one, **fields} if one["strategy"] == control and one["session"] == "s2" else one
        for one in compared(BETTER, WORSE)
    ]
    result = verdict(cells)
    assert is_refused(result)
    assert result.sentences[0] == (
        f"No verdict: a control is out of line, so no number here can be trusted: {problem}."
    )
    assert result.controls == f"Controls out of line: {problem}."


def test_a_missing_control_refuses_every_verdict() -> None:
    cells = [one for one in compared(BETTER, WORSE) if one["strategy"] != "empty"]
    result = verdict(cells)
    assert is_refused(result)
    assert "the control empty is missing" in result.sentences[0]


def test_canaries_are_controls_too() -> None:
    cells = compared(BETTER, WORSE)
    good = [Canary("s0", "keep_all", 3, 3), Canary("s0", "empty", 3, 0)]
    assert verdict(cells, canaries=good).controls.endswith(
        "; of 3 planted canaries they showed 3 and 0."
    )
    for bad in (Canary("s1", "keep_all", 3, 2), Canary("s1", "empty", 3, 1)):
        result = verdict(cells, canaries=[*good, bad])
        assert is_refused(result)
        assert (
            f"{bad.control} showed {bad.found} of 3 planted canaries of session s1"
            in (result.sentences[0])
        )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"status": "not_exercised", "compactions": 0},
            "no strategy ever fired; give a smaller --window or longer sessions",
        ),
        ({"status": "error", "reason": "ValueError: x"}, "every replay failed (ValueError: x)"),
        ({"reason": "keep_all = empty"}, "no cell has a score (keep_all = empty)"),
    ],
)
def test_nothing_measured_is_no_verdict(fields: dict[str, Any], why: str) -> None:
    cells = [cell("prune", i, None, **fields) for i in range(8)] + controls(range(8))
    result = verdict(cells)
    assert is_refused(result)
    assert result.sentences[0] == f"No verdict: nothing was measured: {why}."


def test_controls_alone_and_nothing_at_all() -> None:
    assert is_refused(verdict(controls(range(3))))
    assert is_refused(verdict([]))
    assert "the control keep_all is missing" in verdict([]).sentences[0]


def test_names_and_reasons_from_files_are_made_harmless() -> None:
    cells = compared(BETTER, WORSE)
    cells[0] = {
        **cells[0],
        "status": "error",
        "retention": None,
        "reason": "\x1b[31mred\nline" * 90,
    }
    text = "\n".join(verdict(cells).warnings)
    assert "\x1b" not in text
    assert all(len(line) < 400 for line in text.split("\n"))


def test_several_windows_models_and_seeds_are_averaged_inside_the_session() -> None:
    cells = [
        {**one, "window_asked": asked, "window": 9_000, "seed": seed}
        for one in compared(BETTER, WORSE)
        for asked in ("auto", "9000")
        for seed in (0, 1)
    ]
    result = verdict(cells)
    # More draws of the same sessions are no more sessions.
    assert result.sentences[0] == verdict(compared(BETTER, WORSE)).sentences[0]
    assert "2 seeds" in result.basis
    assert "settings are averaged here, the table has each" in result.basis
    assert "in 32 of 32 replays" in result.fired


def test_what_needed_means_is_said_for_each_kind_of_session() -> None:
    cells = compared(BETTER, WORSE)
    mixed = [
        {**one, "retention_basis": "found uses"} if one["session"] in ("s0", "s1") else one
        for one in cells
    ]
    assert verdict(mixed).basis.endswith(
        "What a session needed: in 2 names, paths and values that the recorded agent itself used "
        "again much later, in 6 facts that were planted in it or written down for it."
    )


SHARES = st.none() | st.integers(0, 100).map(lambda value: value / 100)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=9))
def test_any_scores_give_readable_sentences(
    scores: list[tuple[float | None, float | None]],
) -> None:
    result = verdict(compared([a for a, _ in scores], [b for _, b in scores]))
    assert result.exit_code in (0, 3)
    assert not (result.decided and len(scores) < 6)
    for line in result.lines:
        assert line.endswith(".")
        assert "nan" not in line.split()
        assert "None" not in line
        assert not re.search(r"\b-0\b|\d\.\d{4}", line)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=6, max_size=9))
def test_a_verdict_names_who_really_kept_more(
    scores: list[tuple[float | None, float | None]],
) -> None:
    cells = compared([a for a, _ in scores], [b for _, b in scores])
    result = verdict(cells)
    if not result.decided:
        return
    differences = [a - b for a, b in scores if a is not None and b is not None]
    winner = "head_tail" if math.fsum(differences) > 0 else "prune"
    assert result.sentences[0].startswith(winner)


def test_p_is_adjusted_over_all_pairs() -> None:
    cells = compared(BETTER, WORSE) + [cell("native", i, w - 0.2) for i, w in enumerate(WORSE)]
    pairs = compare_all(cells, ["head_tail", "prune", "native"])
    assert len(pairs) == 3
    assert {pair.unadjusted_p for pair in pairs.values()} == {2 / 256}
    assert {pair.comparison.p for pair in pairs.values()} == {6 / 256}


def test_the_table_has_means_over_sessions_and_controls_last() -> None:
    cells = compared([0.2, 0.4, None], [0.5, 0.5, 0.8])
    cells[2] = {**cells[2], "status": "not_exercised", "compactions": 0}
    # A second seed of one session: averaged inside the session first.
    cells.insert(1, {**cells[0], "seed": 1, "retention": 0.4})
    rows = table(cells)
    assert [row["strategy"] for row in rows] == ["head_tail", "prune", "keep_all", "empty"]
    first = rows[0]
    assert first["retention"] == pytest.approx(0.35)
    assert (first["sessions"], first["cells"]) == (2, 4)
    assert (first["ok"], first["not_exercised"], first["stopped"], first["error"]) == (3, 1, 0, 0)
    assert first["interval"] == pytest.approx([0.0, 0.35 + 0.6353], abs=1e-3)
    assert first["window"] == "auto"
    assert first["tokens_saved"] == pytest.approx(0.4)
    assert first["compactions"] == pytest.approx(2.0)
    assert rows[1]["interval"] is not None
    assert rows[2]["retention"] == 1.0


def test_savings_are_a_ratio_of_sums() -> None:
    cells = [
        cell("prune", 0, 0.5, tokens_sent=900, tokens_baseline=1_000),
        cell("prune", 1, 0.5, tokens_sent=1_000, tokens_baseline=10_000),
        cell("prune", 2, None, tokens_sent=None, tokens_baseline=None),
    ]
    (row,) = table(cells)
    assert row["tokens_saved"] == pytest.approx(1 - 1_900 / 11_000)
    assert row["tokens_sent"] == 1_900
    (empty_row,) = table([cell("prune", 0, None, tokens_sent=None, tokens_baseline=None)])
    assert empty_row["tokens_saved"] is None
    assert empty_row["retention"] is None
    assert empty_row["interval"] is None


def test_a_fixed_window_is_a_number_in_the_table() -> None:
    cells = [{**cell("prune", 0, 0.5), "window": 9_000, "window_asked": None}]
    assert table(cells)[0]["window"] == 9_000


def test_strategy_measured_on_few_sessions_never_leads() -> None:
    cells = [cell("steady", session, 0.8) for session in range(9)]
    cells += [cell("lucky", session, 1.0 if session < 2 else None) for session in range(9)]
    cells += [cell("weak", session, 0.5) for session in range(9)]
    assert ranking(cells, ["lucky", "weak", "steady"]) == ["steady", "weak", "lucky"]

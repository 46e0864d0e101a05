"""What is compared with what: chosen by names, refused with the difference named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.errors import UsageError
from bench.gate.pairing import check_match, pair_up
from bench.gate.records import RunRecord, record_from_json, record_to_json
from bench.gate.sides import Sides, Wanted, choose_sides
from bench.metrics import metric
from tests.gate_parts import cell, record, run_of, sides

RETENTION = metric("retention")
OLD, NEW = "layered(prompt=sha256:aaaa)", "layered(prompt=sha256:bbbb)"


def specs_of(chosen: tuple[Sides, ...]) -> list[tuple[str, str]]:
    return [(one.baseline.spec, one.candidate.spec) for one in chosen]


def of_specs(*specs: str, name: str = "run", model: str = "offline") -> RunRecord:
    return record([cell("s0", spec=spec, model=model) for spec in specs], name)


def test_two_runs_of_one_strategy_each_are_compared() -> None:
    chosen = choose_sides(of_specs(OLD), of_specs(NEW), Wanted(), Wanted())
    assert specs_of(chosen) == [(OLD, NEW)]
    assert chosen[0].differ_by_prompt_alone


def test_two_runs_of_the_same_strategies_are_compared_one_by_one() -> None:
    runs = of_specs("head_tail", "prune"), of_specs("prune", "head_tail")
    assert specs_of(choose_sides(*runs, Wanted(), Wanted())) == [
        ("head_tail", "head_tail"),
        ("prune", "prune"),
    ]


def test_strategies_that_only_one_run_has_are_named() -> None:
    runs = of_specs("head_tail", "prune", name="a"), of_specs("prune", "layered", name="b")
    with pytest.raises(UsageError, match=r"only a has head_tail; only b has layered"):
        choose_sides(*runs, Wanted(), Wanted())


def test_one_run_needs_two_sides() -> None:
    run = of_specs("head_tail", "prune", "layered")
    assert specs_of(choose_sides(run, None, Wanted("head_tail"), Wanted("prune"))) == [
        ("head_tail", "prune")
    ]
    assert specs_of(choose_sides(run, None, Wanted("head_tail"), Wanted())) == [
        ("head_tail", "prune"),
        ("head_tail", "layered"),
    ]
    with pytest.raises(UsageError, match="say which two"):
        choose_sides(run, None, Wanted(), Wanted())


def test_two_models_of_one_run_are_sides() -> None:
    cells = [cell("s0", model=model) for model in ("offline", "lossy(0.5)")]
    chosen = choose_sides(record(cells), None, Wanted(None, "offline"), Wanted(None, "lossy(0.5)"))
    assert [one.models for one in (chosen[0].baseline, chosen[0].candidate)] == [
        ("offline",),
        ("lossy(0.5)",),
    ]
    check_match(chosen[0])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted("nope"), "--baseline nope: run holds no cell of it; it has head_tail, prune"),
        (Wanted("prune", "gpt"), "--baseline-model gpt: run has no such cell of prune"),
    ],
)
def test_what_isnt_there_is_said_with_what_is(wanted: Wanted, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose_sides(of_specs("head_tail", "prune"), None, wanted, Wanted("head_tail"))


def mismatch(baseline: RunRecord, candidate: RunRecord) -> str:
    with pytest.raises(UsageError) as raised:
        check_match(sides(baseline, candidate))
    return str(raised.value)


def test_runs_that_dont_share_sessions_are_refused() -> None:
    one, two = run_of([0.5] * 3, "a"), run_of([0.5] * 2, "b")
    assert "don't share their sessions: only in a (head_tail): s2" in mismatch(one, two)


def test_runs_that_dont_share_windows_are_refused() -> None:
    one, two = run_of([0.5] * 2, "a"), run_of([0.5] * 2, "b", window=9_000)
    assert "s0 in window auto = 8000" in mismatch(one, two)
    assert "windows" in mismatch(one, run_of([0.5] * 2, "b", window_asked="8000"))


def test_runs_that_dont_share_fact_versions_are_refused() -> None:
    one = run_of([0.5] * 2, "a")
    other = replace(one, name="b", fact_version="table/cuts=None")
    assert "a has table/cuts=3, b has table/cuts=None" in mismatch(one, other)
    facts = replace(one, sessions=tuple(replace(each, fact_digest="g") for each in one.sessions))
    assert "session s0 has other facts" in mismatch(one, facts)
    content = replace(one, sessions=tuple(replace(each, digest="x") for each in one.sessions))
    assert "session s0 has other content" in mismatch(one, content)


def test_runs_of_several_models_must_share_them() -> None:
    def of_models(*models: str) -> RunRecord:
        return record([cell("s0", model=model) for model in models])

    assert "models" in mismatch(of_models("m1", "m2"), of_models("m1", "m3"))
    check_match(sides(of_models("m1", "m2"), of_models("m2", "m1")))
    check_match(sides(of_models("m1"), of_models("m2")))


def test_an_unfinished_side_is_named() -> None:
    whole = record([cell("s0", window_asked=w, window=9) for w in ("9", "auto")], "a")
    part = replace(whole, name="b", cells=whole.cells[:1])
    assert "only in a (head_tail): s0 in window auto" in mismatch(whole, part)


def test_seeds_may_differ_and_sessions_that_nobody_could_be_asked_about_are_told() -> None:
    one = record([cell("s0", 0.4, seed=1), cell("s1", None, reason="no facts")], "a")
    two = record([cell("s0", 0.6, seed=2), cell("s1", None, reason="no facts")], "b")
    check_match(sides(one, two))
    found = pair_up(sides(one, two), RETENTION)
    assert [(p.session, p.baseline, p.candidate) for p in found.pairs] == [
        ("s0", (0.4, 0.4), (0.6, 0.6))
    ]
    assert found.unmeasured == {"s1": "no facts"}


def test_a_baseline_file_gives_back_the_record() -> None:
    run = replace(
        run_of([0.5, None], "base.json"),
        problems=("the control empty is missing",),
        headings={"head_tail": ("## Goal",)},
    )
    document = json.loads(json.dumps(record_to_json(run)))
    assert record_from_json(document, "base.json") == run


@pytest.mark.parametrize(
    "damage",
    [
        {"format": "another"},
        {"version": 99},
        {"cells": [{}]},
        {"sessions": []},
        {"cells": None},
        {"headings": 3},
    ],
)
def test_a_damaged_baseline_file_is_refused_by_name(damage: dict[str, object]) -> None:
    document = {**record_to_json(run_of([0.5, 0.6])), **damage}
    with pytest.raises(UsageError, match=r"base\.json: is"):
        record_from_json(document, "base.json")


def test_a_baseline_file_whose_marks_dont_fit_is_refused() -> None:
    document = record_to_json(run_of([0.5]))
    document["cells"][0]["marks"] = "10"
    with pytest.raises(UsageError, match="damaged baseline"):
        record_from_json(document, "base.json")

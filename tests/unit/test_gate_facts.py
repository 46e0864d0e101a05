"""Facts that got worse, kinds and severities, and the form of summaries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.gate.facts import kinds, lost_must_keep, severities, worse_facts
from bench.gate.lints import figures_of, generalises, lints_of, sentences_of
from bench.gating.comparing import Question, compare
from tests.gate_parts import UNITS, cell, record, sides

SUMMARY = """## Goal
- Several things were improved.
- Set retries to 5 in src/net/client.py.
## Progress
各种问题已经处理完毕等等。
Various files were changed as needed.
"""


def marked(*marks: str, units: tuple = UNITS, name: str = "run", **changes: object):  # type: ignore[no-untyped-def]
    cells = [cell(f"s{at}", 0.5, marks=each, **changes) for at, each in enumerate(marks)]
    return record(cells, name, units)


def test_facts_that_got_worse_are_those_kept_less_often_said_once_first() -> None:
    found = worse_facts(sides(marked("111", "110", "1-1"), marked("011", "110", "0-0")))
    told = [
        (one.session, one.unit.id, one.kept_by_baseline, one.kept_by_candidate) for one in found
    ]
    assert told == [("s0", "f1", 1, 0), ("s2", "f1", 1, 0), ("s2", "f3", 1, 0)]


def test_draws_of_a_fact_are_averaged() -> None:
    one = record([cell("s0", marks="111")], "a")
    two = record([cell("s0", marks=marks, seed=seed) for seed, marks in enumerate(("111", "101"))])
    (found,) = worse_facts(sides(one, two))
    assert (found.unit.id, found.kept_by_candidate, found.cell.seed) == ("f2", 0.5, 1)


def test_a_fact_that_must_be_kept_needs_no_statistics() -> None:
    units = (replace(UNITS[0], must_keep=True), *UNITS[1:])
    kept, lost = marked("111", units=units), marked("011", units=units)
    assert lost_must_keep(sides(kept, kept)) == ()
    assert [one.unit.id for one in lost_must_keep(sides(kept, lost))] == ["f1"]
    # Also when the baseline had lost it: it must be kept.
    assert len(lost_must_keep(sides(lost, lost))) == 1
    document = compare([sides(kept, lost)], Question())
    assert document["verdict"] == "regressed"
    assert document["reason"].startswith("1 fact that must be kept was lost")
    assert document["worst_facts"][0]["must_keep"] is True
    # Nobody was told it: no strategy could have shown it.
    assert lost_must_keep(sides(kept, marked("-11", units=units))) == ()


def test_kinds_and_severities_are_means_over_sessions() -> None:
    pair = sides(marked("110", "111"), marked("010", "010"))
    assert [(one.group, one.baseline, one.candidate) for one in severities(pair)] == [
        ("said_once", 0.75, 0.0),
        ("re_readable", 1.0, 1.0),
    ]
    assert [(one.group, one.candidate - one.baseline) for one in kinds(pair)] == [
        ("constraint", -1.0),
        ("decision", -0.5),
        ("path", 0.0),
    ]


def test_p_of_kinds_is_adjusted_for_their_number() -> None:
    pair = sides(marked(*["111"] * 8), marked(*["010"] * 8))
    rows = {one.group: one.p for one in kinds(pair)}
    assert rows["constraint"] == pytest.approx(3 * 2 / 256)
    assert rows["path"] == 1


def test_sentences_that_generalise_name_nothing() -> None:
    sentences = sentences_of(SUMMARY)
    assert [sentence for sentence in sentences if generalises(sentence)] == [
        "Several things were improved.",
        "各种问题已经处理完毕等等。",
        "Various files were changed as needed.",
    ]
    assert not generalises("Several files were changed, among others src/net/client.py.")


def test_the_form_of_a_summary() -> None:
    figures = figures_of([(1, SUMMARY), (2, "## Goal\nAll done here.")], ["## Goal", "## Progress"])
    assert figures.missing == {"## Progress": 1}
    assert (figures.general_sentences, figures.sentences) == (3, 5)
    assert [generation for generation, _ in figures.tokens] == [1, 2]


def test_lints_over_all_summaries() -> None:
    cells = [
        cell("s0", summaries=replace(cell("s0").summaries, tokens=((1, 100), (2, 300)))),
        cell("s1", summaries=replace(cell("s1").summaries, tokens=((1, 200), (2, 300)))),
    ]
    found = lints_of(cells)
    assert (found.summaries, found.tokens_p50, found.growth) == (4, 250, 2)
    assert found.tokens_p95 == 300
    assert lints_of([]).tokens_p50 is None


def test_identical_summaries_of_two_prompts_give_no_verdict() -> None:
    old, new = "head_tail(prompt=sha256:aa)", "head_tail(prompt=sha256:bb)"
    one, two = marked(*["111"] * 8, spec=old), marked(*["111"] * 8, spec=new)
    document = compare([sides(one, two)], Question())
    assert document["verdict"] == "refused"
    assert "insensitive to the edit" in document["reason"]
    other = replace(two, cells=(replace(two.cells[0], written="x"), *two.cells[1:]))
    assert compare([sides(one, other)], Question())["verdict"] == "pass"
    # The same prompt twice may well write the same.
    assert compare([sides(one, one)], Question())["verdict"] == "pass"


def test_a_control_out_of_line_and_an_unfinished_run_give_no_verdict() -> None:
    good = marked(*["111"] * 8)
    bad = replace(good, problems=("keep_all kept 40% in session s0 where it must keep 100%",))
    assert "a control is out of line" in compare([sides(good, bad)], Question())["reason"]
    unfinished = replace(good, cells_planned=9)
    document = compare([sides(good, unfinished)], Question())
    assert (document["verdict"], document["difference"]) == ("refused", None)
    assert "8 of 9 cells are there" in document["reason"]


def test_a_prompt_that_asks_for_less_is_told() -> None:
    old, new = "head_tail(prompt=sha256:aa)", "head_tail(prompt=sha256:bb)"
    one = replace(marked(*["111"] * 8, spec=old), headings={old: ("## Goal", "## Facts")})
    two = replace(marked(*["111"] * 8, spec=new, written="y"), headings={new: ("## Goal",)})
    document = compare([sides(one, two)], Question())
    assert "the candidate's prompt no longer asks for ## Facts" in document["warnings"]
    same = compare([sides(one, replace(two, headings={new: one.headings[old]}))], Question())
    assert not any("asks for" in warning for warning in same["warnings"])


def test_no_lost_rule_among_few_still_allows_some() -> None:
    found = compare([sides(marked(*["111"] * 30), marked(*["110"] * 30))], Question())["rules"]
    assert (found["lost"], found["of"]) == (0, 30)
    assert found["interval"][1] == pytest.approx(0.114, abs=0.001)
    one_lost = compare([sides(marked("111", "111"), marked("011", "111"))], Question())["rules"]
    assert (one_lost["lost"], one_lost["of"]) == (1, 2)

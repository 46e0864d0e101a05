"""What a comparison says, where it exits, and that text of sessions stays text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from bench.cli.comparison import exit_code
from bench.gating.comparing import Question, compare, nothing_to_compare
from reports.gate_files import to_gate_junit, to_gate_markdown
from reports.gate_words import comparison_lines, points, power_sentence
from tests.gate_parts import cell, record, run_of, sides

HOSTILE = "\x1b[31m<script>alert(1)</script> | `x` [a](http://b) @somebody\n# no heading"


def document_of(baseline: list[float], candidate: list[float], **question: Any) -> dict[str, Any]:
    pair = sides(run_of([*baseline], "a"), run_of([*candidate], "b"))
    return compare([pair], Question(**question))


VERDICTS = {
    "pass": document_of([0.6, 0.7] * 4, [0.6, 0.7] * 4),
    "regressed": document_of([0.6, 0.7] * 4, [0.3, 0.5] * 4),
    "inconclusive": document_of([0.6, 0.7] * 4, [0.1, 0.9] * 4),
    "refused": document_of([0.6, 0.7], [0.6, 0.7]),
}


@pytest.mark.parametrize(
    ("verdict", "for_people", "regressed", "unproven", "counter"),
    [
        ("pass", 0, 0, 0, None),
        ("regressed", 0, 1, 1, "failures"),
        ("inconclusive", 0, 0, 1, "skipped"),
        ("refused", 3, 3, 3, "errors"),
    ],
)
def test_every_verdict_has_its_exit_code_and_its_counter(
    verdict: str, for_people: int, regressed: int, unproven: int, counter: str | None
) -> None:
    document = VERDICTS[verdict]
    assert document["verdict"] == verdict
    assert exit_code(document, None) == for_people
    assert exit_code(document, "regressed") == regressed
    assert exit_code(document, "unproven") == unproven
    suite = Xml.fromstring(to_gate_junit(document))[0]
    counts = {name: suite.get(name) for name in ("failures", "errors", "skipped")}
    assert counts == {name: str(int(name == counter)) for name in counts}
    assert to_gate_markdown(document).splitlines()[0].endswith(f"Compaction: {verdict}")


@pytest.mark.parametrize("verdict", list(VERDICTS))
def test_what_could_have_been_seen_is_said_before_anything_else(verdict: str) -> None:
    document = VERDICTS[verdict]
    assert comparison_lines(document)[0] == power_sentence(document)
    json.dumps(document, allow_nan=False)


def test_sessions_that_are_still_needed_are_told() -> None:
    told = power_sentence(VERDICTS["inconclusive"])
    assert "more sessions would be needed to show one of the margin, 10 points" in told
    assert "enough for the margin" in power_sentence(VERDICTS["pass"])
    assert power_sentence(VERDICTS["refused"]).startswith("2 sessions can show no drop")


def test_several_comparisons_come_to_the_worst() -> None:
    good, bad = run_of([0.6, 0.7] * 5, "a"), run_of([0.2, 0.3] * 5, "b")
    document = compare([sides(good, good), sides(good, bad)], Question())
    assert document["verdict"] == "regressed"
    assert [row["verdict"] for row in document["comparisons"]] == ["pass", "regressed"]
    lines = comparison_lines(document)
    first = next(line for line in lines if line.startswith(("PASS", "REGRESSED")))
    assert first.startswith("REGRESSED")
    assert Xml.fromstring(to_gate_junit(document))[0].get("tests") == "2"


def test_tokens_are_told_in_percent_of_the_baseline() -> None:
    assert points(-0.123, {"metric": "retention"}) == "12 points"
    assert points(0.0123, {"metric": "tokens_sent"}) == "1.2 percent"


def test_text_of_sessions_stays_text() -> None:
    units = run_of([0.5], "x").sessions[0].units
    one = record([cell(f"s{at}", 0.6, marks="111") for at in range(8)], "a", units)
    two = record([cell(f"s{at}", 0.2, marks="011") for at in range(8)], "b", units)
    document = compare([sides(one, two)], Question())
    fact = {
        **document["worst_facts"][0],
        "text": HOSTILE,
        "source_seq": 3,
        "source_line": HOSTILE,
        "summary_line": HOSTILE,
        "answer": HOSTILE,
        "session": HOSTILE,
        "kind": HOSTILE,
    }
    row = {**document["comparisons"][0], "worst_facts": [fact], "warnings": [HOSTILE]}
    hostile = {**row, "comparisons": [row], "reason": HOSTILE}
    markdown = to_gate_markdown(hostile)
    assert "<script>" not in markdown
    assert "http://b" not in markdown
    assert "@somebody" not in markdown
    assert "\x1b" not in markdown
    (table_row,) = [
        line for line in markdown.splitlines() if line.startswith("| <") or "alert" in line
    ][-1:]
    assert table_row.replace("\\|", "").count("|") == 7
    printed = "\n".join(comparison_lines(hostile))
    assert "\x1b" not in printed
    assert Xml.fromstring(to_gate_junit(hostile)) is not None


def test_nothing_to_compare_is_told_in_every_form() -> None:
    document = nothing_to_compare("p.md is the same text", Question())
    assert exit_code(document, "unproven") == 0
    assert comparison_lines(document)[1] == "PASS: p.md is the same text."
    assert "p.md is the same text" in to_gate_markdown(document)
    assert Xml.fromstring(to_gate_junit(document))[0].get("failures") == "0"


def test_a_baseline_file_names_facts_by_id() -> None:
    one = replace(record([cell("s0", marks="111")]), name="base.json")
    two = replace(record([cell("s0", marks="011")]), name="other.json")
    (fact,) = compare([sides(one, two)], Question())["worst_facts"]
    assert (fact["fact"], fact["text"], fact["answer"]) == ("f1", None, None)

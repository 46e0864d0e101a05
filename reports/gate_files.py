"""A comparison for continuous integration: JUnit, and Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as Xml

from reports.gate_words import (
    comparison_lines,
    kinds_sentence,
    lint_lines,
    percent,
    power_sentence,
    rules_sentence,
    severity_sentence,
    sides_sentence,
    verdict_sentence,
)
from reports.markdown import escaped
from reports.text import clean, excerpt

_MARKS = {"pass": "✅", "regressed": "❌", "inconclusive": "❔", "refused": "⛔"}
_FACTS_MAX = 10


def to_gate_markdown(document: Mapping[str, Any]) -> str:
    """A summary for a pull request: verdict, what could have been seen, facts that got worse."""
    lines = [f"## {_MARKS[document['verdict']]} Compaction: {document['verdict']}", ""]
    for row in document.get("comparisons") or [document]:
        lines += _comparison(row)
    lines += [f"{escaped(excerpt(note, 600))}\n" for note in document.get("notes", ())]
    return "\n".join(lines).rstrip() + "\n"


def to_gate_junit(document: Mapping[str, Any]) -> str:
    """One case for each comparison: regressed is a failure, inconclusive skipped, refused an error.

    A verdict that couldn't be reached never counts as passed.
    """
    rows = document.get("comparisons") or [document]
    root = Xml.Element("testsuites", name="compaction-bench gate")
    suite = Xml.SubElement(root, "testsuite", name="compaction-bench gate")
    counts = {"tests": len(rows), "failures": 0, "errors": 0, "skipped": 0}
    for row in rows:
        name = clean(sides_sentence(row)) if row["candidate"]["run"] else "nothing to compare"
        case = Xml.SubElement(suite, "testcase", classname=clean(row["metric"]), name=name)
        outcome = {"regressed": "failure", "refused": "error", "inconclusive": "skipped"}.get(
            row["verdict"]
        )
        if outcome is not None:
            counts[{"failure": "failures", "error": "errors"}.get(outcome, outcome)] += 1
            told = Xml.SubElement(case, outcome, message=clean(verdict_sentence(row)))
            told.text = "\n".join(clean(line) for line in comparison_lines(row))
        Xml.SubElement(case, "system-out").text = clean(power_sentence(row))
    for counter, count in counts.items():
        suite.set(counter, str(count))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _comparison(row: Mapping[str, Any]) -> list[str]:
    sentences = (
        power_sentence(row),
        sides_sentence(row) + ":" if row["sessions"] or row["kinds"] else "",
        verdict_sentence(row),
        severity_sentence(row),
        rules_sentence(row),
        kinds_sentence(row),
        *lint_lines(row),
        *(f"Note: {warning}." for warning in row["warnings"]),
    )
    lines = [f"- {escaped(excerpt(sentence, 900))}" for sentence in sentences if sentence]
    facts = row["worst_facts"][:_FACTS_MAX]
    if facts:
        lines += [
            "",
            f"Facts that got worse ({row['facts_worse']}), the worst first:",
            "",
            "| fact | session | kept | said | the summary says | answer |",
            "|:--|:--|--:|:--|:--|:--|",
            *map(_fact_row, facts),
        ]
    return [*lines, ""]


def _fact_row(fact: Mapping[str, Any]) -> str:
    name = excerpt(fact["text"] or fact["fact"], 100)
    must = "**must be kept** " if fact["must_keep"] else ""
    kept = f"{percent(fact['kept_by_candidate'])}, was {percent(fact['kept_by_baseline'])}"
    said = excerpt(fact["source_line"], 140) or "-"
    where = f"{fact['source_seq']}: " if fact["source_seq"] is not None else ""
    answer = excerpt(fact["answer"] or fact["answer_reason"], 100) or "-"
    cells = [
        f"{must}{escaped(excerpt(fact['kind'], 20))}: {escaped(name)}",
        escaped(excerpt(fact["session"], 40)),
        kept,
        f"{where}{escaped(said)}",
        escaped(excerpt(fact["summary_line"], 140) or "-"),
        escaped(answer),
    ]
    return f"| {' | '.join(cells)} |"

"""`junit.xml`, which continuous integration shows: a suite for each strategy, a case for each
replay.

A lost fact that must be kept is a failure, a replay that stopped or went wrong an error, one that
wasn't exercised is skipped: none of them ever counts as passed.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

from reports.frames import KEPT_OUTCOMES, RunData, groups_of, rows_of
from reports.numbers import is_missing, share
from reports.style import in_order
from reports.text import clean, excerpt

_CELL = ("session", "window_asked", "model", "seed")


def to_junit(data: RunData) -> str:
    """The XML document; controls are cases too, since a control out of line spoils everything."""
    root = Xml.Element("testsuites", name="compaction-bench")
    lost = data.facts[data.facts["must_keep"] & ~data.facts["outcome"].isin(KEPT_OUTCOMES)]
    texts: dict[tuple[Any, ...], list[str]] = {}
    for row in rows_of(lost[lost["strategy"] != "empty"]):
        key = (row["strategy"], *(row[name] for name in _CELL))
        texts.setdefault(key, []).append(excerpt(row["text"], 160))
    suites = dict(groups_of(data.cells, "strategy"))
    for strategy in in_order(suites):
        suite = Xml.SubElement(root, "testsuite", name=clean(strategy))
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for row in rows_of(suites[strategy]):
            key = (strategy, *(row[name] for name in _CELL))
            outcome = _add_case(suite, row, texts.get(key, []))
            counts["tests"] += 1
            if outcome:
                counts[outcome] += 1
        for name, count in counts.items():
            suite.set(name, str(count))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _add_case(suite: Xml.Element, row: dict[str, Any], lost: list[str]) -> str | None:
    """Adds one case; returns the counter that it belongs to, None when it passed."""
    case = Xml.SubElement(
        suite,
        "testcase",
        classname=clean(row["strategy"]),
        name=clean(f"{row['session']} · {row['window_asked']} · {row['model']} · {row['seed']}"),
        time="0" if is_missing(row["seconds"]) else f"{row['seconds']:.3f}",
    )
    output = Xml.SubElement(case, "system-out")
    output.text = f"retention {share(row['retention'])}, tokens saved {share(row['tokens_saved'])}"
    if lost:
        message = f"{len(lost)} facts that must be kept were lost: {lost[0]}"
        Xml.SubElement(case, "failure", message=message).text = "\n".join(lost)
        return "failures"
    if row["status"] == "not_exercised":
        Xml.SubElement(case, "skipped", message=excerpt(row["reason"]) or "not exercised")
        return "skipped"
    if row["status"] != "ok":
        message = excerpt(row["reason"]) or str(row["status"])
        Xml.SubElement(case, "error", message=message)
        return "errors"
    return None

"""A comparison in words: what `compare` and `gate` print, from their JSON document.

What the sessions could have shown comes first, before anybody reads a verdict into them. Text of
sessions is made harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.metrics import metric, shown
from reports.text import excerpt

_FACTS_MAX = 5
_KINDS_MAX = 5
_HEADINGS_MAX = 4
_SEVERITIES = {
    "said_once": "said once (lost for good)",
    "re_readable": "re-readable (costs another call)",
}


def comparison_lines(document: Mapping[str, Any]) -> list[str]:
    """All comparisons of a document, the worst first, with an empty line between them."""
    rows = document.get("comparisons") or [document]
    ordered = sorted(rows, key=lambda row: row["verdict"] != document["verdict"])
    lines: list[str] = []
    for row in ordered:
        lines += [*([""] if lines else []), *_one(row)]
    for note in document.get("notes", ()):
        lines += ["", excerpt(note, 600)]
    return lines


def power_sentence(row: Mapping[str, Any]) -> str:
    """What this many sessions could have shown, and how many are still needed."""
    if not row["sessions"]:
        return "Nothing was compared, so no drop of any size could have been seen."
    sessions = _counted(row["sessions"], "session")
    if row["independent"] < row["sessions"]:
        sessions += f" ({_counted(row['independent'], 'independent group')})"
    smallest = row["smallest_detectable"]
    if smallest is None:
        return f"{sessions} can show no drop of any size: at least 6 independent ones are needed."
    said = f"{sessions} could have shown a drop of {points(smallest, row)} or more (80% power)"
    missing = row["sessions_missing"]
    margin = _margin(row)
    if missing is None:
        return f"{said}; no number of such sessions would show one of the margin, {margin}."
    if missing:
        more = _counted(missing, "more session")
        return f"{said}; {more} would be needed to show one of the margin, {margin}."
    return f"{said}, enough for the margin, {margin}."


def verdict_sentence(row: Mapping[str, Any]) -> str:
    """The verdict with its difference, interval and reason."""
    verdict = {
        "pass": "PASS",
        "regressed": "REGRESSED",
        "inconclusive": "INCONCLUSIVE",
        "refused": "NO VERDICT",
    }[row["verdict"]]
    reason = excerpt(row["reason"], 600)
    if row["difference"] is None:
        return f"{verdict}: {reason}."
    one, two = row["baseline"], row["candidate"]
    name = row["metric"]
    means = f"{shown(name, two['mean'])} against {shown(name, one['mean'])}"
    sentence = f"{verdict}: {reason}. {metric(name).caption} {means}, {_difference(row)}"
    return f"{sentence} ({_evidence(row)})."


def sides_sentence(row: Mapping[str, Any]) -> str:
    """What is compared with what."""
    return f"{_side(row['candidate'])} against the baseline {_side(row['baseline'])}"


def severity_sentence(row: Mapping[str, Any]) -> str:
    """Said once and re-readable apart; empty where no fact was counted."""
    parts = [
        f"{_SEVERITIES[one['group']]} {percent(one['candidate'])} against "
        f"{percent(one['baseline'])}"
        for one in row["severity"]
    ]
    return f"Kept, {'; '.join(parts)}." if parts else ""


def rules_sentence(row: Mapping[str, Any]) -> str:
    """How many rules the candidate lost, and what so few still allow; empty without rules."""
    rules = row["rules"]
    if not rules["of"]:
        return ""
    return (
        f"Rules (constraints and negations): the candidate lost {rules['lost']} of "
        f"{_counted(rules['of'], 'rule')}, which allows up to {percent(rules['interval'][1])}."
    )


def kinds_sentence(row: Mapping[str, Any]) -> str:
    """The kinds of facts that fell most; empty where none did."""
    fallen = [one for one in row["kinds"] if one["difference"] < 0][:_KINDS_MAX]
    parts = [
        f"{excerpt(one['group'], 30)} {100 * one['difference']:+.0f} points"
        + ("" if one["p"] is None else f" (p = {one['p']:.2g})")
        for one in fallen
    ]
    return f"Kinds of facts that fell most: {', '.join(parts)}." if parts else ""


def lint_lines(row: Mapping[str, Any]) -> list[str]:
    """The form of the summaries of both sides; nothing where none was written."""
    if not any(row[side]["summaries"]["summaries"] for side in ("baseline", "candidate")):
        return []
    return [
        f"Summaries of the {side}: {_lints(row[side]['summaries'])}."
        for side in ("candidate", "baseline")
    ]


def fact_line(fact: Mapping[str, Any]) -> str:
    """One fact that got worse: where it was said, what the summary says, what was answered."""
    name = excerpt(fact["text"] or fact["fact"], 120)
    severity = "said once" if fact["severity"] == "said_once" else "re-readable"
    must = "MUST BE KEPT, " if fact["must_keep"] else ""
    kept = f"kept {_share(fact['kept_by_candidate'])} against {_share(fact['kept_by_baseline'])}"
    where = excerpt(fact["session"], 40)
    line = f"{must}{excerpt(fact['kind'], 20)}, {severity}: {name} [{where}] {kept}"
    if fact["source_line"]:
        line += f"\n      said in event {fact['source_seq']}: {excerpt(fact['source_line'], 160)}"
    if fact["text"] is not None:
        summary = excerpt(fact["summary_line"], 160) if fact["summary_line"] else "nothing near it"
        line += f"\n      the summary says: {summary}"
        answer = fact["answer"]
        told = excerpt(answer, 160) if answer else excerpt(fact["answer_reason"], 120) or "nothing"
        line += f"\n      answer: {told}"
    return line


def points(value: float, row: Mapping[str, Any]) -> str:
    """A difference: points of a share, percent of the baseline's tokens."""
    unit = "percent" if metric(row["metric"]).format == "tokens" else "points"
    size = abs(100 * value)
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:.0f} {unit}"


def percent(value: float | None) -> str:
    """A share in percent."""
    return "-" if value is None else f"{100 * value:.0f}%"


def _one(row: Mapping[str, Any]) -> list[str]:
    sides = [sides_sentence(row) + ":"] if row["sessions"] or row["kinds"] else []
    lines = [power_sentence(row), *sides, verdict_sentence(row)]
    told = (severity_sentence(row), rules_sentence(row), kinds_sentence(row))
    lines += [line for line in told if line]
    lines += lint_lines(row)
    lines += [f"Note: {excerpt(warning, 400)}." for warning in row["warnings"]]
    facts = row["worst_facts"][:_FACTS_MAX]
    if facts:
        lines.append(f"Facts that got worse: {row['facts_worse']}, the worst:")
        lines += [f"  - {fact_line(fact)}" for fact in facts]
    return lines


def _margin(row: Mapping[str, Any]) -> str:
    unit = "percent" if metric(row["metric"]).format == "tokens" else "points"
    return f"{row['margin']:g} {unit}"


def _difference(row: Mapping[str, Any]) -> str:
    difference = row["difference"]
    if abs(difference) < 0.0005:
        return "no difference"
    return f"{points(difference, row)} {'better' if difference > 0 else 'worse'}"


def _evidence(row: Mapping[str, Any]) -> str:
    parts: list[str] = []
    if row["interval"] is not None:
        low, high = (100 * end for end in row["interval"])
        parts.append(f"95% interval {low:+.1f} to {high:+.1f}")
    parts.append(_counted(row["sessions"], "session"))
    if row["p"] is not None:
        parts.append(f"p = {row['p']:.2g}")
    return ", ".join(parts)


def _side(side: Mapping[str, Any]) -> str:
    seeds = side["seeds"]
    draws = f", seeds {', '.join(map(str, seeds[:6]))}" if len(seeds) > 1 else ""
    models = ", ".join(excerpt(model, 60) for model in side["models"])
    return f"{excerpt(side['strategy'], 100)} ({models}{draws}) of {excerpt(side['run'], 100)}"


def _lints(lints: Mapping[str, Any]) -> str:
    if not lints["summaries"]:
        return "none were written"
    said = [
        f"{lints['summaries']}, {lints['tokens_p50']:,.0f} tokens at the median, "
        f"{lints['tokens_p95']:,.0f} at the 95th percentile"
    ]
    if lints["growth"] is not None:
        said.append(f"the last generation {lints['growth']:.2f} times as long as the first")
    if lints["missing"]:
        said.append("sections missing: " + ", ".join(_headings(lints["missing"].items())))
    if lints["general_share"]:
        said.append(f"{percent(lints['general_share'])} of the sentences generalise")
    return "; ".join(said)


def _headings(items: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{excerpt(name, 40)} in {count}" for name, count in list(items)[:_HEADINGS_MAX]]


def _share(value: float | None) -> str:
    return "unknown" if value is None else percent(value)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"

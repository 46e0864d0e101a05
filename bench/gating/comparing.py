"""Assembly: from records of runs to the document that `compare` and `gate` print as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.gate.decision import (
    DEFAULT_MARGIN_POINTS,
    Decision,
    adjusted,
    decide,
    refused,
    worst,
)
from bench.gate.facts import (
    GroupShares,
    kinds,
    lost_must_keep,
    lost_rules,
    severities,
    worse_facts,
)
from bench.gate.lints import lints_of
from bench.gate.pairing import Paired, cells_by_key, check_match, metric_to_compare, pair_up
from bench.gate.sides import Side, Sides
from bench.gating.naming import WORST_FACTS_MAX, described
from bench.metrics import Metric
from bench.statistics import SESSIONS_MIN_FOR_P, wilson_interval
from bench.verdict_recovered import READER_PROBLEM
from bench.verdict_table import RECOVERED


@dataclass(frozen=True, slots=True)
class Question:
    """What is decided by, named in advance: the metric and the margin in points."""

    metric: str = "retention"
    margin_points: float = DEFAULT_MARGIN_POINTS
    seed: int = 0


def compare(pairs: Sequence[Sides], question: Question) -> dict[str, Any]:
    """The document about all pairs; raises UsageError when one of them can't be paired.

    Its own figures are those of the worst pair, `comparisons` holds all of them. Where a side left
    state that can't be read, retention is compared in layer *recovered*, on both sides.
    """
    for sides in pairs:
        check_match(sides)
    if question.metric == "retention" and any(map(_is_opaque, pairs)):
        question = replace(question, metric="retention_recovered")
    wanted = metric_to_compare(question.metric)
    paired = [pair_up(sides, wanted) for sides in pairs]
    decisions = adjusted(
        [
            _decide(one, each, wanted, question, len(pairs))
            for one, each in zip(pairs, paired, strict=True)
        ]
    )
    # The statistics decide among what was measured; what must be kept needs none.
    rows = [
        _document(sides, each, decision, wanted, question)
        for sides, each, decision in zip(pairs, paired, decisions, strict=True)
    ]
    overall = worst([row["verdict"] for row in rows])
    first = next(row for row in rows if row["verdict"] == overall)
    return {**first, "comparisons": rows}


def _is_opaque(sides: Sides) -> bool:
    return any(cell.is_opaque for side in (sides.baseline, sides.candidate) for cell in side.cells)


def nothing_to_compare(reason: str, question: Question) -> dict[str, Any]:
    """The document where both sides are the same thing: it passes, and no figure is made up."""
    side: dict[str, Any] = {"run": "", "strategy": "", "models": [], "seeds": [], "mean": None}
    empty = {**side, "summaries": asdict(lints_of(()))}
    return {
        "verdict": "pass",
        "metric": question.metric,
        "margin": question.margin_points,
        "sessions": 0,
        **dict.fromkeys(("difference", "interval", "p", "smallest_detectable", "sessions_needed")),
        "worst_facts": [],
        "reason": reason,
        "independent": 0,
        "sessions_missing": None,
        "better": metric_to_compare(question.metric).better,
        "layer": metric_to_compare(question.metric).layer,
        "baseline": empty,
        "candidate": empty,
        "facts_worse": 0,
        "must_keep_lost": 0,
        "rules": {"lost": 0, "of": 0, "interval": None},
        **{name: [] for name in ("severity", "kinds", "unmeasured", "missing", "warnings")},
    }


def _decide(
    sides: Sides, paired: Paired, wanted: Metric, question: Question, comparisons: int
) -> Decision:
    problems = [
        problem
        for side in (sides.baseline, sides.candidate)
        for problem in side.record.problems
        if wanted.layer == RECOVERED or not problem.startswith(READER_PROBLEM)
    ]
    if problems:
        return refused(f"a control is out of line, so no number can be trusted: {problems[0]}")
    unfinished = _unfinished(sides)
    if unfinished:
        return refused(unfinished)
    if sides.differ_by_prompt_alone and _wrote_the_same(sides):
        models = ", ".join(sides.candidate.models)
        return refused(
            f"both prompts made {models} write the same summaries, word for word: this model is "
            "insensitive to the edit, so nothing can be told about it; try another --model"
        )
    return decide(
        paired,
        wanted,
        margin_points=question.margin_points,
        clusters=clusters_of(sides),
        comparisons=comparisons,
        seed=question.seed,
    )


def clusters_of(sides: Sides) -> dict[str, str]:
    """The group of each session that names one."""
    records = (*sides.baseline.record.sessions, *sides.candidate.record.sessions)
    return {one.id: one.cluster for one in records if one.cluster}


def _unfinished(sides: Sides) -> str:
    for side in (sides.baseline, sides.candidate):
        planned, known = side.record.cells_planned, len(side.record.cells)
        if planned is not None and known < planned:
            return (
                f"{side.record.name} isn't finished: {known} of {planned} cells are there; go on "
                "with run --resume"
            )
    return ""


def _wrote_the_same(sides: Sides) -> bool:
    """True when something was written and all of it is equal, draw for draw."""
    is_any = False
    for one, two in cells_by_key(sides):
        ours = {cell.seed: cell.written for cell in one}
        theirs = {cell.seed: cell.written for cell in two}
        if ours.keys() & theirs.keys():
            shared = ours.keys() & theirs.keys()
            is_equal = all(ours[seed] == theirs[seed] for seed in shared)
        else:
            is_equal = set(ours.values()) == set(theirs.values())
        if not is_equal:
            return False
        is_any = is_any or any(theirs.values())
    return is_any


def _document(
    sides: Sides, paired: Paired, decision: Decision, wanted: Metric, question: Question
) -> dict[str, Any]:
    must_keep = lost_must_keep(sides)
    verdict, reason = decision.verdict, decision.reason
    is_trusted = not reason.startswith("a control is out of line")
    if must_keep and is_trusted:
        count = len(must_keep)
        what = "fact that must be kept was" if count == 1 else "facts that must be kept were"
        verdict, reason = "regressed", f"{count} {what} lost, which needs no statistics"
        if decision.reason:
            reason += f"; by the numbers alone: {decision.verdict}, {decision.reason}"
    facts = worse_facts(sides)
    needed = decision.sessions_needed
    return {
        "verdict": verdict,
        "metric": wanted.name,
        "margin": question.margin_points,
        "sessions": decision.sessions,
        "difference": decision.difference,
        "interval": list(decision.interval) if decision.interval is not None else None,
        "p": decision.p,
        "smallest_detectable": decision.smallest_detectable,
        "sessions_needed": needed,
        "worst_facts": described(facts[:WORST_FACTS_MAX], sides.candidate.record.name),
        "reason": reason,
        "independent": decision.units,
        "sessions_missing": None if needed is None else max(0, needed - decision.sessions),
        "better": wanted.better,
        "layer": wanted.layer,
        "baseline": _side(sides.baseline, decision.mean_baseline),
        "candidate": _side(sides.candidate, decision.mean_candidate),
        "facts_worse": len(facts),
        "must_keep_lost": len(must_keep),
        "rules": _rules(sides),
        "severity": [_shares(row) for row in severities(sides)],
        "kinds": [_shares(row) for row in kinds(sides)],
        "unmeasured": [{"session": name, "reason": why} for name, why in paired.unmeasured.items()],
        "missing": list(paired.missing),
        "warnings": _warnings(sides, paired, decision),
    }


def _side(side: Side, mean: float | None) -> dict[str, Any]:
    lints = lints_of(side.cells)
    return {
        "run": side.record.name,
        "strategy": side.spec,
        "models": list(side.models),
        "seeds": sorted({cell.seed for cell in side.cells}),
        "mean": mean,
        "summaries": asdict(lints),
    }


def _rules(sides: Sides) -> dict[str, Any]:
    """Lost rules with the Wilson interval of their share: none of 30 still allows 11%."""
    lost, asked = lost_rules(sides)
    return {"lost": lost, "of": asked, "interval": wilson_interval(lost, asked)}


def _shares(row: GroupShares) -> dict[str, Any]:
    return {**asdict(row), "difference": row.candidate - row.baseline}


def _warnings(sides: Sides, paired: Paired, decision: Decision) -> list[str]:
    """What somebody who reads the verdict should know."""
    found: list[str] = []
    ours, theirs = sides.baseline, sides.candidate
    if ours.models != theirs.models and ours.spec != theirs.spec:
        found.append("the two sides differ in strategy and in model: neither alone is judged")
    asked, asked_now = (side.record.headings.get(side.spec, ()) for side in (ours, theirs))
    dropped = [line for line in asked if line not in asked_now]
    if dropped and sides.differ_by_prompt_alone:
        found.append(f"the candidate's prompt no longer asks for {', '.join(dropped)}")
    if _is_opaque(sides):
        held = [unit for one in theirs.record.sessions for unit in one.units if unit.must_keep]
        found.append(
            "state that only its provider can read: both sides are compared by what a reader "
            "answered (layer recovered)"
            + (f"; {len(held)} facts that must be kept can't be looked up in it" if held else "")
        )
    if paired.unmeasured:
        name, why = next(iter(paired.unmeasured.items()))
        found.append(
            f"{len(paired.unmeasured)} sessions hold nothing to measure and aren't counted, the "
            f"first: {name} ({why})"
        )
    if paired.has_gaps:
        count = len(paired.missing) + len(paired.unknown)
        found.append(f"{count} cells aren't known; they count as the worst that they could hold")
    if decision.units and decision.units < decision.sessions:
        found.append(
            f"the {decision.sessions} sessions form {decision.units} independent groups (projects, "
            f"templates), which count as that many; at least {SESSIONS_MIN_FOR_P} are needed"
        )
    seeds = {cell.seed for cell in (*ours.cells, *theirs.cells)}
    if len(seeds) == 1 and any(model.startswith("lossy") for model in theirs.models):
        found.append("one draw a session: three seeds make the interval a third narrower")
    return found

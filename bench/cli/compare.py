"""`compaction-bench compare`: paired statistics for people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from bench.cli.comparison import (
    canonical,
    exit_code,
    question_of,
    records_of,
    save_baseline,
    sides_of,
    tell,
)
from bench.cli.gate_replays import replayer
from bench.cli.main import EXIT_FAILED, EXIT_FINE, EXIT_NO_VERDICT
from bench.cli.model_options import settings_of
from bench.cli.output import harmless, note, print_json
from bench.errors import RunHalted, UsageError
from bench.gate.calibration import Calibration, calibrate
from bench.gate.pairing import metric_to_compare
from bench.gate.records import RunRecord
from bench.gate.sides import Side, Sides
from bench.gating.comparing import Question, clusters_of
from bench.gating.comparing import compare as compare_sides
from bench.gating.drawing import draw_again, fresh_seeds, ignores_seeds, is_folder, two_draws
from bench.gating.reading import read_record


def compare(arguments: argparse.Namespace) -> int:
    """Compares and tells; exit 3 without a verdict."""
    return stored_runs(arguments, None)


def stored_runs(arguments: argparse.Namespace, fail_on: str | None) -> int:
    """Compares or calibrates stored runs; exit 3 when a model couldn't be asked any more."""
    if arguments.dry_run:
        raise UsageError("--dry-run: goes with gate --prompt FILE only; stored runs cost nothing")
    try:
        if arguments.aa:
            return calibrate_run(arguments)
        return exit_code(compare_runs(arguments), fail_on)
    except RunHalted as halt:
        note(f"compaction-bench: stopped: {halt.reason}; draws that were finished are saved")
        return EXIT_NO_VERDICT


def compare_runs(arguments: argparse.Namespace) -> dict[str, Any]:
    """Compares what the options name, tells it and returns the document."""
    question = question_of(arguments)
    baseline, candidate = records_of(arguments)
    sides = sides_of(arguments, baseline, candidate)
    document = compare_sides(sides, question)
    if arguments.confirm and document["verdict"] == "regressed":
        document = _confirmed(arguments, sides, question, document)
    save_baseline(arguments, _candidate_alone(sides))
    tell(document, arguments)
    return document


def calibrate_run(arguments: argparse.Namespace) -> int:
    """Compares the baseline with itself; exit 1 when that alarms more often than it may."""
    question = question_of(arguments)
    baseline, candidate = records_of(arguments)
    if candidate is not None:
        raise UsageError("--aa: give one run, it is compared with itself")
    side = _only_side(arguments, baseline)
    if len({cell.seed for cell in side.cells}) < 2 and is_folder(baseline):
        seeds = fresh_seeds([cell.seed for cell in side.cells], 1)
        draw_again(side, seeds, settings_of(arguments), replayer(arguments))
        side = _only_side(arguments, read_record(arguments.runs[0]))
    return tell_calibration(side, question, arguments.aa, as_json=arguments.json)


def tell_calibration(side: Side, question: Question, comparisons: int, *, as_json: bool) -> int:
    """Calibrates on two draws of a side and tells what came of it."""
    wanted = metric_to_compare(question.metric)
    draws = two_draws(side, wanted)
    if not draws:
        raise UsageError(f"--aa: no session of {side.record.name} was scored in two draws")
    found = calibrate(
        draws,
        wanted,
        margin_points=question.margin_points,
        clusters=clusters_of(Sides(side, side)),
        comparisons=comparisons,
    )
    if as_json:
        print_json({"calibration": {**asdict(found), "is_in_line": found.is_in_line}})
    else:
        print(_calibration_words(found, side))
    return EXIT_FINE if found.is_in_line else EXIT_FAILED


def _calibration_words(found: Calibration, side: Side) -> str:
    low, high = (100 * end for end in found.interval)
    said = ", ".join(f"{verdict} {count}" for verdict, count in sorted(found.verdicts.items()))
    lines = [
        f"{harmless(side.spec)} compared with itself {found.comparisons} times over "
        f"{found.sessions} sessions: {said}.",
        f"False alarms: {100 * found.alarms:.1f}% (95% interval {low:.1f} to {high:.1f}%), nominal "
        f"at most {100 * found.nominal:.1f}%: {'in line' if found.is_in_line else 'OUT OF LINE'}.",
        f"Two draws of a session differ by {100 * found.spread:.1f} points on average.",
    ]
    if not found.spread:
        lines.append("All draws are equal, as with a model that ignores the seed: nothing learnt.")
    return "\n".join(lines)


def _confirmed(
    arguments: argparse.Namespace,
    sides: Sequence[Sides],
    question: Question,
    first: dict[str, Any],
) -> dict[str, Any]:
    """The document over all draws, after fresh ones were added to both runs."""
    models = {model for pair in sides for model in (*pair.baseline.models, *pair.candidate.models)}
    if all(map(ignores_seeds, models)):
        return with_note(
            first, f"Not confirmed with fresh seeds: {', '.join(models)} ignores them."
        )
    all_cells = [
        cell for pair in sides for side in (pair.baseline, pair.candidate) for cell in side.cells
    ]
    seeds = fresh_seeds([cell.seed for cell in all_cells], arguments.confirm)
    for pair, row in zip(sides, first["comparisons"], strict=True):
        for side in (pair.baseline, pair.candidate):
            if row["verdict"] == "regressed" and is_folder(side.record):
                draw_again(side, seeds, settings_of(arguments), replayer(arguments))
    baseline, candidate = records_of(arguments)
    document = compare_sides(sides_of(arguments, baseline, candidate), question)
    return confirmed_document(first, document, seeds)


def confirmed_document(
    first: dict[str, Any], document: dict[str, Any], seeds: Sequence[int]
) -> dict[str, Any]:
    """The document over all draws with what the first draws alone had said."""
    kept = {name: first[name] for name in ("verdict", "difference", "interval", "p", "reason")}
    said = "confirmed" if document["verdict"] == "regressed" else "not confirmed"
    listed = ", ".join(map(str, seeds))
    told = f"Regressed at first; with fresh seeds {listed} that is {said}. All draws are counted."
    return with_note({**document, "first_draws": kept, "fresh_seeds": list(seeds)}, told)


def with_note(document: dict[str, Any], sentence: str) -> dict[str, Any]:
    """The document with one more sentence for its reader."""
    return {**document, "notes": [*document.get("notes", ()), sentence]}


def _candidate_alone(sides: Sequence[Sides]) -> RunRecord:
    """The record of the candidates' cells only: what becomes the next baseline."""
    record = sides[0].candidate.record
    cells = tuple(cell for pair in sides for cell in pair.candidate.cells)
    return replace(record, cells=cells, cells_planned=None)


def _only_side(arguments: argparse.Namespace, record: RunRecord) -> Side:
    spec = canonical(arguments.baseline, "--baseline")
    specs = list(dict.fromkeys(cell.spec for cell in record.cells))
    if spec is None and len(specs) != 1:
        raise UsageError(
            f"--aa: {record.name} holds {', '.join(specs) or 'no strategy'}: name one with "
            "--baseline SPEC"
        )
    wanted = specs[0] if spec is None else spec
    model = arguments.baseline_model
    cells = tuple(
        cell
        for cell in record.cells
        if cell.spec == wanted and (model is None or cell.model == model)
    )
    if not cells:
        raise UsageError(f"--baseline {wanted}: {record.name} holds no such cell")
    return Side(record, wanted, cells)

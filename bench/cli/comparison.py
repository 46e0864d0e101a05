"""What `compare` and `gate` share: reading their options, and telling what they found."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.cli.main import EXIT_FAILED, EXIT_FINE, EXIT_NO_VERDICT
from bench.cli.output import note, print_json
from bench.errors import UsageError
from bench.gate.records import RunRecord
from bench.gate.sides import Sides, Wanted, choose_sides
from bench.gating.comparing import Question
from bench.gating.reading import read_record, write_baseline

_MARGIN_MAX = 100.0


def question_of(arguments: argparse.Namespace) -> Question:
    """The metric and margin; raises UsageError for a margin that is none."""
    from bench.gate.pairing import metric_to_compare

    metric_to_compare(arguments.metric)
    if not 0 < arguments.margin <= _MARGIN_MAX:
        raise UsageError(
            f"--margin {arguments.margin:g}: give points above 0 and up to {_MARGIN_MAX:g}"
        )
    for option, value in (("--confirm", arguments.confirm), ("--aa", arguments.aa)):
        if value is not None and value < 1:
            raise UsageError(f"{option} {value}: at least 1")
    return Question(arguments.metric, arguments.margin)


def records_of(arguments: argparse.Namespace) -> tuple[RunRecord, RunRecord | None]:
    """The records of the runs that were named; raises UsageError for none or more than two."""
    if not 1 <= len(arguments.runs) <= 2:
        raise UsageError(
            f"{arguments.command}: give BASELINE_RUN and perhaps CANDIDATE_RUN, "
            f"not {len(arguments.runs)} runs"
        )
    records = [read_record(run) for run in arguments.runs]
    return records[0], records[1] if len(records) == 2 else None


def sides_of(
    arguments: argparse.Namespace, baseline: RunRecord, candidate: RunRecord | None
) -> tuple[Sides, ...]:
    """The sides that the options name, their specs in canonical form."""
    first = Wanted(canonical(arguments.baseline, "--baseline"), arguments.baseline_model)
    second = Wanted(canonical(arguments.candidate, "--candidate"), arguments.candidate_model)
    return choose_sides(baseline, candidate, first, second)


def canonical(spec: str | None, option: str) -> str | None:
    """The spec as runs know it; one that this installation can't make stays as it is."""
    if spec is None:
        return None
    from bench.registry import make_strategy

    if "sha256:" in spec:
        # The prompt is in the run, the spec was copied from it.
        return spec
    return make_strategy(spec, option=option).spec


def tell(document: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Prints the document and writes the files that were asked for."""
    from reports.gate_files import to_gate_junit, to_gate_markdown
    from reports.gate_words import comparison_lines

    for path, make in ((arguments.junit, to_gate_junit), (arguments.markdown, to_gate_markdown)):
        if path:
            _write(path, make(document))
    if arguments.json:
        print_json(document)
    else:
        print("\n".join(comparison_lines(document)))


def save_baseline(arguments: argparse.Namespace, record: RunRecord) -> None:
    """Keeps a record as a baseline file, where that was asked for."""
    if arguments.save_baseline:
        path = Path(arguments.save_baseline)
        if path.suffix != ".json":
            raise UsageError(f"--save-baseline {path}: give a name that ends in .json")
        write_baseline(record, path)
        note(f"wrote the baseline {path}: {len(record.cells)} cells, no text of any session")


def exit_code(document: Mapping[str, Any], fail_on: str | None) -> int:
    """`fail_on` None: for people, only a missing verdict is no success."""
    verdict = document["verdict"]
    if verdict == "refused":
        return EXIT_NO_VERDICT
    failing = {None: (), "regressed": ("regressed",), "unproven": ("regressed", "inconclusive")}
    return EXIT_FAILED if verdict in failing[fail_on] else EXIT_FINE


def _write(path: str, text: str) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror or error}") from error

"""`compaction-bench calibrate-judge`: does a judge agree with people? Without it none is asked."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from bench.cli.money_options import add_money_options, limited
from bench.errors import UsageError

_EXIT_FINE = 0
_EXIT_FAILED = 1


def add_calibrate_judge(commands: Any) -> None:
    """The command `calibrate-judge`."""
    command = commands.add_parser(
        "calibrate-judge",
        help="measure how a judge of decisions agrees with people",
        description="Puts labelled pairs to a judge and writes how it agreed: Cohen's kappa must "
        "reach 0.8 over at least 50 + 50 pairs before `run --judge` accepts it. A pair is one line "
        'of JSON: {"question", "decided", "answer", "label": true|false}. Exit 1 where it failed.',
    )
    command.add_argument("pairs", metavar="PAIRS.jsonl", help="labelled by people")
    command.add_argument("--judge", required=True, metavar="MODEL", help="who judges")
    command.add_argument("--out", required=True, metavar="FILE", help="the calibration to write")
    command.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_money_options(command, has_dry_run=False)


def calibrate_judge(arguments: argparse.Namespace) -> int:
    """Calibrates, writes, prints; exit 0 for a valid judge and 1 for any other."""
    from bench.cli.output import print_json
    from bench.cli.progress import clear_line, progress_line
    from bench.judge_calibration import calibrate, read_pairs, write_calibration
    from bench.models import RespondingModel, make_model
    from bench.models.settings import DEFAULT_SETTINGS

    pairs = read_pairs(arguments.pairs)
    if not Path(arguments.out).absolute().parent.is_dir():
        raise UsageError(f"--out {arguments.out}: its folder isn't there")
    try:
        name = make_model(arguments.judge).name
        with limited(arguments, [name], DEFAULT_SETTINGS) as settings:
            judge = make_model(name, settings, purpose="judge")
            found = calibrate(cast("RespondingModel", judge), pairs, progress=progress_line)
    except UsageError as error:
        raise UsageError(str(error).replace("--model", "--judge", 1)) from None
    clear_line()
    write_calibration(arguments.out, found)
    if arguments.json:
        print_json({**asdict(found), "valid": found.is_valid, "file": str(arguments.out)})
    else:
        word = "may judge decisions" if found.is_valid else "may not judge: kappa must reach 0.8"
        print(
            f"{found.judge}: kappa {found.kappa:.2f}; agreed on {found.agreed_yes} of "
            f"{found.labelled_yes} accepted and {found.agreed_no} of {found.labelled_no} refused "
            f"answers, {found.unclear} replies were neither yes nor no. It {word}."
        )
        print(f"Calibration: {arguments.out}")
    return _EXIT_FINE if found.is_valid else _EXIT_FAILED

"""The options of readers and of the judge; nothing heavy is imported for them."""

from __future__ import annotations

import argparse
from typing import Any

from bench.errors import UsageError
from bench.probing_options import DEFAULT_PROBES, PROBES, ProbeOptions

NO_PROBES = "none"
PROBE_KEYS = ("probe", "reader", "judge", "calibration")


def add_probe_options(command: Any) -> None:
    """`--probe`, `--reader`, `--judge` and `--calibration`."""
    command.add_argument(
        "--probe",
        action="append",
        metavar="|".join((*PROBES, NO_PROBES)),
        help="what readers are asked; repeatable. Default: recovered, by a stand-in that costs "
        "nothing; a real --model reads only when this is given",
    )
    command.add_argument(
        "--reader", metavar="MODEL", help="who answers questions, instead of each --model itself"
    )
    command.add_argument(
        "--judge",
        metavar="MODEL",
        help="who judges answers about decisions; needs a valid --calibration",
    )
    command.add_argument(
        "--calibration",
        metavar="FILE",
        help="the file that `compaction-bench calibrate-judge` wrote for this judge",
    )


def probe_options_of(arguments: argparse.Namespace) -> ProbeOptions:
    """What the options ask for. Raises UsageError for unknown probes, readers and judges."""
    asked = arguments.probe
    asked = [asked] if isinstance(asked, str) else list(asked or ())
    for name in asked:
        if name not in (*PROBES, NO_PROBES):
            raise UsageError(
                f"--probe {name}: no such probe, there are: {', '.join((*PROBES, NO_PROBES))}"
            )
    if NO_PROBES in asked and (len(set(asked)) > 1 or arguments.reader or arguments.judge):
        raise UsageError("--probe none: asks nobody, so no other probe, --reader or --judge fits")
    judge, digest = _judge(arguments)
    reader = None
    if arguments.reader is not None:
        from bench.models import make_model

        try:
            reader = make_model(str(arguments.reader)).name
        except UsageError as error:
            raise UsageError(str(error).replace("--model", "--reader", 1)) from None
    if NO_PROBES in asked:
        return ProbeOptions(kinds=())
    kinds = tuple(name for name in PROBES if name in asked) or DEFAULT_PROBES.kinds
    return ProbeOptions(kinds, reader, bool(asked) and reader is None, judge, digest)


def _judge(arguments: argparse.Namespace) -> tuple[str | None, str]:
    """The judge and the digest of its calibration; raises UsageError for one that isn't valid."""
    if arguments.judge is None:
        if arguments.calibration is not None:
            raise UsageError("--calibration: is of no use without --judge MODEL")
        return None, ""
    from bench.judge_calibration import require_valid
    from bench.models import make_model

    try:
        judge = make_model(str(arguments.judge)).name
    except UsageError as error:
        raise UsageError(str(error).replace("--model", "--judge", 1)) from None
    return judge, require_valid(arguments.calibration, judge)

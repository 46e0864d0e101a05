"""`compaction-bench strategies` and `compaction-bench verify`."""

from __future__ import annotations

import argparse
from typing import Any

from bench.cli.main import EXIT_FAILED, EXIT_FINE
from bench.cli.output import note, print_json
from bench.registry import list_strategies, make_strategies, make_strategy


def strategies(arguments: argparse.Namespace) -> int:
    """Lists strategies, or one of them with its parameters."""
    rows = list_strategies()
    if arguments.spec is not None:
        names = [made.name for made in make_strategies(arguments.spec, option="SPEC")]
        rows = [row for row in rows if row["name"] in names]
    if arguments.json:
        print_json(rows)
        return EXIT_FINE
    for row in rows:
        _print_row(row, in_detail=arguments.spec is not None)
    return EXIT_FINE


def _print_row(row: dict[str, Any], *, in_detail: bool) -> None:
    parameters = ", ".join(f"{p['name']}={p['default']}" for p in row["parameters"])
    print(f"{row['name']}: {row['summary']}")
    if not in_detail:
        print(f"    {parameters}" if parameters else "    no parameters")
        return
    print(f"    from: {row['source']}")
    for parameter in row["parameters"]:
        about = f": {parameter['doc']}" if parameter["doc"] else ""
        print(f"    {parameter['name']} ({parameter['type']}) = {parameter['default']}{about}")


def verify(arguments: argparse.Namespace) -> int:
    """Checks the promises of one strategy over generated sessions; exit 1 when one is broken."""
    from bench.engine import policy_of
    from bench.testing import PROMISES, find_broken_promises

    made = make_strategy(arguments.spec, option="SPEC")
    note(f"checking {len(PROMISES)} promises on {arguments.examples} generated sessions each ...")
    broken = find_broken_promises(made.strategy, examples=arguments.examples)
    broken_names = {one.promise for one in broken}
    for name in PROMISES:
        print(f"{'BROKEN' if name in broken_names else 'kept  '} {name}")
    for name, reason in policy_of(made.strategy).waives:
        print(f"waived {name}: {reason}")
    for one in broken:
        print(f"\n{one}")
    return EXIT_FAILED if broken else EXIT_FINE

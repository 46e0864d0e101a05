"""`compaction-bench strategies` and `compaction-bench verify`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bench.cli.main import EXIT_FAILED, EXIT_FINE
from bench.cli.output import harmless, note, print_json
from bench.registry import check_ready, describe_specs, list_strategies, make_strategy

if TYPE_CHECKING:
    from bench.testing.conformance import Case

_EXAMPLES = 100
# A process or a server takes some ten milliseconds for every call.
_EXAMPLES_ELSEWHERE = 30


def strategies(arguments: argparse.Namespace) -> int:
    """Lists strategies, or one of them with its parameters."""
    rows = list_strategies() if arguments.spec is None else describe_specs(arguments.spec)
    if arguments.json:
        print_json(rows)
        return EXIT_FINE
    for row in rows:
        _print_row(row, in_detail=arguments.spec is not None)
    if arguments.spec is None:
        print("own ones: ./file.py:Name (class or function), exec:COMMAND, http:URL")
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


def _print_case(case: Case) -> None:
    """The smallest session that shows a broken promise, one line an event."""
    forced = "" if case.cuts is None else f", {case.cuts} forced compactions"
    print(f"    the smallest history that shows it, window {case.window:,}{forced}:")
    for event in case.session.events:
        message = event.message
        calls = ", ".join(f"calls {call.id}" for call in message.calls)
        answers = f"answers {message.call_id}" if message.call_id else ""
        told = harmless(message.text, 60) if message.text else ""
        told += "".join(f"[{harmless(one.media_type, 20)}]" for one in message.attachments)
        words = "  ".join(part for part in (calls, answers, told) if part)
        print(f"    {event.seq:>5} {message.role:9} {words}")


def verify(arguments: argparse.Namespace) -> int:
    """Checks the promises of one strategy over generated sessions; exit 1 when one is broken."""
    from bench.engine_policy import policy_of
    from bench.testing import PROMISES, find_broken_promises, times_compacted

    made = make_strategy(arguments.spec, option="SPEC")
    check_ready((made,), option="SPEC")
    examples = arguments.examples
    if examples is None:
        is_elsewhere = getattr(made.strategy, "runs_elsewhere", False)
        examples = _EXAMPLES_ELSEWHERE if is_elsewhere else _EXAMPLES
    note(f"checking {len(PROMISES)} promises on {examples} generated sessions each ...")
    broken = find_broken_promises(made.strategy, examples=examples)
    broken_names = {one.promise for one in broken}
    for name in PROMISES:
        print(f"{'BROKEN' if name in broken_names else 'kept  '} {name}")
    for name, reason in policy_of(made.strategy).waives:
        print(f"waived {name}: {reason}")
    for one in broken:
        print(f"\n{one.promise}: {one.how}")
        _print_case(one.case)
    if not broken and not times_compacted(made.strategy):
        print("note: it never compacted in a generated session, so these promises say little")
    return EXIT_FAILED if broken else EXIT_FINE

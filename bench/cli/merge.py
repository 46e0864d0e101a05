"""`compaction-bench merge`: several runs as one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_merge(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser(
        "merge",
        help="put runs of different cells together",
        description="Writes one run that holds the sessions and cells of several, as if they had "
        "been made in one go, with its reports. Cells that several runs hold must be equal.",
    )
    command.add_argument("runs", nargs="+", metavar="RUN", help="a run folder")
    command.add_argument("--out", required=True, metavar="DIR", help="a new run folder")
    command.add_argument("--no-report", action="store_true", help="only store and print")
    command.add_argument("--json", action="store_true", help="the merged run as one JSON document")


def merge(arguments: argparse.Namespace) -> int:
    """Merges, reports and prints as `run` does; the exit code is 0 whatever the verdict."""
    from bench.cli.main import EXIT_FINE
    from bench.cli.output import print_json
    from bench.merging import merge as merge_runs
    from bench.results import results_of
    from bench.store import Run

    folder = Path(arguments.out)
    merged = merge_runs([Path(run) for run in arguments.runs], folder)
    with Run.open(folder) as run:
        results = results_of(run)
    if not arguments.no_report:
        from reports.write import write_reports

        write_reports(folder, results=results)
    if arguments.json:
        print_json({"run": str(folder), **results.document()})
        return EXIT_FINE
    from reports.terminal import print_summary

    print_summary(results)
    shared = f", {merged.shared} of them in several runs" if merged.shared else ""
    print(f"\n{merged.sessions} sessions, {merged.cells} cells{shared}: {folder}")
    return EXIT_FINE

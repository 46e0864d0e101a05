"""`compaction-bench report`: reports from stored runs, no model asked."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli.main import EXIT_FINE
from bench.cli.output import note
from bench.errors import UsageError

KNOWN_FORMATS = ("html", "md", "svg", "png", "csv")


def report(arguments: argparse.Namespace) -> int:
    """Writes the reports of every run folder named."""
    formats = [word.strip() for word in arguments.format.split(",") if word.strip()]
    for word in formats:
        if word not in KNOWN_FORMATS:
            raise UsageError(f"--format {word}: unknown, there are: {', '.join(KNOWN_FORMATS)}")
    if len(arguments.runs) > 1 and arguments.to is not None:
        raise UsageError("--to: takes one run; leave it out to write into each run's own folder")
    from bench.store import Run
    from reports.write import write_reports

    for folder in map(Path, arguments.runs):
        if arguments.rescore:
            from bench.rescoring import rescore

            with Run.open(folder) as run:
                note(f"{folder}: {rescore(run)} cells scored anew")
        written = write_reports(folder, Path(arguments.to) if arguments.to else None, formats)
        for path in written:
            print(path)
    return EXIT_FINE

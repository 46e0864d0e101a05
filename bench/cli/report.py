"""`compaction-bench report`: reports from stored runs, no model asked.

Several runs with `--to` are set side by side, with the trend over them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli.main import EXIT_FINE
from bench.cli.output import note
from bench.errors import UsageError


def report(arguments: argparse.Namespace) -> int:
    """Writes the reports of every run folder named, or of several runs side by side."""
    from bench.store import Run
    from reports.write import FORMATS, write_reports

    formats = [word.strip() for word in arguments.format.split(",") if word.strip()]
    for word in formats:
        if word not in FORMATS:
            raise UsageError(f"--format {word}: unknown, there are: {', '.join(FORMATS)}")
    folders = [Path(folder) for folder in arguments.runs]
    if arguments.rescore:
        from bench.rescoring import rescore

        for folder in folders:
            with Run.open(folder) as run:
                note(f"{folder}: {rescore(run)} cells scored anew")
    target = Path(arguments.to) if arguments.to else None
    if len(folders) > 1 and target is not None:
        from reports.trend import write_trend

        written = write_trend(folders, target)
    else:
        written = [
            path
            for folder in folders
            for path in write_reports(
                folder, target, formats, brief=arguments.brief, share=arguments.share
            )
        ]
    for path in written:
        print(path)
    return EXIT_FINE

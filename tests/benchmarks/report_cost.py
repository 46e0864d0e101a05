"""What the reports of a large run cost: 400 cells and 200,000 fact rows of made-up numbers.

python -m tests.benchmarks reports
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from reports.write import DEFAULT_FORMATS, write_data
from tests.report_samples import sample_run

STRATEGIES = (
    "prune",
    "head_tail",
    "head_tail(preserve_last=4)",
    "head_tail(preserve_last=16)",
    "layered",
    "zero_seed",
    "zero_now",
    "foya",
    "keep_all",
    "empty",
)


def measure(quick: bool = False) -> str:
    """Seconds, peak memory and the size of the page."""
    sessions = 4 if quick else 40
    data = sample_run(sessions, STRATEGIES, requests=90, facts=500)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        write_data(data, Path(folder), DEFAULT_FORMATS)
        seconds = time.process_time() - started
        page = (Path(folder) / "report.html").stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{len(data.cells)} cells, {len(data.facts):,} fact rows: {seconds:.1f} processor s, "
        f"{peak:.0f} MB with the data, report.html {page:.1f} MB"
    )

"""What reading sessions costs beside a bare `json.loads` over the same lines.

    python -m tests.benchmarks loading                              # generated sessions
    python -m tests.benchmarks.loading_cost FILE.jsonl ...          # recordings of your own

Processor seconds, best of five of each, taken in turn; the files are read once before.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.formats.own import write_session
from bench.generator import generate_session
from bench.loading import load_sessions

REPEATS = 5


def _best(work: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def measure(paths: Sequence[Path]) -> str:
    """Megabytes a second of both, their ratio, and peak memory by the largest file."""
    lines = [line for path in paths for line in path.read_bytes().split(b"\n") if line.strip()]
    megabytes = sum(len(line) for line in lines) / 1e6
    bare = _best(lambda: [json.loads(line) for line in lines])
    loading = _best(lambda: load_sessions(paths))
    tracemalloc.start()
    largest = max(paths, key=lambda path: path.stat().st_size)
    load_sessions(largest)
    peak = tracemalloc.get_traced_memory()[1] / largest.stat().st_size
    tracemalloc.stop()
    return (
        f"{megabytes:.1f} MB: json.loads {megabytes / bare:.0f} MB/s, loading "
        f"{megabytes / loading:.0f} MB/s ({bare / loading:.2f} of it), peak memory {peak:.2f} x "
        "the largest file"
    )


def of_generated(quick: bool) -> str:
    """The same of generated sessions, in the format of this project."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{seed}.jsonl" for seed in range(2 if quick else 6)]
        for seed, path in enumerate(paths):
            session, _ = generate_session(kind="coding", language="en", events=2_000, seed=seed)
            with path.open("w", encoding="utf-8", newline="\n") as stream:
                write_session(session, stream)
        return measure(paths)


def main() -> None:
    """Measures the named files."""
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        sys.exit("name at least one session file in JSON lines")
    print(measure(paths))


if __name__ == "__main__":
    main()

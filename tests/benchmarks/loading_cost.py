"""What reading sessions costs beside a bare `json.loads` over the same lines.

    python tests/benchmarks/loading_cost.py FILE.jsonl [FILE.jsonl ...]

Processor seconds, best of five of each, taken in turn; the files are read once before.
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from bench.loading import load_sessions

REPEATS = 5


def _best(work: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def main() -> None:
    """Prints megabytes a second of both, their ratio, and peak memory by the largest file."""
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths:
        sys.exit("name at least one session file in JSON lines")
    lines = [line for path in paths for line in path.read_bytes().split(b"\n") if line.strip()]
    megabytes = sum(len(line) for line in lines) / 1e6
    bare = _best(lambda: [json.loads(line) for line in lines])
    loading = _best(lambda: load_sessions(paths))
    tracemalloc.start()
    largest = max(paths, key=lambda path: path.stat().st_size)
    load_sessions(largest)
    peak = tracemalloc.get_traced_memory()[1] / largest.stat().st_size
    print(
        f"{megabytes:.1f} MB: json.loads {megabytes / bare:.0f} MB/s, loading "
        f"{megabytes / loading:.0f} MB/s ({bare / loading:.2f} of it), peak memory {peak:.2f} x "
        "the largest file"
    )


if __name__ == "__main__":
    main()

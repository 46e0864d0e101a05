"""Where the time of a replay goes: by function, or in counted instructions.

    python -m tests.benchmarks.profiling head_tail                  # functions, by their own time
    python -m tests.benchmarks.profiling layered --samples          # undistorted: a look each ms
    python -m tests.benchmarks.profiling layered --instructions     # needs valgrind, some minutes

Counts are known beforehand, so that what is left is the machinery. Instructions are those of a
replay alone: of a process that makes one, less those of a process that makes none.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from bench.generator import generate_session
from bench.models import make_model
from tests.benchmarks import measuring
from tests.benchmarks.measuring import InstantModel, replay_of

SEED = 3
SAMPLE_SECONDS = 0.001
# A clock of the system ticks less often than that, so several replays are looked at.
SAMPLED_REPLAYS = 5

_COLLECTED = re.compile(rb"Collected : (\d+)")


def _work(spec: str, events: int, model: str) -> Callable[[], object]:
    session, _ = generate_session(kind="coding", language="en", events=events, seed=SEED)
    chosen = InstantModel() if model == "instant" else make_model(model)
    return lambda: replay_of(session, spec, chosen)


def by_function(work: Callable[[], object], lines: int) -> None:
    """cProfile: exact numbers of calls, times that favour functions that call few others."""
    profile = cProfile.Profile()
    profile.runcall(work)
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(lines)


def by_samples(work: Callable[[], object], lines: int) -> None:
    """Shares of time by function, itself and with all that it called."""
    own: Counter[str] = Counter()
    within: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        seen: set[str] = set()
        while frame is not None:
            code = frame.f_code
            name = f"{Path(code.co_filename).name}:{code.co_name}"
            if not seen:
                own[name] += 1
            seen.add(name)
            frame = frame.f_back
        within.update(seen)

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
    for _ in range(SAMPLED_REPLAYS):
        work()
    signal.setitimer(signal.ITIMER_PROF, 0)
    total = own.total()
    print(f"{total} looks\n{'itself':>8} {'within':>8}")
    for name, count in own.most_common(lines):
        print(f"{count / total:8.1%} {within[name] / total:8.1%}  {name}")


def instructions(spec: str, events: int, model: str) -> int:
    """Instructions of one replay, by callgrind. Raises RuntimeError without valgrind."""
    if shutil.which("valgrind") is None:
        raise RuntimeError("counting instructions needs valgrind (apt-get install valgrind)")
    counted: list[int] = []
    for replays in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
            command += [sys.executable, "-m", "tests.benchmarks.profiling", spec]
            command += ["--events", str(events), "--model", model, "--replays", str(replays)]
            done = subprocess.run(command, capture_output=True, check=True)
        found = _COLLECTED.search(done.stderr)
        if found is None:
            raise RuntimeError(f"valgrind told no number: {done.stderr[-200:]!r}")
        counted.append(int(found[1]))
    return counted[1] - counted[0]


def main() -> None:
    """Prints a profile of one strategy."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("strategy")
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--model", default="instant", help="instant (default), offline ...")
    parser.add_argument("--lines", type=int, default=30)
    parser.add_argument("--samples", action="store_true", help="look each millisecond instead")
    parser.add_argument("--instructions", action="store_true", help="count them, by valgrind")
    parser.add_argument("--replays", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.instructions:
        counted = instructions(arguments.strategy, arguments.events, arguments.model)
        each = counted / arguments.events
        print(f"{arguments.strategy}: {counted:,} instructions, {each:,.0f} an event")
        return
    with measuring.caches(counts=False):
        work = _work(arguments.strategy, arguments.events, arguments.model)
        if arguments.replays:
            for _ in range(arguments.replays):
                work()
            return
        work()
        if arguments.samples:
            by_samples(work, arguments.lines)
        else:
            by_function(work, arguments.lines)


if __name__ == "__main__":
    main()

"""What a replay costs beside a bare tiktoken pass over the same text.

    python tests/benchmarks/replay_cost.py

Processor seconds in one process, as ratios of one another, so that a slow or busy machine gives the
same answer; medians of several runs, the memory of counts emptied before each. `head_tail` and
`layered` are measured twice: with a model that answers at once, which is the harness alone, and
with the stand-in model, which reads what it summarises. Not a test: nothing here fails.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import tokens
from bench.events import Message, Session
from bench.formats.own import write_session
from bench.found_facts import find_uses
from bench.generator import generate_session
from bench.history import History
from bench.models import Completion, Model, make_model
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.scoring import score
from bench.session_index import SessionIndex

SIZES = (2_000, 20_000)
WINDOW = 60_000
REPEATS = 3


def _texts(session: Session) -> list[str]:
    texts: list[str] = []
    for event in session.events:
        texts.append(event.message.text)
        for call in event.message.calls:
            texts += [call.name, call.arguments]
    return [text for text in texts if text]


def _seconds(work: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(REPEATS):
        tokens.forget()
        gc.collect()
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return statistics.median(taken)


class InstantModel:
    """Answers at once, so that only the harness and the strategy are timed."""

    name = "instant"
    is_stand_in = True

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """The same five sections for every request."""
        return Completion(
            "## Goal\nSail.\n\n## Progress\nLeft the harbour.\n\n## Key Decisions\nGo north.\n\n"
            "## Next Steps\nSet the jib.\n\n## Critical Context\nThe tide turns at 14:20."
        )


def _replay(session: Session, spec: str, model: Model) -> None:
    strategy = make_strategy(spec).strategy
    provider = SimulatedProvider(
        model, WINDOW, tools=session.tools, ignore_window=spec == "keep_all"
    )
    replay(session, strategy, provider)


def _score(session: Session, spec: str) -> None:
    strategy = make_strategy(spec).strategy
    seen = replay(
        session, strategy, SimulatedProvider(make_model("offline"), WINDOW, tools=session.tools)
    )
    index = SessionIndex(session)
    history = History(session.events)
    score(index, (), find_uses(index), seen, history)


def _memory_ratio(path: Path) -> float:
    """Peak of Python's memory while a file is loaded and replayed, per byte of the file."""
    code = (
        "import sys, tracemalloc\n"
        "from bench import tokens\n"
        "from bench.loading import load_sessions\n"
        "from bench.models import make_model\n"
        "from bench.providers.simulated import SimulatedProvider\n"
        "from bench.registry import make_strategy\n"
        "from bench.replay import replay\n"
        "tokens.count('warm')\n"
        "strategy = make_strategy('head_tail').strategy\n"
        "tracemalloc.start()\n"
        "session = load_sessions(sys.argv[1]).sessions[0]\n"
        f"provider = SimulatedProvider(make_model('offline'), {WINDOW}, tools=session.tools)\n"
        "replay(session, strategy, provider)\n"
        "print(tracemalloc.get_traced_memory()[1])\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / path.stat().st_size


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one size: seconds by what was measured, and memory per byte of the file."""

    events: int
    megabytes: float
    seconds: dict[str, float]
    memory: float


def measure(events: int) -> Figures:
    """Everything for one synthetic session of `events` events."""
    session, _ = generate_session(kind="coding", language="en", events=events, seed=1)
    texts = _texts(session)
    encode = tokens.encoding().encode_ordinary
    instant, offline = InstantModel(), make_model("offline")
    work: dict[str, Callable[[], object]] = {
        "tiktoken": lambda: [encode(text) for text in texts],
        "keep_all": lambda: _replay(session, "keep_all", instant),
        "prune": lambda: _replay(session, "prune", instant),
        "head_tail": lambda: _replay(session, "head_tail", instant),
        "layered": lambda: _replay(session, "layered", instant),
        "head_tail, offline": lambda: _replay(session, "head_tail", offline),
        "layered, offline": lambda: _replay(session, "layered", offline),
        "head_tail, scored": lambda: _score(session, "head_tail"),
    }
    seconds = {name: _seconds(one) for name, one in work.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            write_session(session, stream)
        memory = _memory_ratio(path)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    return Figures(len(session.events), megabytes, seconds, memory)


def main() -> None:
    """Prints a table as Markdown."""
    figures = [measure(events) for events in SIZES]
    heads = [f"{one.events:,} events, {one.megabytes:.1f} MB" for one in figures]
    print(f"| | {' | '.join(heads)} | growth |\n|---|{'---|' * (len(figures) + 1)}")
    for name in figures[0].seconds:
        cells = []
        for one in figures:
            bare, taken = one.seconds["tiktoken"], one.seconds[name]
            extra = (taken - bare) / one.events * 1e6
            shown = f"{taken:.2f} s" if name == "tiktoken" else f"{taken / bare:.2f}x"
            cells.append(shown if name == "tiktoken" else f"{shown} ({extra:+.0f} us an event)")
        growth = figures[-1].seconds[name] / figures[0].seconds[name]
        print(f"| {name} | {' | '.join(cells)} | {growth:.1f}x |")
    scoring = [
        (one.seconds["head_tail, scored"] - one.seconds["head_tail, offline"])
        / one.seconds["tiktoken"]
        for one in figures
    ]
    print(f"| scoring alone | {' | '.join(f'{one:.2f}x' for one in scoring)} | |")
    memory = " | ".join(f"{one.memory:.1f}x of the file" for one in figures)
    print(f"| memory, peak | {memory} | |")


if __name__ == "__main__":
    main()

"""What a replay costs beside a bare tiktoken pass over the same text.

    python tests/benchmarks/replay_cost.py

Processor seconds in one process, as ratios of one another, so that a slow or busy machine gives the
same answer: medians of several runs, a bare pass beside each, and every memory emptied before each.
`head_tail` and `layered` are measured twice: with a model that answers at once, which is the
harness alone, and with the stand-in model, which reads what it summarises. `prune` by itself stops
where nothing is left to prune, so its figures are those of a part of the session. Not a test:
nothing here fails.
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
from functools import partial
from pathlib import Path

from bench import tokens
from bench.events import Message, Session
from bench.formats.own import write_session
from bench.found_facts import find_uses
from bench.generator import generate_session
from bench.history import History
from bench.models import Completion, Model, make_model, signs
from bench.observations import Replay
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.scoring import score
from bench.session_index import SessionIndex

SIZES = (2_000, 20_000)
WINDOW = 60_000
REPEATS = 3
SEED = 3


def _texts(session: Session) -> list[str]:
    texts: list[str] = []
    for event in session.events:
        texts.append(event.message.text)
        for call in event.message.calls:
            texts += [call.name, call.arguments]
    return [text for text in texts if text]


def _encode_all(texts: Sequence[str]) -> None:
    encode = tokens.encoding().encode_ordinary
    for text in texts:
        encode(text)


def _forget_everything() -> None:
    """Empties what functions remember, so that every run is the first."""
    tokens.forget()
    signs.forget()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("bench", "strategies"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear") and value is not tokens.encoding:
                    value.cache_clear()


def _nothing_before() -> None:
    """What precedes most runs."""


def _seconds(work: Callable[[], object], before: Callable[[], object] = _nothing_before) -> float:
    _forget_everything()
    before()
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def _compared(
    work: Callable[[], object], before: Callable[[], object], bare: Callable[[], object]
) -> tuple[float, float]:
    """Seconds of `work` and of the bare pass, which is run at both sides of it: medians."""
    work()
    taken: list[float] = []
    beside: list[float] = []
    for _ in range(REPEATS):
        earlier = _seconds(bare)
        taken.append(_seconds(work, before))
        beside.append((earlier + _seconds(bare)) / 2)
    return statistics.median(taken), statistics.median(beside)


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


def _replay(session: Session, spec: str, model: Model) -> Replay:
    strategy = make_strategy(spec).strategy
    provider = SimulatedProvider(
        model, WINDOW, tools=session.tools, ignore_window=spec == "keep_all"
    )
    return replay(session, strategy, provider)


def _score(session: Session, seen: Replay) -> None:
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
    """The figures of one size: (seconds, seconds of a bare pass) by what was measured."""

    events: int
    megabytes: float
    seconds: dict[str, tuple[float, float]]
    memory: float


def measure(events: int) -> Figures:
    """Everything for one synthetic session of `events` events."""
    session, _ = generate_session(kind="coding", language="en", events=events, seed=SEED)
    texts = _texts(session)
    instant, offline = InstantModel(), make_model("offline")
    specs = {
        "keep_all": ("keep_all", instant),
        "empty": ("empty", instant),
        "prune": ("prune", instant),
        "head_tail": ("head_tail", instant),
        "layered": ("layered", instant),
        "head_tail, offline": ("head_tail", offline),
        "layered, offline": ("layered", offline),
    }
    work = {name: partial(_replay, session, spec, model) for name, (spec, model) in specs.items()}
    bare = partial(_encode_all, texts)
    seconds = {name: _compared(one, _nothing_before, bare) for name, one in work.items()}
    # Scores follow a replay, which has counted every text already.
    seconds["scoring alone"] = _compared(
        partial(_score, session, work["head_tail, offline"]()), work["keep_all"], bare
    )
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
            taken, bare = one.seconds[name]
            cell = f"{taken / bare:.2f}x"
            if name != "scoring alone":
                cell += f" ({(taken - bare) / one.events * 1e6:+.0f} us an event)"
            cells.append(cell)
        growth = figures[-1].seconds[name][0] / figures[0].seconds[name][0]
        print(f"| {name} | {' | '.join(cells)} | {growth:.1f}x |")
    passes = [statistics.median(bare for _, bare in one.seconds.values()) for one in figures]
    shown = " | ".join(f"{seconds:.2f} s" for seconds in passes)
    print(f"| tiktoken | {shown} | {passes[-1] / passes[0]:.1f}x |")
    memory = " | ".join(f"{one.memory:.1f}x of the file" for one in figures)
    print(f"| memory, peak | {memory} | |")


if __name__ == "__main__":
    main()

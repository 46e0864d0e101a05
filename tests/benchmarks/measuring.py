"""What all benchmarks measure with: processor seconds as ratios of one another, in one process.

A slow or busy machine changes seconds, hardly ratios: beside every piece of work a bare tiktoken
pass over the same text is timed, before it and behind it, and medians of the ratios are told.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

from bench import count_cache, counted_stretches, scoring_cache, tokens, tokens_fast
from bench.cache_folder import CACHE_VARIABLE
from bench.events import Message, Session
from bench.models import Completion, Model, signs
from bench.observations import Replay
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.strategy import Strategy
from strategies.head_tail import estimate
from strategies.layered import encoded

WINDOW = 60_000
# So much of the text is enough to know the speed of a bare pass.
_PASS_SHARE = 4


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


def texts_of(session: Session) -> list[str]:
    """Everything in a session that is tokenised."""
    return counted_stretches.texts_of(session.events)


def bare_pass(texts: Sequence[str]) -> None:
    """tiktoken alone."""
    encode = tokens.encoding().encode_ordinary
    for text in texts:
        encode(text)


@cache
def _strategy(spec: str) -> Strategy:
    # Finding what is installed isn't part of a replay.
    return make_strategy(spec).strategy


def replay_of(session: Session, spec: str, model: Model, window: int = WINDOW) -> Replay:
    """One replay; the control that keeps everything knows no window."""
    provider = SimulatedProvider(
        model, window, tools=session.tools, ignore_window=spec == "keep_all"
    )
    return replay(session, _strategy(spec), provider)


def forget_everything() -> None:
    """Empties what this process remembers, so that every run is the first; files stay."""
    tokens.forget()
    signs.forget()
    encoded._MEMORY.clear()
    estimate.forget()
    kept = (tokens.encoding, tokens_fast.counter)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("bench", "strategies"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear") and value not in kept:
                    value.cache_clear()
    tokens.count("The first count of a process opens files.")
    gc.collect()


@contextmanager
def caches(*, counts: bool, scores: bool = False, fast: bool = False) -> Iterator[None]:
    """New, empty caches in a folder of their own, or none; with or without the fast counter."""
    names = (
        CACHE_VARIABLE,
        count_cache.SWITCH_VARIABLE,
        scoring_cache.SWITCH_VARIABLE,
        tokens_fast.SWITCH_VARIABLE,
    )
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        values = (folder, *("on" if wanted else "off" for wanted in (counts, scores, fast)))
        os.environ.update(zip(names, values, strict=True))
        _open_anew()
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            _open_anew()


def _open_anew() -> None:
    # The vocabulary stays in memory, wherever it came from.
    tokens.encoding()
    tokens_fast.counter.cache_clear()
    count_cache.forget()
    counted_stretches.forget()
    scoring_cache.shared.cache_clear()


@dataclass(frozen=True, slots=True)
class Bare:
    """A bare pass over a part of some texts, as long as one over all of them would take."""

    part: tuple[str, ...]
    share: float

    @classmethod
    def over(cls, texts: Sequence[str]) -> Bare:
        """Every fourth text; all of a few."""
        part = tuple(texts if len(texts) < 4_000 else texts[::_PASS_SHARE])
        return cls(part, sum(map(len, part)) / sum(map(len, texts)))

    def seconds(self) -> float:
        """Processor seconds of a whole pass."""
        return processor_seconds(lambda: bare_pass(self.part)) / self.share


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one piece of work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, a piece of work calls."""
    calls = 0

    def told(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(told)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def ratio_to(bare: Bare, work: Callable[[], object], before: Callable[[], object]) -> float:
    """Seconds of `work`, which `before` prepares, by those of a bare pass around it."""
    earlier = bare.seconds()
    before()
    taken = processor_seconds(work)
    return taken / ((earlier + bare.seconds()) / 2)


def median(ratios: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(ratios)


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def folder_of(path: str) -> Path:
    """The folder, made where there is none."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder

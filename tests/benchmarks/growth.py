"""How time and memory grow from 1,000 to 1,000,000 synthetic events.

Part `growth` of `python -m tests.benchmarks`. The events are those of a generated session, cut to
200 characters a text and told again and again, each text with a number of its own, so that none is
tokenised for nothing. Every size of every strategy is a process of its own. Behind every thousand
events the replay stands still for a bare tiktoken pass over their text, so that both meet the same
machine, however its speed changes. Function calls are counted too: the same on any machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

from bench import tokens
from bench.events import Event, Session
from bench.generator import generate_session
from bench.observations import Replay
from strategies.head_tail import estimate
from tests.benchmarks import measuring
from tests.benchmarks.measuring import InstantModel, replay_of

SIZES = (1_000, 10_000, 100_000, 1_000_000)
STRATEGIES = ("keep_all", "head_tail", "layered")
WINDOW = 16_000
SEED = 4
TEMPLATE_EVENTS = 1_000
TEXT_CHARACTERS_MAX = 200
# Short ones are measured several times.
REPEATS = {1_000: 25, 10_000: 15, 100_000: 3}
# Calls are counted up to this size; the count is the same on every machine, however busy.
COUNTED_EVENTS_MAX = 100_000
# Below this a session hardly leaves its first window, and a process its first pages.
SETTLED_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class Grown:
    """One size: seconds, also in those of bare passes, and bytes that the replay took beside it."""

    strategy: str
    events: int
    ratio: float
    seconds: float
    compactions: int
    session_bytes: int
    replay_bytes: int
    is_whole: bool
    calls: int | None = None


def told_again(events: int) -> Session:
    """A session of so many events; calls and results keep together."""
    template, _ = generate_session(kind="coding", language="en", events=TEMPLATE_EVENTS, seed=SEED)
    return Session("told again", tuple(_events(template, events)), template.tools)


def _events(template: Session, wanted: int) -> Iterator[Event]:
    # The system prompt is said once; a round must not be cut where the template starts anew.
    first, *rest = template.events
    while rest and rest[-1].message.calls:
        rest.pop()
    yield first
    for number, event in enumerate(cycle(rest), start=2):
        if number > wanted:
            return
        message = event.message
        text = f"{message.text[:TEXT_CHARACTERS_MAX]} {number}"
        yield replace(event, seq=number, message=replace(message, text=text))


class _Watched(tuple[Event, ...]):
    """Events that are told by stretches, each of which is tokenised once more when it was told.

    `told_seconds` and `bare_seconds` are processor seconds of the replay and of those passes.
    """

    def start(self) -> None:
        """The replay begins now."""
        self.told_seconds = self.bare_seconds = 0.0
        self._stretch: tuple[Event, ...] = ()
        self._since = time.process_time()

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(index, slice):
            self.look()
            self._stretch = found
        return found

    def look(self) -> None:
        """The stretch before is over."""
        told = time.process_time()
        measuring.bare_pass([event.message.text for event in self._stretch])
        self.told_seconds += told - self._since
        self._since = time.process_time()
        self.bare_seconds += self._since - told


def _peak_bytes() -> int:
    """The most memory that this process ever had."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        # Of a process that another one started, this may be the other one's.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    return int(status.partition("VmHWM:")[2].split()[0]) * 1_024


def _one(strategy: str, events: int) -> Grown:
    """Measures in this process."""
    # What a process loads when it does something for the first time doesn't grow.
    replay_of(told_again(TEMPLATE_EVENTS), strategy, InstantModel(), WINDOW)
    tokens.encoding()
    empty = _peak_bytes()
    session = told_again(events)
    watched = _Watched(session.events)
    session = replace(session, events=watched)
    told = _peak_bytes()
    seen: list[Replay] = []

    def work() -> None:
        seen.append(replay_of(session, strategy, InstantModel(), WINDOW))

    ratios: list[float] = []
    taken: list[float] = []
    replayed = 0
    for _ in range(REPEATS.get(events, 1)):
        seen.clear()
        _forget()
        watched.start()
        work()
        # Later replays leave their own in fragments.
        replayed = replayed or _peak_bytes()
        watched.look()
        taken.append(watched.told_seconds)
        ratios.append(watched.told_seconds / watched.bare_seconds)
    return Grown(
        strategy=strategy,
        events=events,
        ratio=measuring.median(ratios),
        seconds=measuring.median(taken),
        compactions=sum(one.outcome == "accepted" for one in seen[0].compactions),
        session_bytes=told - empty,
        replay_bytes=replayed - told,
        is_whole=seen[0].stopped is None,
        calls=_calls(session, strategy) if events <= COUNTED_EVENTS_MAX else None,
    )


def _forget() -> None:
    # A small session fits into what processes remember of texts, and mustn't gain by that.
    tokens.forget()
    estimate.forget()


def _calls(session: Session, strategy: str) -> int:
    _forget()
    plain = replace(session, events=tuple(session.events))
    return measuring.calls_of(lambda: replay_of(plain, strategy, InstantModel(), WINDOW))


def measure(
    sizes: Sequence[int], strategies: Sequence[str], progress: Callable[[str], None]
) -> list[Grown]:
    """Every size of every strategy, each in a new process without any cache."""
    grown: list[Grown] = []
    for strategy in strategies:
        for events in sizes:
            command = [sys.executable, "-m", "tests.benchmarks.growth", strategy, str(events)]
            with measuring.caches(counts=False):
                done = subprocess.run(command, capture_output=True, text=True, check=True)
            grown.append(Grown(**json.loads(done.stdout)))
            progress(f"{strategy}, {events:,} events: {grown[-1].seconds:.1f} s")
    return grown


def growth_of(grown: Sequence[Grown], one: Grown) -> float | None:
    """Passes of a size by those of the first settled size; None for smaller ones."""
    settled = [
        each for each in grown if each.strategy == one.strategy and each.events >= SETTLED_EVENTS
    ]
    if one.events < SETTLED_EVENTS or not settled:
        return None
    return one.ratio / settled[0].ratio


def table(grown: Sequence[Grown]) -> str:
    """Time and memory by strategy and size."""
    heads = [
        "replay",
        "events",
        "compactions",
        "us an event",
        "passes of bare tiktoken",
        "by those of 10,000",
        "calls an event",
        "session in memory",
        "replay beside it, an event",
    ]
    rows = []
    for one in grown:
        growth = growth_of(grown, one)
        rows.append(
            [
                one.strategy + ("" if one.is_whole else " (stopped)"),
                f"{one.events:,}",
                f"{one.compactions:,}",
                f"{one.seconds / one.events * 1e6:.0f}",
                f"{one.ratio:.2f}",
                "" if growth is None else f"{growth:.2f}",
                "" if one.calls is None else f"{one.calls / one.events:.1f}",
                f"{one.session_bytes / 1e6:,.0f} MB",
                f"{one.replay_bytes / one.events:,.0f} bytes",
            ]
        )
    return measuring.markdown_table(heads, rows)


def main() -> None:
    """One size in this process, as JSON; for `measure`."""
    parser = argparse.ArgumentParser(description="One replay of one size, in this process.")
    parser.add_argument("strategy")
    parser.add_argument("events", type=int)
    arguments = parser.parse_args()
    print(json.dumps(asdict(_one(arguments.strategy, arguments.events))))


if __name__ == "__main__":
    main()

"""How time and memory grow from 1,000 to 1,000,000 synthetic events.

Part `growth` of `python -m tests.benchmarks`. The events are those of a generated session, cut to
200 characters a text and told again and again, each text with a number of its own, so that none is
tokenised for nothing. Every size of every strategy is a process of its own, which also times a bare
tiktoken pass over a part of its text. Function calls are counted too: the same on any machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path

from bench import tokens
from bench.events import Event, Session
from bench.generator import generate_session
from bench.observations import Replay
from tests.benchmarks import measuring
from tests.benchmarks.measuring import Bare, InstantModel, replay_of

SIZES = (1_000, 10_000, 100_000, 1_000_000)
STRATEGIES = ("keep_all", "head_tail", "layered")
WINDOW = 16_000
SEED = 4
TEMPLATE_EVENTS = 1_000
TEXT_CHARACTERS_MAX = 200
# Short ones are measured several times, with several bare passes at both sides of each.
REPEATS = {1_000: 15, 10_000: 7, 100_000: 3}
PASSES_AROUND = 3
# Calls are counted up to this size; the count is the same on every machine, however busy.
COUNTED_EVENTS_MAX = 100_000
# Below this a session hardly leaves its first window, and a process its first pages.
SETTLED_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class Grown:
    """One size: passes of bare tiktoken, seconds, and bytes that the replay took beside it all."""

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
    bare = Bare.over([event.message.text for event in session.events[:40_000]])
    share = sum(map(len, bare.part)) / sum(len(event.message.text) for event in session.events)
    bare = Bare(bare.part, share)
    told = _peak_bytes()
    seen: list[Replay] = []

    def work() -> None:
        seen.append(replay_of(session, strategy, InstantModel(), WINDOW))

    ratios: list[float] = []
    taken: list[float] = []
    for _ in range(REPEATS.get(events, 1)):
        seen.clear()
        tokens.forget()
        before = [bare.seconds() for _ in range(PASSES_AROUND)]
        taken.append(measuring.processor_seconds(work))
        replayed = _peak_bytes()
        behind = [bare.seconds() for _ in range(PASSES_AROUND)]
        ratios.append(taken[-1] / measuring.median([*before, *behind]))
    return Grown(
        strategy=strategy,
        events=events,
        ratio=measuring.median(ratios),
        seconds=measuring.median(taken),
        compactions=sum(one.outcome == "accepted" for one in seen[0].compactions),
        session_bytes=told - empty,
        replay_bytes=replayed - told,
        is_whole=seen[0].stopped is None,
        calls=measuring.calls_of(work) if events <= COUNTED_EVENTS_MAX else None,
    )


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


def growth_of(grown: Sequence[Grown], one: Grown, *, in_passes: bool = False) -> float | None:
    """Processor seconds an event by those of the first settled size; None for smaller ones.

    `in_passes` compares ratios to the bare passes at both ends of a replay, which say less of a
    long one: between them a machine changes.
    """
    settled = [
        each for each in grown if each.strategy == one.strategy and each.events >= SETTLED_EVENTS
    ]
    if one.events < SETTLED_EVENTS or not settled:
        return None
    if in_passes:
        return one.ratio / settled[0].ratio
    return one.seconds / one.events / (settled[0].seconds / settled[0].events)


def table(grown: Sequence[Grown]) -> str:
    """Time and memory by strategy and size."""
    heads = [
        "replay",
        "events",
        "compactions",
        "us an event",
        "by that of 10,000",
        "calls an event",
        "passes of bare tiktoken",
        "by those of 10,000",
        "session in memory",
        "replay beside it, an event",
    ]
    rows = []
    for one in grown:
        growth, in_passes = growth_of(grown, one), growth_of(grown, one, in_passes=True)
        rows.append(
            [
                one.strategy + ("" if one.is_whole else " (stopped)"),
                f"{one.events:,}",
                f"{one.compactions:,}",
                f"{one.seconds / one.events * 1e6:.0f}",
                "" if growth is None else f"{growth:.2f}",
                "" if one.calls is None else f"{one.calls / one.events:.1f}",
                f"{one.ratio:.2f}",
                "" if in_passes is None else f"{in_passes:.2f}",
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

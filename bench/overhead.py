"""Edge: what a recording lacks of its requests: system prompt and tool definitions.

Recordings often leave them out (15,000 to 45,000 tokens in Claude Code). The first usage that the
real provider reported tells their size.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from bench.errors import UsageError
from bench.events import Session
from bench.history import History
from bench.models import OfflineModel
from bench.projection import Projection
from bench.providers.simulated import SimulatedProvider

Overhead: TypeAlias = int | Literal["auto"]

NO_OVERHEAD = 0
_TOKENS_MAX = 10_000_000


def parse_overhead(value: int | str | None) -> Overhead:
    """Tokens or "auto"; raises UsageError for anything else."""
    if value is None:
        return NO_OVERHEAD
    text = str(value)
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and int(text[:9]) <= _TOKENS_MAX):
        raise UsageError(
            f"--overhead {value}: give the tokens of system prompt and tools, or auto for what the "
            "recording's first usage tells"
        )
    return int(text)


def overhead_tokens(session: Session, asked: Overhead) -> int:
    """The tokens that every request of a session carries beside what was recorded of it."""
    if asked != "auto":
        return asked
    return recorded_overhead(session) or NO_OVERHEAD


def recorded_overhead(session: Session) -> int | None:
    """What the first recorded usage tells; None where there is none that can be compared.

    The figure is the vendor's count less the true tokens of what was recorded before it, so the
    vendor's tokenizer and this one's differ in it too: the shorter that first request, the better.
    """
    if session.is_slice or not session.recorded_usage:
        return None
    first = min(session.recorded_usage, key=lambda usage: usage.seq)
    if any(one.after_seq < first.seq for one in session.recorded_compactions):
        return None
    position = first.seq - 1
    if not 0 < position <= len(session.events):
        return None
    history = History(session.events[:position])
    provider = SimulatedProvider(OfflineModel(), 0, tools=session.tools)
    recorded = provider.measure(Projection.whole(history, position))
    return max(0, first.input_tokens - recorded)

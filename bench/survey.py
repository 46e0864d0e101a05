"""Assembly: what a plan must know of a session before it is replayed: its floor and its peak."""

from __future__ import annotations

from bench.errors import UsageError
from bench.events import Session
from bench.history import History
from bench.models import OfflineModel
from bench.plan import PlannedSession, auto_window, parse_window
from bench.projection import Kept, Projection
from bench.providers.simulated import SimulatedProvider
from bench.session_digest import session_digest


def survey(session: Session, *, overhead_tokens: int = 0) -> PlannedSession:
    """Floor and peak in true tokens, `overhead_tokens` of every request included.

    The floor is the largest request that shows only the leading system messages and the newest
    user request, the peak the largest that shows everything.
    """
    history = History(session.events)
    provider = SimulatedProvider(
        OfflineModel(), 0, tools=session.tools, overhead_tokens=overhead_tokens
    )
    floor = peak = 0
    newest_floor: int | None = None
    pinned: list[Kept] = []
    for position, event in enumerate(session.events):
        role = event.message.role
        if role == "system" and len(pinned) == position:
            pinned.append(Kept(event))
        if role != "assistant":
            if event.starts_turn:
                newest_floor = None
            continue
        whole = Projection.whole(history, position)
        peak = max(peak, provider.measure(whole))
        if newest_floor is None:
            asked = whole.request_position
            request = [] if asked is None else [Kept(history[asked])]
            shown = Projection.of_items(history, [*pinned, *request], position)
            newest_floor = provider.measure(shown)
            floor = max(floor, newest_floor)
    return PlannedSession(
        id=session.id, digest=session_digest(session), floor_tokens=floor, peak_tokens=peak
    )


def window_for(planned: PlannedSession, text: str, *, option: str = "--window") -> int:
    """The window that `text` (tokens or "auto") means for this session; raises UsageError."""
    asked = parse_window(text, option=option)
    if asked is None:
        return auto_window(planned.floor_tokens, planned.peak_tokens)
    if asked < planned.floor_tokens:
        raise UsageError(
            f"{option} {text}: session {planned.id} can't be cut below "
            f"{planned.floor_tokens:,} tokens (system prompt, tools and newest request); give "
            f"{option} auto or at least {auto_window(planned.floor_tokens, 0)}"
        )
    return asked

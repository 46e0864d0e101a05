"""compaction-bench: what each way of compacting an agent's context loses and saves.

The public names. A strategy needs `Ask`, `Budget`, `Declined` and `Projection`; a script that
replays sessions also `load_sessions`, `replay` and `SimulatedProvider`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.errors import UsageError
from bench.events import Event, Message, Session, ToolCall, ToolDefinition
from bench.history import History
from bench.observations import Replay
from bench.projection import Kept, Native, Projection, Shortened, Written
from bench.provider import ProviderError

# The function takes the place of the module of the same name as an attribute of the package.
from bench.replay import replay
from bench.strategy import (
    Ask,
    Budget,
    Declined,
    Estimator,
    Policy,
    Reply,
    Stage,
    Strategy,
    Usage,
    strategy_for,
)

if TYPE_CHECKING:
    from bench.conversation import Conversation
    from bench.loading import Loaded, load_sessions
    from bench.models import make_model
    from bench.providers.simulated import SimulatedProvider

__all__ = [
    "Ask",
    "Budget",
    "Conversation",
    "Declined",
    "Estimator",
    "Event",
    "History",
    "Kept",
    "Loaded",
    "Message",
    "Native",
    "Policy",
    "Projection",
    "ProviderError",
    "Replay",
    "Reply",
    "Session",
    "Shortened",
    "SimulatedProvider",
    "Stage",
    "Strategy",
    "ToolCall",
    "ToolDefinition",
    "Usage",
    "UsageError",
    "Written",
    "load_sessions",
    "make_model",
    "replay",
    "strategy_for",
]

# Imported only when they are asked for, since they take longer.
_LATER = {
    "Conversation": "bench.conversation",
    "Loaded": "bench.loading",
    "SimulatedProvider": "bench.providers.simulated",
    "load_sessions": "bench.loading",
    "make_model": "bench.models",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'bench' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)

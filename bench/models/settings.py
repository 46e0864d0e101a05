"""Edges: what a real model needs beside its name; stand-ins need nothing of it.

Plain data, so that it travels to worker processes. Keys are never part of it: they are read from
the environment where a request is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.providers.purse import PurseDescription
    from bench.providers.simulated_faults import FaultPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Where requests go, where their answers are kept, and how patient to be.

    `base_url` replaces the vendor's address. `cache_folder` holds the recorded calls (None: the
    default folder); with `is_replay_only` nothing but those is used. `timeout_seconds` is for one
    whole answer. A request is sent at most `tries_max` times; waits double from `backoff_seconds`
    on, and none is longer than `wait_seconds_max`. `concurrency` limits the requests under way to
    one host, over all processes. `purse` pays, None means that nothing is counted. `windows` are
    the context windows in tokens that servers tell of their models, by MODEL spec. With
    `is_rehearsal` nothing is sent: a stand-in answers, and what would be asked is counted.
    """

    base_url: str | None = None
    cache_folder: str | None = None
    is_replay_only: bool = False
    timeout_seconds: float = 120.0
    tries_max: int = 5
    backoff_seconds: float = 1.0
    wait_seconds_max: float = 120.0
    concurrency: int = 4
    purse: PurseDescription | None = None
    windows: tuple[tuple[str, int], ...] = ()
    faults: FaultPlan | None = None
    is_rehearsal: bool = False


DEFAULT_SETTINGS = ModelSettings()

"""Edges: what a real model needs beside its name; stand-ins need nothing of it.

Plain data, so that it travels to worker processes. Keys are never part of it: they are read from
the environment where a request is sent.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Where requests go and where their answers are kept.

    `base_url` replaces the vendor's address. `cache_folder` holds the recorded calls (None: the
    default folder); with `is_replay_only` nothing but those is used.
    """

    base_url: str | None = None
    cache_folder: str | None = None
    is_replay_only: bool = False
    timeout_seconds: float = 120.0


DEFAULT_SETTINGS = ModelSettings()

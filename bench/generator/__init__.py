"""Edge: synthetic sessions of believable work, with facts whose fate can be scored.

Seeded and deterministic: the same arguments give the same events on every Python version.
"""

from __future__ import annotations

from bench.generator.assembling import EVENTS_MIN, Distractor
from bench.generator.sessions import (
    KINDS,
    LANGUAGES,
    Generated,
    generate,
    generate_session,
    iter_events,
)
from bench.generator.writing import regenerate_bundled, write_corpus

__all__ = [
    "EVENTS_MIN",
    "KINDS",
    "LANGUAGES",
    "Distractor",
    "Generated",
    "generate",
    "generate_session",
    "iter_events",
    "regenerate_bundled",
    "write_corpus",
]

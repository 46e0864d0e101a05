"""What the strategy remembers from one compaction to the next: a JSON value, read with suspicion.

Checkpoint record (lineage, segments, anchor), failure fingerprints, and the diagnostics of the last
result, which the engine reports (F11.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.projection import Json
from strategies.layered.checkpoint import Checkpoint, to_record
from strategies.layered.failures import Failures, from_json, to_json


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory, read. `record` isn't verified; `generation` counts accepted checkpoints."""

    record: Json = None
    failures: Failures = ()
    generation: int = 0

    @classmethod
    def read(cls, value: Json) -> Memory:
        """The memory in a JSON value; what has another shape is nothing."""
        if not isinstance(value, dict):
            return cls()
        generation = value.get("generation")
        return cls(
            value.get("checkpoint"),
            from_json(value.get("failures")),
            generation if type(generation) is int else 0,
        )

    def to_json(self, diagnostics: dict[str, Any] | None = None) -> Json:
        """The memory as a JSON value, with what is to be reported of this result."""
        return {
            "checkpoint": self.record,
            "failures": to_json(self.failures),
            "generation": self.generation,
            "diagnostics": diagnostics or {},
        }

    def after_success(self, made: Checkpoint) -> Memory:
        """A new checkpoint stands, and what failed before it doesn't matter any more (F11.3)."""
        return Memory(to_record(made), (), self.generation + 1)

    def after_failure(self, failures: Failures) -> Memory:
        """The checkpoint stays as it was (F11.1)."""
        return Memory(self.record, failures, self.generation)

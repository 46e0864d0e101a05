"""Edges: `lossy(p)`, a stand-in that forgets by coin.

A unit, a sentence or line that holds a typed entity, a rule or a decision, is carried over with
chance `p` at each rewrite. The draw is a hash of seed, request and unit, so that another seed or
another request draws anew. It forgets over the very kinds that scores count: compare strategies
under it only at equal summary tokens.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.errors import UsageError
from bench.events import Message
from bench.models.model import Completion
from bench.models.offline import SHORTER_FRACTION, saliences
from bench.models.stand_in import StandIn
from bench.models.summary_requests import read_request
from bench.models.text_units import read_units
from bench.models.writing import write_summary


@dataclass(frozen=True, slots=True)
class LossyModel(StandIn):
    """Carries each unit over with chance `p`, from 0 to 1, within the output cap."""

    p: float
    is_stand_in: bool = True

    def __post_init__(self) -> None:
        if not (math.isfinite(self.p) and 0 <= self.p <= 1):
            raise UsageError(
                f"--model lossy({self.p:g}): p is the chance that a unit is carried over: "
                f"give a number from 0 to 1, as in lossy(0.9)"
            )

    @property
    def name(self) -> str:
        """The canonical spec."""
        return f"lossy({self.p + 0.0!r})"

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """The units that the coin spared, under the headings that the prompt asks for."""
        request = read_request(messages)
        units = read_units(request.material)
        base = hashlib.sha256(f"{seed}\0{request_digest(messages)}\0".encode())
        carried = [
            unit for unit in units if unit.is_load_bearing and _draw(base, unit.text) < self.p
        ]
        wanted = output_tokens_max
        if request.wants_shorter:
            wanted = int(wanted * SHORTER_FRACTION)
        return write_summary(
            request.outline,
            carried,
            saliences(units),
            tokens_wanted=wanted,
            output_tokens_max=output_tokens_max,
            is_balanced=False,
        )


def request_digest(messages: Sequence[Message]) -> str:
    """SHA-256 over everything in the messages that a model is shown."""
    digest = hashlib.sha256()
    for message in messages:
        parts = [message.role, message.text, message.call_id or ""]
        for call in message.calls:
            parts += [call.id, call.name, call.arguments]
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
        digest.update(b"\n")
    return digest.hexdigest()


def _draw(base: hashlib._Hash, text: str) -> float:
    """A number from 0 up to, not including, 1."""
    digest = base.copy()
    digest.update(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest()[:6], "big") / 2**48

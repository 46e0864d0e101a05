"""Edges: the models that answer a strategy's questions, named by MODEL specs.

`offline` and `lossy(p)` are stand-ins: deterministic, without network, seeing only their request.
The others are asked over the network; what they need is imported when one is made.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bench.errors import UsageError
from bench.models.lossy import LossyModel
from bench.models.model import Completion, Model, RespondingModel
from bench.models.offline import OfflineModel
from bench.models.settings import DEFAULT_SETTINGS, ModelSettings

__all__ = [
    "Completion",
    "LossyModel",
    "Model",
    "ModelSettings",
    "OfflineModel",
    "RespondingModel",
    "make_model",
]

_KNOWN = "offline, lossy(0.9), openai:NAME, responses:NAME, anthropic:NAME"
_REAL_PROVIDERS = ("openai", "responses", "anthropic")
_LOSSY = re.compile(r"lossy\(\s*(?:p\s*=\s*)?(?P<p>[^()]*?)\s*\)")


def make_model(
    spec: str, settings: ModelSettings = DEFAULT_SETTINGS, *, purpose: str = "summary"
) -> Model:
    """The model that `spec` names. Raises UsageError, one line that says what would be right.

    `purpose` is what its calls are recorded as (see `CallObservation`).
    """
    wanted = spec.strip()
    faults = settings.faults
    if faults is not None and purpose == "summary":
        from bench.providers.simulated_faults import FaultyModel

        settings = replace(settings, faults=None)
        return FaultyModel(make_model(wanted, settings), faults, settings=settings)
    if wanted == "offline":
        return OfflineModel()
    lossy = _LOSSY.fullmatch(wanted)
    if lossy is not None:
        try:
            return LossyModel(float(lossy["p"]))
        except ValueError:
            raise UsageError(
                f"--model {_shown(wanted)}: p must be a number from 0 to 1, as in lossy(0.9)"
            ) from None
    if wanted.partition(":")[0] in _REAL_PROVIDERS and ":" in wanted:
        if settings.is_rehearsal:
            from bench.providers.rehearsing import RehearsedModel

            return RehearsedModel(wanted, settings, purpose=purpose)
        from bench.providers.remote import RemoteModel

        return RemoteModel(wanted, settings, purpose=purpose)
    raise UsageError(f"--model {_shown(wanted)}: unknown model; known: {_KNOWN}")


def _shown(spec: str) -> str:
    """The spec on one line, without control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in spec)[:80]

"""Judgement: what readers are asked for in a run, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PROBES: tuple[str, ...] = ("recovered", "next_action")
STAND_IN_READER = "offline"


def is_stand_in(model: str) -> bool:
    """Whether a MODEL is a stand-in: real ones are named `vendor:NAME`."""
    return ":" not in model


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The kinds of probes of a run, and the reader.

    `reader` is a MODEL; None lets each cell's own model read where that is a stand-in, or with
    `asks_real_models` where it isn't, and the offline stand-in otherwise, which costs nothing.
    `judge` is a MODEL that passed its calibration, whose digest is `calibration`.
    """

    kinds: tuple[str, ...] = ("recovered",)
    reader: str | None = None
    asks_real_models: bool = False
    judge: str | None = None
    calibration: str = ""

    @property
    def version(self) -> str:
        """What the answers of a cell rest on; empty for the default."""
        if self == DEFAULT_PROBES:
            return ""
        reader = self.reader or ("model" if self.asks_real_models else STAND_IN_READER)
        judged = f"+{self.judge}@{self.calibration}" if self.judge else ""
        return f"{','.join(self.kinds) or 'none'}@{reader}{judged}"

    def reader_of(self, model: str) -> str:
        """The MODEL that reads for cells of this model."""
        if self.reader is not None:
            return self.reader
        return model if is_stand_in(model) or self.asks_real_models else STAND_IN_READER


DEFAULT_PROBES = ProbeOptions()


def probes_to_json(options: ProbeOptions) -> dict[str, Any]:
    """The options as a run keeps them."""
    return asdict(options)


def probes_of(information: Mapping[str, Any]) -> ProbeOptions:
    """The options that a run kept; the default for a run that kept none."""
    kept = information.get("probes")
    if not isinstance(kept, Mapping):
        return DEFAULT_PROBES
    return ProbeOptions(**{**kept, "kinds": tuple(kept.get("kinds", ()))})

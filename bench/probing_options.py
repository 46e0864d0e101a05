"""Judgement: what readers are asked for in a run, and by whom."""

from __future__ import annotations

from dataclasses import dataclass

PROBES: tuple[str, ...] = ("recovered", "next_action")
STAND_IN_READER = "offline"


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

    def reader_of(self, model: str, *, is_stand_in: bool) -> str:
        """The MODEL that reads for cells of this model."""
        if self.reader is not None:
            return self.reader
        return model if is_stand_in or self.asks_real_models else STAND_IN_READER


DEFAULT_PROBES = ProbeOptions()

"""Judgement: the shape of a metric's row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower", "neither"]
Layer = Literal[
    "present",
    "bound",
    "current",
    "recoverable",
    "recovered",
    "next_action",
    "judge",
    "invented",
    "cost",
    "mechanics",
]
Format = Literal["share", "tokens", "count", "ratio", "seconds"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a cell.

    `caption` heads a column, `meaning` explains it in a sentence, `unit` is what its figure counts,
    `better` which direction is good. `layer` is what it stands on: numbers of two layers are never
    blended.
    """

    name: str
    caption: str
    unit: str
    better: Direction
    layer: Layer
    format: Format
    meaning: str

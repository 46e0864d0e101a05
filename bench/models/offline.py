"""Edges: `offline`, a deterministic extractive stand-in that answers any summary prompt.

It fills the headings that the prompt asks for with sentences and lines of the material. It shows
the mechanics of compaction, never the wording or the judgement of a language model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.events import Message
from bench.models.model import Completion
from bench.models.stand_in import StandIn
from bench.models.summary_requests import SummaryRequest, read_request
from bench.models.text_units import UNIT_CHARACTERS_MAX, Piece, Speaker, Unit, read_units
from bench.models.writing import request_openings, write_summary

# Summaries of real agents are a tenth to a fifth of what they replace.
SUMMARY_FRACTION = 0.15
SUMMARY_TOKENS_MIN = 200
SHORTER_FRACTION = 0.5
# Of a long tool result the beginning and the end are read, as in a hurry.
TOOL_CHARACTERS_MAX = 200

_SPEAKER_SALIENCE: dict[Speaker, float] = {
    "user": 3.0,
    "summary": 2.5,
    "assistant": 1.5,
    "unknown": 1.0,
    "call": 0.4,
    "tool": 0.2,
}
# Listings and logs are full of entities that nobody asked for.
_ENTITY_SALIENCE: dict[Speaker, float] = {"tool": 0.3, "call": 0.5}


def _length_cost(characters: int) -> float:
    return math.log2(8 + characters) * 0.4


_LENGTHS = UNIT_CHARACTERS_MAX + 1
_LENGTH_COSTS = tuple(map(_length_cost, range(_LENGTHS)))


@dataclass(frozen=True, slots=True)
class OfflineModel(StandIn):
    """The extractive stand-in. The seed is without effect."""

    name: str = "offline"
    is_stand_in: bool = True

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """A summary of the material of these messages, in the form that their prompt asks for."""
        del seed
        request = read_request(messages)
        units = read_units(
            request.material, tool_characters_max=TOOL_CHARACTERS_MAX, is_hurried=True
        )
        return write_summary(
            request.outline,
            units,
            saliences(units),
            tokens_wanted=_tokens_wanted(request),
            output_tokens_max=output_tokens_max,
        )


def _tokens_wanted(request: SummaryRequest) -> int:
    size = sum(estimated_tokens(piece) for piece in request.material)
    wanted = max(SUMMARY_TOKENS_MIN, int(size * SUMMARY_FRACTION))
    # Of little material less than everything, or a summary would never be worth it.
    wanted = min(wanted, size * 3 // 5)
    if request.length_tokens_max is not None:
        wanted = min(wanted, request.length_tokens_max)
    return int(wanted * SHORTER_FRACTION) if request.wants_shorter else wanted


def estimated_tokens(piece: Piece) -> int:
    """A guess without tokenising: a quarter for an ASCII character, most of one for any other."""
    size = len(piece.text)
    others = 0 if piece.text.isascii() else size - len(piece.text.encode("ascii", "ignore"))
    return (size - others) // 4 + others * 3 // 4


def saliences(units: Sequence[Unit]) -> Mapping[int, float]:
    """How much each unit matters, by `unit.order`."""
    seen: set[str] = set()
    found: dict[int, float] = {}
    requests = request_openings(units)
    first, last = min(requests, default=-1), max(requests, default=-1)
    total = len(units)
    for position, unit in enumerate(units):
        (
            text,
            speaker,
            entities,
            _,
            is_rule,
            is_decision,
            is_plan,
            is_error,
            is_outcome,
            order,
            _,
        ) = unit
        salience = _SPEAKER_SALIENCE[speaker]
        if entities:
            new = [key for key in entities if key not in seen]
            seen.update(new)
            told = min(4.0, len(entities) + 0.5 * len(new))
            salience += told * _ENTITY_SALIENCE.get(speaker, 1.0)
            salience += 1.5 if speaker == "summary" else 0.0
        elif speaker in ("assistant", "unknown") and not (
            is_rule or is_decision or is_plan or is_error or is_outcome
        ):
            # "Let me have a look." is said often and means little.
            salience -= 1.5
        if is_rule:
            salience += 6.0 if speaker in ("user", "summary") else 3.0
        if is_decision or is_plan or is_error or is_outcome:
            salience += 2.5 * is_decision + 1.5 * is_plan + 1.0 * is_error + 0.7 * is_outcome
        salience += 2.0 * ((position + 1) / total) ** 2
        # Of two that say as much, the shorter one.
        size = len(text)
        cost = _LENGTH_COSTS[size] if size < _LENGTHS else _length_cost(size)
        found[order] = salience - cost
    if requests:
        found[first] += 4.0
        found[last] += 2.0
    return found

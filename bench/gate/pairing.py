"""Judgement: two sides put side by side: one pair of values for each session, nothing left out.

Runs are paired by session, window and fact version (and model, where there are several); seeds are
draws and are averaged. What doesn't match is refused with the difference named. A cell that is
missing never shrinks the denominator: it may hold anything, so its session has a lowest and a
highest value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bench.errors import UsageError
from bench.gate.records import CellRecord, SessionRecord
from bench.gate.sides import Side, Sides, listed
from bench.metrics import METRICS, Metric, metric

Key: TypeAlias = tuple[str, str, str]  # session, window as asked, model ("" where it isn't paired)
Range: TypeAlias = tuple[float, float]

COMPARED: tuple[str, ...] = tuple(
    one.name
    for one in METRICS
    if one.better != "neither" and one.format in ("share", "ratio", "tokens")
)


@dataclass(frozen=True, slots=True)
class SessionPair:
    """One session: the lowest and the highest value of each side, equal when all is known.

    `weight` is the mean of its `tokens_baseline`, 1 where that isn't known.
    """

    session: str
    baseline: Range
    candidate: Range
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Paired:
    """All sessions of a comparison.

    `unmeasured` are sessions that neither side could be asked about, with the reason. `missing`
    says which cells are missing, `unknown` which sessions one side alone couldn't be scored on.
    """

    pairs: tuple[SessionPair, ...]
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def has_gaps(self) -> bool:
        """True when what isn't known could change the result."""
        return any(
            low != high for pair in self.pairs for low, high in (pair.baseline, pair.candidate)
        )


def metric_to_compare(name: str) -> Metric:
    """The metric of that name. Raises UsageError for one that no comparison can be made by."""
    if name not in COMPARED:
        raise UsageError(f"--metric {name}: nothing to compare by; there are {', '.join(COMPARED)}")
    return metric(name)


def check_match(sides: Sides) -> None:
    """Raises UsageError, the difference named, when the two sides can't be paired."""
    ours, theirs = sides.baseline, sides.candidate
    _check_fact_versions(ours, theirs)
    _check_equal(_sessions(ours), _sessions(theirs), "sessions", ours, theirs)
    for session in _sessions(ours):
        one, two = ours.record.session(session), theirs.record.session(session)
        _check_session(one, two, ours, theirs)
    _check_equal(_windows(ours), _windows(theirs), "windows", ours, theirs)
    if not _is_model_free(sides):
        _check_equal(list(ours.models), list(theirs.models), "models", ours, theirs)
    own_keys, other_keys = _by_key(sides, ours.cells), _by_key(sides, theirs.cells)
    for side, own, other in ((ours, own_keys, other_keys), (theirs, other_keys, own_keys)):
        lacking = [key for key in other if key not in own]
        if lacking:
            session, window, _ = lacking[0]
            raise UsageError(
                f"{side.record.name}: has no cell of {side.spec} for session {session} in window "
                f"{window} ({len(lacking)} such): finish the run with --resume"
            )


def pair_up(sides: Sides, wanted: Metric) -> Paired:
    """The values of `wanted` for each session. `sides` match (see `check_match`)."""
    ours = _by_key(sides, sides.baseline.cells)
    theirs = _by_key(sides, sides.candidate.cells)
    bounds = _bounds(wanted)
    by_session: dict[str, list[tuple[Range, Range]]] = {}
    unmeasured: dict[str, str] = {}
    missing: list[str] = []
    unknown: list[str] = []
    for key, one in ours.items():
        two = theirs[key]
        missing += _missing(one, "baseline") + _missing(two, "candidate")
        ranges = _range(one, wanted.name, bounds), _range(two, wanted.name, bounds)
        if ranges == (None, None):
            unmeasured[key[0]] = next(
                (c.reason for c in (*two, *one) if c.reason), "no reason given"
            )
            continue
        for side_range, cells, side in (
            (ranges[0], one, "baseline"),
            (ranges[1], two, "candidate"),
        ):
            if side_range is None:
                unknown.append(f"{key[0]} ({side}: {cells[0].reason or cells[0].status})")
        pair = (ranges[0] or bounds, ranges[1] or bounds)
        by_session.setdefault(key[0], []).append(pair)
    weights = _weights((*sides.baseline.cells, *sides.candidate.cells))
    pairs = tuple(
        SessionPair(
            session,
            _mean_range(one for one, _ in found),
            _mean_range(two for _, two in found),
            weights.get(session, 1.0),
        )
        for session, found in by_session.items()
    )
    left_out = {name: reason for name, reason in unmeasured.items() if name not in by_session}
    return Paired(pairs, left_out, tuple(missing), tuple(unknown))


def cells_by_key(sides: Sides) -> Iterable[tuple[Sequence[CellRecord], Sequence[CellRecord]]]:
    """The draws of both sides for each session, window and model."""
    theirs = _by_key(sides, sides.candidate.cells)
    for key, one in _by_key(sides, sides.baseline.cells).items():
        yield one, theirs[key]


def _check_fact_versions(ours: Side, theirs: Side) -> None:
    one, two = ours.record.fact_version, theirs.record.fact_version
    if one != two:
        raise UsageError(
            f"fact versions differ: {ours.record.name} has {one}, {theirs.record.name} has {two}: "
            "run one of them again with this version and the same --cuts"
        )


def _check_session(one: SessionRecord, two: SessionRecord, ours: Side, theirs: Side) -> None:
    names = f"{ours.record.name} and {theirs.record.name}"
    if one.digest != two.digest:
        raise UsageError(
            f"session {one.id} has other content in {names}: replay both from the same files"
        )
    if one.fact_digest != two.fact_digest:
        raise UsageError(
            f"session {one.id} has other facts in {names} ({len(one.units)} and {len(two.units)}): "
            "replay both with the same facts.jsonl and the same version"
        )


def _check_equal(
    one: Sequence[str], two: Sequence[str], what: str, ours: Side, theirs: Side
) -> None:
    only = [name for name in one if name not in set(two)]
    only_there = [name for name in two if name not in set(one)]
    if only or only_there:
        parts = [
            f"only in {side.record.name} ({side.spec}): {listed(names)}"
            for side, names in ((ours, only), (theirs, only_there))
            if names
        ]
        raise UsageError(
            f"the two sides don't share their {what}: {'; '.join(parts)}; run both over the same"
        )


def _sessions(side: Side) -> list[str]:
    return list(dict.fromkeys(cell.session for cell in side.cells))


def _windows(side: Side) -> list[str]:
    return list(
        dict.fromkeys(
            f"{cell.session} in window {cell.window_asked}"
            + ("" if cell.window_asked == str(cell.window) else f" = {cell.window}")
            for cell in side.cells
        )
    )


def _is_model_free(sides: Sides) -> bool:
    """Two sides with one model each are compared as they are, also when the models differ."""
    return len(sides.baseline.models) == len(sides.candidate.models) == 1


def _by_key(sides: Sides, cells: Iterable[CellRecord]) -> dict[Key, list[CellRecord]]:
    is_free = _is_model_free(sides)
    found: dict[Key, list[CellRecord]] = {}
    for cell in cells:
        key = (cell.session, cell.window_asked, "" if is_free else cell.model)
        found.setdefault(key, []).append(cell)
    return found


def _bounds(wanted: Metric) -> Range:
    """What a value that isn't known could be."""
    if wanted.format == "share" and wanted.layer != "cost":
        return 0.0, 1.0
    return -math.inf, math.inf


def _range(cells: Sequence[CellRecord], name: str, bounds: Range) -> Range | None:
    """The mean over draws, as a range; None when no draw was scored and none is missing."""
    values = [cell.values.get(name) for cell in cells]
    if all(value is None for value in values) and not any(c.status == "error" for c in cells):
        return None
    return _mean_range(bounds if value is None else (value, value) for value in values)


def _weights(cells: Iterable[CellRecord]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for cell in cells:
        tokens = cell.values.get("tokens_baseline")
        if tokens:
            found.setdefault(cell.session, []).append(tokens)
    return {session: sum(known) / len(known) for session, known in found.items()}


def _mean_range(ranges: Iterable[Range]) -> Range:
    known = list(ranges)
    return sum(low for low, _ in known) / len(known), sum(high for _, high in known) / len(known)


def _missing(cells: Sequence[CellRecord], side: str) -> list[str]:
    return [f"{cell.session} ({side}: {cell.reason})" for cell in cells if cell.status == "error"]

"""Judgement: which facts a candidate keeps less often than the baseline, and how bad that is.

A fact that must be kept fails without statistics. What was said once is lost for good, what a tool
had shown can be read again: the two are told apart in every comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.facts import Severity
from bench.gate.pairing import cells_by_key
from bench.gate.records import KEPT, LOST, CellRecord, Unit
from bench.gate.sides import Sides
from bench.statistics import holm, sign_flip_p

RULES: tuple[str, ...] = ("constraint", "negation")
SEVERITIES: tuple[Severity, ...] = ("said_once", "re_readable")


@dataclass(frozen=True, slots=True)
class WorseFact:
    """A fact with the share of draws, windows and models in which each side kept it.

    `place` is its place among the units of its session, `cell` a cell of the candidate that lost
    it. `kept_by_baseline` None: the baseline was never asked.
    """

    session: str
    place: int
    unit: Unit
    kept_by_baseline: float | None
    kept_by_candidate: float
    cell: CellRecord

    @property
    def drop(self) -> float:
        """By how much less often it is kept, from 0 to 1."""
        return (self.kept_by_baseline or 0.0) - self.kept_by_candidate


@dataclass(frozen=True, slots=True)
class GroupShares:
    """The mean over sessions of the share of facts of one group that each side kept.

    `p` is by sign flips over sessions, adjusted by Holm over the groups; None below six sessions.
    """

    group: str
    sessions: int
    facts: int
    baseline: float
    candidate: float
    p: float | None = None


def worse_facts(sides: Sides) -> tuple[WorseFact, ...]:
    """What the candidate keeps less often, and lost facts that must be kept; the worst first."""
    found = [one for one in _all_facts(sides) if one.drop > 0 or _is_must_keep_lost(one)]
    return tuple(sorted(found, key=_badness))


def lost_must_keep(sides: Sides) -> tuple[WorseFact, ...]:
    """Facts that must be kept and that the candidate lost in any draw, baseline or not."""
    return tuple(one for one in _all_facts(sides) if _is_must_keep_lost(one))


def kinds(sides: Sides) -> tuple[GroupShares, ...]:
    """Shares by kind of fact, the largest drop first; their p values are adjusted together."""
    shares = _grouped(sides, lambda unit: unit.kind)
    tested = [one for one in shares if one[1] is not None]
    adjusted = iter(holm([p or 0.0 for _, p in tested]))
    rows = [
        GroupShares(
            one.group,
            one.sessions,
            one.facts,
            one.baseline,
            one.candidate,
            None if p is None else next(adjusted),
        )
        for one, p in shares
    ]
    return tuple(sorted(rows, key=lambda row: (row.candidate - row.baseline, row.group)))


def severities(sides: Sides) -> tuple[GroupShares, ...]:
    """Shares of what was said once and of what could be read again."""
    shares = {one.group: one for one, _ in _grouped(sides, lambda unit: unit.severity)}
    return tuple(shares[name] for name in SEVERITIES if name in shares)


def lost_rules(sides: Sides) -> tuple[int, int]:
    """How many rules (constraints and negations) the candidate lost in any draw, of how many."""
    lost = {(one.session, one.place) for one in _all_facts(sides) if one.unit.kind in RULES}
    asked = {
        (cell.session, place)
        for _, cells in cells_by_key(sides)
        for cell in cells
        for place, _ in _answers(cell)
        if sides.candidate.record.session(cell.session).units[place].kind in RULES
    }
    return len(lost), len(asked)


def _is_must_keep_lost(one: WorseFact) -> bool:
    return one.unit.must_keep and one.kept_by_candidate < 1


def _badness(one: WorseFact) -> tuple[bool, bool, float, str, int]:
    is_re_readable = one.unit.severity != "said_once"
    return not _is_must_keep_lost(one), is_re_readable, -one.drop, one.session, one.place


def _all_facts(sides: Sides) -> Iterable[WorseFact]:
    """Every fact that the candidate was asked for and lost at least once."""
    ours: dict[tuple[str, int], list[bool]] = {}
    theirs: dict[tuple[str, int], list[tuple[bool, CellRecord]]] = {}
    for one, two in cells_by_key(sides):
        for cell in one:
            for place, kept in _answers(cell):
                ours.setdefault((cell.session, place), []).append(kept)
        for cell in two:
            for place, kept in _answers(cell):
                theirs.setdefault((cell.session, place), []).append((kept, cell))
    for (session, place), answers in theirs.items():
        losing = [cell for kept, cell in answers if not kept]
        if losing:
            unit = sides.candidate.record.session(session).units[place]
            kept_before = ours.get((session, place), [])
            share = sum(kept_before) / len(kept_before) if kept_before else None
            kept_now = 1 - len(losing) / len(answers)
            yield WorseFact(session, place, unit, share, kept_now, losing[0])


def _answers(cell: CellRecord) -> Iterable[tuple[int, bool]]:
    if cell.is_opaque:
        return ()
    return ((place, mark == KEPT) for place, mark in enumerate(cell.marks) if mark in (KEPT, LOST))


def _grouped(
    sides: Sides, group_of: Callable[[Unit], str]
) -> list[tuple[GroupShares, float | None]]:
    """Shares by group with their p, not adjusted."""
    by_group: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    facts: dict[str, dict[str, int]] = {}
    clusters: dict[str, str] = {}
    for pair in cells_by_key(sides):
        session = sides.candidate.record.session(pair[0][0].session)
        clusters[session.id] = session.cluster or session.id
        counts = [_group_shares(cells, session.units, group_of) for cells in pair]
        for group in counts[0].keys() & counts[1].keys():
            both = by_group.setdefault(group, {}).setdefault(session.id, ([], []))
            for side, counted in zip(both, counts, strict=True):
                side.append(counted[group][0])
            facts.setdefault(group, {})[session.id] = counts[1][group][1]
    found: list[tuple[GroupShares, float | None]] = []
    for group, sessions in sorted(by_group.items()):
        means = [(_mean(one), _mean(two)) for one, two in sessions.values()]
        differences = [two - one for one, two in means]
        groups = [clusters[session] for session in sessions]
        shares = GroupShares(
            group,
            len(sessions),
            sum(facts[group].values()),
            _mean([one for one, _ in means]),
            _mean([two for _, two in means]),
        )
        found.append((shares, sign_flip_p(differences, clusters=groups)))
    return found


def _group_shares(
    cells: Sequence[CellRecord], units: Sequence[Unit], group_of: Callable[[Unit], str]
) -> Mapping[str, tuple[float, int]]:
    """By group the share of facts kept over all draws, and how many facts there are."""
    answers: dict[str, list[bool]] = {}
    places: dict[str, set[int]] = {}
    for cell in cells:
        for place, kept in _answers(cell):
            group = group_of(units[place])
            answers.setdefault(group, []).append(kept)
            places.setdefault(group, set()).add(place)
    return {group: (sum(kept) / len(kept), len(places[group])) for group, kept in answers.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

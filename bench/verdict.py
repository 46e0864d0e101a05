"""Judgement: the verdict of a run in sentences, or that there is none, and why.

Strategies are compared pairwise with the session as the unit. A verdict is refused when a control
is out of line, when nothing was measured, when cells are missing, or when the difference could be
chance; what was observed is said all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from bench.plan import CONTROLS
from bench.statistics import Comparison, compare_paired, holm
from bench.verdict_controls import CanaryResult, controls_line, controls_out_of_line
from bench.verdict_layers import (
    in_layer_present,
    in_layer_recovered,
    opaque_line,
    opaque_strategies,
)
from bench.verdict_recovered import recovered_warnings
from bench.verdict_table import CellRow, mean, number, window_asked
from bench.verdict_words import (
    basis_line,
    cost_sentence,
    fired_line,
    leader_sentence,
    listed,
    loss_sentence,
    only_sentence,
    plain,
    undecided_sentence,
    why_nothing,
)

LEVEL_OF_P = 0.05
_NOTHING_TO_ASK = "nothing in the session could be asked for"
EXIT_FINE = 0
EXIT_NO_VERDICT = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the first screen says.

    `sentences` are one to three; `opaque` (what can't be read, and how it is compared), `controls`,
    `fired` and `basis` one line each (empty where there is nothing to say). `decided` is true when
    one strategy kept more than every other and chance is no explanation. `exit_code` is 0, or 3
    when a control is out of line or nothing was measured.
    """

    sentences: tuple[str, ...]
    controls: str
    fired: str
    basis: str
    warnings: tuple[str, ...]
    decided: bool
    exit_code: int
    opaque: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """Everything for the first screen, in order."""
        rest = (self.opaque, self.controls, self.fired, self.basis)
        return (*self.sentences, *(line for line in rest if line))


@dataclass(frozen=True, slots=True)
class Pair:
    """Strategy `first` against `second` over the sessions that know both.

    `comparison.p` is adjusted for the number of pairs (Holm); `unadjusted_p` isn't.
    """

    first: str
    second: str
    mean_first: float
    mean_second: float
    comparison: Comparison
    unadjusted_p: float | None

    @property
    def is_clear(self) -> bool:
        """True when chance is no explanation at 5%."""
        return self.comparison.p is not None and self.comparison.p < LEVEL_OF_P

    def turned(self) -> Pair:
        """The same pair seen from the other strategy."""
        c = self.comparison
        interval = None if c.interval is None else (-c.interval[1], -c.interval[0])
        return replace(
            self,
            first=self.second,
            second=self.first,
            mean_first=self.mean_second,
            mean_second=self.mean_first,
            comparison=replace(c, difference=-c.difference, interval=interval),
        )


def verdict(
    cells: Sequence[CellRow],
    *,
    canaries: Iterable[CanaryResult] = (),
    clusters: Mapping[str, Hashable] | None = None,
    seed: int = 0,
) -> Verdict:
    """The verdict over cells as `run --json` gives them. Pure and, under a seed, deterministic.

    Beside the fields of the contract, cells may have `window_asked`, `retention_said_once` and
    `retention_re_readable`. Strategies with opaque state are ranked apart, by what a reader
    answered; where there are no others, that is the verdict. `clusters` maps sessions to the group
    (project, template) they share.
    """
    strategies = [s for s in dict.fromkeys(c["strategy"] for c in cells) if s not in CONTROLS]
    results = list(canaries)
    problems = controls_out_of_line(cells, results)
    missing = missing_cells(cells)
    unread = recovered_warnings(cells)
    warnings = (*_warnings(cells, missing), *unread)
    lines = {
        "controls": controls_line(cells, results, problems),
        "fired": fired_line(cells, strategies),
        "basis": basis_line(cells),
    }
    shown, asked = in_layer_present(cells), in_layer_recovered(cells)
    measured = [s for s in strategies if _values(shown, s)]
    opaque = opaque_strategies(cells)
    answered = [s for s in strategies if _values(asked, s)] if opaque else []
    if opaque and not measured:
        shown, measured = asked, answered
    if problems or not measured:
        if problems:
            why = f"a control is out of line, so no number here can be trusted: {problems[0]}"
        else:
            why = f"nothing was measured: {why_nothing(cells, strategies)}"
        sentence = f"No verdict: {why}."
        return Verdict(
            (sentence,), **lines, warnings=warnings, decided=False, exit_code=EXIT_NO_VERDICT
        )
    ranked = ranking(shown, measured)
    pairs = compare_all(shown, ranked, clusters=clusters, seed=seed)
    first, decided = _first_sentence(shown, ranked, pairs, missing)
    priced = [*ranked, *(name for name in opaque if name not in ranked)]
    others = (cost_sentence(cells, priced), loss_sentence(shown, ranked))
    sentences = (first, *(sentence for sentence in others if sentence))
    return Verdict(
        sentences,
        **lines,
        warnings=warnings,
        decided=decided,
        exit_code=EXIT_FINE,
        opaque=_opaque_line(cells, asked, [] if unread else answered, clusters, seed),
    )


def _opaque_line(
    cells: Sequence[CellRow],
    asked: Sequence[CellRow],
    answered: Sequence[str],
    clusters: Mapping[str, Hashable] | None,
    seed: int,
) -> str:
    """How strategies with opaque state compare, in the only layer in which they can."""
    ranked = ranking(asked, answered) if answered else []
    pairs = compare_all(asked, ranked, clusters=clusters, seed=seed)
    return opaque_line(cells, ranked, pairs)


def compare_all(
    cells: Sequence[CellRow],
    ranked: Sequence[str],
    *,
    clusters: Mapping[str, Hashable] | None = None,
    seed: int = 0,
) -> dict[tuple[str, str], Pair]:
    """Every pair that shares a session, by (higher ranked, lower ranked), p adjusted by Holm."""
    values = {strategy: _values(cells, strategy) for strategy in ranked}
    pairs: dict[tuple[str, str], Pair] = {}
    for first, second in combinations(ranked, 2):
        shared = _shared(values[first], values[second])
        if not shared:
            continue
        groups = [(clusters or {}).get(session, session) for session in shared]
        differences = [one - other for one, other in shared.values()]
        comparison = compare_paired(differences, clusters=groups, seed=seed)
        pairs[first, second] = Pair(
            first,
            second,
            mean(one for one, _ in shared.values()) or 0.0,
            mean(other for _, other in shared.values()) or 0.0,
            comparison,
            comparison.p,
        )
    tested = [key for key, pair in pairs.items() if pair.comparison.p is not None]
    adjusted = holm([pairs[key].comparison.p or 1.0 for key in tested])
    for key, p in zip(tested, adjusted, strict=True):
        pairs[key] = replace(pairs[key], comparison=replace(pairs[key].comparison, p=p))
    return pairs


def ranking(cells: Sequence[CellRow], strategies: Sequence[str]) -> list[str]:
    """Strategies by mean retention, highest first, over the sessions that all of them share.

    One that was measured on fewer than half as many sessions as another stands behind, since a
    high mean over two sessions is no sign of a good strategy. Where they share no session each
    stands on its own.
    """
    values = {strategy: _by_session(_values(cells, strategy)) for strategy in strategies}
    most = max(len(known) for known in values.values())
    few = {strategy for strategy, known in values.items() if 2 * len(known) < most}
    common = set.intersection(*(set(values[s]) for s in strategies if s not in few))

    def height(strategy: str) -> float:
        known = values[strategy]
        return mean(known[session] for session in known if not common or session in common) or 0.0

    return sorted(strategies, key=lambda strategy: (strategy in few, -height(strategy)))


def missing_cells(cells: Sequence[CellRow]) -> list[tuple[str, str, str]]:
    """(session, strategy, reason) of cells that ended in an error or aren't there at all."""
    found: list[tuple[str, str, str]] = []
    present: set[tuple[str, str]] = set()
    for cell in cells:
        present.add((cell["session"], cell["strategy"]))
        if cell.get("status") == "error":
            reason = str(cell.get("reason") or "no reason given")
            found.append((cell["session"], cell["strategy"], reason))
    sessions = dict.fromkeys(cell["session"] for cell in cells)
    strategies = dict.fromkeys(cell["strategy"] for cell in cells)
    found += [
        (session, strategy, "it wasn't run")
        for session in sessions
        for strategy in strategies
        if (session, strategy) not in present
    ]
    return found


def _first_sentence(
    cells: Sequence[CellRow],
    ranked: Sequence[str],
    pairs: Mapping[tuple[str, str], Pair],
    missing: Sequence[tuple[str, str, str]],
) -> tuple[str, bool]:
    """Who kept more, and whether that is decided."""
    leader = ranked[0]
    against = [pairs[leader, other] for other in ranked[1:] if (leader, other) in pairs]
    if not against:
        known = _by_session(_values(cells, leader))
        return only_sentence(leader, list(known.values()), is_alone=len(ranked) == 1), False
    # On the sessions that just these two share the order may be the other way round.
    shown = against[0] if against[0].comparison.difference >= 0 else against[0].turned()
    beaten = [pair for pair in against if pair.is_clear and pair.comparison.difference > 0]
    if missing:
        why = f"{_missing_words(cells, missing)}, and what they hold could change it"
        return undecided_sentence(shown, [], len(pairs), why), False
    if len(beaten) == len(ranked) - 1:
        return leader_sentence(shown, beaten[1:], len(pairs)), True
    return undecided_sentence(shown, beaten, len(pairs)), False


def _values(cells: Sequence[CellRow], strategy: str) -> dict[tuple[str, str, str], float]:
    """Mean retention over seeds by (session, window, model), where it is known."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for cell in cells:
        value = number(cell, "retention")
        if cell["strategy"] == strategy and value is not None:
            key = (str(cell["session"]), window_asked(cell), str(cell["model"]))
            found.setdefault(key, []).append(value)
    return {key: mean(values) or 0.0 for key, values in found.items()}


def _by_session(values: Mapping[tuple[str, str, str], float]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for (session, _, _), value in values.items():
        found.setdefault(session, []).append(value)
    return {session: mean(known) or 0.0 for session, known in found.items()}


def _shared(
    first: Mapping[tuple[str, str, str], float], second: Mapping[tuple[str, str, str], float]
) -> dict[str, tuple[float, float]]:
    """Both means for each session, over the windows and models that both know."""
    keys = [key for key in first if key in second]
    ones = _by_session({key: first[key] for key in keys})
    others = _by_session({key: second[key] for key in keys})
    return {session: (ones[session], others[session]) for session in ones}


def _missing_words(cells: Sequence[CellRow], missing: Sequence[tuple[str, str, str]]) -> str:
    failed = sum(cell.get("status") == "error" for cell in cells)
    total = len(cells) + len(missing) - failed
    return f"{len(missing)} of {total} cells {'is' if len(missing) == 1 else 'are'} missing"


def _warnings(cells: Sequence[CellRow], missing: Sequence[tuple[str, str, str]]) -> Iterable[str]:
    if missing:
        session, strategy, reason = missing[0]
        yield (
            f"{_missing_words(cells, missing)}, the first: {plain(strategy)} on "
            f"session {plain(session)}: {plain(reason)}"
        )
    for name, what in (
        ("invalid_projections", "requests that a provider's API would refuse as malformed"),
        ("grew", "accepted compactions that made the context larger"),
    ):
        totals: dict[str, int] = {}
        for cell in cells:
            strategy, count = str(cell["strategy"]), int(number(cell, name) or 0)
            totals[strategy] = totals.get(strategy, 0) + count
        parts = [f"{plain(strategy)} {total}" for strategy, total in totals.items() if total]
        if parts:
            yield f"{what}: {listed(parts)}"
    blank = [
        cell
        for cell in cells
        if cell.get("status") in ("ok", "stopped")
        and number(cell, "retention") is None
        and cell["strategy"] not in CONTROLS
    ]
    if blank:
        reasons = Counter(
            str(cell.get("retention_reason") or cell.get("reason") or _NOTHING_TO_ASK)
            for cell in blank
        )
        counted = [f"{times} because {plain(reason)}" for reason, times in reasons.most_common(2)]
        more = f", {len(reasons) - 2} more reasons" if len(reasons) > 2 else ""
        yield f"{len(blank)} cells ran but have no retention: {'; '.join(counted)}{more}"

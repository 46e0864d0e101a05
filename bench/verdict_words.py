"""Judgement: the sentences of a verdict, for somebody who reads one for the first time.

Short, no jargon, numbers with their units. Names and reasons come from files: they are made
harmless before they stand in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bench.statistics import SESSIONS_MIN_FOR_P, share_interval
from bench.verdict_table import (
    CellRow,
    mean,
    number,
    retries,
    session_means,
    tokens_saved,
    window_asked,
)

if TYPE_CHECKING:
    from bench.verdict import Pair

_NAMED_MAX = 4
_CHARACTERS_MAX = 160
_STAND_INS: tuple[tuple[str, str], ...] = (
    ("offline", "it copies sentences instead of writing them: it shows mechanics, not wording"),
    ("lossy", "it forgets by coin: it shows mechanics, not wording"),
)
_LAYERS: dict[str, str] = {
    "present": "the words stand in the request: an upper bound on what a model would recall",
    "recovered": "a reader answered questions from the request",
}
_BASES: dict[str, str] = {
    "facts": "facts that were planted in it or written down for it",
    "found uses": "names, paths and values that the recorded agent itself used again much later",
}
_TRIES: tuple[tuple[str, str], ...] = (
    ("overflow", "overflow"),
    ("repair", "repair"),
    ("replan", "re-plan"),
    ("transport", "transport"),
)


def leader_sentence(pair: Pair, beaten: Sequence[Pair], comparisons: int) -> str:
    """One strategy kept more than all others: `pair` is against the next one."""
    most = "the most" if beaten else "more"
    sentence = (
        f"{plain(pair.first)} kept {most} of what was needed later: {percent(pair.mean_first)} "
        f"against {percent(pair.mean_second)} for {plain(pair.second)}, "
        f"{points(pair.comparison.difference)} more ({evidence(pair, comparisons)})."
    )
    if beaten:
        named = [f"{plain(one.second)} ({percent(one.mean_second)})" for one in beaten]
        sentence += f" It also kept more than {listed(named)}."
    return sentence


def undecided_sentence(pair: Pair, beaten: Sequence[Pair], comparisons: int, why: str = "") -> str:
    """The observed difference, and why it decides nothing; `why` wins over the statistics."""
    comparison = pair.comparison
    first, second = plain(pair.first), plain(pair.second)
    gap = f"{points(comparison.difference)} less"
    if abs(comparison.difference) < 0.0005:
        gap = "no difference"
    observed = (
        f"{first} kept {percent(pair.mean_first)} of what was needed later and {second} "
        f"{percent(pair.mean_second)}, {gap} ({evidence(pair, comparisons)})"
    )
    if why:
        return f"Not decided, since {why}; so far {observed}."
    if comparison.p is None:
        if comparison.sessions < SESSIONS_MIN_FOR_P:
            have = f"{counted(comparison.sessions, 'session')} can't tell this from chance"
        else:
            have = "these sessions come from too few independent projects to tell this from chance"
        return f"Not decided: {observed}; {have}, at least {SESSIONS_MIN_FOR_P} are needed."
    sentence = f"Not decided: {observed}, which may be chance"
    if comparison.sessions_needed is not None and comparison.difference:
        needed = max(comparison.sessions_needed, comparison.sessions + 1)
        sentence += f"; about {needed:,} sessions would show such a difference"
    if comparison.smallest_detectable is not None:
        sentence += f", these could have shown one of {points(comparison.smallest_detectable)}"
    sentence += "."
    if beaten:
        named = [f"{plain(one.second)} ({percent(one.mean_second)})" for one in beaten]
        sentence += f" {plain(beaten[0].first)} did keep more than {listed(named)}."
    return sentence


def only_sentence(strategy: str, values: Sequence[float], *, is_alone: bool) -> str:
    """What one strategy kept, where there is no second one to compare it with."""
    interval = share_interval(values)
    within = f"95% interval {percent(interval[0])} to {percent(interval[1])}, " if interval else ""
    why = (
        "there is no second strategy with a score to compare it with"
        if is_alone
        else "no session has a score for two strategies, so they can't be compared"
    )
    return (
        f"{plain(strategy)} kept {percent(mean(values))} of what was needed later "
        f"({within}{counted(len(values), 'session')}); {why}."
    )


def cost_sentence(cells: Sequence[CellRow], ranked: Sequence[str]) -> str:
    """What keeping it cost: tokens against the full history, and second tries."""
    saved: list[str] = []
    tries: list[str] = []
    for strategy in ranked[:_NAMED_MAX]:
        # Sessions in which it never fired saved nothing, and that counts: as in the table.
        own = [cell for cell in cells if cell["strategy"] == strategy]
        share = tokens_saved(own)
        if share is not None:
            amount = "fewer" if share >= 0 else "more"
            saved.append(f"{plain(strategy)} {percent(abs(share))} {amount}")
        counts = retries(own)
        kinds = [f"{counts[kind]} {word}" for kind, word in _TRIES if counts[kind]]
        if kinds:
            total = sum(counts[kind] for kind, _ in _TRIES)
            tries.append(f"{plain(strategy)} {total} ({', '.join(kinds)})")
    if not saved:
        return ""
    second = f"second tries: {listed(tries)}" if tries else "no second tries"
    return f"Tokens sent, against the full history: {listed(saved)}; {second}."


def loss_sentence(cells: Sequence[CellRow], ranked: Sequence[str]) -> str:
    """What was lost for good beside what could be read again."""
    parts = [
        _shares(cells, ranked, name, what)
        for name, what in (
            ("retention_said_once", "what was said only once (rules, decisions: lost for good)"),
            ("retention_re_readable", "what a tool could read again"),
        )
    ]
    text = "; of ".join(part for part in parts if part)
    return f"Of {text}." if text else ""


def fired_line(cells: Sequence[CellRow], strategies: Sequence[str]) -> str:
    """Which strategies compacted at all, which stopped early, which were not exercised."""
    parts: list[str] = []
    for strategy in strategies:
        own = [cell for cell in cells if cell["strategy"] == strategy]
        sessions = {cell["session"] for cell in own}
        noun = "session" if len(sessions) == len(own) else "replay"
        count = int(sum(number(cell, "compactions") or 0 for cell in own))
        fired = sum(bool(number(cell, "compactions")) for cell in own)
        stopped = sum(cell.get("status") == "stopped" for cell in own)
        errors = sum(cell.get("status") == "error" for cell in own)
        if fired:
            total = counted(len(own), noun)
            said = f"{plain(strategy)} compacted {counted(count, 'time')} in {fired} of {total}"
        elif errors == len(own):
            said = f"{plain(strategy)} failed in all {counted(len(own), noun)}"
        elif stopped:
            said = f"{plain(strategy)} never fired"
        else:
            said = f"{plain(strategy)} never fired, so it has no score"
        if stopped:
            said += f" and stopped early in {stopped} (what came after counts as lost)"
        if errors and errors < len(own):
            said += f" and failed in {errors}"
        parts.append(said)
    return f"What fired: {'; '.join(parts)}." if parts else ""


def basis_line(cells: Sequence[CellRow]) -> str:
    """Which sessions, windows, models and layer the numbers stand on."""
    if not cells:
        return ""
    sessions = counted(len({cell["session"] for cell in cells}), "session")
    asked = list(dict.fromkeys(window_asked(cell) for cell in cells))
    windows = listed([_window_words(cells, one) for one in asked])
    models = listed([_model_words(one) for one in dict.fromkeys(str(c["model"]) for c in cells)])
    seeds = len({cell.get("seed", 0) for cell in cells})
    scored = [c for c in cells if number(c, "retention") is not None] or cells
    layers = dict.fromkeys(str(c["retention_layer"]) for c in scored if c.get("retention_layer"))
    parts = [sessions, windows, models]
    if seeds > 1:
        parts.append(f"{seeds} seeds")
    parts += [f"the layer {one} ({_LAYERS.get(one, 'see the documentation')})" for one in layers]
    averaged = "; settings are averaged here, the table has each" if len(asked) > 1 else ""
    return f"These numbers stand on {listed(parts)}{averaged}.{_needed_words(cells)}"


def why_nothing(cells: Sequence[CellRow], strategies: Sequence[str]) -> str:
    """Why no strategy has a score."""
    if not strategies:
        return "the run holds no strategy beside the controls"
    own = [cell for cell in cells if cell["strategy"] in strategies]
    for status, said in (
        ("error", "every replay failed"),
        ("not_exercised", "no strategy ever fired; give a smaller --window or longer sessions"),
    ):
        if all(cell.get("status") == status for cell in own):
            first = plain(str(own[0].get("reason") or ""))
            return f"{said} ({first})" if first and status == "error" else said
    reasons = [plain(str(c["reason"])) for c in own if c.get("reason")]
    return f"no cell has a score ({reasons[0]})" if reasons else "no cell has a score"


def plain(text: str) -> str:
    """Text from outside as one harmless line: no control characters, cut where it is long."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return shown if len(shown) <= _CHARACTERS_MAX else f"{shown[: _CHARACTERS_MAX - 1]}…"


def percent(share: float | None) -> str:
    """A share as a percentage; a decimal only where it tells 0 or 100 from nearly so."""
    if share is None:
        return "an unknown share"
    value = 100 * share
    nearly = 0 < abs(value) < 0.95 or 99.05 < value < 99.95
    return _number(value, 1 if nearly else 0) + "%"


def points(difference: float) -> str:
    """A difference of shares in percentage points, without its sign."""
    value = _points_number(abs(difference))
    return f"{value} point" if value == "1" else f"{value} points"


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 session, 2 sessions, 1,200 times."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def evidence(pair: Pair, comparisons: int) -> str:
    """Interval, number of sessions and p of a difference, as words for brackets."""
    comparison = pair.comparison
    parts: list[str] = []
    if comparison.interval is not None:
        low, high = comparison.interval
        ends = f"{_points_number(low)} to {_points_number(high)} points"
        parts.append(f"95% interval {ends}")
    parts.append(counted(comparison.sessions, "session"))
    if comparison.p is not None:
        parts.append(f"p {_p_words(comparison.p)}")
        if comparisons > 1:
            parts[-1] += f" allowing for {comparisons} comparisons"
    return ", ".join(parts)


def _p_words(p: float) -> str:
    if p < 0.001:
        return "< 0.001"
    return f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


def _points_number(difference: float) -> str:
    value = 100 * difference
    return _number(value, 0 if abs(value) >= 9.95 else 1)


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _exercised(cells: Iterable[CellRow], strategy: str) -> list[CellRow]:
    return [
        cell
        for cell in cells
        if cell["strategy"] == strategy and cell.get("status") in ("ok", "stopped")
    ]


def _shares(cells: Sequence[CellRow], ranked: Sequence[str], name: str, what: str) -> str:
    def value_of(cell: CellRow) -> float | None:
        return number(cell, name)

    kept = [
        (plain(strategy), percent(average))
        for strategy in ranked[:_NAMED_MAX]
        if (average := mean(session_means(_exercised(cells, strategy), value_of).values()))
        is not None
    ]
    if not kept:
        return ""
    (first, share), *others = kept
    return f"{what} {listed([f'{first} kept {share}', *(' '.join(one) for one in others)])}"


def _window_words(cells: Sequence[CellRow], asked: str) -> str:
    sizes = [int(cell["window"]) for cell in cells if window_asked(cell) == asked]
    low, high = min(sizes), max(sizes)
    size = f"{low:,} tokens" if low == high else f"{low:,} to {high:,} tokens"
    return f"the window {asked} ({size})" if asked == "auto" else f"a window of {size}"


def _needed_words(cells: Sequence[CellRow]) -> str:
    """What "needed" means here: planted facts, found uses, or each in some of the sessions."""
    by_basis: dict[str, set[str]] = {}
    for cell in cells:
        if cell.get("retention_basis") in _BASES and number(cell, "retention") is not None:
            by_basis.setdefault(cell["retention_basis"], set()).add(cell["session"])
    if len(by_basis) == 1:
        return f" What a session needed: {_BASES[next(iter(by_basis))]}."
    parts = [f"in {len(sessions)} {_BASES[basis]}" for basis, sessions in by_basis.items()]
    return f" What a session needed: {', '.join(parts)}." if parts else ""


def _model_words(model: str) -> str:
    for name, nature in _STAND_INS:
        if model == name or model.startswith(f"{name}("):
            return f"the stand-in model {plain(model)} ({nature})"
    return f"the model {plain(model)}"

"""Judgement: which cells a run has: sessions x strategies x windows x models x seeds.

The two controls are in every plan. A cell is known by its identity, a hash of everything that its
result depends on, so that a run that was cut short goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import product

from bench.errors import UsageError

CONTROLS: tuple[str, ...] = ("keep_all", "empty")
AUTO = "auto"
_WINDOW_STEP_TOKENS = 500
_FLOOR_FACTOR = Fraction(5, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    """What a plan must know of a session.

    `digest` is a hash of its content. `floor_tokens` is the irreducible floor, the largest input
    over all requests that `empty` would send (system prompt, tool definitions, newest request);
    `peak_tokens` the largest one of `keep_all`. Both are true tokens.
    """

    id: str
    digest: str
    floor_tokens: int
    peak_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One replay to make: a session through a strategy in a window with a model and a seed.

    `window` is in tokens, `window_asked` what the option said ("auto" or the same number), by
    which cells of several sessions are put in one row. `position` is the place in the plan.
    """

    identity: str
    position: int
    session: str
    digest: str
    spec: str
    window: int
    window_asked: str
    model: str
    seed: int

    @property
    def is_control(self) -> bool:
        """True for `keep_all` and `empty`."""
        return self.spec in CONTROLS


@dataclass(frozen=True, slots=True)
class Plan:
    """All cells in order, and sentences about what was left out."""

    cells: tuple[Cell, ...]
    warnings: tuple[str, ...] = ()


def auto_window(floor_tokens: int, peak_tokens: int) -> int:
    """The window `auto`, in tokens: max(1.25 x floor, peak / 2), rounded up to 500.

    Source: contract.md, "Words in options".
    """
    wanted = max(floor_tokens * _FLOOR_FACTOR, Fraction(peak_tokens, 2))
    # A whole step even for an empty session: a window of 0 would mean "unknown" to strategies.
    steps = max(1, -(-wanted // _WINDOW_STEP_TOKENS))
    return int(steps) * _WINDOW_STEP_TOKENS


def parse_window(text: str, *, option: str = "--window") -> int | None:
    """Tokens of a window, None for `auto`; raises UsageError for anything else."""
    if text == AUTO:
        return None
    digits = text.replace("_", "").replace(",", "")
    if not (digits.isascii() and digits.isdigit()) or int(digits[:12]) == 0:
        raise UsageError(f"{option} {text}: no window; write a number of tokens or {AUTO}")
    return int(digits[:12])


def cell_identity(
    *, digest: str, spec: str, window: int, model: str, seed: int, fact_version: str
) -> str:
    """The hash by which a cell is known again: 32 hex digits over all that its result rests on."""
    parts = json.dumps([digest, spec, window, model, seed, fact_version], ensure_ascii=True)
    return sha256(parts.encode("ascii")).hexdigest()[:32]


def make_plan(
    sessions: Sequence[PlannedSession],
    specs: Sequence[str],
    *,
    windows: Sequence[int | None] = (None,),
    models: Sequence[str] = ("offline",),
    seeds: Sequence[int] = (0,),
    fact_version: str = "",
) -> Plan:
    """The plan of a run: controls last; `windows` in tokens, None for `auto`.

    The same content under two names is planned once and said so. Raises UsageError when a fixed
    window is below what some session can't do without, or when two sessions share an id.
    """
    unique, warnings = _without_copies(sessions)
    _refuse_small_windows(unique, windows)
    strategies = list(dict.fromkeys([*specs, *CONTROLS]))
    strategies.sort(key=lambda spec: spec in CONTROLS)
    cells: dict[str, Cell] = {}
    for session, spec, asked, model, seed in product(unique, strategies, windows, models, seeds):
        window = auto_window(session.floor_tokens, session.peak_tokens) if asked is None else asked
        identity = cell_identity(
            digest=session.digest,
            spec=spec,
            window=window,
            model=model,
            seed=seed,
            fact_version=fact_version,
        )
        if identity in cells:
            continue
        cells[identity] = Cell(
            identity=identity,
            position=len(cells),
            session=session.id,
            digest=session.digest,
            spec=spec,
            window=window,
            window_asked=AUTO if asked is None else str(asked),
            model=model,
            seed=seed,
        )
    return Plan(tuple(cells.values()), warnings)


def _without_copies(
    sessions: Sequence[PlannedSession],
) -> tuple[tuple[PlannedSession, ...], tuple[str, ...]]:
    """Sessions of different content, and a warning for each copy: a copy is no new evidence."""
    by_digest: dict[str, PlannedSession] = {}
    by_id: dict[str, PlannedSession] = {}
    warnings: list[str] = []
    for session in sessions:
        if session.digest in by_digest:
            original = by_digest[session.digest]
            warnings.append(
                f"session {session.id} has the same content as {original.id}: it counts once"
            )
            continue
        if session.id in by_id:
            raise UsageError(
                f"two different sessions have the id {session.id}: give one of them another id"
            )
        by_digest[session.digest] = by_id[session.id] = session
    return tuple(by_digest.values()), tuple(warnings)


def _refuse_small_windows(
    sessions: Sequence[PlannedSession], windows: Sequence[int | None]
) -> None:
    for window in windows:
        if window is None:
            continue
        too_large = [session for session in sessions if session.floor_tokens > window]
        if not too_large:
            continue
        worst = max(too_large, key=lambda session: session.floor_tokens)
        others = f" ({len(too_large)} sessions don't fit)" if len(too_large) > 1 else ""
        raise UsageError(
            f"--window {window}: session {worst.id} can't be cut below {worst.floor_tokens:,} "
            f"tokens (system prompt, tools and newest request){others}; "
            f"give --window {AUTO} or at least {auto_window(worst.floor_tokens, 0)}"
        )

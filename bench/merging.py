"""Assembly: several runs of different cells as one, as if they had been made in one go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.money import StageCost, total
from bench.plan import AUTO, CONTROLS, Cell
from bench.store import Run, StoredCell
from bench.store_copying import stored_cell, stored_session
from bench.store_rows import CellRows
from bench.store_schema import CELL_COLUMNS

# What must be the same in all runs, or their numbers don't belong into one table.
_SAME = ("version", "tokenizer", "arbiter", "fact_version", "cuts", "probes")
_LISTS = ("strategies", "windows", "models", "seeds")
# What two replays of a cell may differ in: when they were made, and what was recorded by then.
_OF_THE_MOMENT = ("seconds", "is_recorded", "usd", "usd_worst")


@dataclass(frozen=True, slots=True)
class Merged:
    """What was merged: `shared` cells were in more than one run, and equal."""

    sessions: int
    cells: int
    shared: int


def merge(folders: Sequence[Path], target: Path) -> Merged:
    """Writes the run in `target` that holds all sessions and cells of the runs in `folders`.

    Cells that several runs hold must be equal. Raises UsageError, before anything is written,
    when versions differ, or a session, its facts or a shared cell: the message names which.
    """
    if len(folders) < 2:
        raise UsageError("merge: name at least two runs")
    with ExitStack() as stack:
        runs = [stack.enter_context(Run.open(folder)) for folder in folders]
        information = _information(runs)
        sessions = _sessions(runs)
        cells, shared = _cells(runs)
        canaries = _canaries(runs)
        order = _Order(information, list(sessions))
        merged = stack.enter_context(Run.create(target, information))
        for session_id, run in sessions.items():
            merged.save_session_rows(stored_session(run, session_id))
        for position, (stored, run) in enumerate(sorted(cells.values(), key=order.of)):
            rows = stored_cell(run, stored.cell.identity)
            merged.save_cell_rows(_at(rows, replace(stored.cell, position=position)))
        merged.save_canaries(canaries)
        merged.save_warnings(dict.fromkeys(line for run in runs for line in run.warnings()))
        return Merged(len(sessions), len(cells), shared)


def _at(rows: CellRows, cell: Cell) -> CellRows:
    """The rows of a cell at another place in the plan."""
    return replace(rows, columns=(*astuple(cell), *rows.columns[len(CELL_COLUMNS) :]))


def _information(runs: Sequence[Run]) -> dict[str, Any]:
    every = [run.information() for run in runs]
    first = every[0]
    for run, other in zip(runs, every, strict=True):
        for name in _SAME:
            if other.get(name) != first.get(name):
                raise UsageError(
                    f"{run.path.parent}: {name} is {_shown(other.get(name))}, in "
                    f"{runs[0].path.parent} it is {_shown(first.get(name))}; only runs that rest "
                    "on the same can be merged"
                )
    merged: dict[str, Any] = dict(first)
    for name in _LISTS:
        merged[name] = _united(one.get(name) or [] for one in every)
    merged["prompts"] = {key: text for one in every for key, text in _prompts(one).items()}
    commands = [str(one["command"]) for one in every if one.get("command")]
    merged["command"] = "  +  ".join(dict.fromkeys(commands))
    merged["merged_from"] = [run.path.parent.name for run in runs]
    return {**merged, **_money(every)}


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)[:80]


def _prompts(information: Mapping[str, Any]) -> Mapping[str, str]:
    return information.get("prompts") or {}


def _united(lists: Iterable[Sequence[Any]]) -> list[Any]:
    return list(dict.fromkeys(value for values in lists for value in values))


def _money(every: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Estimates and spending added up; nothing where no run asked a real model."""
    known = [one for one in every if one.get("money")]
    if not known:
        return {}
    terms = [one["money"] for one in known]
    estimates = [one["estimate"] for one in terms]
    estimate = {
        name: total(one.get(name) for one in estimates) for name in estimates[0] if name != "stages"
    }
    stages: dict[tuple[str, str], dict[str, Any]] = {}
    for stage in (stage for one in estimates for stage in one["stages"]):
        key = stage["stage"], stage["model"]
        stages[key] = _added(stages[key], stage) if key in stages else dict(stage)
    spent = [one["spent"] for one in known if one.get("spent")]
    return {
        "money": {
            "prices_as_of": "; ".join(_united([one["prices_as_of"]] for one in terms)),
            "hosts": {key: host for one in terms for key, host in one["hosts"].items()},
            "without_price": _united(one["without_price"] for one in terms),
            "free_of_charge": _united(one["free_of_charge"] for one in terms),
            "budget_usd": total(one["budget_usd"] for one in terms),
            "budget_tokens": total(one["budget_tokens"] for one in terms),
            "estimate": {**estimate, "stages": list(stages.values())},
        },
        "spent": {name: total(one[name] for one in spent) for name in spent[0]} if spent else None,
    }


def _added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in StageCost.__dataclass_fields__ if name not in ("stage", "model")]
    return {**one, **{name: total((one[name], other[name])) for name in names}}


def _sessions(runs: Sequence[Run]) -> dict[str, Run]:
    """Every session with the first run that holds it, in order."""
    found: dict[str, Run] = {}
    digests: dict[str, str] = {}
    ids: dict[str, str] = {}
    for run in runs:
        for session in run.sessions():
            known = digests.setdefault(session.id, session.digest)
            if known != session.digest:
                raise UsageError(
                    f"{run.path.parent}: session {session.id} isn't the one of that name in "
                    f"{found[session.id].path.parent}: their content differs"
                )
            same = ids.setdefault(session.digest, session.id)
            if same != session.id:
                raise UsageError(
                    f"{run.path.parent}: session {session.id} has the content of {same} in "
                    f"{found[same].path.parent}; it would count twice"
                )
            first = found.setdefault(session.id, run)
            for what, here, there in (
                ("facts", run.facts(session.id), first.facts(session.id)),
                ("found uses", run.uses(session.id), first.uses(session.id)),
            ):
                if here != there:
                    raise UsageError(
                        f"{run.path.parent}: the {what} of session {session.id} differ from those "
                        f"in {first.path.parent} ({len(here)} and {len(there)})"
                    )
    return found


def _cells(runs: Sequence[Run]) -> tuple[dict[str, tuple[StoredCell, Run]], int]:
    """Every cell with the run to take it from, and how many cells several runs hold.

    A cell that ended in an error gives way to one that didn't.
    """
    found: dict[str, tuple[StoredCell, Run]] = {}
    shared = 0
    for run in runs:
        for stored in run.cells():
            identity = stored.cell.identity
            if identity not in found:
                found[identity] = stored, run
                continue
            shared += 1
            known, first = found[identity]
            if known.status == "error":
                found[identity] = stored, run
            elif stored.status != "error":
                _require_equal(stored.cell, run, first)
    return found, shared


def _require_equal(cell: Cell, run: Run, first: Run) -> None:
    here, there = (stored_cell(one, cell.identity) for one in (run, first))
    for name in ("status", "requests", "heads", "compactions", "calls", "answers", "scores"):
        if _comparable(here, name) != _comparable(there, name):
            raise UsageError(
                f"{run.path.parent}: cell {cell.spec} of session {cell.session} (window "
                f"{cell.window}, {cell.model}, seed {cell.seed}) is also in {first.path.parent} "
                f"and differs there: {name}"
            )


def _comparable(rows: CellRows, name: str) -> Any:
    if name == "status":
        # Behind the cell: status, reason, seconds (of the moment), and what the replay came to.
        after = rows.columns[len(CELL_COLUMNS) :]
        return after[:2], after[3:6]
    values = getattr(rows, name)
    if name != "calls":
        return values
    calls = (json.loads(text) for text in values)
    return [
        {key: value for key, value in call.items() if key not in _OF_THE_MOMENT} for call in calls
    ]


def _canaries(runs: Sequence[Run]) -> list[Any]:
    """The canaries of all runs; raises UsageError when two looked at the same ones and disagree."""
    found: dict[tuple[str, str], Any] = {}
    for run in runs:
        for canary in run.canaries():
            known = found.setdefault((canary.session, canary.control), canary)
            if known != canary:
                raise UsageError(
                    f"{run.path.parent}: {canary.control} showed {canary.found} of "
                    f"{canary.planted} canaries of session {canary.session}, elsewhere "
                    f"{known.found} of {known.planted}"
                )
    return list(found.values())


class _Order:
    """The place that a cell has in the plan of one run of everything."""

    def __init__(self, information: Mapping[str, Any], sessions: Sequence[str]) -> None:
        self._sessions = {session: place for place, session in enumerate(sessions)}
        self._places = {
            name: {str(value): place for place, value in enumerate(information[name])}
            for name in _LISTS
        }

    def of(self, member: tuple[StoredCell, Run]) -> tuple[Any, ...]:
        cell = member[0].cell
        return (
            self._sessions[cell.session],
            CONTROLS.index(cell.spec) + 1 if cell.spec in CONTROLS else 0,
            self._place("strategies", cell.spec),
            self._place("windows", cell.window_asked or AUTO),
            self._place("models", cell.model),
            self._place("seeds", str(cell.seed)),
        )

    def _place(self, name: str, value: str) -> tuple[int, str]:
        known = self._places[name]
        return known.get(value, len(known)), value

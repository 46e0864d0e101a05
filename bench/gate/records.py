"""Judgement: what a comparison needs of a run, as plain data without a word of any session.

A run folder holds the sessions themselves; a record of it holds only ids, figures, and for each
fact of a session whether a cell kept it. So a record can be committed as the baseline of a gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.errors import UsageError
from bench.facts import Severity

FORMAT = "compaction-bench baseline"
FORMAT_VERSION = 1

KEPT = "1"
LOST = "0"
UNREADABLE = "?"
NEVER_TOLD = "-"
_MARKS = frozenset(KEPT + LOST + UNREADABLE + NEVER_TOLD)


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that retention counts in a session: a fact, or a needed use (then without `id`).

    `severity` says whether its loss could be mended by running a tool again.
    """

    kind: str
    severity: Severity
    id: str = ""
    must_keep: bool = False


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: `digest` is a hash of its content, `fact_digest` one of its facts and uses.

    `cluster` names the sessions that it isn't independent of. `units` are in the order of the marks
    of its cells.
    """

    id: str
    digest: str
    fact_digest: str
    cluster: str | None
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class SummaryFigures:
    """The form of all summaries that one cell wrote.

    `tokens` are pairs of generation and tokens, one for each summary. `missing` counts by heading
    the summaries that lack it, of the headings that the prompt asks for. `general_sentences` of
    `sentences` generalise instead of stating.
    """

    tokens: tuple[tuple[int, int], ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    general_sentences: int = 0
    sentences: int = 0


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A cell: its `values` by name of metric (None: not known, `reason` says why).

    `marks` has one character for each unit of its session: kept (1), lost (0), unreadable (?), not
    in the full history either (-); it is empty for a cell that wasn't scored. `written` is a hash
    of all summaries, empty without any.
    """

    identity: str
    session: str
    spec: str
    window: int
    window_asked: str
    model: str
    seed: int
    status: str
    reason: str
    values: Mapping[str, float | None]
    marks: str = ""
    written: str = ""
    summaries: SummaryFigures = SummaryFigures()

    @property
    def is_opaque(self) -> bool:
        """True when it left state that can only be asked for: what is readable is no sample."""
        return UNREADABLE in self.marks


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run: `name` is its folder or file, `fact_version` what its facts and scores rest on.

    `problems` say what is wrong with its controls, one clause each. `cells_planned` is how many
    cells (controls apart) there should be, None when that isn't known. `headings` are by spec the
    lines that open the sections which its prompt asks for.
    """

    name: str
    fact_version: str
    sessions: tuple[SessionRecord, ...]
    cells: tuple[CellRecord, ...]
    problems: tuple[str, ...] = ()
    cells_planned: int | None = None
    headings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def session(self, session_id: str) -> SessionRecord:
        """A session by its id; raises KeyError."""
        for one in self.sessions:
            if one.id == session_id:
                return one
        raise KeyError(session_id)


def record_to_json(record: RunRecord) -> dict[str, Any]:
    """The record as a JSON document: the shape of a baseline file."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "name": record.name,
        "fact_version": record.fact_version,
        "cells_planned": record.cells_planned,
        "problems": list(record.problems),
        "headings": {spec: list(lines) for spec, lines in record.headings.items()},
        "sessions": [_session_to_json(session) for session in record.sessions],
        "cells": [asdict(cell) for cell in record.cells],
    }


def record_from_json(document: Any, where: str) -> RunRecord:
    """The inverse of `record_to_json`; `where` names the file. Raises UsageError."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(
            f"{where}: is no baseline; give a run folder or a file that --save-baseline wrote"
        )
    if document.get("version") != FORMAT_VERSION:
        raise UsageError(
            f"{where}: is a baseline of version {document.get('version')}, this program reads "
            f"version {FORMAT_VERSION}: write it anew with --save-baseline"
        )
    try:
        record = RunRecord(
            name=where,
            fact_version=str(document["fact_version"]),
            sessions=tuple(map(_session_from_json, document["sessions"])),
            cells=tuple(map(_cell_from_json, document["cells"])),
            problems=tuple(map(str, document["problems"])),
            cells_planned=document["cells_planned"],
            headings={
                str(spec): tuple(map(str, lines)) for spec, lines in document["headings"].items()
            },
        )
        _check(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{where}: is a damaged baseline ({type(error).__name__}: {error}); "
            "write it anew with --save-baseline"
        ) from error
    return record


def _session_to_json(session: SessionRecord) -> dict[str, Any]:
    """Units by kind and severity, since a recording may hold hundreds of them."""
    groups: dict[str, list[int]] = {}
    named: dict[str, str] = {}
    for place, unit in enumerate(session.units):
        groups.setdefault(f"{unit.kind}/{unit.severity}", []).append(place)
        if unit.id:
            named[str(place)] = unit.id
    return {
        "id": session.id,
        "digest": session.digest,
        "fact_digest": session.fact_digest,
        "cluster": session.cluster,
        "units": groups,
        "ids": named,
        "must_keep": [place for place, unit in enumerate(session.units) if unit.must_keep],
    }


def _session_from_json(data: Mapping[str, Any]) -> SessionRecord:
    units: dict[int, Unit] = {}
    must_keep = set(data["must_keep"])
    for group, places in data["units"].items():
        kind, _, severity = group.rpartition("/")
        if severity not in ("said_once", "re_readable"):
            raise ValueError(f"unknown severity {severity!r}")
        for place in places:
            fact_id = str(data["ids"].get(str(place), ""))
            units[place] = Unit(kind, severity, fact_id, place in must_keep)
    return SessionRecord(
        id=str(data["id"]),
        digest=str(data["digest"]),
        fact_digest=str(data["fact_digest"]),
        cluster=data["cluster"],
        units=tuple(units[place] for place in range(len(units))),
    )


def _cell_from_json(data: Mapping[str, Any]) -> CellRecord:
    figures = data["summaries"]
    summaries = SummaryFigures(
        tokens=tuple((int(generation), int(tokens)) for generation, tokens in figures["tokens"]),
        missing={str(name): int(count) for name, count in figures["missing"].items()},
        general_sentences=int(figures["general_sentences"]),
        sentences=int(figures["sentences"]),
    )
    values = {
        str(name): None if value is None else float(value) for name, value in data["values"].items()
    }
    return CellRecord(**{**data, "values": values, "summaries": summaries})


def _check(record: RunRecord) -> None:
    """Raises ValueError or KeyError where the parts of a record don't belong together."""
    for cell in record.cells:
        units = record.session(cell.session).units
        if cell.marks and (len(cell.marks) != len(units) or not set(cell.marks) <= _MARKS):
            raise ValueError(
                f"the marks of session {cell.session} don't fit its {len(units)} facts"
            )

"""Assembly: run folders and baseline files as records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.entities import ENTITY_TABLE_VERSION
from bench.errors import UsageError
from bench.facts import Fact, Severity, Use
from bench.found_facts import is_headline
from bench.gate.lints import figures_of
from bench.gate.records import (
    KEPT,
    LOST,
    NEVER_TOLD,
    UNREADABLE,
    CellRecord,
    RunRecord,
    SessionRecord,
    Unit,
    record_from_json,
    record_to_json,
)
from bench.gating.prompts import headings_of_spec
from bench.metrics import METRICS
from bench.observations import Replay
from bench.plan import Cell
from bench.projection import Written
from bench.results import cell_row
from bench.store import Run, StoredCell, StoredSession
from bench.verdict_controls import CanaryResult, controls_out_of_line
from bench.verdict_recovered import recovered_warnings
from bench.verdict_table import RECOVERED, number

_BASELINE_BYTES_MAX = 500_000_000


def read_record(path: Path | str, keep: Callable[[Cell], bool] | None = None) -> RunRecord:
    """The record of a run folder, or of a baseline file.

    `keep` chooses among the cells of a run; controls are judged but aren't among the cells of a
    record. Raises UsageError for anything that is neither.
    """
    path = Path(path)
    if path.suffix == ".json":
        return record_from_json(_document(path), str(path))
    with Run.open(path) as run:
        return record_of(run, str(path), keep)


def write_baseline(record: RunRecord, path: Path) -> None:
    """Writes the record as a file that can be committed. Raises UsageError."""
    text = json.dumps(record_to_json(record), ensure_ascii=True, separators=(",", ":"))
    # One cell or session a line, so that a version control system shows what changed.
    text = text.replace('},{"id":', '},\n{"id":').replace('},{"identity":', '},\n{"identity":')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="ascii")
    except OSError as error:
        raise UsageError(
            f"--save-baseline {path}: can't be written: {error.strerror or error}"
        ) from error


def record_of(run: Run, name: str, keep: Callable[[Cell], bool] | None = None) -> RunRecord:
    """The record of an open run."""
    information = run.information()
    prompts: Mapping[str, str] = information.get("prompts") or {}
    headings: dict[str, tuple[str, ...]] = {}
    chosen = [one for one in run.cells() if keep is None or one.cell.is_control or keep(one.cell)]
    wanted = {one.cell.session for one in chosen if not one.cell.is_control}
    chosen = [one for one in chosen if one.cell.session in wanted]
    sessions = [one for one in run.sessions() if one.id in wanted]
    units = {one.id: units_of(run, one.id) for one in sessions}
    rows = [cell_row(one, None) for one in chosen]
    for one in chosen:
        if one.cell.spec not in headings and not one.cell.is_control:
            headings[one.cell.spec] = headings_of_spec(one.cell.spec, prompts)
    canaries = [one for one in run.canaries() if one.session in wanted]
    planned = information.get("cells_planned")
    return RunRecord(
        name=name,
        fact_version=str(information.get("fact_version", "")),
        sessions=tuple(_session_record(run, one, units[one.id]) for one in sessions),
        cells=tuple(
            _cell_record(run, one, row, units[one.cell.session], headings[one.cell.spec])
            for one, row in zip(chosen, rows, strict=True)
            if not one.cell.is_control
        ),
        problems=_problems(rows, canaries) if rows else (),
        cells_planned=planned if isinstance(planned, int) and keep is None else None,
        headings=headings,
    )


def _problems(
    rows: Sequence[Mapping[str, Any]], canaries: Sequence[CanaryResult]
) -> tuple[str, ...]:
    """What is wrong with the controls; of a reader it counts only where its answers decide."""
    return (*controls_out_of_line(rows, canaries), *recovered_warnings(rows))


def units_of(run: Run, session_id: str) -> tuple[Unit, ...]:
    """What retention counts in a session: its facts, else its uses older than 2,000 tokens."""
    facts = run.facts(session_id)
    if facts:
        roles = [event.message.role for event in run.history(session_id).events()]
        return tuple(
            Unit(fact.kind, _severity(fact, roles), fact.id, fact.must_keep) for fact in facts
        )
    return tuple(Unit(use.kind, use.severity) for use in counted_uses(run.uses(session_id)))


def counted_uses(uses: Sequence[Use]) -> list[Use]:
    """The uses that retention counts, in order."""
    return [use for use in uses if is_headline(use)]


def marks_of(detail: Mapping[str, Any], facts: Sequence[Fact], uses: Sequence[Use]) -> str:
    """One mark for each unit, from the stored scores of a cell; empty where they don't fit."""
    if not detail:
        return ""
    if facts:
        outcomes = {outcome["fact"]: outcome for outcome in detail.get("facts", ())}
        return "".join(_fact_mark(outcomes.get(fact.id)) for fact in facts)
    visible = detail.get("visible", ())
    if len(visible) != len(uses):
        return ""
    marks = {True: KEPT, False: LOST, None: UNREADABLE}
    return "".join(
        marks[was_there] for use, was_there in zip(uses, visible, strict=True) if is_headline(use)
    )


def _fact_mark(outcome: Mapping[str, Any] | None) -> str:
    if outcome is None:
        return UNREADABLE
    if not outcome.get("is_told", True):
        return NEVER_TOLD
    is_present, currency = outcome["is_present"], outcome["currency"]
    if currency is not None:
        return KEPT if currency in ("current_only", "both") else LOST
    return UNREADABLE if is_present is None else KEPT if is_present else LOST


def _severity(fact: Fact, roles: Sequence[str]) -> Severity:
    told_by = {roles[seq - 1] for seq in fact.source_seqs if seq <= len(roles)}
    return "re_readable" if told_by == {"tool"} else "said_once"


def _session_record(run: Run, stored: StoredSession, units: tuple[Unit, ...]) -> SessionRecord:
    facts, uses = run.facts(stored.id), run.uses(stored.id)
    told = json.dumps([asdict(one) for one in facts or uses], ensure_ascii=True)
    digest = sha256(f"{ENTITY_TABLE_VERSION}\n{told}".encode("ascii")).hexdigest()[:16]
    return SessionRecord(stored.id, stored.digest, digest, stored.cluster, units)


def _cell_record(
    run: Run,
    stored: StoredCell,
    row: Mapping[str, Any],
    units: Sequence[Unit],
    headings: Sequence[str],
) -> CellRecord:
    cell = stored.cell
    marks = ""
    if stored.status in ("ok", "stopped"):
        detail = (stored.scores or {}).get("detail", {})
        marks = marks_of(detail, run.facts(cell.session), run.uses(cell.session))
    seen = run.replay(stored) if stored.requests_total is not None else None
    texts = [] if seen is None else summaries_of(seen)
    written = "\x00".join(text for _, text in texts)
    return CellRecord(
        identity=cell.identity,
        session=cell.session,
        spec=cell.spec,
        window=cell.window,
        window_asked=cell.window_asked,
        model=cell.model,
        seed=cell.seed,
        status=stored.status,
        reason=str(row["reason"]),
        values=_values(row),
        marks=marks if len(marks) == len(units) else "",
        written=sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:16] if texts else "",
        summaries=figures_of(texts, headings),
    )


def _values(row: Mapping[str, Any]) -> dict[str, float | None]:
    """All metrics of a cell; a retention of layer recovered is never taken for one of present."""
    values = {one.name: number(row, one.name) for one in METRICS}
    return values | {"retention": None} if row["retention_layer"] == RECOVERED else values


def summaries_of(seen: Replay) -> list[tuple[int, str]]:
    """Generation and text of everything that accepted compactions wrote, each once."""
    known: set[str] = set()
    found: list[tuple[int, str]] = []
    for compaction in seen.compactions:
        if compaction.outcome != "accepted":
            continue
        for item in seen.heads[compaction.head]:
            if isinstance(item, Written) and item.message.text and item.message.text not in known:
                known.add(item.message.text)
                found.append((compaction.generation, item.message.text))
    return found


def _document(path: Path) -> Any:
    try:
        if path.stat().st_size > _BASELINE_BYTES_MAX:
            raise UsageError(f"{path}: is too large for a baseline")
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path}: is no baseline: it isn't JSON ({error})") from error

"""Edge: a stored run as the rows, table and verdict that people and programs read.

The shapes are those of `run --json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.money import money_of_run
from bench.observations import CallObservation, Retries
from bench.probing_options import DEFAULT_PROBES, ProbeOptions, probes_of
from bench.store import Run, StoredCell
from bench.verdict import Verdict, verdict
from bench.verdict_table import clusters_of, table

# What a cell without scores (status "error") has in their place.
_UNSCORED: tuple[str, ...] = (
    "retention",
    "retention_needed",
    "retention_said_once",
    "retention_re_readable",
    "retention_recoverable",
    "recoverable",
    "retention_after_recorded",
    "present",
    "bound",
    "recovered",
    "retention_recovered",
    "recovered_found",
    "attention_loss",
    "inferred",
    "guessed",
    "next_action",
    "next_action_names",
    "next_action_noise",
    "judged",
    "questions",
    "next_actions",
    "judgements",
    "stale",
    "contradicted",
    "survived_5",
    "survived_20",
    "survived_100",
    "facts_untold",
    "invented",
    "tokens_saved",
    "tokens_sent",
    "tokens_cached",
    "tokens_summariser",
    "tokens_recovery",
    "tokens_baseline",
    "tokens_peak",
    "cost_ratio",
    "cost_by_cache",
    "summariser_share",
    "break_even_requests",
    "tokens_reread_debt",
)


@dataclass(frozen=True, slots=True)
class Results:
    """One row for each cell, one for each strategy, window and model, and the verdict.

    `clusters` counts the groups of sessions that aren't independent of each other, None when no
    session says to which it belongs. `money` is None for a run that asks no real model, else see
    `bench.money.money_of_run`.
    """

    cells: tuple[dict[str, Any], ...]
    table: tuple[dict[str, Any], ...]
    verdict: Verdict
    warnings: tuple[str, ...]
    clusters: int | None = None
    money: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """The JSON document of `run --json`, without the name of the run."""
        document: dict[str, Any] = {
            "cells": list(self.cells),
            "table": list(self.table),
            "verdict": list(self.verdict.lines),
            "warnings": list(self.warnings),
        }
        return document if self.money is None else {**document, "money": self.money}


def cell_row(
    stored: StoredCell, cluster: str | None, probes: ProbeOptions = DEFAULT_PROBES
) -> dict[str, Any]:
    """A cell as one flat row; what isn't known is None, and `reason` says why.

    `cluster` names the group of sessions that aren't independent of this one, None when unknown.
    """
    cell = stored.cell
    scores: Mapping[str, Any] = (stored.scores or {}).get("row", {})
    row: dict[str, Any] = {
        "session": cell.session,
        "strategy": cell.spec,
        "window": cell.window,
        "window_asked": cell.window_asked,
        "model": cell.model,
        "seed": cell.seed,
        "status": stored.status,
        "reason": stored.reason or scores.get("retention_reason") or "",
        "retention": None,
        "retention_layer": scores.get("retention_layer", "present"),
        "retention_basis": scores.get("retention_basis", ""),
        "retention_reason": scores.get("retention_reason") or "",
    }
    row |= {name: scores.get(name) for name in _UNSCORED}
    is_read = row["questions"] is not None
    row["reader"] = probes.reader_of(cell.model) if is_read else None
    row["recovered_reason"] = scores.get("recovered_reason") or ""
    row["compactions"] = scores.get("compactions", 0)
    row["retries"] = asdict(stored.retries or Retries())
    row["requests_served"] = scores.get("requests_served", 0)
    row["requests_total"] = stored.requests_total or 0
    row["invalid_projections"] = scores.get("invalid_projections", 0)
    row["grew"] = scores.get("grew", 0)
    row["cluster"] = cluster
    row["seconds"] = round(stored.seconds, 3)
    return row


def counted_calls(calls: Sequence[CallObservation]) -> dict[str, Any] | None:
    """How often real models were asked, in how many tries, and what was refused by kind.

    None where no real model was asked. Answers that were recorded count as when they were given.
    """
    if not calls:
        return None
    refused = Counter(kind for call in calls for kind in call.refusals)
    return {
        "asked": len(calls),
        "tries": sum(call.attempts for call in calls),
        "refused": dict(sorted(refused.items())),
    }


def results_of(run: Run) -> Results:
    """Everything that a finished (or interrupted) run has to say."""
    cluster_of = {session.id: session.cluster for session in run.sessions()}
    probes = probes_of(run.information())
    cells = tuple(
        {
            **cell_row(stored, cluster_of.get(stored.cell.session), probes),
            "calls": counted_calls(run.calls(stored.cell.identity)),
        }
        for stored in run.cells()
    )
    clusters = clusters_of(cells)
    found = verdict(cells, canaries=run.canaries(), clusters=clusters)
    groups = {clusters.get(row["session"], row["session"]) for row in cells}
    return Results(
        cells,
        tuple(table(cells)),
        found,
        (*run.warnings(), *found.warnings),
        len(groups) if clusters else None,
        money_of_run(run),
    )

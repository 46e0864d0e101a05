"""From a run folder to frames: the one place where reports touch the store.

Nothing is computed here that `bench` knows already: cells and verdict are those of `run --json`,
outcomes are the stored scores. Only names are put to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.facts import Fact, Use
from bench.found_facts import HEADLINE_AGE_TOKENS
from bench.money import money_sentence
from bench.observations import Replay
from bench.plan import CONTROLS
from bench.probing import FOUND, RECOVERED
from bench.results import Results, results_of
from bench.scoring_recovered import graded_of
from bench.store import Run, StoredCell
from bench.verdict_layers import in_layer_present, opaque_strategies
from reports.answers import with_answer
from reports.excerpts import source_line, summary_line
from reports.frames import (
    CELL_KEYS,
    CELLS,
    COMPACTIONS,
    FACTS,
    INVENTIONS,
    REQUESTS,
    SURVIVAL,
    About,
    RunData,
    frame_of,
)
from reports.losses import shown_losses, worst
from reports.sharing import shared

if TYPE_CHECKING:
    import pandas


def read_run(folder: Path, *, share: bool = False, results: Results | None = None) -> RunData:
    """The frames of a run; `share` leaves out excerpts and hashes the ids of sessions.

    `results` are those of this run, where somebody has computed them already. Raises UsageError
    when the folder holds no run.
    """
    with Run.open(folder) as run:
        results = results or results_of(run)
        facts, *others = _outcomes(run)
        data = RunData(
            about_run(run, results, folder),
            cell_frame(results.cells),
            frame_of([], REQUESTS),
            frame_of([], COMPACTIONS),
            facts,
            *others,
        )
        frames = _replays(run, facts, {} if share else _rows_to_show(data))
        data = RunData(data.about, data.cells, *frames, *others)
        return shared(data) if share else data


def _outcomes(run: Run) -> tuple[pandas.DataFrame, pandas.DataFrame, pandas.DataFrame]:
    """The frames of facts, survival and inventions, from the stored scores alone."""
    facts: list[dict[str, Any]] = []
    survival: list[dict[str, Any]] = []
    inventions: list[dict[str, Any]] = []
    known: tuple[str, _SessionFacts] | None = None
    for stored in run.cells():
        key = _key(stored)
        if known is None or known[0] != stored.cell.session:
            known = (stored.cell.session, _SessionFacts(run, stored.cell.session))
        detail = (stored.scores or {}).get("detail", {})
        facts += known[1].rows(key, detail, stored)
        survival += ({**key, **one} for one in detail.get("survival", ()))
        inventions += ({**key, **one} for one in detail.get("inventions", ()))
    frames = frame_of(facts, FACTS), frame_of(survival, SURVIVAL)
    return *frames, frame_of(inventions, INVENTIONS)


def _rows_to_show(data: RunData) -> dict[tuple[Any, ...], list[int]]:
    """The rows of the facts that a reader will see in full, by cell."""
    chosen: dict[tuple[Any, ...], list[int]] = {}
    for row in [*shown_losses(data), *worst(data)]:
        key = tuple(row[name] for name in CELL_KEYS)
        chosen.setdefault(key, []).append(row["row"])
    return chosen


def _replays(
    run: Run, facts: pandas.DataFrame, wanted: Mapping[tuple[Any, ...], list[int]]
) -> tuple[pandas.DataFrame, pandas.DataFrame, pandas.DataFrame]:
    """The frames of requests and compactions, and `facts` with the lines of the wanted rows."""
    requests: list[dict[str, Any]] = []
    lines: dict[int, tuple[str, str]] = {}
    compactions: list[dict[str, Any]] = []
    for stored in run.cells():
        replay = run.replay(stored)
        if replay is None:
            continue
        key = _key(stored)
        accepted = {one.request for one in replay.compactions if one.outcome == "accepted"}
        requests += (
            {**key, **seen._asdict(), "is_compacted": seen.index in accepted}
            for seen in replay.requests
        )
        compactions += (
            {**key, **{name: getattr(one, name) for name in COMPACTIONS if name not in key}}
            for one in replay.compactions
        )
        for row in wanted.get(tuple(key[name] for name in CELL_KEYS), ()):
            lines[row] = _lines_of(run, stored, replay, facts.iloc[row])
    if lines:
        facts = facts.copy()
        for place, column in enumerate(("source_line", "summary_line")):
            found = {row: pair[place] for row, pair in lines.items()}
            facts.loc[list(found), column] = list(found.values())
    return frame_of(requests, REQUESTS), frame_of(compactions, COMPACTIONS), facts


def _lines_of(
    run: Run, stored: StoredCell, replay: Replay, fact: pandas.Series[Any]
) -> tuple[str, str]:
    """Where the fact was said, and what the summary of the request that needed it says."""
    history = run.history(stored.cell.session)
    # Planted facts are shown as "subject: value"; the value is what was said.
    text = str(fact["text"])
    value = text.split(": ", 1)[-1] if fact["origin"] == "planted" else text
    seq = int(fact["source_seq"])
    source = source_line(history[seq - 1].message, value) if 1 <= seq <= len(history) else ""
    seen = next((one for one in replay.requests if one.at_seq == fact["needed_at_seq"]), None)
    items = replay.heads[seen.head] if seen is not None and seen.is_served else ()
    return source, summary_line(items, value, source)


def cell_frame(cells: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """The cells of `run --json` as a frame, retry counters as columns of their own.

    `retention` is of the layer *present* alone: what could only be asked for has its own column.
    """
    opaque = opaque_strategies(cells)
    return frame_of(
        (
            {
                **cell,
                **(cell.get("retries") or {}),
                **{f"cost_{k}": v for k, v in (cell.get("cost_by_cache") or {}).items()},
                "is_control": cell["strategy"] in CONTROLS,
                "is_opaque": cell["strategy"] in opaque,
            }
            for cell in in_layer_present(cells)
        ),
        CELLS,
    )


def about_run(run: Run, results: Results, folder: Path) -> About:
    """What is said of the whole run."""
    information = run.information()
    sessions = list(run.sessions())
    formats: dict[str, int] = {}
    for session in sessions:
        formats[session.format] = formats.get(session.format, 0) + 1
    verdict = results.verdict
    fact_version = str(information.get("fact_version", ""))
    return About(
        run=folder.name,
        command=str(information.get("command", "")),
        sentences=verdict.sentences,
        opaque=verdict.opaque,
        controls=verdict.controls,
        fired=verdict.fired,
        basis=f"{verdict.basis} {money_sentence(results.money)}".strip(),
        warnings=results.warnings,
        is_decided=verdict.decided,
        are_controls_in_line=not verdict.controls.startswith("Controls out of line"),
        tokenizer=str(information.get("tokenizer", "o200k_base")),
        versions={
            "compaction-bench": str(information.get("version", "")),
            "arbiter": str(information.get("arbiter", "")),
            "facts": fact_version,
        },
        formats=formats,
        entity_table=fact_version.split("/", 1)[0],
        clusters=results.clusters,
    )


def _key(stored: StoredCell) -> dict[str, Any]:
    cell = stored.cell
    return {
        "session": cell.session,
        "strategy": cell.spec,
        "window": cell.window,
        "window_asked": cell.window_asked,
        "model": cell.model,
        "seed": cell.seed,
    }


class _SessionFacts:
    """The facts and uses of one session, ready to be joined with the outcomes of its cells."""

    def __init__(self, run: Run, session: str) -> None:
        self._facts: dict[str, Fact] = {fact.id: fact for fact in run.facts(session)}
        self._uses: tuple[Use, ...] = run.uses(session)
        self._roles: list[str] = []
        if self._facts or self._uses:
            self._roles = [event.message.role for event in run.session(session).events]

    def rows(
        self, key: dict[str, Any], detail: Mapping[str, Any], stored: StoredCell
    ) -> Iterator[dict[str, Any]]:
        """One row for each fact and use that the cell was asked for; none where it wasn't
        exercised, since nothing could be lost there."""
        if stored.status == "not_exercised":
            return
        answers = graded_of(detail)
        for outcome in detail.get("facts", ()):
            fact = self._facts.get(outcome["fact"])
            if fact is not None and outcome.get("is_told", True):
                answer = answers.get((RECOVERED, fact.id, outcome["at_seq"]))
                yield with_answer(self._planted(key, fact, outcome), answer)
        for use, was_there in zip(self._uses, detail.get("visible", ()), strict=False):
            stop = stored.stopped.at_request if stored.stopped is not None else None
            is_served = stop is None or use.request < stop
            row = self._found(key, use, was_there if is_served else None, is_served=is_served)
            yield with_answer(row, answers.get((FOUND, use.key, use.at_seq)))

    def _planted(
        self, key: dict[str, Any], fact: Fact, outcome: Mapping[str, Any]
    ) -> dict[str, Any]:
        source = fact.source_seqs[0] if fact.source_seqs else fact.born_seq
        return {
            **key,
            "origin": "planted",
            "kind": fact.kind,
            "text": f"{fact.subject}: {fact.value}" if fact.subject else fact.value,
            "outcome": self._outcome(fact, outcome),
            "is_counted": True,
            "age_tokens": None,
            "position": source / max(1, len(self._roles)),
            "source_seq": source,
            "needed_at_seq": outcome["at_seq"],
            "must_keep": fact.must_keep,
            "lost_as": self._lost_as(fact),
        }

    def _outcome(self, fact: Fact, outcome: Mapping[str, Any]) -> str:
        currency, is_present = outcome["currency"], outcome["is_present"]
        if not outcome["is_served"]:
            return "unserved"
        if is_present is None and currency is None:
            return "unreadable"
        if currency in ("stale_only", "contradicted"):
            return "contradicted" if currency == "contradicted" else "stale"
        if currency in ("current_only", "both") or (currency is None and is_present):
            return "present"
        return self._lost_as(fact)

    def _lost_as(self, fact: Fact) -> str:
        roles = {self._roles[seq - 1] for seq in fact.source_seqs if seq <= len(self._roles)}
        return "lost_re_readable" if roles == {"tool"} else "lost_said_once"

    def _found(
        self, key: dict[str, Any], use: Use, was_there: bool | None, *, is_served: bool
    ) -> dict[str, Any]:
        outcome = "present" if was_there else "unreadable" if is_served else "unserved"
        if was_there is False:
            outcome = f"lost_{use.severity}"
        return {
            **key,
            "origin": "found",
            "kind": use.kind,
            "text": use.text,
            "outcome": outcome,
            "is_counted": use.age_tokens >= HEADLINE_AGE_TOKENS,
            "age_tokens": use.age_tokens,
            "position": use.first_seq / max(1, len(self._roles)),
            "source_seq": use.first_seq,
            "needed_at_seq": use.at_seq,
            "must_keep": False,
            "lost_as": f"lost_{use.severity}",
        }

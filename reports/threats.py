"""Threats to validity that apply to a run, each with the numbers that make it concrete.

Source: scoring.md, "Threats to validity". A threat that doesn't apply isn't printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench.plan import CONTROLS
from bench.probing_options import is_stand_in
from reports.fact_frames import counted, opaque_names
from reports.frames import CELL_KEYS, RunData
from reports.numbers import share, tokens
from reports.style import in_order, label
from reports.summary import summarise

if TYPE_CHECKING:
    import pandas

_FEW_SESSIONS = 6
_FEW_FACTS = 30
_SMALL_WINDOW_TOKENS = 64_000
_UNEQUAL_POINTS = 0.10


def threats(data: RunData) -> tuple[str, ...]:
    """One sentence for each threat that applies, the heaviest first."""
    if data.cells.empty:
        return ()
    return tuple(
        sentence
        for look in (
            _denominators,
            _models,
            _readers,
            _opaque,
            _replay,
            _facts,
            _untold,
            _unequal,
            _failures,
            _tokens,
            _windows,
        )
        for sentence in look(data)
    )


def _own(data: RunData) -> pandas.DataFrame:
    return data.cells[~data.cells["is_control"]]


def _denominators(data: RunData) -> Iterator[str]:
    sessions = data.cells["session"].nunique()
    if sessions < _FEW_SESSIONS:
        yield (
            f"Small denominators: {sessions} sessions; below {_FEW_SESSIONS} no p-value can reach "
            "0.05, and intervals over so few are wide or missing."
        )
    facts = counted(data)
    facts = facts[~facts["strategy"].isin(CONTROLS)]
    counts = facts["strategy"].value_counts()
    few = [name for name in in_order(counts.index) if counts[name] < _FEW_FACTS]
    if few:
        lowest = int(counts[few].min())
        yield (
            f"Small denominators: {', '.join(label(n, 30) for n in few[:4])} stand on as few as "
            f"{lowest} facts."
        )
    if data.about.clusters is not None and data.about.clusters < sessions:
        yield (
            f"Sessions that aren't independent: {sessions} sessions come from "
            f"{data.about.clusters} projects or templates, so intervals are optimistic."
        )


def _models(data: RunData) -> Iterator[str]:
    asking = data.compactions[data.compactions["asked"] > 0].drop_duplicates(list(CELL_KEYS))
    models, cells = asking["model"], len(_own(data))
    if offline := int((models == "offline").sum()):
        yield (
            f"Stand-in model: {offline} of {cells} cells were summarised by the offline "
            "model, which extracts. They show mechanics (when it fires, what it drops), not how a "
            "real model words a summary."
        )
    if lossy := int(models.str.startswith("lossy").sum()):
        yield (
            f"Lossy model: in {lossy} of {cells} cells units are forgotten by coin over the "
            "kinds that the scorer counts: compare only at equal summary tokens."
        )


def _readers(data: RunData) -> Iterator[str]:
    cells = _own(data)
    read = cells[cells["questions"] > 0]
    if read.empty:
        return
    asked = int(read["questions"].sum())
    for reader in in_order(read["reader"]):
        if is_stand_in(reader):
            part = read[read["reader"] == reader]
            yield (
                f"Stand-in reader: {int(part['questions'].sum()):,} questions in {len(part)} cells "
                f"were answered by {label(reader, 24)}, which looks words up. It shows what could "
                "be found again by the words of a question, not what a language model recalls."
            )
    ceiling = data.cells[data.cells["strategy"] == CONTROLS[0]]["recovered"].mean()
    if ceiling == ceiling and ceiling < 1:
        yield (
            f"Readers miss things: from the full history {share(ceiling)} of the questions were "
            "answered; recovered is given between that and what a bare request yields."
        )
    guessed = read["guessed"].mean()
    if guessed == guessed:
        yield (
            f"Price of guessing: of the questions that nothing answers {share(guessed)} were "
            f"answered with some value ({asked:,} questions in all); so much of what was inferred "
            "may be luck."
        )
    compared = cells[cells["next_actions"] > 0]
    if len(compared):
        yield (
            f"Next action: {int(compared['next_actions'].sum()):,} requests were compared; the "
            f"full history agrees with itself in {share(compared['next_action_noise'].mean())}."
        )


def _opaque(data: RunData) -> Iterator[str]:
    names = opaque_names(data)
    if not names:
        return
    cells = data.cells[data.cells["is_opaque"]]
    imitated = sum(is_stand_in(str(model)) for model in cells["model"])
    said = f"Opaque state: of {', '.join(label(name, 34) for name in names)} only answers are known"
    if imitated:
        said += (
            f"; in {imitated} of {len(cells)} cells the state is a sealed summary by the stand-in "
            "model, which shows when native compaction fires and what it costs, not what a "
            "vendor's keeps"
        )
    yield f"{said}."


def _replay(data: RunData) -> Iterator[str]:
    requests = int(_own(data)["requests_total"].sum())
    yield (
        f"Teacher forcing: all {requests:,} requests follow the recording, so the agent never "
        "reacts to a loss (it would re-read, ask, or go wrong)."
    )


def _facts(data: RunData) -> Iterator[str]:
    found = data.facts[(data.facts["origin"] == "found") & ~data.facts["strategy"].isin(CONTROLS)]
    if len(found):
        yield (
            f"Found facts: {len(found):,} lookups are of entities that the recorded agent used, "
            "under its own compaction; typed entities miss rationale."
        )
    if len(data.cells) and (_own(data)["retention_layer"] == "present").any():
        yield (
            "Layer present: a value that stands in the request counts as kept. This is an upper "
            "bound; readers recall less than what is there."
        )


def _untold(data: RunData) -> Iterator[str]:
    full = data.cells[data.cells["strategy"] == CONTROLS[0]]
    by_session = full.groupby("session", sort=False)["facts_untold"].max()
    if missing := int(by_session.sum()):
        named = ", ".join(label(name, 30) for name in by_session[by_session > 0].index[:3])
        yield (
            f"Facts never told: {missing} facts aren't in the full history before the request that "
            f"asks for them ({named}), so no strategy could keep them; they count as lost for all."
        )


def _unequal(data: RunData) -> Iterator[str]:
    table = summarise(_own(data))
    saved = table["tokens_saved"].dropna()
    if len(saved) > 1 and saved.max() - saved.min() > _UNEQUAL_POINTS:
        yield (
            f"Unequal budgets: strategies saved between {share(saved.min())} and "
            f"{share(saved.max())} of the tokens; who sends more can keep more. Compare along the "
            "frontier, not by retention alone."
        )


def _failures(data: RunData) -> Iterator[str]:
    cells = _own(data)
    counts = cells["status"].value_counts()
    if stopped := int(counts.get("stopped", 0)):
        left = cells[cells["status"] == "stopped"]
        missed = int((left["requests_total"] - left["requests_served"]).sum())
        yield (
            f"Stopped sessions: {stopped} of {len(cells)} cells ended early; their {missed:,} "
            "unserved requests count as 0."
        )
    if idle := int(counts.get("not_exercised", 0)):
        yield (
            f"Not exercised: in {idle} of {len(cells)} cells the strategy never compacted; they "
            "are left out of its means, so strategies may stand on different sessions."
        )
    if errors := int(counts.get("error", 0)):
        yield f"Errors: {errors} of {len(cells)} cells have no result and are left out."


def _tokens(data: RunData) -> Iterator[str]:
    yield (
        f"Tokens are counted with {data.about.tokenizer} plus wire overhead: an estimate for "
        "vendors that count otherwise."
    )


def _windows(data: RunData) -> Iterator[str]:
    windows = _own(data)["window"].dropna()
    if len(windows) and windows.min() < _SMALL_WINDOW_TOKENS:
        written = data.compactions["ask_output_tokens"]
        written = written[written > 0]
        ratio = (
            f"; a summary of {tokens(float(written.median()))} takes "
            f"{share(float(written.median()) / float(windows.median()))} of one"
            if len(written)
            else ""
        )
        span = tokens(float(windows.min()))
        if windows.max() > windows.min():
            span += f" to {tokens(float(windows.max()))}"
        yield f"Small windows: {span} tokens{ratio}; in production windows that share is smaller."

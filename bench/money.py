"""Edge: the money of a stored run: what was expected, what was paid, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.store import Run

# The stages of a run by the purpose of its calls, in the order in which people read them.
STAGES: Mapping[str, str] = {
    "summary": "summaries",
    "native": "native compaction",
    "reader": "readers",
    "next_action": "next action",
    "judge": "judge",
    "agent": "arbiter",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """Calls of one stage to one model: of `calls`, `recorded` cost nothing.

    Tokens are those that are sent and paid for. `usd` is None for a model without a price;
    `usd_worst` and `tokens_worst` take every answer at its cap and every try as billed.
    """

    stage: str
    model: str
    calls: int
    recorded: int
    tokens_input: int
    tokens_output: int
    tokens_worst: int
    usd: float | None
    usd_worst: float | None


def stages_of(calls: Iterable[Mapping[str, Any]], tries_max: int = 1) -> list[StageCost]:
    """Calls (the fields of CallObservation) added up by stage and model."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for call in calls:
        groups.setdefault((call["purpose"], call["model"]), []).append(call)
    order = list(STAGES)
    keys = sorted(groups, key=lambda key: (order.index(key[0]) if key[0] in order else 99, key))
    return [_stage(*key, groups[key], tries_max) for key in keys]


def _stage(
    purpose: str, model: str, calls: Sequence[Mapping[str, Any]], tries_max: int
) -> StageCost:
    paid = [call for call in calls if not call["is_recorded"]]
    worst = total(call["usd_worst"] for call in paid)
    return StageCost(
        stage=STAGES.get(purpose, purpose),
        model=model,
        calls=len(calls),
        recorded=len(calls) - len(paid),
        tokens_input=sum(call["input_tokens"] or 0 for call in paid),
        tokens_output=sum(call["output_tokens"] or 0 for call in paid),
        tokens_worst=tries_max * sum(call.get("tokens_worst") or 0 for call in paid),
        usd=total(call["usd"] for call in paid) if paid else 0.0,
        usd_worst=(None if worst is None else tries_max * worst) if paid else 0.0,
    )


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def money_of_run(run: Run) -> dict[str, Any] | None:
    """Terms, estimate, what the stored cells asked (`actual`), and what the ledger says (`spent`).

    None for a run that asks no real model. `spent` also holds calls of cells that were never
    finished; they may have been asked again.
    """
    information = run.information()
    terms = information.get("money")
    if not isinstance(terms, dict):
        return None
    calls = [asdict(call) for stored in run.cells() for call in run.calls(stored.cell.identity)]
    stages = stages_of(calls)
    return {
        **terms,
        "actual": {
            "calls": len(calls),
            "recorded": sum(stage.recorded for stage in stages),
            "tokens": sum(stage.tokens_input + stage.tokens_output for stage in stages),
            "usd": total(stage.usd for stage in stages),
            "stages": [_without_guesses(stage) for stage in stages],
        },
        "spent": information.get("spent"),
    }


def _without_guesses(stage: StageCost) -> dict[str, Any]:
    """What is known afterwards: how long answers might have been doesn't matter any more."""
    return {name: value for name, value in asdict(stage).items() if name != "tokens_worst"}


def money_sentence(money: Mapping[str, Any] | None) -> str:
    """Estimate against actual, for people; empty for a run that asks no real model."""
    if money is None:
        return ""
    actual, estimate = money["actual"], money["estimate"]
    spent = money.get("spent") or {}
    asked = actual["calls"] - actual["recorded"]
    if actual["usd"] is not None and estimate["usd_expected"] is not None:
        paid = spent.get("usd")
        said = (
            f"Real models cost {usd_text(actual['usd'] if paid is None else paid)} (expected "
            f"{usd_text(estimate['usd_expected'])}, at most {usd_text(estimate['usd_worst'])}; "
            f"prices as of {money['prices_as_of']})"
        )
    else:
        said = (
            f"Real models took {actual['tokens']:,} tokens (expected "
            f"{estimate['tokens_expected']:,}; no price"
            + (", taken as free of charge on this machine)" if money["free_of_charge"] else ")")
        )
    said += f" in {asked:,} calls"
    if actual["recorded"]:
        said += f"; {actual['recorded']:,} recorded answers cost nothing"
    lost = spent.get("usd_unsettled")
    if lost:
        said += f"; {usd_text(lost)} of it is the worst case of calls that were cut off"
    return f"{said}."


def usd_text(usd: float) -> str:
    """Dollars as people read them: cents, and more digits for less."""
    if usd == 0 or usd >= 0.995:
        return f"${usd:,.2f}"
    return f"${usd:.2g}" if usd < 0.01 else f"${usd:.2f}"

"""Runs made up for the tests of the reports: right shapes, plausible numbers, nothing recorded."""

from __future__ import annotations

import random
from typing import Any

from reports.frames import (
    CELLS,
    COMPACTIONS,
    FACTS,
    REQUESTS,
    SURVIVAL,
    About,
    RunData,
    frame_of,
)

STRATEGIES = (
    "head_tail",
    "head_tail(preserve_last=12)",
    "layered",
    "prune",
    "native",
    "keep_all",
    "empty",
)
CONTROLS = ("keep_all", "empty")
KEPT = {"head_tail": 0.62, "layered": 0.74, "prune": 0.55, "native": 0.68, "keep_all": 1.0}
LEFT = {"head_tail": 0.35, "layered": 0.42, "prune": 0.6, "native": 0.38, "keep_all": 1.0}
KINDS = ("constraint", "decision", "path", "identifier", "number", "error", "command", "negation")
LINES = (
    ("src/payments/ledger.py", "Edited src/payments/ledger.py so that refunds round half up"),
    ("never touch the production bucket", "USER: never touch the production bucket, it is audited"),
    ("端口 8443", "用户说:服务只监听 端口 8443,不要改成 8080"),
    ("ERR_CHECKSUM_37", "npm ERR! code ERR_CHECKSUM_37 while verifying lodash"),
    ("retry_limit=5", "we agreed on retry_limit=5 after the incident review"),
)


def empty_run() -> RunData:
    """A run in which nothing happened."""
    return RunData(
        About(run="empty", sentences=("No verdict: no session was replayed.",)),
        frame_of([], CELLS),
        frame_of([], REQUESTS),
        frame_of([], COMPACTIONS),
        frame_of([], FACTS),
        frame_of([], SURVIVAL),
    )


def sample_run(
    sessions: int = 8,
    strategies: tuple[str, ...] = STRATEGIES,
    requests: int = 90,
    facts: int = 24,
    seed: int = 7,
) -> RunData:
    """A run of so many sessions; `facts` are for each cell. One strategy is never exercised
    in session 2 and one stopped in session 3."""
    chance = random.Random(seed)
    cells: list[dict[str, Any]] = []
    request_rows: list[dict[str, Any]] = []
    compaction_rows: list[dict[str, Any]] = []
    fact_rows: list[dict[str, Any]] = []
    survival_rows: list[dict[str, Any]] = []
    for number in range(sessions):
        name = f"session-{number + 1:02d}" if number % 3 else f"会话-{number + 1:02d}"
        ease = chance.gauss(0, 0.06)
        for strategy in strategies:
            key = {
                "session": name,
                "strategy": strategy,
                "window": 32_000.0,
                "window_asked": "auto",
                "model": "offline",
                "seed": 0,
            }
            cell = _cell(chance, key, number, ease, requests)
            cells.append(cell)
            made, shrunk = _requests(chance, key, cell, requests)
            request_rows += made
            compaction_rows += shrunk
            survival_rows += _survival(chance, key, shrunk)
            fact_rows += _facts(chance, key, cell, facts, requests)
    about = About(
        run="sample",
        command="compaction-bench run --seed 0",
        sentences=(
            "layered keeps most of what was needed: 74% [68, 80] over 8 sessions.",
            "Against head_tail that is 12 points more [4, 20], p = 0.016: decided at a margin "
            "of 10 points.",
            "It sends 58% fewer tokens than the full history and costs 0.71× with the cache.",
        ),
        warnings=("Below 6 sessions nothing can be decided.",) if sessions < 6 else (),
        is_decided=sessions >= 6,
        controls="Controls in line: keep_all kept 100%, empty 0%.",
        fired="What fired: layered compacted 38 times in 8 of 8 sessions.",
        basis="These numbers stand on 8 sessions, the window auto and the stand-in model offline.",
        versions={"compaction-bench": "0.1.0", "entity table": "3f9c2a"},
        formats={"openai-chat": sessions},
    )
    return RunData(
        about,
        frame_of(cells, CELLS),
        frame_of(request_rows, REQUESTS),
        frame_of(compaction_rows, COMPACTIONS),
        frame_of(fact_rows, FACTS),
        frame_of(survival_rows, SURVIVAL),
    )


def _cell(
    chance: random.Random, key: dict[str, Any], number: int, ease: float, requests: int
) -> dict[str, Any]:
    name = key["strategy"].split("(")[0]
    is_control = name in CONTROLS
    kept = KEPT.get(name, 0.0) + (0.05 if "preserve" in key["strategy"] else 0.0)
    left = LEFT.get(name, 0.1) + (0.06 if "preserve" in key["strategy"] else 0.0)
    noise = 0.0 if is_control else ease + chance.gauss(0, 0.05)
    kept = min(1.0, max(0.0, kept + noise))
    sent = 1_000.0 * requests * 40 * left
    status, reason = "ok", ""
    if name == "prune" and number == 1:
        status, reason = "not_exercised", "the window was never close to full"
    if name == "native" and number == 2:
        status, reason = "stopped", "request 60: input of 33,120 tokens is above the window"
    exercised = status != "not_exercised" or is_control
    return {
        **key,
        "status": status,
        "reason": reason,
        "is_control": is_control,
        "retention": kept if exercised else None,
        "retention_layer": "present",
        "retention_basis": "facts",
        "retention_needed": kept if exercised else None,
        "retention_said_once": max(0.0, kept - 0.1) if exercised else None,
        "retention_re_readable": min(1.0, kept + 0.1) if exercised else None,
        "stale": 0.02,
        "invented": 0.01,
        "tokens_saved": 1 - left + chance.gauss(0, 0.02) * (not is_control),
        "tokens_sent": sent,
        "tokens_summariser": 0.0 if is_control else sent * 0.03,
        "tokens_baseline": 1_000.0 * requests * 40,
        "cost_ratio": left * 1.3,
        "compactions": 0 if is_control or not exercised else 4 + number % 3,
        "overflow": chance.randrange(3) if not is_control else 0,
        "repair": chance.randrange(2) if name == "layered" else 0,
        "replan": 0,
        "transport": 0,
        "suppressed": 1 if name == "head_tail" and number == 0 else 0,
        "requests_served": 60 if status == "stopped" else requests,
        "requests_total": requests,
        "invalid_projections": 0,
        "grew": 0,
        "seconds": 0.4,
    }


def _requests(
    chance: random.Random, key: dict[str, Any], cell: dict[str, Any], requests: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    window, size, before = 32_000, 3_000, 0
    name = key["strategy"].split("(")[0]
    rows: list[dict[str, Any]] = []
    compactions: list[dict[str, Any]] = []
    for index in range(int(cell["requests_served"])):
        size += chance.randrange(200, 1_400)
        is_compacted = name not in CONTROLS and size > window * 0.85
        if is_compacted:
            compactions.append(_compaction(key, index, size, len(compactions) + 1))
            size = int(window * 0.4)
        if name == "empty":
            size = 2_500
        cached = 0 if is_compacted else min(before, size)
        before = size
        rows.append(
            {
                **key,
                "index": index,
                "at_seq": index * 3 + 3,
                "tokens": size,
                "cached_tokens": cached,
                "is_served": True,
                "is_compacted": is_compacted,
            }
        )
    return rows, compactions


def _compaction(key: dict[str, Any], index: int, size: int, generation: int) -> dict[str, Any]:
    return {
        **key,
        "request": index,
        "at_seq": index * 3 + 3,
        "trigger": "budget",
        "phase": "pre_turn",
        "stage": "summary",
        "outcome": "accepted",
        "reason": "",
        "generation": generation,
        "segments": 1,
        "covered_messages": 40,
        "covered_first_seq": 1,
        "covered_last_seq": index * 2 + 1,
        "tokens_before": size,
        "tokens_after": int(size * 0.45),
        "estimate_before": size,
        "estimate_after": int(size * 0.45),
        "asked": 1,
        "ask_input_tokens": size,
        "ask_output_tokens": 900,
    }


def _facts(
    chance: random.Random, key: dict[str, Any], cell: dict[str, Any], facts: int, requests: int
) -> list[dict[str, Any]]:
    if cell["retention"] is None:
        return []
    rows = []
    for position in range(facts):
        kind = KINDS[position % len(KINDS)]
        text, line = LINES[position % len(LINES)]
        draw = chance.random()
        age = 10 ** chance.uniform(2.5, 4.9)
        kept = cell["retention"] - (0.12 if age > 10_000 else 0) * (not cell["is_control"])
        outcome = "present" if draw < kept else "lost_re_readable"
        if outcome != "present" and kind in ("constraint", "decision"):
            outcome = "lost_said_once"
        if outcome != "present" and kind == "negation":
            outcome = "contradicted" if draw > 0.9 else "stale"
        needed = chance.randrange(20, max(21, int(cell["requests_total"]))) * 3 + 3
        source = chance.randrange(1, max(2, needed))
        rows.append(
            {
                **key,
                "origin": "planted" if position % 3 == 0 else "found",
                "kind": kind,
                "text": f"{text} #{position}",
                "outcome": outcome,
                "is_counted": position % 3 == 0 or age >= 2_000,
                "age_tokens": age,
                "position": source / (requests * 3 + 3),
                "source_seq": source,
                "source_line": line,
                "summary_line": "" if outcome.startswith("lost") else f"- keeps {text}",
                "needed_at_seq": needed,
                "must_keep": position == 1,
            }
        )
    return rows


def _survival(
    chance: random.Random, key: dict[str, Any], compactions: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    rows = []
    for compaction in compactions:
        for kind in KINDS[:5]:
            at_risk = chance.randrange(4, 12)
            survived = round(at_risk * max(0.1, 0.8 - 0.12 * compaction["generation"]))
            rows.append(
                {
                    **key,
                    "generation": compaction["generation"],
                    "horizon_steps": 100,
                    "kind": kind,
                    "at_risk": at_risk,
                    "survived": survived,
                    "unreadable": 0,
                }
            )
    return rows

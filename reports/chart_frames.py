"""From the frames of a run to the tidy frame of each chart; `reports.charts` only draws them.

Every frame that shows strategies has `place`, their place in the palette of the whole run (-1 for
controls), so that a strategy looks the same in every chart.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

from bench.plan import CONTROLS
from reports.frames import CELL_KEYS, RETRY_KINDS, RunData, frame_of, groups_of, rows_of
from reports.style import family, in_order, places
from reports.summary import by_session, estimate, summarise

if TYPE_CHECKING:
    import pandas

FRONTIER: dict[str, str] = {
    "strategy": "object",
    "family": "object",
    "place": "int64",
    "window_asked": "object",
    "model": "object",
    "is_control": "bool",
    "is_dominated": "bool",
    "sessions": "int64",
    "sessions_total": "int64",
    "retention": "float64",
    "retention_low": "float64",
    "retention_high": "float64",
    "tokens_saved": "float64",
    "tokens_saved_low": "float64",
    "tokens_saved_high": "float64",
}
COST: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "sessions": "int64",
    "baseline": "float64",
    "dropped": "float64",
    "summariser": "float64",
    "sent": "float64",
    "cost_ratio": "float64",
    "break_even_low": "float64",
    "break_even": "float64",
    "break_even_high": "float64",
    "broke_even": "int64",
}
SESSION: dict[str, str] = {
    "session": "object",
    "strategy": "object",
    "place": "int64",
    "retention": "float64",
    "status": "object",
}
PAIR: dict[str, str] = {
    "first": "object",
    "second": "object",
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "sessions": "int64",
}
REGRET: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "regret": "float64",
    "regret_low": "float64",
    "regret_high": "float64",
    "regret_worst": "float64",
    "worst_session": "object",
    "best_in": "int64",
    "sessions": "int64",
    "seeds": "int64",
    "seed_spread": "float64",
}
RETRY: dict[str, str] = {
    "strategy": "object",
    "place": "int64",
    "kind": "object",
    "count": "float64",
    "per_compaction": "float64",
    "compactions": "float64",
    "sessions": "int64",
}
SAWTOOTH: dict[str, str] = {
    "session": "object",
    "strategy": "object",
    "place": "int64",
    "index": "int64",
    "tokens": "int64",
    "cached_tokens": "int64",
    "is_served": "bool",
    "is_compacted": "bool",
    "window": "float64",
}


def strategy_places(data: RunData) -> dict[str, int]:
    """The palette of the run; controls aren't in it."""
    return places(list(data.cells["strategy"].unique()))


def frontier(data: RunData) -> pandas.DataFrame:
    """Chart 1: one row for each strategy, window and model, in layer *present*."""
    return _frontier(data, rows_of(summarise(data.cells)))


def answered_frontier(data: RunData) -> pandas.DataFrame:
    """The same in layer *recovered*: what a reader answered, where state can't be read too."""
    rows = [
        {
            **row,
            "retention": row["retention_recovered"],
            "retention_low": row["recovered_low"],
            "retention_high": row["recovered_high"],
        }
        for row in rows_of(summarise(data.cells))
    ]
    return _frontier(data, rows)


def _frontier(data: RunData, summary: list[dict[str, Any]]) -> pandas.DataFrame:
    palette = strategy_places(data)
    rows: list[dict[str, Any]] = [
        {**row, "family": family(row["strategy"]), "place": palette.get(row["strategy"], -1)}
        for row in summary
    ]
    for row in rows:
        if not row["fired"] and not row["is_control"]:
            # A replay may be scored although it stopped before any compaction.
            row["retention"] = math.nan
        row["is_dominated"] = not row["is_control"] and any(_beats(o, row) for o in rows)
    return frame_of(rows, FRONTIER)


def _beats(other: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether `other` keeps and saves at least as much, and more of one; controls beat nobody."""
    if other["is_control"] or (other["window_asked"], other["model"]) != (
        row["window_asked"],
        row["model"],
    ):
        return False
    theirs, ours = ((r["retention"], r["tokens_saved"]) for r in (other, row))
    return all(a >= b for a, b in zip(theirs, ours, strict=True)) and theirs != ours


def sawtooth(data: RunData, session: str) -> pandas.DataFrame:
    """Chart 3: every request of one session, for every strategy (first window, model and seed)."""
    palette = strategy_places(data)
    chosen = data.requests[data.requests["session"] == session]
    if len(chosen):
        first = ~chosen["strategy"].isna()
        for column in ("window_asked", "model", "seed"):
            first &= chosen[column] == chosen[column].iloc[0]
        chosen = chosen[first]
    chosen = chosen.assign(
        place=[palette.get(name, -1) for name in chosen["strategy"]],
        # What `empty` drops before every request is how it works, not an event to look at.
        is_compacted=chosen["is_compacted"] & chosen["strategy"].isin(list(palette)),
    )
    return frame_of(chosen, SAWTOOTH)


def costs(data: RunData) -> pandas.DataFrame:
    """Chart 5: mean tokens a session: full history, less what was dropped, plus the summariser.

    `break_even` is the median request from which a strategy has sent less in sum than the full
    history would have, `broke_even` the number of sessions in which that ever happened.
    """
    palette = strategy_places(data)
    asked = _summariser_tokens(data)
    even = _break_even(data, asked)
    rows = []
    cells = data.cells[~data.cells["is_control"] & (data.cells["status"] != "error")]
    for strategy in in_order(cells["strategy"]):
        own = cells[cells["strategy"] == strategy]
        baseline, sent = own["tokens_baseline"].mean(), own["tokens_sent"].mean()
        summariser = own["tokens_summariser"].fillna(0).mean()
        points = sorted(value for value in even.get(strategy, []) if not math.isnan(value))
        rows.append(
            {
                "strategy": strategy,
                "place": palette.get(strategy, -1),
                "sessions": own["session"].nunique(),
                "baseline": baseline,
                "dropped": baseline - (sent - summariser),
                "summariser": summariser,
                "sent": sent,
                "cost_ratio": own["cost_ratio"].mean(),
                "break_even_low": points[0] if points else math.nan,
                "break_even": points[len(points) // 2] if points else math.nan,
                "break_even_high": points[-1] if points else math.nan,
                "broke_even": len(points),
            }
        )
    return frame_of(rows, COST)


def _summariser_tokens(data: RunData) -> dict[tuple[Any, ...], float]:
    frame = data.compactions
    total = frame["ask_input_tokens"] + frame["ask_output_tokens"]
    sums = total.groupby([frame[name] for name in CELL_KEYS], sort=False, observed=True).sum()
    return {key: float(value) for key, value in sums.items()}  # type: ignore[misc]


def _break_even(data: RunData, asked: dict[tuple[Any, ...], float]) -> dict[str, list[float]]:
    """For each strategy and cell, the first request from which it stays below the full history."""
    compactions = data.compactions
    full: dict[tuple[Any, ...], pandas.Series[int]] = {}
    cells = groups_of(data.requests, CELL_KEYS)
    for key, part in cells:
        if key[1] == "keep_all":
            full[(key[0], *key[2:])] = part["tokens"].cumsum().reset_index(drop=True)
    paid_at = {
        key: part.groupby("request")[["ask_input_tokens", "ask_output_tokens"]].sum().sum(axis=1)
        for key, part in groups_of(compactions, CELL_KEYS)
    }
    found: dict[str, list[float]] = {}
    for key, part in cells:
        baseline = full.get((key[0], *key[2:]))
        if baseline is None or key[1] in CONTROLS or not asked.get(key):
            continue
        own = part["tokens"].reset_index(drop=True)
        extra = paid_at[key].reindex(range(len(own)), fill_value=0).reset_index(drop=True)
        ahead = (own + extra).cumsum() >= baseline.reindex(range(len(own)))
        last = int(ahead.to_numpy().nonzero()[0].max()) if ahead.any() else -1
        found.setdefault(key[1], []).append(float(last + 1) if last + 1 < len(own) else math.nan)
    return found


_PAIRS_MAX = 60


def by_session_and_strategy(data: RunData) -> pandas.DataFrame:
    """Chart 9: retention of every session and strategy; sessions with the widest spread first."""
    palette = strategy_places(data)
    # Opaque state was exercised and yet has no mark here, so it isn't among those that weren't.
    sessions = by_session(data.cells[~data.cells["is_opaque"]])
    sessions = sessions[~sessions["is_control"].astype(bool)]
    rows = [{**row, "place": palette.get(row["strategy"], -1)} for row in rows_of(sessions)]
    spread: dict[str, list[float]] = {}
    for row in rows:
        if not math.isnan(row["retention"]):
            spread.setdefault(row["session"], []).append(row["retention"])
    rows.sort(
        key=lambda r: (
            -(max(spread[r["session"]]) - min(spread[r["session"]]))
            if r["session"] in spread
            else math.inf,
            r["session"],
        )
    )
    return frame_of(rows, SESSION)


def paired_differences(data: RunData) -> pandas.DataFrame:
    """Chart 6: for each two strategies, the mean difference of retention over shared sessions.

    Beyond 60 pairs only those of the strategy with the highest mean: nobody reads more.
    """
    sessions = by_session(data.cells)
    sessions = sessions[~sessions["is_control"].astype(bool) & sessions["retention"].notna()]
    order = in_order(sessions["strategy"])
    values = {
        name: part.set_index(["session", "window_asked", "model"])["retention"]
        for name, part in groups_of(sessions, "strategy")
    }
    pairs = list(combinations(order, 2))
    if len(pairs) > _PAIRS_MAX:
        leader = max(order, key=lambda name: float(values[name].mean()))
        pairs = [(leader, name) for name in order if name != leader]
    rows = []
    for first, second in pairs[:_PAIRS_MAX]:
        both = (values[first] - values[second]).dropna().groupby(level="session").mean()
        if not len(both):
            continue
        found = estimate(both)
        rows.append(
            {
                "first": first,
                "second": second,
                "difference": found.mean,
                "low": found.low,
                "high": found.high,
                "sessions": found.sessions,
            }
        )
    return frame_of(rows, PAIR)


def regrets(data: RunData) -> pandas.DataFrame:
    """Chart 10: how much less each strategy keeps than the best one of the same session, and how
    far its seeds lie apart (largest less smallest, mean over sessions with several)."""
    palette = strategy_places(data)
    own = data.cells[~data.cells["is_control"] & data.cells["retention"].notna()]
    setting = ["session", "window_asked", "model"]
    sessions = by_session(own)
    best = sessions.groupby(setting)["retention"].transform("max")
    sessions = sessions.assign(regret=best - sessions["retention"])
    rows = []
    for strategy in in_order(sessions["strategy"]):
        part = sessions[sessions["strategy"] == strategy]
        cells = own[own["strategy"] == strategy]
        seeds = cells.groupby(setting)["retention"].agg(["max", "min", "size"])
        several = seeds[seeds["size"] > 1]
        mean = estimate(part.groupby("session")["regret"].mean())
        worst = max(rows_of(part), key=lambda row: float(row["regret"]))
        rows.append(
            {
                "strategy": strategy,
                "place": palette.get(strategy, -1),
                "regret": mean.mean,
                "regret_low": mean.low,
                "regret_high": mean.high,
                "regret_worst": worst["regret"],
                "worst_session": worst["session"],
                "best_in": int((part["regret"] <= 0).sum()),
                "sessions": mean.sessions,
                "seeds": cells["seed"].nunique(),
                "seed_spread": (several["max"] - several["min"]).mean(),
            }
        )
    return frame_of(rows, REGRET)


def retries(data: RunData) -> pandas.DataFrame:
    """Chart 12: second tries of every kind, and facts that must be read again, per compaction."""
    palette = strategy_places(data)
    cells = data.cells[~data.cells["is_control"]]
    lost = data.facts[data.facts["outcome"] == "lost_re_readable"]
    re_reads = lost["strategy"].value_counts().to_dict()
    rows = []
    for strategy in in_order(cells["strategy"]):
        own = cells[cells["strategy"] == strategy]
        compactions = own["compactions"].sum()
        counts = {kind: own[kind].sum() for kind in RETRY_KINDS}
        counts["re-read"] = re_reads.get(strategy, 0)
        for kind, count in counts.items():
            rows.append(
                {
                    "strategy": strategy,
                    "place": palette.get(strategy, -1),
                    "kind": kind,
                    "count": count,
                    "per_compaction": count / compactions if compactions else math.nan,
                    "compactions": compactions,
                    "sessions": own["session"].nunique(),
                }
            )
    return frame_of(rows, RETRY)

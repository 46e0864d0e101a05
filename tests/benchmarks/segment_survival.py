"""How long the facts of the first summary live: segments against repeated re-summarising.

    python -m tests.benchmarks.segment_survival [SESSION ...] [--cuts 8] [--seeds 5] [--out DIR]

Every session (files or folders; the bundled corpus without any) is compacted at the same forced
points by `layered`, by `head_tail` and by `layered(mode=resummarise)` under `lossy(p)`, a stand-in
that carries each sentence or line over with chance p at every rewrite. The summary caps of the last
two are fitted for each session until, over all seeds, they got as many summary tokens as `layered`
(`--equal shown`: until as many stand in the requests). The points lie between turns and, in a
second round, evenly spaced, which is mostly inside of turns.

Followed are three cohorts: typed entities of the *first summary* (of each arm its own), typed
entities that user and agent had *said* in the span which all arms had covered by their first
summary, and the planted *facts* told there. At a generation one is at risk while nothing but a
summary of that span can show it: no later event has named it, and none that is still shown
verbatim holds it.

Writes segment_survival.md, .svg and .png to the folder; the same call gives the same bytes. Figures
of one session are means over seeds, shares are sums over sessions, intervals are over sessions.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.corpus import bundled_folder
from bench.facts_file import facts_beside
from bench.loading import load_sessions
from bench.statistics import Comparison, compare_paired, ratio_interval
from reports import style
from reports.charts import segment_survival
from tests.benchmarks.segment_replays import (
    ARMS,
    COHORTS,
    FIRST_SUMMARY,
    HEAD_TAIL,
    LAYERED,
    TOLERANCE,
    Options,
    Studied,
    study,
)


def rows_of(studied: Sequence[Studied], cohort: str, place: str) -> list[dict[str, Any]]:
    """One row for each arm and generation: the pooled share with its interval over sessions."""
    rows: list[dict[str, Any]] = []
    for arm in ARMS:
        longest = max((len(one.counted[cohort, arm]) for one in studied), default=0)
        for number in range(longest):
            known = [one for one in studied if _at(one, cohort, arm, number) is not None]
            counts = [one.counted[cohort, arm][number] for one in known]
            at_risk = math.fsum(count.at_risk for count in counts)
            interval = ratio_interval(
                [count.survived for count in counts],
                [count.at_risk for count in counts],
                clusters=[one.cluster for one in known],
            )
            rows.append(
                {
                    "place": place,
                    "strategy": arm,
                    "generation": number + 1,
                    "share": math.fsum(count.survived for count in counts) / at_risk
                    if at_risk
                    else None,
                    "low": None if interval is None else max(0.0, interval[0]),
                    "high": None if interval is None else min(1.0, interval[1]),
                    "sessions": len(known),
                    "at_risk": at_risk,
                    "rewrites": _mean_rewrites(known, arm, number),
                }
            )
    return rows


def _at(one: Studied, cohort: str, arm: str, number: int) -> float | None:
    """The share of one session, None where nothing was at risk."""
    counts = one.counted[cohort, arm]
    if number >= len(counts) or not counts[number].at_risk:
        return None
    return counts[number].survived / counts[number].at_risk


def _mean_rewrites(known: Sequence[Studied], arm: str, number: int) -> float | None:
    counts = [run[number].rewrites for one in known for run in one.ran[arm].generations]
    return math.fsum(counts) / len(counts) if counts else None


def differences(studied: Sequence[Studied], cohort: str) -> list[Comparison | None]:
    """`layered` less `head_tail` by generation, a difference for each session that knows both."""
    longest = max((len(one.counted[cohort, LAYERED]) for one in studied), default=0)
    found: list[Comparison | None] = []
    for number in range(longest):
        pairs = [
            (one.cluster, _at(one, cohort, LAYERED, number), _at(one, cohort, HEAD_TAIL, number))
            for one in studied
        ]
        known = [(cluster, a - b) for cluster, a, b in pairs if a is not None and b is not None]
        found.append(
            compare_paired([gap for _, gap in known], clusters=[cluster for cluster, _ in known])
            if known
            else None
        )
    return found


def markdown(rounds: dict[str, list[Studied]], options: Options) -> str:
    """Everything that was found, as tables."""
    lines = [
        f"Under lossy({options.p:g}), {options.cuts} forced compactions, {options.seeds} seeds; "
        f"at most {options.summary_tokens_max:,} tokens a segment; equal: tokens {options.equal}.",
        "",
        "Shares are sums over sessions with 95% intervals over them; differences are means over "
        "sessions, their p isn't adjusted for the number of generations. Rewrites count how often "
        "the first span had been written down by then.",
    ]
    for place, studied in rounds.items():
        lines += ["", f"## Points: {place}", "", *_totals(studied, options.equal)]
        for cohort in COHORTS:
            lines += ["", f"### Cohort: {cohort}", "", *_table(studied, cohort, place)]
    return "\n".join(lines) + "\n"


def _totals(studied: Sequence[Studied], equal: str) -> list[str]:
    lines = [
        "| arm | summary tokens written | summary tokens shown, mean | cap, median | sessions "
        "within 2% | rewrites of the first span at the end |",
        "|---|---|---|---|---|---|",
    ]
    for arm in ARMS:
        written = sum(one.ran[arm].output_tokens for one in studied)
        runs = [run for one in studied for run in one.ran[arm].generations]
        shown = [generation.shown_tokens for run in runs for generation in run]
        caps = sorted(one.ran[arm].cap for one in studied)
        close = sum(
            abs(one.ran[arm].spent(equal) / one.ran[LAYERED].spent(equal) - 1) <= TOLERANCE
            for one in studied
        )
        rewrites = math.fsum(run[-1].rewrites for run in runs) / len(runs)
        lines.append(
            f"| {arm} | {written:,} | {math.fsum(shown) / len(shown):,.0f} | "
            f"{caps[len(caps) // 2]:,} | {close} of {len(studied)} | {rewrites:.1f} |"
        )
    return lines


def _table(studied: Sequence[Studied], cohort: str, place: str) -> list[str]:
    rows = rows_of(studied, cohort, place)
    generations = sorted({row["generation"] for row in rows})
    lines = [
        "| after compaction | " + " | ".join(map(str, generations)) + " |",
        "|---|" + "---|" * len(generations),
    ]
    for arm in ARMS:
        own = [row for row in rows if row["strategy"] == arm]
        lines.append(f"| {arm} | " + " | ".join(map(_cell, own)) + " |")
        lines.append(
            f"| {arm}: at risk (sessions), rewrites | "
            + " | ".join(
                f"{row['at_risk']:.0f} ({row['sessions']}), {row['rewrites'] or 0:.1f}"
                for row in own
            )
            + " |"
        )
    gaps = [_gap(one) for one in differences(studied, cohort)]
    return [*lines, "| layered less head_tail, points | " + " | ".join(gaps) + " |"]


def _cell(row: dict[str, Any]) -> str:
    if row["share"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['share']:.0%}"
    return f"{row['share']:.0%} ({row['low']:.0%} to {row['high']:.0%})"


def _gap(one: Comparison | None) -> str:
    if one is None:
        return "-"
    interval = (
        ""
        if one.interval is None
        else " ({:+.0f} to {:+.0f})".format(*(100 * end for end in one.interval))
    )
    return f"{100 * one.difference:+.0f}{interval}" + ("" if one.p is None else f", p {one.p:.2g}")


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        p=arguments.chance,
        cuts=arguments.cuts,
        seeds=arguments.seeds,
        summary_tokens_max=arguments.summary_tokens,
        equal=arguments.equal,
    )


def main() -> None:
    """Studies the sessions, writes the table and the chart, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("sessions", nargs="*", help="files or folders (default: bundled corpus)")
    parser.add_argument("--cuts", type=int, default=8, help="forced compactions a session")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--chance", type=float, default=0.9, help="p of lossy(p)")
    parser.add_argument("--summary-tokens", type=int, default=800, help="cap of one segment")
    parser.add_argument("--equal", choices=("written", "shown"), default="written")
    parser.add_argument("--place", choices=("turns", "even", "both"), default="both")
    parser.add_argument("--out", type=Path, default=Path("segment_survival"))
    arguments = parser.parse_args()
    sessions = load_sessions(arguments.sessions or [str(bundled_folder())]).sessions
    facts = facts_beside([session.path for session in sessions])
    options = _options(arguments)
    rounds: dict[str, list[Studied]] = {}
    for place in ("turns", "even") if arguments.place == "both" else (arguments.place,):
        found = [
            study(one, facts.get(one.id, ()), replace(options, place=place)) for one in sessions
        ]
        rounds[place] = [one for one in found if one is not None]
    text = markdown(rounds, options)
    rows = [row for place, some in rounds.items() for row in rows_of(some, FIRST_SUMMARY, place)]
    figure = segment_survival.draw(rows, options.p)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "segment_survival.md").write_text(text, encoding="utf-8")
    (arguments.out / "segment_survival.svg").write_text(style.to_svg(figure), encoding="utf-8")
    (arguments.out / "segment_survival.png").write_bytes(style.to_png(figure))
    print(text)


if __name__ == "__main__":
    main()

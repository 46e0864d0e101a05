"""Judgement: what the numbers of a cell are called and how they are shown.

One row a metric, for tables and charts alike, so that a caption, a unit or a direction is said in
one place. The names are those of `run --json` (contract.md, "JSON shapes").
"""

from __future__ import annotations

from bench.metrics_readers import READER_METRICS
from bench.metrics_row import Direction, Format, Layer, Metric

__all__ = ["METRICS", "Direction", "Format", "Layer", "Metric", "metric", "shown"]

METRICS: tuple[Metric, ...] = (
    Metric(
        "retention",
        "Retention",
        "share",
        "higher",
        "current",
        "share",
        "Facts that were there where they were asked for, between empty (0) and keep_all (1): "
        "current for updates and negations, present for others; needed uses where a corpus has "
        "no facts.",
    ),
    Metric(
        "retention_needed",
        "Needed",
        "share",
        "higher",
        "present",
        "share",
        "Uses older than 2,000 tokens that were there when the recorded agent needed them, between "
        "empty (0) and keep_all (1).",
    ),
    Metric(
        "retention_said_once",
        "Needed, said once",
        "share",
        "higher",
        "present",
        "share",
        "The part of the needed uses that a user or the agent had said: lost, they are lost for "
        "good.",
    ),
    Metric(
        "retention_re_readable",
        "Needed, re-readable",
        "share",
        "higher",
        "present",
        "share",
        "The part of the needed uses that only tools had shown: lost, they cost another call.",
    ),
    Metric(
        "retention_recoverable",
        "Visible or recoverable",
        "share",
        "higher",
        "recoverable",
        "share",
        "Retention that also counts what wasn't visible but would have been returned by one "
        "search on a reference that the request showed.",
    ),
    Metric(
        "recoverable",
        "Recoverable",
        "share",
        "higher",
        "recoverable",
        "share",
        "The part of the needed uses that weren't visible which one search on a visible "
        "reference would have returned.",
    ),
    Metric(
        "retention_after_recorded",
        "After a recorded cut",
        "share",
        "higher",
        "present",
        "share",
        "The part of the needed uses that came after a compaction of the recorded tool and so "
        "depended on its summary.",
    ),
    Metric(
        "present",
        "Present",
        "share",
        "higher",
        "present",
        "share",
        "Planted or authored facts whose value stood in the request where they were asked for.",
    ),
    Metric(
        "bound",
        "Bound",
        "share",
        "higher",
        "bound",
        "share",
        "The same with the value beside its subject, of the facts that name one.",
    ),
    Metric(
        "recovered",
        "Recovered",
        "share",
        "higher",
        "recovered",
        "share",
        "Closed questions that a reader answered rightly from what was shown, of all due.",
    ),
    *READER_METRICS,
    Metric(
        "stale",
        "Stale",
        "share",
        "lower",
        "current",
        "share",
        "Updated facts of which only an earlier value was shown, and rules whose not was lost.",
    ),
    Metric(
        "contradicted",
        "Contradicted",
        "share",
        "lower",
        "current",
        "share",
        "The part of stale that are rules whose not was lost, which is worse than missing.",
    ),
    Metric(
        "survived_5",
        "Survived, 5 steps",
        "share",
        "higher",
        "present",
        "share",
        "Entities in use before a compaction and needed at most 5 steps after it, before a "
        "tool brought them back, that it left visible.",
    ),
    Metric(
        "survived_20",
        "Survived, 20 steps",
        "share",
        "higher",
        "present",
        "share",
        "Entities in use before a compaction and needed at most 20 steps after it, before a "
        "tool brought them back, that it left visible.",
    ),
    Metric(
        "survived_100",
        "Survived, 100 steps",
        "share",
        "higher",
        "present",
        "share",
        "Entities in use before a compaction and needed at most 100 steps after it, before a "
        "tool brought them back, that it left visible.",
    ),
    Metric(
        "facts_untold",
        "Never told",
        "facts",
        "neither",
        "mechanics",
        "count",
        "Facts that the full history doesn't hold before the request that asks for them; no "
        "strategy could keep them.",
    ),
    Metric(
        "invented",
        "Invented",
        "share",
        "lower",
        "invented",
        "share",
        "Typed entities in written summaries that the source never had.",
    ),
    Metric(
        "tokens_saved",
        "Tokens saved",
        "share",
        "higher",
        "cost",
        "share",
        "1 - sent / baseline; negative when compacting cost more than it saved.",
    ),
    Metric(
        "tokens_sent",
        "Tokens sent",
        "tokens",
        "lower",
        "cost",
        "tokens",
        "Input of every request plus input and output of the summariser.",
    ),
    Metric(
        "tokens_baseline",
        "Baseline",
        "tokens",
        "neither",
        "cost",
        "tokens",
        "What keep_all would have sent for the same requests.",
    ),
    Metric(
        "tokens_recovery",
        "Recovery tokens",
        "tokens",
        "lower",
        "cost",
        "tokens",
        "Calls and pages of the searches that would have returned what wasn't visible; in no "
        "other figure, since the recorded agent never made them.",
    ),
    Metric(
        "cost_ratio",
        "Cost ratio",
        "times the baseline",
        "lower",
        "cost",
        "ratio",
        "Billed with cache reads and writes, over the baseline billed in the same way.",
    ),
    Metric(
        "summariser_share",
        "Summariser's share",
        "share",
        "lower",
        "cost",
        "share",
        "The part of the tokens sent that the summariser read and wrote.",
    ),
    Metric(
        "break_even_requests",
        "Break-even",
        "requests",
        "lower",
        "cost",
        "count",
        "Requests after the first compaction until the bill stays below that of the full history; "
        "none when it never does.",
    ),
    Metric(
        "tokens_reread_debt",
        "Re-read debt",
        "tokens",
        "lower",
        "cost",
        "tokens",
        "Tokens of the tool results that held what was needed and wasn't visible, each once: what "
        "reading them again would have cost.",
    ),
    Metric(
        "compactions",
        "Compactions",
        "accepted",
        "neither",
        "mechanics",
        "count",
        "Accepted compactions; none means that the strategy wasn't exercised.",
    ),
    Metric(
        "retries_overflow",
        "Overflow recoveries",
        "retries",
        "lower",
        "mechanics",
        "count",
        "Requests that the provider refused as too large and that were compacted again.",
    ),
    Metric(
        "retries_repair",
        "Summary repairs",
        "retries",
        "lower",
        "mechanics",
        "count",
        "Summaries that were asked for again because they were malformed.",
    ),
    Metric(
        "retries_replan",
        "Re-plans",
        "retries",
        "lower",
        "mechanics",
        "count",
        "Compactions that were planned again with a smaller span.",
    ),
    Metric(
        "retries_transport",
        "Transport retries",
        "retries",
        "lower",
        "mechanics",
        "count",
        "Requests sent again after a failure of the line, a limit of rate or of the server.",
    ),
    Metric(
        "retries_suppressed",
        "Suppressed attempts",
        "retries",
        "neither",
        "mechanics",
        "count",
        "Compactions that weren't tried because the same input had failed before.",
    ),
    Metric(
        "requests_served",
        "Served",
        "requests",
        "higher",
        "mechanics",
        "count",
        "Requests that the provider accepted; those after a stop count as lost.",
    ),
    Metric(
        "requests_total",
        "Requests",
        "requests",
        "neither",
        "mechanics",
        "count",
        "Requests that the recorded agent made.",
    ),
    Metric(
        "invalid_projections",
        "Invalid",
        "requests",
        "lower",
        "mechanics",
        "count",
        "Requests that the OpenAI or the Anthropic API would have refused as malformed.",
    ),
    Metric(
        "grew",
        "Grew",
        "compactions",
        "lower",
        "mechanics",
        "count",
        "Accepted compactions that left more true tokens than there were before.",
    ),
    Metric(
        "seconds",
        "Seconds",
        "seconds",
        "lower",
        "mechanics",
        "seconds",
        "Time of the replay on this machine, without scoring.",
    ),
)

_BY_NAME = {metric.name: metric for metric in METRICS}


def metric(name: str) -> Metric:
    """The row of a metric; raises KeyError naming those there are."""
    if name not in _BY_NAME:
        raise KeyError(f"no metric {name!r}, there are: {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def shown(name: str, value: float | None) -> str:
    """A value of a metric as tables print it: a dash where there is none."""
    if value is None:
        return "-"
    match metric(name).format:
        case "share":
            return f"{100 * value:.1f}%"
        case "ratio":
            return f"{value:.2f}"
        case "seconds":
            return f"{value:.2f}"
        case "tokens" | "count":
            return f"{value:,.0f}"

"""Judgement: the metrics that need somebody to be asked: readers, the next action, the judge."""

from __future__ import annotations

from bench.metrics_row import Metric

READER_METRICS: tuple[Metric, ...] = (
    Metric(
        "retention_recovered",
        "Recovered, between controls",
        "share",
        "higher",
        "recovered",
        "share",
        "Questions that a reader answered rightly, between a bare request (0) and the full "
        "history, or the oracle where that is too large (1).",
    ),
    Metric(
        "recovered_found",
        "Recovered, found uses",
        "share",
        "higher",
        "recovered",
        "share",
        "Lines with a gap that a reader filled with the entity that the recorded agent used later.",
    ),
    Metric(
        "attention_loss",
        "Attention loss",
        "share",
        "lower",
        "recovered",
        "share",
        "Of the facts that were present, those that a reader didn't find again.",
    ),
    Metric(
        "inferred",
        "Inferred",
        "share",
        "neither",
        "recovered",
        "share",
        "Of the facts that weren't present, those that a reader answered all the same: "
        "inferred or guessed.",
    ),
    Metric(
        "guessed",
        "Guessed",
        "share",
        "lower",
        "recovered",
        "share",
        "Questions that nothing in the session answers, answered with some value: the price "
        "of guessing.",
    ),
    Metric(
        "questions",
        "Questions",
        "questions",
        "neither",
        "recovered",
        "count",
        "Closed questions that the reader was asked.",
    ),
    Metric(
        "next_action",
        "Next action",
        "share",
        "higher",
        "next_action",
        "share",
        "Requests at which the model, shown the compacted request, makes the same call with "
        "the same arguments as shown the full one.",
    ),
    Metric(
        "next_action_names",
        "Next action, name",
        "share",
        "higher",
        "next_action",
        "share",
        "The same, comparing the name of the tool alone.",
    ),
    Metric(
        "next_action_noise",
        "Next action, own noise",
        "share",
        "neither",
        "next_action",
        "share",
        "Full against full with another seed: what agreement a perfect compaction could reach.",
    ),
    Metric(
        "next_actions",
        "Next actions",
        "requests",
        "neither",
        "next_action",
        "count",
        "Requests at which the next action was compared.",
    ),
    Metric(
        "judged",
        "Judged",
        "share",
        "higher",
        "judge",
        "share",
        "Decisions whose answer a calibrated judge accepted; other kinds are never judged.",
    ),
    Metric(
        "judgements",
        "Judgements",
        "decisions",
        "neither",
        "judge",
        "count",
        "Decisions that the judge was asked about.",
    ),
)

"""All charts of a run: what each one asks, the frame it is drawn from and how it is drawn.

A chart is one row here: its tidy frame (a pure function of the run) and its drawing (a pure
function of that frame). Files, page and Markdown go through this list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports import chart_frames, fact_frames
from reports.charts import (
    age,
    costs,
    differences,
    frontier,
    generations,
    heatmaps,
    outcomes,
    regret,
    retries,
    sawtooth,
    sessions,
)
from reports.frames import RunData
from reports.style import label

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Chart:
    """`name` is the file name without its ending, `question` the heading, `caption` how to read
    it; `frame` makes the data, `draw` the figure. `is_of_text` charts need what can be read."""

    name: str
    question: str
    caption: str
    frame: Callable[[RunData], pandas.DataFrame]
    draw: Callable[[pandas.DataFrame], Figure]
    is_of_text: bool = False


def caption_of(chart: Chart, data: RunData) -> str:
    """How to read a chart, and which strategies of this run can't stand in it."""
    opaque = fact_frames.opaque_names(data)
    if not opaque:
        return chart.caption
    names = ", ".join(label(name, 34) for name in opaque)
    if chart.is_of_text:
        return f"{chart.caption} Not in it, since its state can't be read: {names}."
    if chart.name == "outcomes":
        return f"{chart.caption} Of {names} only a reader's answers are known."
    return chart.caption


def first_session(data: RunData) -> str:
    """The session that the saw-tooth shows: the one with most accepted compactions."""
    counts = data.requests[data.requests["is_compacted"]]["session"].value_counts(sort=False)
    if len(counts):
        return str(min(counts.index, key=lambda name: (-int(counts[name]), str(name))))
    return str(data.requests["session"].iloc[0]) if len(data.requests) else ""


def _sawtooth_frame(data: RunData) -> pandas.DataFrame:
    return chart_frames.sawtooth(data, first_session(data))


CHARTS: tuple[Chart, ...] = (
    Chart(
        "frontier",
        "Who keeps more for the tokens that it saves?",
        "Each point is the mean over sessions (n: those in which the strategy compacted); crosses "
        "are 95% intervals. A dominated strategy (grey) keeps and saves no more than another one. "
        "Settings of one strategy are joined.",
        chart_frames.frontier,
        frontier.draw,
        is_of_text=True,
    ),
    Chart(
        "answered",
        "And by what a reader answered?",
        "The same points in the layer recovered: questions about the facts that a reader answered "
        "from the very requests. Strategies with opaque state stand here and nowhere else, since "
        "nothing but their provider can read it.",
        chart_frames.answered_frontier,
        frontier.draw_answered,
    ),
    Chart(
        "sawtooth",
        "When does each strategy compact, and what does a request cost?",
        "Input tokens of every request of one session. Pale is read from the provider's cache, "
        "solid is new; a compaction rewrites the prefix, so the next request is all new.",
        _sawtooth_frame,
        sawtooth.draw,
    ),
    Chart(
        "outcomes",
        "What became of the facts?",
        "Every fact at the request that needed it. A loss is re-readable when a tool could be run "
        "again, and for good when it was said once: a rule, a decision.",
        fact_frames.outcomes,
        outcomes.draw,
    ),
    Chart(
        "age",
        "How far back does each strategy still see?",
        "Share of the uses found in the recordings that were there when the agent needed them, by "
        "tokens since the last mention. Means over sessions with 95% intervals.",
        fact_frames.by_age,
        age.draw,
        is_of_text=True,
    ),
    Chart(
        "generations",
        "Does it get worse with every compaction?",
        "Of the entities in use before a compaction and needed within 100 steps after it, the "
        "share that survived it; the numbers at risk stand below. Bands are 95% intervals over "
        "sessions.",
        fact_frames.by_generation,
        generations.draw,
        is_of_text=True,
    ),
    Chart(
        "kinds",
        "Which kinds of facts get lost?",
        "Share kept by kind and strategy, n in every cell; cells of fewer than five facts are "
        "pale.",
        fact_frames.kinds_by_strategy,
        heatmaps.draw,
        is_of_text=True,
    ),
    Chart(
        "positions",
        "From where in the session do facts get lost?",
        "Share kept by kind and by the fifth of the session in which the fact was said, all "
        "strategies together (controls left out).",
        fact_frames.kinds_by_position,
        heatmaps.draw,
        is_of_text=True,
    ),
    Chart(
        "costs",
        "Where did the tokens go?",
        "Full history, what was dropped from it, and what the summariser cost on top. Ahead from: "
        "the median request after which less was sent in sum than without compaction.",
        chart_frames.costs,
        costs.draw,
    ),
    Chart(
        "differences",
        "Which differences are real?",
        "Paired over the same sessions, mean difference of retention with its 95% interval.",
        chart_frames.paired_differences,
        differences.draw,
        is_of_text=True,
    ),
    Chart(
        "sessions",
        "Is it the same in every session?",
        "Retention of every strategy in every session, those with the widest spread first.",
        chart_frames.by_session_and_strategy,
        sessions.draw,
        is_of_text=True,
    ),
    Chart(
        "regret",
        "What does a wrong choice cost?",
        "Regret: how many points less than the best strategy of the same session, mean with its "
        "95% interval and the worst session. Seed spread: how far the seeds of one session lie "
        "apart.",
        chart_frames.regrets,
        regret.draw,
        is_of_text=True,
    ),
    Chart(
        "retries",
        "What has to be done again?",
        "Per accepted compaction: facts that a tool would have to read again, and second tries.",
        chart_frames.retries,
        retries.draw,
    ),
)

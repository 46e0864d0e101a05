"""Judgement: the form of summaries: how long, whether they grow, which sections they lack, and how
many sentences generalise instead of stating.

Lints are signs, never verdicts: a summary may well keep everything without a section.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.entities import extract
from bench.gate.records import CellRecord, SummaryFigures
from bench.tokens import count

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_MARKS_OF_LINES = re.compile(r"^[\s#>*+-]*(?:\d{1,2}[.)]\s+)?")
_GENERAL = re.compile(
    r"\b(?:various|several|numerous|multiple|a (?:number|variety|range|couple|lot) of|"
    r"some (?:\w+ )?(?:files?|issues?|errors?|changes?|problems?|things?|parts?|tests?|work)|"
    r"etc\b|and so (?:on|forth)|among (?:other things|others)|"
    r"other (?:things|details|files|issues|changes)|"
    r"as (?:needed|required|appropriate|necessary|discussed)|"
    r"(?:relevant|related|necessary|appropriate) (?:files?|changes?|details?|information|code)|"
    r"(?:made|making) (?:good |some )?progress|(?:improvements?|adjustments?) (?:was|were) made|"
    r"(?:the )?(?:usual|general|overall) (?:approach|work|progress|things?))"
    r"|等等|若干|各种|一些|诸多|种种|多个|相关(?:文件|内容|信息|改动|代码)|有所(?:进展|改进)",
    re.IGNORECASE,
)
_WORDS_MIN = 3


@dataclass(frozen=True, slots=True)
class SummaryLints:
    """The form of all summaries of one side.

    `tokens_p50` and `tokens_p95` are over all summaries. `growth` is the median of the last
    generation over that of the first, each of at least one summary; None with one generation.
    `missing` counts by heading the summaries that lack it. `general_share` is the share of
    sentences that generalise and name nothing.
    """

    summaries: int
    tokens_p50: float | None
    tokens_p95: float | None
    growth: float | None
    generations: int
    missing: dict[str, int]
    general_share: float | None


def figures_of(summaries: Sequence[tuple[int, str]], headings: Sequence[str]) -> SummaryFigures:
    """The figures of the summaries of one cell, given as pairs of generation and text.

    `headings` are the lines that the prompt asks for, as they should stand in the text.
    """
    missing: Counter[str] = Counter()
    sentences = general = 0
    for _, text in summaries:
        lines = [line.strip() for line in text.splitlines()]
        missing.update(
            heading for heading in headings if not any(line.startswith(heading) for line in lines)
        )
        for sentence in sentences_of(text):
            sentences += 1
            general += generalises(sentence)
    return SummaryFigures(
        tokens=tuple((generation, count(text)) for generation, text in summaries),
        missing=dict(missing),
        general_sentences=general,
        sentences=sentences,
    )


def sentences_of(text: str) -> list[str]:
    """Sentences and lines of at least three words; headings and marks of lists are left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    parts = (_MARKS_OF_LINES.sub("", part) for part in _SENTENCE_END.split("\n".join(lines)))
    return [part for part in parts if len(part.split()) >= _WORDS_MIN or _is_long_chinese(part)]


def generalises(sentence: str) -> bool:
    """True for a sentence of general words that names nothing: no path, value, command or error."""
    return _GENERAL.search(sentence) is not None and not extract(sentence)


def lints_of(cells: Iterable[CellRecord]) -> SummaryLints:
    """The lints over all summaries of these cells."""
    all_figures = [cell.summaries for cell in cells]
    tokens = [pair for figures in all_figures for pair in figures.tokens]
    missing: Counter[str] = Counter()
    for figures in all_figures:
        missing.update(figures.missing)
    sentences = sum(figures.sentences for figures in all_figures)
    by_generation: dict[int, list[int]] = {}
    for generation, size in tokens:
        by_generation.setdefault(generation, []).append(size)
    sizes = sorted(size for _, size in tokens)
    first, last = min(by_generation, default=0), max(by_generation, default=0)
    growth = None
    if last > first and median(by_generation[first]):
        growth = median(by_generation[last]) / median(by_generation[first])
    return SummaryLints(
        summaries=len(sizes),
        tokens_p50=_percentile(sizes, 0.5),
        tokens_p95=_percentile(sizes, 0.95),
        growth=growth,
        generations=len(by_generation),
        missing=dict(missing.most_common()),
        general_share=(
            sum(figures.general_sentences for figures in all_figures) / sentences
            if sentences
            else None
        ),
    )


def _percentile(sizes: Sequence[int], share: float) -> float | None:
    """By linear interpolation between the nearest ranks."""
    if not sizes:
        return None
    place = share * (len(sizes) - 1)
    low = int(place)
    high = min(low + 1, len(sizes) - 1)
    return sizes[low] + (place - low) * (sizes[high] - sizes[low])


def _is_long_chinese(part: str) -> bool:
    return sum("\u4e00" <= letter <= "\u9fff" for letter in part) >= 2 * _WORDS_MIN

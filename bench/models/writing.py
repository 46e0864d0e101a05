"""Edges: writing a summary from units: what goes under which heading, and what fits.

Selection is greedy by salience. Every section gets its best unit first, then each may fill a share
of the budget, then what is left goes to whatever is most salient. Content stands in the order of
the material. Sizes are true tokens, and the finished text is counted as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.models.model import Completion
from bench.models.prompt_headings import Outline, Section, SectionRole, role_of
from bench.models.text_units import Unit
from bench.tokens import count, truncate

NOTHING = "Nothing recorded."
NOTHING_IN_CHINESE = "没有记录。"

# A section's share isn't filled with units below this: they compete with all others.
_SHARE_SALIENCE_MIN = 1.0
# After this many candidates for a section that didn't fit, its others are taken not to fit either.
_MISSES_MAX = 12

_SHARES: dict[SectionRole, float] = {
    "goal": 1.0,
    "user_messages": 1.5,
    "rules": 1.5,
    "progress": 2.0,
    "current": 1.0,
    "decisions": 1.5,
    "next": 1.0,
    "errors": 1.0,
    "files": 1.5,
    "facts": 2.5,
    "other": 1.0,
}

# Where a unit goes, by what it is: the first role that the outline has.
_ROLES_BY_NATURE: dict[str, tuple[SectionRole, ...]] = {
    "request": ("goal", "user_messages", "facts", "other"),
    "said by user": ("user_messages", "facts", "rules", "goal", "other"),
    "rule": ("rules", "facts", "decisions", "user_messages", "goal", "other"),
    "decision": ("decisions", "progress", "facts", "other"),
    "plan": ("next", "current", "progress", "other"),
    "error": ("errors", "facts", "progress", "other"),
    "current": ("current", "progress", "facts", "other"),
    "outcome": ("progress", "current", "facts", "other"),
    "path": ("files", "facts", "progress", "other"),
    "fact": ("facts", "files", "progress", "other"),
}


@dataclass(frozen=True, slots=True)
class _Choice:
    unit: Unit
    section: int
    salience: float
    tokens: int


def write_summary(
    outline: Outline,
    units: Sequence[Unit],
    salience: Mapping[int, float],
    *,
    tokens_wanted: int,
    output_tokens_max: int,
    is_balanced: bool = True,
) -> Completion:
    """A summary with about `tokens_wanted` tokens of content, at most `output_tokens_max` in all.

    `salience` is by `unit.order`. Without `is_balanced` no section is held to a share: what
    doesn't fit is the least salient. When not even the empty sections fit, only whole sections are
    written and the finish reason is "length".
    """
    is_prose = not outline.sections
    sections = _placed(outline, units)
    nothing = _nothing(units)
    empty = _render(outline, {}, nothing)
    budget = min(tokens_wanted, output_tokens_max - (0 if is_prose else count(empty)))
    ranked = sorted(units, key=lambda unit: -salience[unit.order])
    chosen = _chosen(outline, ranked, sections, salience, budget, is_balanced)
    while True:
        text = _render(outline, _by_section(chosen), nothing)
        over = count(text) - output_tokens_max
        if over <= 0:
            return Completion(text)
        if not chosen:
            return _cut_short(outline, ranked, nothing, output_tokens_max)
        chosen = _without_least(chosen, over)


def _chosen(
    outline: Outline,
    ranked: Sequence[Unit],
    sections: Mapping[int, int],
    salience: Mapping[int, float],
    budget: int,
    is_balanced: bool,
) -> list[_Choice]:
    chosen: dict[int, _Choice] = {}
    spent = [0] * max(1, len(outline.sections))
    shares = [_SHARES[section.role] for section in outline.sections] or [1.0]
    limits = [budget * share / sum(shares) for share in shares]

    def take(
        candidates: Iterable[Unit], limit_of: Callable[[int], float], least: float = -math.inf
    ) -> None:
        misses = [0] * len(spent)
        total = sum(spent)
        for unit in candidates:
            order = unit.order
            section = sections[order]
            if salience[order] < least:
                return
            if order in chosen or misses[section] >= _MISSES_MAX:
                continue
            tokens = count(f"- {unit.text}\n")
            if total + tokens > budget or spent[section] + tokens > limit_of(section):
                misses[section] += 1
                continue
            total += tokens
            spent[section] += tokens
            chosen[order] = _Choice(unit, section, salience[order], tokens)

    if is_balanced:
        best: dict[int, Unit] = {}
        for unit in ranked:
            best.setdefault(sections[unit.order], unit)
        take((best[section] for section in sorted(best)), lambda _: budget)
        take(ranked, limits.__getitem__, _SHARE_SALIENCE_MIN)
    take(ranked, lambda _: budget)
    return list(chosen.values())


def _without_least(chosen: Sequence[_Choice], tokens: int) -> list[_Choice]:
    kept = sorted(chosen, key=lambda choice: (choice.salience, -choice.unit.order))
    while kept and tokens > 0:
        tokens -= kept.pop(0).tokens
    return kept


def _by_section(chosen: Sequence[_Choice]) -> dict[int, list[str]]:
    lines: dict[int, list[str]] = {}
    for choice in sorted(chosen, key=lambda choice: choice.unit.order):
        lines.setdefault(choice.section, []).append(choice.unit.text)
    return lines


def _render(outline: Outline, lines: Mapping[int, Sequence[str]], nothing: str) -> str:
    if not outline.sections:
        return "\n".join(lines.get(0, ())) or nothing
    parts = [outline.opening] if outline.opening else []
    tags = outline.closing_tags
    for number, section in enumerate(outline.sections):
        content = [f"- {_safe(text, tags)}" for text in lines.get(number, ())]
        parts.append(_section_text(section, content or [nothing]))
    return "\n".join([*parts, outline.closing] if outline.closing else parts)


def _section_text(section: Section, content: Sequence[str]) -> str:
    closing = [section.closing] if section.closing else []
    return "\n".join([section.opening, *content, *closing])


def _safe(text: str, closing_tags: Sequence[str]) -> str:
    """The text without anything that would end a part of the outline early."""
    for tag in closing_tags:
        text = text.replace(tag, tag.strip("</>"))
    return text


def _nothing(units: Sequence[Unit]) -> str:
    letters = "".join(unit.text for unit in units[:50])
    chinese = sum("一" <= letter <= "鿿" for letter in letters)
    return NOTHING_IN_CHINESE if chinese * 5 > len(letters) > 0 else NOTHING


def _cut_short(
    outline: Outline, ranked: Sequence[Unit], nothing: str, output_tokens_max: int
) -> Completion:
    """What is left under a cap too small for the outline: whole sections, or one clipped unit."""
    text = ""
    if not outline.sections:
        text = truncate(ranked[0].text if ranked else "", output_tokens_max)
        while text and count(text) > output_tokens_max:
            text = text[:-1]
        return Completion(text, "length")
    parts: list[str] = [outline.opening] if outline.opening else []
    for section in outline.sections:
        parts.append(_section_text(section, [nothing]))
        longer = "\n".join(parts)
        if count(longer) > output_tokens_max:
            break
        text = longer
    return Completion(text, "length")


def _placed(outline: Outline, units: Sequence[Unit]) -> dict[int, int]:
    """The section of every unit, by `unit.order`."""
    if not outline.sections:
        return {unit.order: 0 for unit in units}
    by_role: dict[SectionRole, list[int]] = {}
    for number, section in enumerate(outline.sections):
        by_role.setdefault(section.role, []).append(number)
    recent = len(units) * 4 // 5
    openings = request_openings(units)
    first = min(openings, default=-1)
    placed: dict[int, int] = {}
    known: dict[tuple[str, str], list[int]] = {}
    for position, unit in enumerate(units):
        # A rule that somebody adds later is no new goal.
        is_request = unit.order in openings and (unit.order == first or not unit.is_rule)
        nature = _nature(unit, is_request=is_request, is_recent=position >= recent)
        numbers = known.get((nature, unit.section))
        if numbers is None:
            wanted = _ROLES_BY_NATURE[nature]
            if unit.section:
                wanted = (role_of(unit.section), *wanted)
            last = [len(outline.sections) - 1]
            numbers = next((by_role[role] for role in wanted if role in by_role), last)
            known[nature, unit.section] = numbers
        placed[unit.order] = numbers[unit.piece % len(numbers)]
    return placed


def request_openings(units: Sequence[Unit]) -> frozenset[int]:
    """The units, by `order`, that open what a user said: the requests."""
    found: dict[int, int] = {}
    for unit in units:
        if unit.speaker == "user":
            found.setdefault(unit.piece, unit.order)
    return frozenset(found.values())


def _nature(unit: Unit, *, is_request: bool, is_recent: bool) -> str:
    if is_request:
        return "request"
    if unit.is_rule:
        return "rule"
    if unit.is_decision:
        return "decision"
    if unit.is_plan:
        return "plan"
    if unit.speaker == "user":
        return "said by user"
    if unit.is_error:
        return "error"
    if unit.is_outcome or (unit.speaker == "assistant" and not unit.entities):
        return "current" if is_recent else "outcome"
    return "path" if any(key.startswith("path:") for key in unit.entities) else "fact"

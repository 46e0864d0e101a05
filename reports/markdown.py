"""`report.md`, for pull requests: sentences first, then the table, one picture, losses, threats.

Text of sessions can't become markup: what Markdown or HTML would read is escaped, and nothing of a
session can close a table cell or mention anybody.
"""

from __future__ import annotations

import re
from typing import Any

from bench.cache_prices import prices_by_name
from reports.answers import answer_words
from reports.cache_costs import SHOWN, shown_costs
from reports.columns import COLUMN, columns_for, has_several, name_of
from reports.frames import RunData, rows_of
from reports.layers import invention_lines, layer_table
from reports.losses import worst
from reports.numbers import ratio
from reports.style import OUTCOME_NAMES
from reports.summary import summarise
from reports.text import clean, excerpt
from reports.threats import threats

# An underscore inside a word begins no emphasis; everything else means something anywhere.
_SPECIAL = re.compile(r"([\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w))")
_LINKS = re.compile(r"(?i)\b(https?|ftp|mailto)(:)|\b(www)(\.)|(?<!\w)@(?=\w)")
_BRIEF_COLUMNS = ("retention", "retention_said_once", "tokens_saved", "cost_ratio", "fired")
_WORST_MAX = 10


def escaped(text: str) -> str:
    """The text as Markdown shows it literally; links and mentions are broken by a zero-width
    space, since some renderers make them out of plain text."""

    def broken(match: re.Match[str]) -> str:
        found = match.group(0)
        return f"{found}\u200b" if found == "@" else f"{found[:-1]}\u200b{found[-1]}"

    shown = _LINKS.sub(broken, _SPECIAL.sub(r"\\\1", text))
    # Only at the start of a line these make a heading or a list.
    return f"\\{shown}" if shown.startswith(("#", "+", "-", "=")) else shown


def to_markdown(data: RunData, *, brief: bool = False, has_pictures: bool = True) -> str:
    """The report as Markdown; `brief` is at most 25 lines, for a design document."""
    lines = _verdict(data, brief=brief)
    lines += ["", *_table(data, brief=brief)]
    if has_pictures:
        lines += ["", "![Retention against tokens saved](charts/frontier.png)"]
    if brief:
        return "\n".join([*lines, "", *_brief_end(data)]) + "\n"
    lines += _cache_costs(data)
    lines += ["", "## The ten worst lost facts", "", *_losses(data)]
    if has_pictures:
        lines += ["", "![Tokens of every request](charts/sawtooth.png)"]
    lines += ["", "## Layers, each by itself", "", *_layers(data), *_inventions(data)]
    lines += ["", "## Threats to validity that apply", ""]
    lines += [f"- {escaped(clean(sentence))}" for sentence in threats(data)]
    if data.about.command:
        lines += ["", "## Again", "", *_command(data)]
    return "\n".join(lines) + "\n"


def _verdict(data: RunData, *, brief: bool) -> list[str]:
    about = data.about
    sentences = [escaped(clean(sentence)) for sentence in about.sentences]
    first = sentences[0] if sentences else "No verdict: nothing was measured."
    if brief:
        rest = [*sentences[1:], escaped(clean(about.opaque))]
        return [f"**{first}** {' '.join(rest)}".strip()]
    lines = [f"**{first}**"]
    for sentence in sentences[1:]:
        lines += ["", sentence]
    said = (about.opaque, about.controls, about.fired, about.basis)
    facts = [escaped(clean(line)) for line in said if line]
    facts += [f"Warning: {escaped(excerpt(warning, 300))}" for warning in about.warnings[:5]]
    if len(about.warnings) > 5:
        facts.append(f"{len(about.warnings) - 5} more warnings in report.html")
    return [*lines, "", *(f"- {fact}" for fact in facts)]


def _table(data: RunData, *, brief: bool) -> list[str]:
    rows = rows_of(summarise(data.cells))
    if not rows:
        return ["Nothing was replayed."]
    columns = [COLUMN[name] for name in _BRIEF_COLUMNS] if brief else list(columns_for(rows))
    arrows = {"higher": " ↑", "lower": " ↓", "neither": ""}
    captions = [f"{column.caption}{arrows[column.better]}" for column in columns]
    lines = [
        "| Strategy | n | " + " | ".join(captions) + " |",
        "|:--|--:|" + "--:|" * len(columns),
    ]
    is_multiple = has_several(rows)
    shown = [row for row in rows if not (brief and row["is_control"])][: 8 if brief else 400]
    for row in shown:
        cells = [column.text(row) for column in columns]
        lines.append(
            f"| {escaped(name_of(row, is_multiple=is_multiple))} | {row['sessions']} | "
            + " | ".join(cells)
            + " |"
        )
    return lines


def _layers(data: RunData) -> list[str]:
    found = layer_table(data)
    if not found.rows or not found.captions:
        return ["Nothing was measured."]
    return [
        f"| Strategy | {' | '.join(found.captions)} |",
        "|:--|" + "--:|" * len(found.captions),
        *(f"| {escaped(name)} | {' | '.join(texts)} |" for name, texts in found.rows),
    ]


def _cache_costs(data: RunData) -> list[str]:
    """The cost ratio under other vendors' caches; nothing where nothing was billed."""
    rows = shown_costs(data)
    if not rows:
        return []
    names = [f"{name} ({prices_by_name(name).read:g}×)" for name in SHOWN]
    return [
        "",
        "Cost against the full history under other caches (what a cache read costs of an input "
        "token in brackets; tables/cache_costs.csv has all):",
        "",
        f"| Strategy | {' | '.join(map(escaped, names))} |",
        "|:--|" + "--:|" * len(names),
        *(
            f"| {escaped(excerpt(row['strategy'], 80))} | "
            + " | ".join(ratio(row.get(name)) for name in SHOWN)
            + " |"
            for row in rows
        ),
    ]


def _inventions(data: RunData) -> list[str]:
    told = [f"- {escaped(excerpt(line, 300))}" for line in invention_lines(data)]
    return ["", "Invented (all are in tables/inventions.csv):", "", *told] if told else []


def _losses(data: RunData) -> list[str]:
    lines = [_loss(row) for row in worst(data, _WORST_MAX)]
    return lines or ["None."]


def _loss(row: dict[str, Any]) -> str:
    line = (
        f"1. {OUTCOME_NAMES[row['outcome']]}, {escaped(excerpt(row['kind'], 30))}: "
        f"**{escaped(excerpt(row['text'], 120))}** by {escaped(excerpt(row['strategy'], 50))} in "
        f"{escaped(excerpt(row['session'], 50))}, said in event {row['source_seq']:.0f}, missing "
        f"at event {row['needed_at_seq']:.0f}"
    )
    if row["source_line"]:
        line += f". Source: {escaped(excerpt(row['source_line'], 160))}"
    if answer := answer_words(row):
        line += f". Answer: {escaped(excerpt(answer, 120))}"
    return line


def _command(data: RunData) -> list[str]:
    return ["```sh", excerpt(data.about.command, 2_000).replace("```", "'''"), "```"]


def _brief_end(data: RunData) -> list[str]:
    about = data.about
    applying = threats(data)
    validity = escaped(clean(" ".join(applying[:3])))
    return [
        f"Methods: {escaped(clean(about.basis))} {escaped(clean(about.controls))}",
        "",
        f"Validity: {validity}",
        "",
        *(_command(data) if about.command else []),
    ]

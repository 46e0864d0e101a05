"""The report page: one file that holds everything and asks nobody for anything.

Jinja escapes whatever stands in markup; what the script reads is JSON in a data block, with every
character escaped that could end the block. The policy in the head lets only the page's own script
run and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from bench.verdict_table import RECOVERED
from reports import numbers, style
from reports.answers import answer_words
from reports.chart_frames import strategy_places
from reports.charts import CHARTS, caption_of, first_session
from reports.columns import Column, Row, answered, columns_for, has_several, name_of
from reports.fact_frames import counted
from reports.frames import RunData, rows_of
from reports.layers import invention_lines, layer_table
from reports.losses import shown_losses, worst
from reports.page_data import page_data
from reports.summary import summarise
from reports.text import clean, excerpt
from reports.threats import threats

_WORST_MAX = 10
_REASONS_MAX = 6


def to_html(data: RunData, drawings: dict[str, str]) -> str:
    """The page; `drawings` are the charts as SVG, by name."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "answer": answer_words,
        "clean": clean,
        "excerpt": excerpt,
        "tokens": numbers.tokens,
        "without": str.removeprefix,  # what the label beside the line says already
    }
    script = files("reports").joinpath("templates/report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    rows = rows_of(summarise(data.cells))
    columns = columns_for(rows)
    table = _table(data, rows, columns)
    return environment.get_template("report.html.j2").render(
        about=data.about,
        status=_status(data),
        styles=files("reports").joinpath("templates/report.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=f"sha256-{digest}",
        charts={
            chart.name: {
                "question": chart.question,
                "caption": caption_of(chart, data),
                "drawing": inline_svg(drawings[chart.name], chart.name),
            }
            for chart in CHARTS
            if chart.name in drawings
        },
        columns=columns,
        table=table,
        scoreboard=sorted(
            (row for row in table if not row["is_control"]),
            key=lambda row: -row["bar"]["middle"] if row["bar"] else 1.0,
        ),
        worst=worst(data, _WORST_MAX),
        outcome_names=style.OUTCOME_NAMES,
        layers=layer_table(data),
        inventions=invention_lines(data),
        threats=threats(data),
        data=json_block(page_data(data, shown_losses(data), first_session(data))),
        basis="planted and authored facts"
        if (counted(data)["origin"] == "planted").any()
        else "needed uses found in the recordings",
    )


def json_block(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or a string."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", errors="replace").decode("utf-8")


_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.S)
_METADATA = re.compile(r"<metadata>.*?</metadata>|<style\b[^>]*>.*?</style>", re.S)
_ID = re.compile(r'\bid="([^"]+)"')
_SIZE = re.compile(r'(<svg\b[^>]*?)\s(?:width|height)="[^"]*"')
_REFERENCE = re.compile(r'(url\(#|href="#)([^")]+)')


def inline_svg(drawing: str, name: str) -> str:
    """A drawing ready to stand in the page: no prologue and no style that would reach the whole
    page, ids of its own, colours as variables."""
    text = _METADATA.sub("", _PROLOGUE.sub("", drawing, count=1))
    text = _ID.sub(rf'id="{name}-\1"', text)
    text = _REFERENCE.sub(rf"\1{name}-\2", text)
    names = {style.INK: "ink", style.MUTED: "muted", style.GRID: "grid", style.PAPER: "paper"}
    names |= {colour: f"series-{place}" for place, colour in enumerate(style.SERIES)}
    for colour, variable in names.items():
        text = text.replace(colour, f"var(--{variable})")
    # Its size comes from the page; the drawing keeps its proportions.
    for _ in ("width", "height"):
        text = _SIZE.sub(r"\1", text, count=1)
    return text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1).strip()


def _table(data: RunData, rows: list[Row], columns: Sequence[Column]) -> list[dict[str, Any]]:
    is_multiple = has_several(rows)
    palette = strategy_places(data)
    shown = []
    for row in rows:
        place = palette.get(row["strategy"], -1)
        shown.append(
            {
                "name": name_of(row, is_multiple=is_multiple),
                "is_control": row["is_control"],
                "place": place % len(style.SERIES) if place >= 0 else -1,
                "sessions": f"{row['sessions']} of {row['sessions_total']}",
                "cells": [
                    {
                        "name": column.name,
                        "text": column.text(row),
                        "value": _sortable(column.value(row)),
                    }
                    for column in columns
                ],
                # A score without a compaction says nothing about the strategy.
                "bar": _bar(row) if row["fired"] or row["is_control"] else None,
                "saved": _percent(row["tokens_saved"]),
                "answered": _answered(row),
                "row": row,
            }
        )
    return shown


def _answered(row: Row) -> str:
    """What a reader's answers come to where nothing else is known."""
    is_opaque = row["retention_layer"] == RECOVERED
    return answered(row) if is_opaque and row["sessions"] else ""


def _sortable(value: Any) -> str:
    return "" if numbers.is_missing(value) else f"{float(value):.6g}"


def _percent(value: float) -> float | None:
    return None if numbers.is_missing(value) else round(100 * min(1.0, max(0.0, value)), 1)


def _bar(row: dict[str, Any]) -> dict[str, float] | None:
    """Where the bar of the first screen ends, and its interval, in percent."""
    middle = _percent(row["retention"])
    if middle is None:
        return None
    low, high = _percent(row["retention_low"]), _percent(row["retention_high"])
    return {
        "middle": middle,
        "low": middle if low is None else low,
        "high": middle if high is None else high,
    }


def _status(data: RunData) -> dict[str, Any]:
    """What stopped, wasn't exercised, failed or was invalid, with the reasons, each once."""
    own = data.cells[~data.cells["is_control"]]
    groups = []
    for status, name in (
        ("error", "errors"),
        ("stopped", "stopped early"),
        ("not_exercised", "not exercised"),
    ):
        part = own[own["status"] == status]
        reasons: dict[tuple[str, str], int] = {}
        for row in rows_of(part):
            key = (row["strategy"], excerpt(row["reason"], 160))
            reasons[key] = reasons.get(key, 0) + 1
        chosen = sorted(reasons.items(), key=lambda item: -item[1])[:_REASONS_MAX]
        groups.append(
            {
                "name": name,
                "count": len(part),
                "reasons": [
                    {"strategy": style.label(key[0]), "reason": key[1], "count": count}
                    for key, count in chosen
                ],
                "more": max(0, len(reasons) - len(chosen)),
            }
        )
    return {
        "cells": len(own),
        "groups": groups,
        "invalid": int(own["invalid_projections"].sum()),
        "grew": int(own["grew"].sum()),
    }

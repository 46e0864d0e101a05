"""All costs with one command: tables as Markdown, figures as JSON, a chart.

    python -m tests.benchmarks                          # everything, about a quarter of an hour
    python -m tests.benchmarks replay growth --quick    # two parts, small sizes, about a minute
    python -m tests.benchmarks --to FOLDER              # for speed.md, .json, .svg and .png

Parts: `replay` (cost by strategy), `growth` (1,000 to 1,000,000 events, time and memory), `workers`
(one against two processes), `loading` (reading sessions), `reports` (writing them). What was
measured before stays in the folder until it is measured again. Profiles: see `profiling`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reports import style
from reports.charts import speed
from tests.benchmarks import growth, loading_cost, measuring, replay_cost, report_cost, workers

PARTS = ("replay", "growth", "workers", "loading", "reports")
TITLES = {
    "replay": "Cost of a replay",
    "growth": "Growth",
    "workers": "Workers",
    "loading": "Reading sessions",
    "reports": "Writing reports",
}


def _replay(quick: bool, progress: Callable[[str], None]) -> dict[str, Any]:
    events = 2_000 if quick else replay_cost.EVENTS
    repeats = 1 if quick else replay_cost.REPEATS
    costs, scoring, megabytes = replay_cost.measure(events, repeats, progress)
    return {
        "about": f"{events:,} events, {megabytes:.1f} MB, in bare tiktoken passes over that text",
        "table": replay_cost.table(costs, scoring),
        "rows": [asdict(one) for one in costs],
    }


def _growth(quick: bool, progress: Callable[[str], None]) -> dict[str, Any]:
    sizes = growth.SIZES[:3] if quick else growth.SIZES
    grown = growth.measure(sizes, growth.STRATEGIES, progress)
    return {
        "about": f"texts of {growth.TEXT_CHARACTERS_MAX} characters, window {growth.WINDOW:,}",
        "table": growth.table(grown),
        "rows": [asdict(one) | {"growth": growth.growth_of(grown, one)} for one in grown],
    }


def _workers(quick: bool, progress: Callable[[str], None]) -> dict[str, Any]:
    sessions = 6 if quick else workers.SESSIONS
    worked = workers.measure(progress, sessions)
    return {
        "about": f"{sessions} sessions of {workers.EVENTS} events, {len(workers.SPECS)} strategies",
        "table": workers.table(worked),
        "rows": [asdict(one) for one in worked],
    }


def _loading(quick: bool, progress: Callable[[str], None]) -> dict[str, Any]:
    return {"about": "generated sessions", "table": loading_cost.of_generated(quick), "rows": []}


def _reports(quick: bool, progress: Callable[[str], None]) -> dict[str, Any]:
    return {"about": "made-up numbers", "table": report_cost.measure(quick), "rows": []}


MEASURES: dict[str, Callable[[bool, Callable[[str], None]], dict[str, Any]]] = {
    "replay": _replay,
    "growth": _growth,
    "workers": _workers,
    "loading": _loading,
    "reports": _reports,
}


def _machine() -> str:
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} processors, load {load} at the end; "
        "ratios were measured in one process each."
    )


def written(folder: Path, found: dict[str, dict[str, Any]]) -> str:
    """Writes what is known to the folder; returns the Markdown."""
    lines: list[str] = []
    for part in PARTS:
        if part in found:
            about, machine = found[part]["about"], found[part]["machine"]
            lines += [f"## {TITLES[part]}", "", f"{about}. {machine}", "", found[part]["table"], ""]
    text = "\n".join(lines)
    (folder / "speed.md").write_text(text, encoding="utf-8")
    (folder / "speed.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    if "replay" in found and "growth" in found:
        figure = speed.draw(found["replay"]["rows"], found["growth"]["rows"], replay_cost.LIMITS)
        (folder / "speed.svg").write_text(style.to_svg(figure), encoding="utf-8")
        (folder / "speed.png").write_bytes(style.to_png(figure))
    return text


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        known = json.loads((folder / "speed.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {part: known[part] for part in PARTS if part in known}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures the wanted parts one after another."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, one repetition")
    parser.add_argument("--to", default=".bench/speed", help="folder (default: %(default)s)")
    wanted = parser.parse_args(arguments)
    if unknown := [part for part in wanted.parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]!r}, there are: {', '.join(PARTS)}")
    folder = measuring.folder_of(wanted.to)
    found = _known(folder)
    started = time.perf_counter()

    def progress(text: str) -> None:
        print(f"{time.perf_counter() - started:6.0f} s  {text}", file=sys.stderr, flush=True)

    for part in wanted.parts or PARTS:
        found[part] = MEASURES[part](wanted.quick, progress) | {"machine": _machine()}
        text = written(folder, found)
    print(text)


if __name__ == "__main__":
    main()

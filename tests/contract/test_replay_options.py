"""`run --repeat` and `run --overhead`: part of what a cell is, counted, and scored anew alike."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from bench.generator.writing import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "sessions"
    write_corpus(folder, sessions=1, events=60, seed=4, kinds=("coding",), languages=("en",))
    return folder


def survival(folder: Path) -> list[tuple[int, int, int]]:
    """Generation, survived and at risk over 100 steps, of the strategy."""
    counts: dict[int, list[int]] = {}
    with (folder / "tables" / "survival.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["strategy"].startswith("head_tail") and row["horizon_steps"] == "100":
                pair = counts.setdefault(int(row["generation"]), [0, 0])
                pair[0] += int(row["survived"])
                pair[1] += int(row["at_risk"])
    return [(generation, *pair) for generation, pair in sorted(counts.items())]  # type: ignore[misc]


def test_a_cascade_stands_in_the_survival_table_generation_by_generation(
    command: Any, corpus: Path
) -> None:
    words = ("run", corpus, "--strategy", "head_tail", "--model", "lossy(0.6)", "--cuts", "1")
    words += ("--window", "60000", "--no-report", "--json")
    ran = command(*words, "--repeat", "4", "--out", "r")
    assert ran.code == 0
    command("report", "r", "--format", "csv")
    rows = survival(Path("r"))
    assert len(rows) >= 4
    (cascade,) = {at_risk for _, _, at_risk in rows[-4:]}
    assert cascade > 0
    assert rows[-1][1] < rows[-4][1]
    # Another depth is another cell: nothing of it is taken from the first.
    once = command(*words, "--out", "once")
    cells = [
        next(cell for cell in each.document["cells"] if cell["strategy"] == "head_tail")
        for each in (ran, once)
    ]
    assert cells[0]["compactions"] == cells[1]["compactions"] + 3
    refused = command("compare", "r", "once")
    assert refused.code == 2
    assert "fact versions differ" in refused.err and "repeat=4" in refused.err


def test_overhead_is_paid_with_every_request_and_survives_rescoring(
    command: Any, corpus: Path
) -> None:
    words = ("run", corpus, "--strategy", "prune", "--window", "60000", "--no-report", "--json")
    plain = command(*words, "--out", "plain").document
    with_overhead = command(*words, "--overhead", "5000", "--out", "more").document
    by_name = [{row["strategy"]: row for row in each["cells"]} for each in (plain, with_overhead)]
    requests = by_name[0]["keep_all"]["requests_total"]
    for name in ("keep_all", "empty"):
        difference = by_name[1][name]["tokens_sent"] - by_name[0][name]["tokens_sent"]
        assert difference == 5_000 * requests
    command("report", "more", "--rescore", "--format", "csv")
    with (Path("more") / "tables" / "cells.csv").open(encoding="utf-8") as file:
        again = {row["strategy"]: row for row in csv.DictReader(file)}
    for name, row in by_name[1].items():
        assert int(float(again[name]["tokens_sent"])) == row["tokens_sent"]
        if row["cost_ratio"] is not None:
            assert float(again[name]["cost_ratio"]) == pytest.approx(row["cost_ratio"], rel=1e-4)


def test_every_cell_tells_what_other_caches_would_cost(command: Any, corpus: Path) -> None:
    words = ("--strategy", "head_tail", "--cuts", "2", "--no-report", "--json")
    ran = command("run", corpus, *words)
    cell = next(cell for cell in ran.document["cells"] if cell["strategy"] == "head_tail")
    assert cell["cost_by_cache"]["anthropic"] == pytest.approx(cell["cost_ratio"])
    assert cell["cost_by_cache"]["no_cache"] < cell["cost_by_cache"]["anthropic"]
    assert 0 < cell["summariser_share"] < 1
    assert cell["tokens_reread_debt"] >= 0

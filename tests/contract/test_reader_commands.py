"""Readers and judges from the command line: what is asked by default, on demand, and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.generator import write_corpus

READER_FIELDS = {
    "recovered", "retention_recovered", "recovered_found", "attention_loss", "inferred", "guessed",
    "questions", "reader", "present", "bound", "next_action", "next_action_names",
    "next_action_noise", "next_actions", "judged", "judgements",
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "made"
    write_corpus(folder, sessions=1, events=160, seed=5, kinds=("coding",), languages=("en",))
    return folder


def cells_of(ran: Any) -> dict[str, dict[str, Any]]:
    return {cell["strategy"]: cell for cell in ran.document["cells"]}


def test_a_stand_in_reads_in_every_run(command: Any, corpus: Path) -> None:
    ran = command("run", corpus, "--strategy", "native", "--json", "--no-report")
    assert ran.code == 0, ran.err
    cells = cells_of(ran)
    assert all(cell.keys() >= READER_FIELDS for cell in cells.values())
    assert {cell["reader"] for cell in cells.values()} == {"offline"}
    assert cells["keep_all"]["recovered"] >= 0.8
    assert cells["empty"]["recovered"] <= 0.05
    assert cells["native"]["retention_layer"] == "recovered"
    assert cells["native"]["present"] is None
    assert cells["keep_all"]["next_action"] is None


def test_probes_on_demand_reach_report_and_tables(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    ran = command(
        "run", corpus, "--strategy", "layered", "--probe", "recovered", "--probe", "next_action",
        "--out", "run", "--no-report", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    cells = cells_of(ran)
    assert cells["keep_all"]["next_action"] == 1
    assert 0 <= cells["layered"]["next_action"] <= 1
    assert cells["layered"]["next_actions"] == 6
    assert command("report", "run", "--format", "md,csv").code == 0
    page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "## Layers, each by itself" in page
    assert "Next action, own noise" in page
    assert "Stand-in reader" in page
    assert "Price of guessing" in page
    facts = (tmp_path / "run" / "tables" / "facts.csv").read_text(encoding="utf-8")
    assert {"question", "answer", "grade", "quadrant"} <= set(facts.split("\n")[0].split(","))
    assert "attention_loss" in facts or "recovered" in facts
    again = command("report", "run", "--rescore", "--format", "csv")
    assert again.code == 0, again.err
    assert (tmp_path / "run" / "tables" / "facts.csv").read_text(encoding="utf-8") == facts


def test_nobody_is_asked_with_none(command: Any, corpus: Path) -> None:
    ran = command("run", corpus, "--strategy", "prune", "--probe", "none", "--json", "--no-report")
    assert ran.code == 0, ran.err
    assert {cell["recovered"] for cell in ran.document["cells"]} == {None}
    assert {cell["reader"] for cell in ran.document["cells"]} == {None}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--probe", "everything"], "--probe everything: no such probe, there are: recovered"),
        (["--probe", "none", "--probe", "recovered"], "--probe none: asks nobody"),
        (["--probe", "none", "--reader", "offline"], "--probe none: asks nobody"),
        (["--reader", "nobody"], "--reader nobody: unknown model"),
        (["--judge", "nobody"], "--judge nobody: unknown model"),
        (["--judge", "offline"], "--judge offline: isn't calibrated"),
        (["--calibration", "file.json"], "--calibration: is of no use without --judge"),
        (["--judge", "offline", "--calibration", "no.json"], "no.json: is no readable calibration"),
    ],
)
def test_wrong_options_are_one_line(command: Any, words: list[str], why: str) -> None:
    ran = command("run", *words)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert why in ran.err


def pairs(tmp_path: Path, *, right: str) -> Path:
    rows = [
        {"question": "q", "decided": f"dual writes for {n} days", "answer": answer, "label": label}
        for n in range(2, 52)
        for answer, label in (
            (right.format(n=n), True),
            (f"dual writes for {n + 100} days", False),
        )
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_calibrated_judge_judges_decisions_apart(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    labelled = pairs(tmp_path, right="They took dual writes for {n} days.")
    made = command("calibrate-judge", labelled, "--judge", "offline", "--out", "c.json", "--json")
    assert made.code == 0, made.err
    assert made.document["valid"] is True
    assert made.document["kappa"] == 1
    ran = command(
        "run", corpus, "--strategy", "prune", "--judge", "offline", "--calibration", "c.json",
        "--json", "--no-report",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    cells = cells_of(ran)
    assert cells["empty"]["judged"] == 0
    assert cells["keep_all"]["judgements"] >= 1
    assert cells["keep_all"]["retention"] == 1, "nothing is blended with what a judge says"


def test_a_judge_that_disagrees_is_refused(command: Any, tmp_path: Path) -> None:
    labelled = pairs(tmp_path, right="Two weeks, more or less ({n}).")
    made = command("calibrate-judge", labelled, "--judge", "offline", "--out", "c.json")
    assert made.code == 1
    assert "may not judge" in made.out
    refused = command("run", "--judge", "offline", "--calibration", "c.json")
    assert refused.code == 2
    assert "kappa 0.00" in refused.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["nowhere.jsonl", "--judge", "offline", "--out", "c.json"],
            "nowhere.jsonl: can't be read",
        ),
        (["{pairs}", "--judge", "nobody", "--out", "c.json"], "--judge nobody: unknown model"),
        (["{pairs}", "--judge", "offline", "--out", "no/c.json"], "its folder isn't there"),
    ],
)
def test_wrong_calibrations_are_one_line(
    command: Any, tmp_path: Path, words: list[str], why: str
) -> None:
    path = pairs(tmp_path, right="dual writes for {n} days")
    ran = command("calibrate-judge", *(word.format(pairs=path) for word in words))
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert why in ran.err

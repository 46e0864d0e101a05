"""Recordings with compactions of their own tool, through the command line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cli import main
from bench.events import RecordedCompaction
from bench.facts import Fact
from bench.facts_file import write_facts
from bench.formats.own import session_to_bytes
from tests.builders import long_session


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = replace(
        long_session(30, name="with"),
        recorded_compactions=(RecordedCompaction(24, "They read word3 and word7."),),
    )
    place = tmp_path / "recorded"
    place.mkdir()
    (place / "with.jsonl").write_bytes(session_to_bytes(made))
    (place / "without.jsonl").write_bytes(session_to_bytes(long_session(31, name="without")))
    facts = [Fact(word, "with", "identifier", word, word) for word in ("word3", "word9")]
    write_facts(place / "facts.jsonl", facts)
    return place


def _run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    capfd.readouterr()
    code = main(["run", *(str(word) for word in words), "--json", "--no-report"])
    return code, json.loads(capfd.readouterr().out)


def test_recorded_beside_others_at_the_recordings_own_points(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("--strategy", "recorded", "--strategy", "layered", "--window", "50000")
    code, document = _run(capfd, folder, *words, "--cuts", "recorded")
    assert code == 0
    cells = {(cell["session"], cell["strategy"]): cell for cell in document["cells"]}
    for strategy in ("recorded", "layered"):
        assert cells["with", strategy]["status"] == "ok"
        assert cells["with", strategy]["compactions"] == 1
        assert cells["with", strategy]["invalid_projections"] == 0
        assert cells["without", strategy]["status"] == "not_exercised"
        assert "holds no compaction" in cells["without", strategy]["reason"]
    assert cells["without", "recorded"]["retention"] is None
    assert cells["with", "recorded"]["retention"] == 0.5
    (caveat,) = [one for one in document["warnings"] if one.startswith("recorded:")]
    assert "cost" in caveat and "window" in caveat
    assert not any("--strategy recorded" in one for one in document["warnings"])


def test_run_hints_at_compactions_that_werent_asked_for(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, document = _run(capfd, folder, "--strategy", "prune")
    (hint,) = [one for one in document["warnings"] if "--strategy recorded" in one]
    assert hint.startswith("1 of the sessions hold")


@pytest.mark.parametrize("wrong", ["0", "-1", "often", "99999999999999999999", "٣"])
def test_wrong_cuts_are_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], wrong: str
) -> None:
    assert main(["run", str(folder), f"--cuts={wrong}"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("give a number from 1 to 9999, or recorded")


def test_cuts_from_a_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("options.toml").write_text('cuts = "recorded"\nwindow = ["50000"]\n', encoding="utf-8")
    _, document = _run(capfd, folder, "--strategy", "layered", "--config", "options.toml")
    assert next(cell["compactions"] for cell in document["cells"] if cell["status"] == "ok") == 1


def test_compact_shows_what_the_tool_left(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--strategy", "recorded", "--window", "auto", "--json"]
    assert main(["compact", str(folder / "with.jsonl"), *words]) == 0
    document = json.loads(capfd.readouterr().out)
    (made,) = document["compactions"]
    assert (made["stage"], made["outcome"]) == ("recorded", "accepted")
    assert made["details"]["recorded_number"] == 1
    assert document["projection"][1]["content"] == "They read word3 and word7."
    assert document["provenance"][1] == {"kind": "written", "seqs": list(range(2, 25))}


def test_compact_of_a_recording_without_compactions_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--strategy", "recorded", "--window", "auto"]
    assert main(["compact", str(folder / "without.jsonl"), *words]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "without" in line and "this recording holds no compaction" in line

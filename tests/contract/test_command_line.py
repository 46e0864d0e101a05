"""What users and other programs rely on: commands, shapes, exit codes, one-line errors."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.generator import write_corpus

CELL_FIELDS = {
    "session", "strategy", "window", "model", "seed", "status", "reason", "retention",
    "retention_layer", "retention_needed", "recovered", "stale", "invented", "tokens_saved",
    "tokens_sent", "tokens_baseline", "cost_ratio", "compactions", "retries", "requests_served",
    "requests_total", "invalid_projections", "grew", "seconds", "retention_said_once",
    "retention_re_readable", "retention_recoverable", "recoverable", "tokens_recovery", "cluster",
}  # fmt: skip
COMPACTION_FIELDS = {
    "trigger", "phase", "stage", "generation", "segments", "covered_messages", "tokens_before",
    "tokens_after", "outcome", "reason",
}  # fmt: skip
RETRY_FIELDS = {"overflow", "repair", "replan", "transport", "suppressed"}
SESSION_FIELDS = {
    "id", "path", "format", "events", "turns", "tool_groups", "unanswered_calls", "tokens",
    "recorded_compactions", "is_slice", "subagent_of", "repairs", "skipped_lines",
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "made"
    write_corpus(folder, sessions=2, events=160, seed=5, kinds=("coding",), languages=("en", "zh"))
    return folder


def test_run_json_has_the_promised_shape(command: Any, corpus: Path) -> None:
    ran = command("run", corpus, "--strategy", "prune", "--strategy", "head_tail", "--json")
    assert ran.code == 0, ran.err
    document = ran.document
    assert set(document) == {"run", "cells", "table", "verdict", "warnings"}
    assert len(document["cells"]) == 2 * 4
    for cell in document["cells"]:
        assert cell.keys() >= CELL_FIELDS
        assert set(cell["retries"]) == RETRY_FIELDS
        assert cell["invalid_projections"] == 0
        assert cell["status"] in ("ok", "not_exercised", "stopped")
        assert bool(cell["reason"]) == (cell["status"] != "ok")
    by_strategy = {cell["strategy"]: cell for cell in document["cells"]}
    assert by_strategy["keep_all"]["retention"] == 1
    assert by_strategy["empty"]["retention"] == 0
    assert by_strategy["keep_all"]["tokens_saved"] == 0
    for row in document["table"]:
        assert row.keys() >= {"strategy", "window", "model", "sessions", "retention", "interval"}
    folder = Path(document["run"])
    assert {"run.sqlite", "report.html", "report.md", "charts", "tables"} <= {
        path.name for path in folder.iterdir()
    }


def test_terminal_shows_the_verdict_first(command: Any, corpus: Path) -> None:
    ran = command("run", corpus, "--strategy", "prune")
    assert ran.code == 0
    first = ran.out.lstrip().splitlines()[0]
    assert first.startswith(("Not decided", "No verdict", "Only", "prune"))
    assert "stand-in model offline" in " ".join(ran.out.split())
    assert ran.out.rstrip().splitlines()[-1].endswith("report.html")
    assert max(len(line) for line in ran.out.splitlines()[:-1]) <= 80


def _bare(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what may differ: seconds, the run's folder, paths."""
    rows = {
        part: [{k: v for k, v in row.items() if k != "seconds"} for row in document[part]]
        for part in ("cells", "table")
    }
    return {**document, "run": "", **rows}


def test_same_seed_same_bytes(command: Any, corpus: Path) -> None:
    words = ("run", corpus, "--strategy", "head_tail", "--model", "lossy(0.8)", "--json")
    quick = (*words, "--no-report")
    first, second = command(*words, "--out", "one"), command(*words, "--out", "two")
    assert _bare(first.document) == _bare(second.document)
    for name in ("tables/table.csv", "charts/frontier.svg", "charts/sawtooth.svg"):
        assert (Path("one") / name).read_bytes() == (Path("two") / name).read_bytes()
    other = command(*quick, "--seed", "1", "--out", "three")
    assert _bare(first.document) != _bare(other.document)


def test_two_workers_give_the_same_table(command: Any, corpus: Path) -> None:
    words = ("run", corpus, "--strategy", "prune", "--json", "--no-report")
    one = command(*words, "--out", "one")
    two = command(*words, "--out", "two", "--workers", "2")
    assert _bare(one.document) == _bare(two.document)


def test_resume_runs_only_what_is_missing(command: Any, corpus: Path) -> None:
    whole = command("run", corpus, "--strategy", "prune", "--json", "--out", "whole", "--no-report")
    english = next(corpus.glob("*en*.jsonl"))
    part = command("run", english, "--strategy", "prune", "--out", "part", "--no-report")
    assert part.code == 0
    resumed = command("run", corpus, "--strategy", "prune", "--json", "--out", "part", "--resume")
    assert resumed.code == 0, resumed.err
    whole_cells, resumed_cells = (
        sorted(json.dumps(row) for row in _bare(ran.document)["cells"]) for ran in (whole, resumed)
    )
    assert whole_cells == resumed_cells


def test_rescored_run_is_the_same(command: Any, corpus: Path) -> None:
    command("run", corpus, "--strategy", "head_tail", "--out", "run")
    before = (Path("run") / "tables" / "cells.csv").read_bytes()
    ran = command("report", "run", "--rescore", "--to", "again", "--format", "csv")
    assert ran.code == 0, ran.err
    assert (Path("again") / "tables" / "cells.csv").read_bytes() == before


def test_interrupted_run_saves_what_was_done_and_goes_on(corpus: Path, tmp_path: Path) -> None:
    many = tmp_path / "many"
    write_corpus(many, sessions=12, events=240, seed=9, kinds=("coding",), languages=("en",))
    out = tmp_path / "run"
    words = [sys.executable, "-m", "bench", "run", str(many), "--strategy", "prune", "--no-report"]
    process = subprocess.Popen(
        [*words, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (out / "run.sqlite").exists():
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "--resume" in err
    done = subprocess.run(
        [*words, "--out", str(out), "--resume", "--json"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["cells"]) == 12 * 3


def test_compact_json_has_the_promised_shape(command: Any, corpus: Path) -> None:
    path = next(corpus.glob("*en*.jsonl"))
    for shape in ("openai", "anthropic", "responses", "gemini"):
        ran = command(
            "compact", path, "--strategy", "head_tail", "--window", "auto", "--json", "--to", shape
        )
        assert ran.code == 0, ran.err
        document = ran.document
        assert document.keys() >= {
            "session", "strategy", "window", "requests", "stopped", "compactions", "retries",
            "tokens", "system", "tools", "projection", "provenance",
        }  # fmt: skip
        assert set(document["tokens"]) == {
            "history", "final", "peak", "sent", "summariser", "recovery",
        }  # fmt: skip
        assert document["compactions"]
        assert all(one.keys() >= COMPACTION_FIELDS for one in document["compactions"])
        assert len(document["projection"]) == len(document["provenance"])
        assert document["tokens"]["final"] < document["tokens"]["history"]
        assert {one["kind"] for one in document["provenance"]} <= {
            "kept", "shortened", "written", "native",
        }  # fmt: skip


def test_compact_manual_and_diff(command: Any, corpus: Path) -> None:
    path = next(corpus.glob("*zh*.jsonl"))
    words = ("compact", path, "--strategy", "head_tail", "--window", "500000")
    last = command(*words, "--manual", "--json").document["compactions"][-1]
    assert (last["trigger"], last["phase"]) == ("manual", "standalone")
    assert command(*words, "--json").document["compactions"] == []
    diff = command(*words, "--manual", "--diff")
    signs = {line[0] for line in diff.out.splitlines()}
    assert {"=", "-", "+"} <= signs


def test_inspect_json_has_the_promised_shape(command: Any, corpus: Path) -> None:
    ran = command("sessions", "inspect", corpus, "--json")
    assert ran.code == 0
    assert set(ran.document) == {"sessions", "rejected"}
    assert all(set(row) >= SESSION_FIELDS for row in ran.document["sessions"])
    assert all(set(row) == {"path", "reason"} for row in ran.document["rejected"])


def test_inspect_ends_with_2_when_nothing_loads(command: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no session")
    ran = command("sessions", "inspect", tmp_path / "notes.txt", "--json")
    assert ran.code == 2
    assert ran.document["sessions"] == []


def test_strategies_json_has_the_promised_shape(command: Any) -> None:
    rows = command("strategies", "--json").document
    assert {"keep_all", "empty", "prune", "head_tail", "layered"} <= {row["name"] for row in rows}
    for row in rows:
        assert row.keys() >= {"name", "spec", "source", "summary", "parameters"}
        assert row["summary"]


def test_own_strategy_is_one_file(command: Any, corpus: Path) -> None:
    Path("mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from bench import Ask, Budget, Projection\n\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class KeepNewest:\n"
        '    """Keep only the newest groups."""\n'
        "    groups: int = 10\n\n"
        "    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:\n"
        "        return view.keep(view.groups[-self.groups:])\n"
    )
    ran = command(
        "run", corpus, "--strategy", "./mine.py:KeepNewest(groups={2,10})", "--json", "--no-report"
    )
    assert ran.code == 0, ran.err
    specs = {cell["strategy"] for cell in ran.document["cells"]}
    assert specs == {
        "./mine.py:KeepNewest", "./mine.py:KeepNewest(groups=2)", "keep_all", "empty",
    }  # fmt: skip
    assert command("verify", "./mine.py:KeepNewest", "--examples", "10").code == 0


def test_verify_names_the_broken_promise(command: Any) -> None:
    Path("bad.py").write_text(
        "from dataclasses import dataclass\n\n"
        "@dataclass(frozen=True)\n"
        "class Splits:\n"
        "    def compact(self, view, budget, ask):\n"
        "        return view.with_items(view.items[-1:])\n"
    )
    ran = command("verify", "./bad.py:Splits", "--examples", "60")
    assert ran.code == 1
    assert "BROKEN valid_projections" in ran.out
    assert "H" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "nowhere"), "nowhere: no such file"),
        (("run", "{corpus}", "--strategy", "head_tial"), "head_tail"),
        (("run", "{corpus}", "--strategy", "head_tail(preserve=3)"), "preserve_last"),
        (("run", "{corpus}", "--strategy", "head_tail(preserve_last=x)"), "preserve_last"),
        (("run", "{corpus}", "--strategy", "./gone.py:X"), "gone.py"),
        (("run", "{corpus}", "--window", "10"), "--window 10"),
        (("run", "{corpus}", "--window", "wide"), "auto"),
        (("run", "{corpus}", "--model", "gpt"), "offline"),
        (("run", "{corpus}", "--model", "lossy(2)"), "0 to 1"),
        (("run", "{corpus}", "--format", "morse"), "morse"),
        (("run", "{corpus}", "--workers", "0"), "--workers 0"),
        (("run", "{corpus}", "--resume"), "--out"),
        (("run", "{corpus}", "--resume", "--out", "nowhere"), "nowhere"),
        (("run", "{corpus}", "--out", "/proc/none/run"), "/proc/none"),
        (("run", "{corpus}", "--config", "none.toml"), "none.toml"),
        (("run", "{corpus}", "--min-tokens", "99999999"), "shorter"),
        (("run", "empty-folder"), "empty-folder"),
        (("run", "binary.dat"), "binary.dat"),
        (("compact", "{corpus}", "--strategy", "prune", "--window", "9000"), "--session-id"),
        (("compact", "{one}", "--strategy", "prune", "--window", "7"), "--window 7"),
        (("compact", "{one}", "--strategy", "prune(", "--window", "9000"), "prune("),
        (("report", "nowhere"), "nowhere"),
        (("report", "{corpus}", "--format", "docx"), "docx"),
        (("strategies", "nothing"), "nothing"),
        (("sessions", "inspect", "nowhere"), "nowhere"),
        (("sessions", "generate", "--out", "made", "--kind", "poetry"), "coding"),
        (("sessions", "generate", "--out", "empty-folder", "--events", "0"), "--events 0"),
        (("run", "--seed", "x"), "--seed"),
        (("dance",), "dance"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    command: Any, corpus: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "binary.dat").write_bytes(bytes(range(256)) * 8)
    before = sorted(path.as_posix() for path in tmp_path.rglob("*"))
    one = next(corpus.glob("*en*.jsonl"))
    ran = command(*(word.format(corpus=corpus, one=one) for word in words))
    assert ran.code == 2, (ran.out, ran.err)
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    assert says in ran.err
    assert sorted(path.as_posix() for path in tmp_path.rglob("*")) == before


def test_bad_file_among_good_ones_is_reported_and_the_others_run(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for path in corpus.glob("*.jsonl"):
        (mixed / path.name).write_bytes(path.read_bytes())
    (mixed / "torn.json").write_text('{"messages": [{"role": "user"')
    ran = command("run", mixed, "--strategy", "prune", "--json", "--no-report")
    assert ran.code == 0
    assert any("torn.json" in warning for warning in ran.document["warnings"])
    assert len({cell["session"] for cell in ran.document["cells"]}) == 2


def test_nothing_measured_ends_with_3(command: Any, tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(
        json.dumps([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hi."}])
    )
    ran = command("run", tmp_path / "tiny.json", "--strategy", "prune", "--json", "--no-report")
    assert ran.code == 3
    assert ran.document["verdict"][0].startswith("No verdict")
    assert {cell["status"] for cell in ran.document["cells"]} == {"not_exercised", "ok"}


def test_help_answers_without_heavy_imports() -> None:
    code = (
        "import sys; from bench.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pandas', 'matplotlib', 'scipy', 'tiktoken', 'rich', 'jinja2', 'hypothesis'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "run" in done.stdout


def test_closed_pipe_is_no_error(corpus: Path) -> None:
    words = f"{sys.executable} -m bench sessions inspect {corpus} --json | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", words], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr

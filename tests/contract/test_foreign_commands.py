"""Code elsewhere as users run it: one table, one line for bad input, marks where it is inferred."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.converting import carried, converted
from tests.builders import long_session

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "foreign_programs"
SUMMARISE = f'exec:"{sys.executable} {PROGRAMS}/summarise.py"(model=proxy)'
DIES = f'exec:"{sys.executable} -c 1/0"'
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js isn't installed")


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(2):
        session = long_session(12, words_per_result=260 + number, turns=2, name=f"long-{number}")
        carried_session = carried(session, "openai").session
        (folder / f"{number}.json").write_bytes(converted(carried_session, "openai"))
    return folder


def test_a_program_that_dies_is_named_in_its_cells_and_the_run_goes_on(
    run_command: Any, sessions: Path
) -> None:
    specs = ("--strategy", SUMMARISE, "--strategy", DIES)
    window = ("--window", 8_000, "--workers", 2)
    ran = run_command("run", sessions, *specs, *window, "--json", "--no-report")
    cells: dict[str, list[Any]] = {}
    for cell in ran.document["cells"]:
        cells.setdefault(cell["strategy"], []).append(cell)
    assert len(cells[SUMMARISE]) == len(cells[DIES]) == 2
    for cell in cells[DIES]:
        assert cell["status"] == "stopped"
        assert (
            "no usable answer: the command ended with exit code 1; it said: ZeroDivision"
            in (cell["reason"])
        )
        assert cell["invalid_projections"] == 0
    for cell in cells[SUMMARISE]:
        assert cell["status"] == "ok" and cell["compactions"] >= 1
        assert cell["invalid_projections"] == 0
    warnings = " ".join(ran.document["warnings"])
    assert "is inferred by comparing messages" in warnings


def test_what_a_program_asks_the_proxy_is_counted_once(run_command: Any, sessions: Path) -> None:
    words = ("--strategy", SUMMARISE, "--window", 8_000, "--json")
    document = run_command("compact", sessions / "0.json", *words).document
    assert document["compactions"][0]["outcome"] == "accepted"
    # What it reports on top, a million tokens a call, was counted by the proxy already.
    assert 100 < document["tokens"]["summariser"] < 100_000
    written = [m["content"] for m in document["projection"] if m["content"]]
    assert any(text.startswith("Summary: ") for text in written)


def test_inferred_provenance_is_marked(run_command: Any, sessions: Path) -> None:
    words = ("--window", 8_000, "--strategy")
    document = run_command("compact", sessions / "0.json", *words, SUMMARISE, "--json").document
    assert {one["inferred"] for one in document["provenance"]} == {True}
    assert "written" in {one["kind"] for one in document["provenance"]}
    own = run_command("compact", sessions / "0.json", *words, "head_tail", "--json").document
    assert not any("inferred" in one for one in own["provenance"])
    for option in ("--diff", None):
        ran = run_command(
            "compact", sessions / "0.json", *words, SUMMARISE, *filter(None, [option])
        )
        assert "(inferred by comparing messages)" in ran.out


BAD = [
    ("exec:no-such-program --fast", "there is no command no-such-program on the PATH"),
    ("exec:./nothing.sh", "there is no command ./nothing.sh here"),
    ('exec:"node \'x"', "can't be split into words: No closing quotation"),
    ("exec:ls(env=NO_SUCH_VARIABLE)", "env names NO_SUCH_VARIABLE, which isn't set"),
    ("exec:ls(mode=twice)", "mode=twice is no once | jsonl"),
    ("exec:ls(timeout_s=0)", "more than 0 seconds are needed"),
    ("http://127.0.0.1:1/compact", "nothing answers at http://127.0.0.1:1/compact: Connection"),
    ("http:localhost", "localhost is no address; write http://HOST:PORT/PATH"),
    ("./mine.py:one_argument", "one_argument takes (messages); write (messages, window)"),
    ("./mine.py:nothing", "holds no nothing"),
]


@pytest.mark.parametrize(("spec", "words"), BAD)
def test_bad_input_is_one_line_before_any_replay(
    spec: str, words: str, run_command: Any, sessions: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("def one_argument(messages): ...\n")
    for command in (
        ("run", sessions, "--strategy", spec, "--out", "run"),
        ("compact", sessions / "0.json", "--window", 8_000, "--strategy", spec),
        ("verify", spec),
    ):
        ran = run_command(*command)
        assert ran.code == 2 and ran.out == ""
        assert words in ran.err and ran.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_spec_of_code_elsewhere_is_told_with_its_parameters(run_command: Any) -> None:
    rows = run_command("strategies", "exec:ls -l(mode=jsonl)", "--json").document
    assert [row["name"] for row in rows] == ['exec:"ls -l"']
    names = [parameter["name"] for parameter in rows[0]["parameters"]]
    assert names[:4] == ["wire", "calls", "timeout_s", "mode"] and "command" not in names
    assert all(parameter["doc"] for parameter in rows[0]["parameters"])


@needs_node
def test_the_example_in_javascript_compacts_and_is_short(
    run_command: Any, sessions: Path, tmp_path: Path
) -> None:
    example = (PROGRAMS / "compact.js").read_text()
    assert len(example.splitlines()) <= 20
    (tmp_path / "compact.js").write_text(example)
    words = ("--strategy", "exec:node compact.js", "--window", 8_000, "--json")
    document = run_command("compact", sessions / "0.json", *words).document
    assert document["strategy"] == 'exec:"node compact.js"'
    assert {one["outcome"] for one in document["compactions"]} == {"accepted"}
    assert document["stopped"] is None


@needs_node
def test_the_example_in_javascript_keeps_every_promise(run_command: Any, tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "compact.js", tmp_path)
    ran = run_command("verify", "exec:node compact.js", "--examples", 1)
    assert ran.code == 0 and "BROKEN" not in ran.out


def test_readme_shows_this_example() -> None:
    shown = re.search(r"```js\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    if shown is None:
        pytest.skip("README shows no JavaScript")
    assert shown[1] == (PROGRAMS / "compact.js").read_text()

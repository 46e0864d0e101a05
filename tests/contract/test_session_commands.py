"""`sessions validate`, `convert` and `annotate`: shapes, exit codes, one-line errors."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.converting import TARGETS
from bench.events import Repair, Session
from bench.facts import Fact
from bench.facts_file import read_facts, write_facts
from bench.formats.own import session_to_bytes
from bench.generator import write_corpus
from bench.loading import load_sessions
from tests.builders import session


@pytest.fixture
def command(run_command: Any) -> Any:
    return partial(run_command, "sessions")


def _save(name: str, told: Session) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(session_to_bytes(told))
    return path


SOUND = session("system: s", "user: go", "call a", "result a: 1", "assistant: x", name="sound")
BROKEN = session("user: go", "call a", "user: no", "result z: 1", "assistant: x", name="broken")


def test_validate_has_its_shape_and_exit_codes(command: Any) -> None:
    _save("in/sound.jsonl", SOUND)
    assert command("validate", "in").code == 0
    _save("in/broken.jsonl", BROKEN)
    Path("in/notes.json").write_text('{"not": "a session"}', encoding="utf-8")
    ran = command("validate", "in", "--json")
    assert ran.code == 1
    assert ran.document.keys() == {"is_valid", "sessions", "rejected"}
    assert ran.document["is_valid"] is False
    assert [one["path"] for one in ran.document["rejected"]] == [str(Path("in/notes.json"))]
    broken, sound = ran.document["sessions"]
    assert sound["is_valid"] is True and sound["findings"] == []
    assert broken.keys() == {
        "id", "path", "format", "is_valid", "errors", "warnings", "findings",
    }  # fmt: skip
    assert (broken["is_valid"], broken["errors"], broken["warnings"]) == (False, 2, 0)
    assert broken["findings"][0] == {
        "severity": "error",
        "kind": "unanswered_call",
        "where": "event 2",
        "what": "read(a) never got a result",
    }


def test_validate_for_people_shows_each_kind_a_few_times(command: Any) -> None:
    repairs = tuple(Repair("torn_tail", f"line {i}", "cut \x1b[31moff") for i in range(9))
    _save("one.jsonl", replace(SOUND, repairs=repairs))
    ran = command("validate", "one.jsonl")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == "INVALID: sound (compaction-bench) one.jsonl"
    assert sum("error torn_tail at line" in line for line in lines) == 3
    assert lines[-1] == "    ... error torn_tail: 9 in all (--json shows them)"
    assert "\x1b" not in ran.out


def test_a_named_file_that_is_no_session_is_a_failure(command: Any) -> None:
    _save("sound.jsonl", SOUND)
    Path("notes.json").write_text('{"not": "a session"}', encoding="utf-8")
    assert command("validate", "sound.jsonl", "notes.json").code == 1
    alone = command("validate", "notes.json")
    assert alone.code == 2
    assert alone.err.splitlines() == ["compaction-bench: notes.json: no session could be read"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "made"
    write_corpus(folder, sessions=2, events=120, seed=5, kinds=("coding",), languages=("en", "zh"))
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_convert_writes_files_that_load_back(command: Any, corpus: Path, target: str) -> None:
    ran = command("convert", corpus, "--to", target, "--out", "made", "--json")
    assert ran.code == 0, ran.err
    assert ran.document.keys() == {"to", "sessions", "rejected"}
    before = load_sessions(corpus).sessions
    after = load_sessions("made").sessions
    for told, again, row in zip(before, after, ran.document["sessions"], strict=True):
        assert row.keys() == {"id", "from", "path", "events", "not_carried", "problem"}
        assert row["problem"] == ""
        assert Path(row["path"]) == Path(again.path)
        assert (row["id"], row["events"]) == (told.id, len(told.events))
        assert again.id == told.id
        assert [event.message for event in again.events] == [
            replace(event.message, calls=new.message.calls)
            for event, new in zip(told.events, again.events, strict=True)
        ]
        if target == "own":
            assert replace(again, path="") == replace(told, path="")
            assert row["not_carried"] == []
    assert read_facts("made/facts.jsonl") == read_facts(corpus / "facts.jsonl")


def test_convert_says_what_it_leaves_behind(command: Any) -> None:
    told = session("system: a", "system: b", "user: go", "system: c", "assistant: x", name="two")
    told = replace(told, cluster="project")
    path = _save("in/two.jsonl", told)
    write_facts("in/facts.jsonl", [Fact("f", "two", "path", "", "go")])
    ran = command("convert", path, "--to", "anthropic", "--out", "made")
    assert ran.code == 0
    first, second = ran.out.splitlines()
    assert first == f"two -> {Path('made/two.json')}: 4 events"
    assert second == (
        "    not carried: 2 leading system messages: joined to one; "
        "1 system messages in mid-session: marked user messages instead; "
        "1 notes on where the session came from (cluster, slice, parent); "
        "its facts: events have other numbers now"
    )
    assert not Path("made/facts.jsonl").exists()


def test_convert_tells_when_a_file_doesnt_load_back_equal(command: Any) -> None:
    late = session("user: go", "call a", "assistant: x", "result a: 1", "assistant: y", name="late")
    path = _save("late.jsonl", late)
    ran = command("convert", path, "--to", "openai", "--out", "made")
    assert ran.code == 1
    assert "DIFFERS" in ran.out


def test_convert_tells_when_one_file_is_taken_for_a_part_of_the_next(command: Any) -> None:
    _save("in/1.jsonl", replace(SOUND, id="1", events=SOUND.events[:3]))
    _save("in/2.jsonl", SOUND)
    ran = command("convert", "in", "--to", "openai", "--out", "made", "--json")
    assert ran.code == 1
    problems = [row["problem"] for row in ran.document["sessions"]]
    assert problems == [f"its whole conversation stands in {Path('made/sound.json')}", ""]


def test_convert_names_files_apart(command: Any) -> None:
    for number, name in enumerate(("a/b", "a_b", "A b")):
        _save(f"in/{number}.jsonl", session("user: go", f"assistant: {number}", name=name))
    ran = command("convert", "in", "--to", "openai", "--out", "made", "--json")
    names = [Path(row["path"]).name for row in ran.document["sessions"]]
    assert names == ["a_b.json", "a_b~2.json", "A_b~3.json"]
    assert [one.id for one in load_sessions("made").sessions] == ["A b", "a/b", "a_b"]


def test_annotate_writes_facts_that_read_back(command: Any, corpus: Path) -> None:
    ran = command("annotate", corpus, "--out", "drafts/facts.jsonl", "--facts-max", "3")
    assert ran.code == 0, ran.err
    facts = read_facts("drafts/facts.jsonl")
    assert {fact.session for fact in facts} == {one.id for one in load_sessions(corpus).sessions}
    assert len(facts) == 6
    assert ran.out == ""
    assert ran.err.startswith("wrote 6 facts of 2 sessions to ")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("validate", "nowhere"), "no such file or folder"),
        (("validate", "in", "--format", "morse"), "--format morse: no such format"),
        (("convert", "nowhere", "--to", "own", "--out", "made"), "no such file or folder"),
        (("convert", "in", "--to", "own", "--out", "in"), "--out in: is there already"),
        (("convert", "notes.json", "--to", "own", "--out", "made"), "no session could be read"),
        (("convert", "in", "--to", "morse", "--out", "made"), "invalid choice"),
        (("annotate", "in", "--out", "notes.json"), "--out notes.json: is there already"),
        (("annotate", "in", "--out", "f.jsonl", "--facts-max", "0"), "--facts-max 0: at least 1"),
        (("annotate", "in", "--out", "f.jsonl"), "nothing to draft"),
        (("annotate", "notes.json", "--out", "f.jsonl"), "no session could be read"),
    ],
)
def test_wrong_usage_is_one_line(command: Any, words: tuple[str, ...], part: str) -> None:
    _save("in/sound.jsonl", SOUND)
    Path("notes.json").write_text('{"not": "a session"}', encoding="utf-8")
    ran = command(*words)
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert part in line
    assert not Path("made").exists()
    assert not Path("f.jsonl").exists()

"""`compaction-bench score BEFORE AFTER` as people call it, with good input and with bad."""

import json
from pathlib import Path
from typing import Any

import pytest

_BEFORE = [
    {"role": "system", "content": "Be terse."},
    {"role": "user", "content": "Never touch config/production.yaml. \u001b[31mThe port is 8443."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read", "arguments": '{"path": "deploy/rollout.sh"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "replicas = 4821\n" * 30},
    {"role": "assistant", "content": "deploy/rollout.sh sets 4821 replicas on port 8443."},
    {"role": "user", "content": "Deploy it."},
]
_SUMMARY = {"role": "user", "content": "Summary: 4821 replicas, see config/ghost.toml."}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    shapes: dict[str, Any] = {
        "before": _BEFORE,
        "after": [_BEFORE[0], _SUMMARY, _BEFORE[-1]],
        "split": [_BEFORE[0], _SUMMARY, _BEFORE[3], _BEFORE[-1]],
        "anthropic": {
            "system": "Be terse.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": _SUMMARY["content"]}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Understood."}]},
                {"role": "user", "content": "Deploy it."},
            ],
        },
        "small_talk": [{"role": "user", "content": "hello"}],
    }
    paths = {}
    for name, shape in shapes.items():
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps(shape), encoding="utf-8")
    return paths


def test_a_table_of_80_columns_names_what_is_lost(run_command: Any, files: dict[str, Path]) -> None:
    ran = run_command("score", files["before"].name, files["after"].name)
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "inferred" in ran.out
    assert "path deploy/rollout.sh" in ran.out
    assert "config/ghost.toml" in ran.out
    assert "\u001b" not in ran.out


def test_the_document_holds_everything(run_command: Any, files: dict[str, Path]) -> None:
    ran = run_command("score", files["before"], files["after"], "--json")
    document = ran.document
    assert (ran.code, document["provenance"], document["reason"]) == (0, "inferred", "")
    assert (document["kept"], document["shortened"], document["written"]) == (2, 0, 1)
    assert document["before"]["tokens"] > document["after"]["tokens"]
    assert [view["name"] for view in document["views"]] == ["after", "keep_all", "empty"]
    by_value = {fact["value"]: fact["is_present"] for fact in document["facts"]}
    assert by_value == {"4821": True, "deploy/rollout.sh": False}
    assert document["retention"] == 0.5
    assert [one["text"] for one in document["invented"]] == ["config/ghost.toml"]
    assert document["problems"] == []
    planted = document["canaries"]["planted"]
    assert document["canaries"] == {"planted": planted, "keep_all": planted, "empty": 0}
    assert planted > 0


def test_other_formats_are_compared_too(run_command: Any, files: dict[str, Path]) -> None:
    document = run_command("score", files["before"], files["anthropic"], "--json").document
    assert document["after"]["format"] == "anthropic-messages"
    assert (document["kept"], document["written"]) == (2, 2)


def test_what_is_broken_is_listed(run_command: Any, files: dict[str, Path]) -> None:
    ran = run_command("score", files["before"], files["split"])
    assert ran.code == 0
    assert "Broken (1):\n  orphaned result" in ran.out


def test_facts_of_a_file_are_asked_for(
    run_command: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    facts = tmp_path / "mine.jsonl"
    rule = {"id": "rule", "session": "s", "kind": "constraint", "must_keep": True}
    facts.write_text(json.dumps({**rule, "value": "config/production.yaml"}), encoding="utf-8")
    ran = run_command("score", files["before"], files["after"], "--facts", facts)
    assert "must be kept: constraint config/production.yaml" in ran.out
    assert "Kept 0% of 1 facts" in ran.out
    two = [{**rule, "session": name, "value": "x"} for name in ("s", "t")]
    facts.write_text("\n".join(map(json.dumps, two)), encoding="utf-8")
    ran = run_command("score", files["before"], files["after"], "--facts", facts)
    assert ran.code == 2
    assert "there are facts of: s, t" in ran.err


def test_nothing_measured_is_no_verdict(run_command: Any, files: dict[str, Path]) -> None:
    ran = run_command("score", files["small_talk"], files["small_talk"])
    assert ran.code == 3
    assert "No verdict: nothing was measured" in ran.out
    assert run_command("score", files["small_talk"], files["small_talk"], "--json").code == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.json", "after.json"), "nowhere.json: no such file"),
        (("before.json", "broken.json"), "AFTER broken.json: no messages could be read"),
        (("before.json", "empty.json"), "AFTER empty.json: no messages could be read"),
        (("two", "after.json"), "BEFORE two: holds 2 sessions; give a file with one"),
        (("before.json", "after.json", "--facts", "nowhere.jsonl"), "nowhere.jsonl"),
        (("before.json",), "AFTER"),
    ],
)
def test_bad_input_is_one_line(
    run_command: Any, files: dict[str, Path], tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "broken.json").write_text('[{"role": "user", "con', encoding="utf-8")
    (tmp_path / "empty.json").write_text("", encoding="utf-8")
    (tmp_path / "two").mkdir()
    for name in ("one.json", "other.json"):
        shape = [{"role": "user", "content": f"hello {name}"}]
        (tmp_path / "two" / name).write_text(json.dumps(shape), encoding="utf-8")
    ran = run_command("score", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1

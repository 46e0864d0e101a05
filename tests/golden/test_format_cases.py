"""Input that broke other tools: the cases of a folder, loaded and held against what must hold.

`BUGCASES` names the JSONL file; without it the file is looked for beside the repository. Each case
has an id, a kind, a format, an input and, in words, what to expect.
"""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench.history import History
from bench.loading import Loaded, load_sessions
from tests.written_files import repair_kinds, told

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(os.environ.get("BUGCASES", ROOT.parent / "shared" / "cases" / "bugcases.jsonl"))
SESSIONS = {"openai-chat", "openai-chat+script", "anthropic-messages"}
LINES = {"claude-code-jsonl", "codex-rollout"}


def _cases() -> dict[str, dict[str, Any]]:
    if not CASES.is_file():
        return {}
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").split("\n") if line]
    return {
        row["id"]: row
        for row in rows
        if row["format"] in SESSIONS | LINES and "recipe" not in row["input"]
    }


FOUND = _cases()
needs_cases = pytest.mark.skipif(not FOUND, reason=f"no case file at {CASES}")


def _file(case: dict[str, Any], folder: Path) -> Path:
    given = case["input"]
    path = folder / f"{case['id']}.{'jsonl' if case['format'] in LINES else 'json'}"
    if isinstance(given, dict) and "bytes_b64" in given:
        path.write_bytes(base64.b64decode(given["bytes_b64"]))
    elif isinstance(given, dict) and "lines" in given:
        text = "\n".join(given["lines"]) + ("\n" if given["final_newline"] else "")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    else:
        messages = given["messages"] if isinstance(given, dict) else given
        path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def _loaded(case_id: str, folder: Path) -> Loaded:
    if case_id not in FOUND:
        pytest.skip(f"no case {case_id} in {CASES}")
    return load_sessions(_file(FOUND[case_id], folder))


@needs_cases
@pytest.mark.parametrize("case_id", sorted(FOUND))
def test_every_case_loads(case_id: str, tmp_path: Path) -> None:
    loaded = _loaded(case_id, tmp_path)
    assert loaded.sessions, loaded.rejected
    for session in loaded.sessions:
        assert session.events
        for event in session.events:
            message = event.message
            assert message.role == "tool" or message.text or message.calls or message.attachments


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [
            text for key in ("content", "text") if key in value for text in _strings(value[key])
        ]
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []


@needs_cases
@pytest.mark.parametrize(
    "case_id", sorted(name for name, row in FOUND.items() if row["format"] in SESSIONS)
)
def test_no_text_of_a_message_is_lost(case_id: str, tmp_path: Path) -> None:
    (session,) = _loaded(case_id, tmp_path).sessions
    given = FOUND[case_id]["input"]
    everything = "\n".join(event.message.text for event in session.events)
    for text in _strings(given["messages"] if isinstance(given, dict) else given):
        assert text in everything
    assert session.skipped_lines == 0


EXPECTED: dict[str, list[str]] = {
    "tokens-duplicate-message-ids": [
        "user: Check both locks.",
        'assistant: +lock(l1) {"n": 1} +lock(l2) {"n": 2}',
        "tool: [l2] shut",
        "tool: [l1] open",
    ],
    "jsonl-unicode-line-separators": [
        "user: first\u2028second\u2029third\u0085fourth",
        "assistant: four parts",
    ],
    "jsonl-torn-last-line": ["user: Count gulls.", "assistant: 12 gulls."],
    "jsonl-bad-line-in-middle": [
        "user: Count gulls.",
        "assistant: 12 gulls.",
        "user: And terns?",
        "assistant: 30 terns.",
    ],
    "jsonl-raw-newline-in-string": [
        "user: Fetch page.",
        "assistant: Prices:\na 4\nb 9",
        "user: Thanks.",
    ],
    "jsonl-invalid-utf8": ["user: Count gulls.", "assistant: 12 gulls\ufffd\ufffd.", "user: ok"],
    "claude-duplicate-boundary": ["user: A.", "assistant: B.", "user: C.", "assistant: D."],
    "codex-dual-and-new-records": [
        "system: Sandbox is read-only.",
        "user (meta): <environment_context>cwd=/w</environment_context>",
        "user: List piers.",
        'assistant: +shell(k1) {"cmd":"ls"}',
        "tool: [k1] A B C",
        "assistant: A, B and C.",
        "user: Longest?",
        "assistant: Pier B.",
    ],
    "rewind-drops-abandoned-branch": [
        "user: Use paint code RAL-3000.",
        "assistant: RAL-3000 it is.",
        "user: How many tins?",
    ],
}
REPAIRED: dict[str, tuple[list[str], int]] = {
    "jsonl-torn-last-line": (["torn_tail"], 1),
    "jsonl-bad-line-in-middle": (["nul_bytes", "bad_line"], 2),
    "jsonl-raw-newline-in-string": (["raw_line_feed"], 0),
    "jsonl-invalid-utf8": (["invalid_utf8"], 0),
    "claude-multiple-boundaries": (["dangling_pointer"], 0),
    "claude-synthetic-errors": (["synthetic_message"], 0),
    "deep-and-odd-json": (
        ["too_deep", "not_a_number", "not_an_object", "not_an_object", "not_an_object"],
        4,
    ),
    "parallel-duplicate-result-blocks": (["duplicate_result"], 0),
    "load-args-not-json": (["arguments_not_json"], 0),
    "load-null-and-missing-fields": (["empty_message"] * 4, 0),
    "load-same-id-every-turn": ([], 0),
    "load-user-between-call-and-result": ([], 0),
}


@needs_cases
@pytest.mark.parametrize("case_id", sorted(EXPECTED))
def test_events_of_known_cases(case_id: str, tmp_path: Path) -> None:
    (session,) = _loaded(case_id, tmp_path).sessions
    assert told(session) == EXPECTED[case_id]


@needs_cases
@pytest.mark.parametrize("case_id", sorted(REPAIRED))
def test_repairs_of_known_cases(case_id: str, tmp_path: Path) -> None:
    (session,) = _loaded(case_id, tmp_path).sessions
    assert (repair_kinds(session), session.skipped_lines) == REPAIRED[case_id]


@needs_cases
def test_sidechain_case(tmp_path: Path) -> None:
    main, side = _loaded("claude-sidechain", tmp_path).sessions
    assert (side.id, side.subagent_of, len(side.events)) == ("g7", main.id, 2)
    assert len(main.events) == 4


@needs_cases
def test_boundaries_case(tmp_path: Path) -> None:
    (session,) = _loaded("claude-multiple-boundaries", tmp_path).sessions
    assert [row.after_seq for row in session.recorded_compactions] == [2, 4]
    assert [row.kept_from_seq for row in session.recorded_compactions] == [None, 3]
    assert not any("Summary" in event.message.text for event in session.events)


@needs_cases
def test_real_turns_of_the_synthetic_case(tmp_path: Path) -> None:
    (session,) = _loaded("claude-synthetic-errors", tmp_path).sessions
    turns = [event.message.text for event in session.events if event.starts_turn]
    assert turns == ["Tide at noon?", "Again: tide at noon?"]


@needs_cases
@pytest.mark.parametrize("case_id", ["load-id-reused-in-other-round", "load-same-id-every-turn"])
def test_reused_ids_pair_by_position(case_id: str, tmp_path: Path) -> None:
    (session,) = _loaded(case_id, tmp_path).sessions
    history = History(session.events)
    for position in range(len(history)):
        assert all(state.result_seq is not None for state in history.calls_at(position))

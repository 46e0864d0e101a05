"""Real recordings, where a folder of them is at hand.

`RECORDED_SESSIONS` names the folder; without it the folder is looked for beside the repository.
Nothing of the recordings stands here but counts.
"""

import os
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.events import Session
from bench.history import History
from bench.inspecting import describe
from bench.loading import Loaded, load_sessions

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("RECORDED_SESSIONS", ROOT.parent / "shared" / "data" / "recorded"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no recordings at {FOLDER}")


@cache
def _loaded(name: str) -> Loaded:
    return load_sessions(FOLDER / name)


def _session(name: str) -> Session:
    sessions = [row for row in _loaded(name).sessions if row.subagent_of is None]
    assert len(sessions) == 1
    return sessions[0]


@pytest.mark.parametrize(
    ("name", "compactions", "events"),
    [
        ("entire-cli/cd-95adddad32-0", 3, 481),
        ("entire-cli/98-78b713483d-0", 1, 225),
        ("entire-cli/d0-161e0df1cb-0", 1, 417),
        ("entire-cli/e5-8c50537669-0", 1, 64),
        ("slopometry", 1, 391),
        ("spotter/258c7280-ae70-4798-800f-63464d01a85d.jsonl", 1, 343),
    ],
)
def test_recorded_compactions(name: str, compactions: int, events: int) -> None:
    session = _session(name)
    assert session.format == "claude-code"
    assert len(session.recorded_compactions) == compactions
    assert len(session.events) == events
    for compaction in session.recorded_compactions:
        assert compaction.summary
        assert compaction.tokens_before is not None
        assert compaction.tokens_before > 150_000
        assert all(compaction.summary not in event.message.text for event in session.events)


def test_the_prompt_of_a_compaction_is_found() -> None:
    (compaction,) = _session(
        "spotter/258c7280-ae70-4798-800f-63464d01a85d.jsonl"
    ).recorded_compactions
    assert compaction.prompt is not None
    assert len(compaction.prompt) > 1_000


def test_only_the_slice_is_a_slice() -> None:
    assert [row.is_slice for row in _loaded("entire-cli").sessions] == [False, False, False, True]
    assert not _session("slopometry").is_slice


def test_all_parallel_batches_are_whole() -> None:
    session = _session("entire-cli/d0-161e0df1cb-0")
    history = History(session.events)
    batches = [history.calls_at(position) for position in range(len(history))]
    assert sum(len(batch) > 1 for batch in batches) == 32
    assert all(state.result_seq is not None for batch in batches for state in batch)


def test_tau_bench_gives_thirty_sessions() -> None:
    sessions = _loaded("tau-bench").sessions
    assert len(sessions) == len({row.id for row in sessions}) == 30
    assert len({row.cluster for row in sessions}) == 17
    assert all(row.repairs == () for row in sessions)


def test_a_request_log_is_one_session() -> None:
    loaded = _loaded("openhands-sdk")
    assert [len(row.events) for row in loaded.sessions] == [13]
    assert any(row.path.endswith(".json") for row in loaded.rejected)


def test_every_file_is_loaded_or_rejected_with_a_reason() -> None:
    loaded = _loaded("")
    files = {str(path) for path in FOLDER.rglob("*") if path.is_file()}
    named = {row.path for row in loaded.sessions} | {row.path for row in loaded.rejected}
    assert named == files
    assert all(row.reason for row in loaded.rejected)
    assert len({row.id for row in loaded.sessions}) == len(loaded.sessions)


def test_a_recorded_tail_is_what_pi_kept() -> None:
    session = _session("pi-mono")
    compactions = session.recorded_compactions
    kept = [row.after_seq - (row.kept_from_seq or 0) + 1 for row in compactions]
    assert kept == [66, 77]
    assert [row.tokens_before for row in compactions] == [175_004, 185_014]


@pytest.mark.parametrize(
    ("name", "format", "events"),
    [
        ("agentcmd/gemini", "gemini-cli", [31, 8]),
        ("mini-swe-agent-gemini3", "swe-agent", [144]),
        ("swe-agent", "swe-agent", [10, 12, 26, 31]),
        ("pi-mono", "pi", [975]),
    ],
)
def test_other_tools(name: str, format: str, events: list[int]) -> None:
    sessions = _loaded(name).sessions
    assert {row.format for row in sessions} == {format}
    assert [len(row.events) for row in sessions] == events


def test_byte_damage_of_real_files(tmp_path: Path) -> None:
    files = sorted(
        path for path in FOLDER.rglob("*") if path.is_file() and path.stat().st_size < 60_000
    )
    random = Random(7)
    damaged = tmp_path / "damaged.jsonl"
    for path in files:
        data = bytearray(path.read_bytes())
        for _ in range(5):
            place = random.randrange(len(data) + 1)
            data[place : place + random.randrange(40)] = random.randbytes(random.randrange(4))
        damaged.write_bytes(data)
        loaded = load_sessions(damaged)
        assert loaded.sessions or loaded.rejected


def test_events_of_agent_sessions_are_in_order_and_never_empty() -> None:
    for name in ("entire-cli", "slopometry", "spotter", "session-share", "claude-code-viewer"):
        for session in _loaded(name).sessions:
            history = History(session.events)
            for position, event in enumerate(session.events):
                message = event.message
                if message.role == "tool":
                    assert history.result_wire_id(position) is not None
                else:
                    assert message.text.strip() or message.calls or message.attachments
            pairs = pairwise(event.message.role for event in session.events)
            assert ("assistant", "assistant") not in set(pairs)


def test_description_has_the_promised_keys() -> None:
    described = describe(_session("slopometry"))
    assert list(described) == [
        "id",
        "path",
        "format",
        "events",
        "turns",
        "tool_groups",
        "unanswered_calls",
        "tokens",
        "recorded_compactions",
        "is_slice",
        "subagent_of",
        "repairs",
        "skipped_lines",
        "evidence",
    ]
    assert described["turns"] == 13
    assert described["unanswered_calls"] == 0


@pytest.mark.parametrize(
    ("name", "format", "events"),
    [
        ("inspect-ai/analysis", "inspect-ai", [3, 3, 3]),
        ("inspect-ai/log/test_eval_log/log_formats.eval", "inspect-ai", [3]),
        ("inspect-ai/log/test_eval_log/log_images_tc.json", "inspect-ai", [3]),
        ("openhands/tests/runtime/trajs/basic.json", "openhands", [4]),
        ("openhands/tests/unit/resolver/mock_output/output.jsonl", "openhands", [8, 44]),
        ("agent-sessions-fixtures/stage0/agents/opencode/storage_v2", "opencode", [4]),
        ("agent-sessions-fixtures/stage0/agents/opencode/storage_legacy", "opencode", [1]),
    ],
)
def test_further_tools(name: str, format: str, events: list[int]) -> None:
    sessions = _loaded(name).sessions
    assert [row.format for row in sessions] == [format] * len(events)
    assert [len(row.events) for row in sessions] == events
    for session in sessions:
        assert all(state.result_seq for state in _calls(session))
        assert session.skipped_lines == 0


def _calls(session: Session) -> list[Any]:
    history = History(session.events)
    return [state for position in range(len(history)) for state in history.calls_at(position)]


def test_no_recording_of_a_known_tool_is_rejected() -> None:
    unknown = ("antigravity", "copilot", "cursor", "droid", "grok", "kimi", "qwen")
    expected = (
        "a companion file",
        "a part of an opencode session",
        "a part whose message isn't in the folder",
        "a compaction call, read with",
        "its whole conversation stands in",
        "a Codex rollout of events only",
        "read as opencode, but nothing usable",
    )
    for rejected in load_sessions(FOLDER).rejected:
        path = Path(rejected.path)
        if path.suffix == ".md" or any(name in path.parts for name in unknown):
            assert "formats tried" in rejected.reason, rejected
        else:
            assert rejected.reason.startswith(expected), rejected

"""ATIF: steps with calls and observations; a trajectory that goes on elsewhere."""

from pathlib import Path
from typing import Any

from bench.events import RecordedUsage
from tests.written_files import only_session, repair_kinds, told, write_json

TRAJECTORY: dict[str, Any] = {
    "schema_version": "ATIF-v1.5",
    "session_id": "t1",
    "agent": {
        "name": "a",
        "tool_definitions": [{"type": "function", "function": {"name": "bash"}}],
    },
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": "Look."},
        {
            "step_id": 3,
            "timestamp": "2030-01-01T00:00:00Z",
            "source": "agent",
            "message": "",
            "reasoning_content": "ls.",
            "tool_calls": [
                {"tool_call_id": "c", "function_name": "bash", "arguments": {"command": "ls"}}
            ],
            "observation": {"results": [{"source_call_id": "c", "content": "quay.txt"}]},
            "metrics": {"prompt_tokens": 50, "completion_tokens": 5, "cached_tokens": 30},
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "One file.",
            "observation": {"results": [{"content": "Session ends."}]},
        },
    ],
}


def test_a_trajectory(tmp_path: Path) -> None:
    session = only_session(write_json(tmp_path / "trajectory.json", TRAJECTORY))
    assert (session.id, session.format) == ("t1", "atif")
    assert told(session) == [
        "system: Be brief.",
        "user: Look.",
        'assistant: +bash(c) {"command": "ls"}',
        "tool: [c] quay.txt",
        "assistant: One file.",
        "user (meta): Session ends.",
    ]
    assert session.events[2].message.reasoning == "ls."
    assert session.recorded_usage == (RecordedUsage(3, 50, 30, 5),)
    assert [tool.name for tool in session.tools] == ["bash"]
    assert repair_kinds(session) == []


def test_a_continued_trajectory_names_where_it_goes_on(tmp_path: Path) -> None:
    first = {**TRAJECTORY, "continued_trajectory_ref": "../x/trajectory.cont-1.json"}
    second = {**TRAJECTORY, "session_id": "t1-cont-1"}
    one = only_session(write_json(tmp_path / "trajectory.json", first))
    other = only_session(write_json(tmp_path / "trajectory.cont-1.json", second))
    assert one.repairs[0].what == "the trajectory goes on in trajectory.cont-1.json"
    assert one.cluster == other.cluster


def test_odd_steps_are_named(tmp_path: Path) -> None:
    odd = {**TRAJECTORY, "steps": [*TRAJECTORY["steps"], 3, {"source": "wind", "message": "x"}]}
    session = only_session(write_json(tmp_path / "x.json", odd))
    assert repair_kinds(session) == ["not_an_object", "unknown_role"]

"""SWE-agent and mini-swe-agent trajectories."""

from pathlib import Path

from bench.events import RecordedUsage
from tests.written_files import only_session, told, write_json


def test_history_with_demonstration_and_observations(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "You fix code.", "agent": "primary"},
        {"role": "user", "content": "A demonstration.", "is_demo": True},
        {"role": "user", "content": "Fix the colon."},
        {"role": "assistant", "content": "Open it.", "thought": "Open it.", "action": "open x"},
        {"role": "user", "content": "[File: x]"},
    ]
    document = {"environment": "e", "trajectory": [{"action": "open x"}], "history": history}
    session = only_session(write_json(tmp_path / "fix.traj", document, indent=2))
    assert told(session) == [
        "system: You fix code.",
        "user (meta): A demonstration.",
        "user: Fix the colon.",
        "assistant: Open it.",
        "user (meta): [File: x]",
    ]
    assert (session.id, session.format) == ("fix", "swe-agent")


def test_history_with_tool_calls(tmp_path: Path) -> None:
    call = {"id": "t", "function": {"name": "open", "arguments": '{"path":"x"}'}}
    history = [
        {"role": "user", "content": "Fix the colon."},
        {"role": "assistant", "content": "Open it.", "tool_calls": [call]},
        {"role": "tool", "content": "[File: x]", "tool_call_ids": ["t"]},
    ]
    document = {"trajectory": [], "history": history}
    assert told(only_session(write_json(tmp_path / "fix.traj", document)))[1:] == [
        'assistant: Open it. +open(t) {"path":"x"}',
        "tool: [t] [File: x]",
    ]


def test_mini_trajectory(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 6}
    messages = [
        {"role": "system", "content": "One command a time."},
        {"role": "user", "content": [{"type": "text", "text": "Fix the colon."}]},
        {"role": "assistant", "content": "ls", "extra": {"response": {"usage": usage}}},
        {"role": "user", "content": "<returncode>0</returncode>"},
    ]
    document = {"info": {"mini_version": "1"}, "messages": messages, "instance_id": "boats-1"}
    session = only_session(write_json(tmp_path / "boats.traj.json", document))
    assert told(session)[1:] == [
        "user: Fix the colon.",
        "assistant: ls",
        "user (meta): <returncode>0</returncode>",
    ]
    assert session.recorded_usage == (RecordedUsage(3, 50, None, 6),)
    assert (session.id, session.format) == ("boats-1", "swe-agent")

"""OpenHands events: responses with several calls, older events, recalls, condensations."""

from pathlib import Path
from typing import Any

from bench.events import RecordedCompaction, RecordedUsage
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines

Event = dict[str, Any]


def act(number: int, action: str, source: str = "agent", **args: Any) -> Event:
    return {"id": number, "source": source, "action": action, "args": args}


def answered(number: int, cause: int, content: str, kind: str = "run") -> Event:
    return {"id": number, "observation": kind, "cause": cause, "content": content, "extras": {}}


def with_response(event: Event, call_id: str, name: str, response: Event) -> Event:
    metadata = {"function_name": name, "tool_call_id": call_id, "model_response": response}
    return {**event, "tool_call_metadata": metadata}


RESPONSE: Event = {
    "id": "resp-1",
    "choices": [
        {
            "message": {
                "content": "Two looks.",
                "tool_calls": [
                    {"id": "a", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
                    {"id": "b", "function": {"name": "bash", "arguments": '{"command": "pwd"}'}},
                ],
            }
        }
    ],
    "usage": {"prompt_tokens": 70, "completion_tokens": 9},
}


def test_actions_of_one_response_are_one_message(tmp_path: Path) -> None:
    events = [
        {**act(0, "system", content="You help.", tools=[{"function": {"name": "bash"}}])},
        act(1, "message", "user", content="Look around."),
        act(2, "recall", query="Look around."),
        {
            "id": 3,
            "observation": "recall",
            "cause": 2,
            "content": "",
            "extras": {"repo_instructions": "Use tabs."},
        },
        with_response(act(4, "run", command="ls", thought="Two looks."), "a", "bash", RESPONSE),
        with_response(answered(5, 4, "quay.txt"), "a", "bash", RESPONSE),
        with_response(act(6, "run", command="pwd"), "b", "bash", RESPONSE),
        with_response(answered(7, 6, "/w"), "b", "bash", RESPONSE),
        {"id": 8, "observation": "agent_state_changed", "content": "", "cause": 7},
        act(9, "finish", final_thought="All seen.", outputs={}),
    ]
    session = only_session(write_json(tmp_path / "events.json", events))
    assert session.format == "openhands"
    assert told(session) == [
        "system: You help.",
        "user: Look around.",
        "user (meta): Use tabs.",
        'assistant: Two looks. +bash(a) {"command": "ls"} +bash(b) {"command": "pwd"}',
        "tool: [a] quay.txt",
        "tool: [b] /w",
        "assistant: All seen.",
    ]
    assert session.recorded_usage == (RecordedUsage(4, 70, None, 9),)
    assert [tool.name for tool in session.tools] == ["bash"]
    assert repair_kinds(session) == []


def test_the_history_of_an_evaluation_without_ids(tmp_path: Path) -> None:
    row = {
        "instance_id": "quay__quay-1",
        "history": [
            [{"action": "message", "content": "Fix it.", "wait_for_response": False}, None],
            [
                {"action": "run", "command": "ls", "thought": "First look."},
                {"observation": "run", "content": "a.py"},
            ],
            [{"action": "finish", "outputs": {}, "thought": "Fixed."}],
        ],
    }
    session = only_session(write_lines(tmp_path / "output.jsonl", row))
    assert session.id == "quay__quay-1"
    (call,) = session.events[1].message.calls
    assert (call.name, call.arguments) == ("run", '{"command": "ls"}')
    assert [event.message.text for event in session.events] == [
        "Fix it.",
        "First look.",
        "a.py",
        "Fixed.",
    ]
    assert repair_kinds(session) == ["not_an_object"]


def test_a_condensation_is_kept_beside_the_history(tmp_path: Path) -> None:
    events = [
        act(0, "message", "user", content="Count."),
        act(1, "run", command="wc a"),
        answered(2, 1, "1"),
        act(3, "run", command="wc b"),
        answered(4, 3, "2"),
        act(
            5,
            "condensation",
            forgotten_events_start_id=1,
            forgotten_events_end_id=2,
            summary="a has 1.",
        ),
        act(6, "message", content="Three in all."),
    ]
    session = only_session(write_json(tmp_path / "events.json", events))
    assert session.recorded_compactions == (RecordedCompaction(5, "a has 1.", kept_from_seq=4),)
    assert [event.message.text for event in session.events] == [
        "Count.",
        "",
        "1",
        "",
        "2",
        "Three in all.",
    ]


def test_what_nobody_asked_for_is_shown_in_the_user_s_name(tmp_path: Path) -> None:
    events = [
        act(0, "message", "user", content="Go."),
        {"id": 1, "observation": "error", "content": "The runtime restarted.", "extras": {}},
        act(2, "run", "user", command="date"),
        act(3, "message", content="Gone."),
        "noise",
    ]
    session = only_session(write_lines(tmp_path / "x.jsonl", {"id": "e", "history": events}))
    assert told(session) == [
        "user: Go.",
        "user (meta): The runtime restarted.",
        "user (meta): Ran run: date",
        "assistant: Gone.",
    ]
    assert repair_kinds(session) == ["not_an_object"]

"""OpenAI chat files, however they are packed."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedUsage, ToolDefinition
from bench.history import History
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told, write_json, write_lines


def call(call_id: str, name: str = "look", arguments: str = '{"at":"pier"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Harbour desk."},
    {"role": "user", "content": "How many boats?"},
    {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b", "count", "{}")]},
    {"role": "tool", "tool_call_id": "b", "name": "count", "content": "14"},
    {"content": "pier free", "tool_call_id": "a", "role": "tool"},
    {"role": "assistant", "content": "Fourteen."},
]
TOLD = [
    "system: Harbour desk.",
    "user: How many boats?",
    'assistant: +look(a) {"at":"pier"} +count(b) {}',
    "tool: [b] 14",
    "tool: [a] pier free",
    "assistant: Fourteen.",
]


def test_list_of_messages(tmp_path: Path) -> None:
    session = only_session(write_json(tmp_path / "boats.json", MESSAGES))
    assert told(session) == TOLD
    assert (session.id, session.format, session.repairs) == ("boats", "openai-chat", ())


def test_indented_document(tmp_path: Path) -> None:
    assert told(only_session(write_json(tmp_path / "boats.json", MESSAGES, indent=2))) == TOLD


def test_one_message_per_line(tmp_path: Path) -> None:
    assert told(only_session(write_lines(tmp_path / "boats.jsonl", *MESSAGES))) == TOLD


def test_object_with_messages_tools_and_response(tmp_path: Path) -> None:
    tool = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    record = {
        "messages": MESSAGES[:-1],
        "tools": [{"type": "function", "function": tool}],
        "response": {
            "choices": [{"message": MESSAGES[-1]}],
            "usage": {
                "prompt_tokens": 90,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens": 5,
            },
        },
    }
    session = only_session(write_json(tmp_path / "log.json", record))
    assert told(session) == TOLD
    assert session.tools == (ToolDefinition("look", "Looks.", {"type": "object"}),)
    assert session.recorded_usage == (RecordedUsage(6, 90, 64, 5),)


def test_one_conversation_per_line(tmp_path: Path) -> None:
    other = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    path = write_lines(tmp_path / "two.jsonl", {"messages": MESSAGES}, other)
    sessions = load_sessions(path).sessions
    assert [session.id for session in sessions] == ["two-1", "two-2"]
    assert told(sessions[0]) == TOLD
    assert told(sessions[1]) == ["user: Hello?", "assistant: Hello."]


def test_request_log_with_a_growing_prefix_is_one_session(tmp_path: Path) -> None:
    title = {"messages": [{"role": "user", "content": "Give a title."}]}
    path = write_lines(
        tmp_path / "log.jsonl",
        {"messages": MESSAGES[:2], "response": {"usage": {"prompt_tokens": 20}}},
        title,
        {"messages": MESSAGES[:5], "response": {"usage": {"prompt_tokens": 60}}},
        {"messages": MESSAGES},
    )
    first, second = load_sessions(path).sessions
    assert told(first) == TOLD
    assert first.recorded_usage == (RecordedUsage(3, 20), RecordedUsage(6, 60))
    assert repair_kinds(first) == ["growing_prefix"]
    assert told(second) == ["user: Give a title."]


def test_one_file_per_request(tmp_path: Path) -> None:
    write_json(tmp_path / "request-1.json", {"messages": MESSAGES[:2]})
    write_json(tmp_path / "request-2.json", {"messages": MESSAGES})
    loaded = load_sessions(tmp_path)
    assert [told(session) for session in loaded.sessions] == [TOLD]
    assert [Path(row.path).name for row in loaded.rejected] == ["request-1.json"]
    assert "request-2.json" in loaded.rejected[0].reason


def test_tau_bench_results(tmp_path: Path) -> None:
    policy = {"role": "system", "content": "# Retail agent policy\nBe kind."}
    results = [
        {"task_id": 7, "trial": trial, "reward": 1.0, "info": {}, "traj": [policy, *MESSAGES[1:]]}
        for trial in (0, 1)
    ]
    sessions = load_sessions(write_json(tmp_path / "retail.json", results)).sessions
    assert [row.id for row in sessions] == ["retail-task-7-trial-0", "retail-task-7-trial-1"]
    assert {row.cluster for row in sessions} == {"tau-bench/retail/task-7"}
    assert all(told(row)[1:] == TOLD[1:] for row in sessions)


def test_ids_pair_by_position(tmp_path: Path) -> None:
    rounds = []
    for number in range(3):
        rounds.append({"role": "assistant", "tool_calls": [call("call_0")]})
        rounds.append({"role": "tool", "tool_call_id": "call_0", "content": f"result {number}"})
    session = only_session(write_json(tmp_path / "same.json", [MESSAGES[1], *rounds]))
    history = History(session.events)
    assert [state.result_seq for at in (1, 3, 5) for state in history.calls_at(at)] == [3, 5, 7]
    assert session.repairs == ()


def test_same_id_twice_in_one_message(tmp_path: Path) -> None:
    twice = [
        MESSAGES[1],
        {"role": "assistant", "tool_calls": [call("x"), call("x")]},
        {"role": "tool", "tool_call_id": "x", "content": "first"},
        {"role": "tool", "tool_call_id": "x", "content": "second"},
    ]
    session = only_session(write_json(tmp_path / "twice.json", twice))
    assert told(session)[2:] == ["tool: [x] first", "tool: [x] second"]
    assert session.repairs == ()


@pytest.mark.parametrize(
    ("second", "kind"), [("14", "duplicate_result"), ("15", "conflicting_result")]
)
def test_a_second_result_is_left_out_and_reported(tmp_path: Path, second: str, kind: str) -> None:
    again = {"role": "tool", "tool_call_id": "b", "content": second}
    session = only_session(write_json(tmp_path / "again.json", [*MESSAGES[:5], again, MESSAGES[5]]))
    assert told(session) == TOLD
    assert repair_kinds(session) == [kind]
    assert session.repairs[0].where == "item 6"


def test_stray_results_go_to_their_calls(tmp_path: Path) -> None:
    early = {"role": "tool", "tool_call_id": "b", "content": "14"}
    late = {"role": "tool", "tool_call_id": "a", "content": "pier free"}
    stray = {"role": "tool", "tool_call_id": "zz", "content": "nobody asked"}
    messages = [*MESSAGES[:2], early, MESSAGES[2], MESSAGES[5], late, stray]
    session = only_session(write_json(tmp_path / "stray.json", messages))
    assert sorted(told(session)[3:5]) == sorted(TOLD[3:5])
    assert told(session)[5:] == ["assistant: Fourteen.", "tool: [zz] nobody asked"]
    assert sorted(repair_kinds(session)) == ["late_result", "orphan_result", "result_before_call"]


def test_a_late_result_comes_behind_those_that_its_round_has(tmp_path: Path) -> None:
    messages = [*MESSAGES[:4], MESSAGES[5], MESSAGES[4]]
    session = only_session(write_json(tmp_path / "late.json", messages))
    assert told(session) == TOLD
    assert repair_kinds(session) == ["late_result"]


def test_a_result_repeated_in_a_later_round(tmp_path: Path) -> None:
    again = {"role": "tool", "tool_call_id": "a", "content": "pier free"}
    session = only_session(write_json(tmp_path / "again.json", [*MESSAGES, again]))
    assert told(session) == TOLD
    assert repair_kinds(session) == ["duplicate_result"]


def test_user_who_types_while_a_tool_runs_stays(tmp_path: Path) -> None:
    typed = {"role": "user", "content": "Not the red ones!"}
    messages = [*MESSAGES[:4], typed, *MESSAGES[4:]]
    session = only_session(write_json(tmp_path / "typed.json", messages))
    assert told(session)[4:6] == ["user: Not the red ones!", "tool: [a] pier free"]
    assert session.repairs == ()


def test_empty_messages_are_left_out_and_empty_results_stay(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call("n")]},
        {"role": "tool", "tool_call_id": "n", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": None, "refusal": None},
        {"role": "assistant", "content": [], "tool_calls": []},
        {"role": "assistant"},
        {"role": "user", "content": [{"type": "text", "text": None}]},
        {"role": "user", "content": "Well?"},
    ]
    session = only_session(write_json(tmp_path / "empty.json", messages))
    assert told(session) == [
        "user: Go.",
        'assistant: +look(n) {"at":"pier"}',
        "tool: [n]",
        "user: Well?",
    ]
    assert repair_kinds(session) == ["empty_message"] * 4


def test_content_in_every_shape(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    messages = [
        {"role": "user", "content": ["See", {"type": "text", "text": "this"}, picture]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]},
        {"role": "assistant", "tool_calls": [call("s")], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "s", "content": [{"valve": "open"}]},
        {"role": "developer", "content": "Metric units."},
        {"role": "assistant", "tool_calls": [call("t", arguments='{"cut": "of')]},
        {"role": "tool", "tool_call_id": "t", "content": {"level": 7.4}},
        {"role": "assistant", "function_call": {"name": "old", "arguments": ""}},
        {"role": "function", "name": "old", "content": "done"},
    ]
    session = only_session(write_json(tmp_path / "shapes.json", messages))
    assert told(session) == [
        "user: See\nthis <image/png>",
        "assistant: I can't.",
        'assistant: +look(s) {"at":"pier"}',
        'tool: [s] [{"valve": "open"}]',
        "system: Metric units.",
        'assistant: +look(t) {"cut": "of',
        'tool: [t] {"level": 7.4}',
        "assistant: +old() {}",
        "tool: [] done",
    ]
    assert session.events[0].message.attachments[0].data == "aGk="
    assert session.events[2].message.reasoning == "hm"
    assert repair_kinds(session) == ["arguments_not_json", "empty_arguments"]


def test_unknown_roles_and_records_are_counted(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "odd.jsonl", *MESSAGES, {"role": "narrator", "content": "x"}, {"n": 1}, "[1, 2]"
    )
    session = only_session(path)
    assert told(session) == TOLD
    assert sorted(repair_kinds(session)) == ["not_an_object", "unknown_record", "unknown_record"]
    assert session.skipped_lines == 1


def test_constants_that_are_no_json_never_come_out(tmp_path: Path) -> None:
    line = (
        '{"role": "assistant", "tool_calls": [{"id": "n", "function": {"name": "f", "arguments": '
    )
    path = write_lines(
        tmp_path / "nan.jsonl",
        {"role": "user", "content": "Go."},
        line + '{"depth": NaN, "width": 1e999}}}]}',
    )
    session = only_session(path)
    arguments = session.events[1].message.calls[0].arguments
    assert json.loads(arguments) == {"depth": None, "width": None}
    assert repair_kinds(session) == ["not_a_number"]

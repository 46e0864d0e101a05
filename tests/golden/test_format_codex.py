"""Codex rollouts: three generations, responses in pieces, compactions, rollbacks, forks."""

from pathlib import Path
from typing import Any

from bench.events import RecordedCompaction, RecordedUsage
from tests.written_files import only_session, repair_kinds, told, write_lines

Record = dict[str, Any]


def item(kind: str, **fields: Any) -> Record:
    return {"type": "response_item", "payload": {"type": kind, **fields}}


def message(role: str, text: str) -> Record:
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": text}])


def event(kind: str, **fields: Any) -> Record:
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


def completed(kind: str, text: str) -> Record:
    content = [{"type": "Text", "text": text}]
    return event("item_completed", item={"type": kind, "content": content})


def tokens(total: int, last: int, cached: int = 0, output: int = 5) -> Record:
    return event(
        "token_count",
        info={
            "total_token_usage": {"input_tokens": total},
            "last_token_usage": {
                "input_tokens": last,
                "cached_input_tokens": cached,
                "output_tokens": output,
                "total_tokens": last + output,
            },
        },
    )


META = {
    "timestamp": "2031-01-01T00:00:00Z",
    "type": "session_meta",
    "payload": {"id": "t1", "cwd": "/w", "base_instructions": {"text": "You are careful."}},
}


def test_one_response_is_one_event(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        META,
        message("developer", "Sandbox is read-only."),
        message("user", "<environment_context>cwd=/w</environment_context>"),
        message("user", "List piers."),
        event("user_message", message="List piers."),
        {"type": "turn_context", "payload": {"model": "m"}},
        item("reasoning", summary=[{"type": "summary_text", "text": "two lists"}]),
        message("assistant", "Looking."),
        item("function_call", name="shell", arguments='{"cmd":"ls"}', call_id="k1"),
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="k2"),
        tokens(100, 100, 30),
        tokens(100, 100, 30),
        item("function_call_output", call_id="k1", output='{"output":"A B","metadata":{}}'),
        item(
            "custom_tool_call_output", call_id="k2", output=[{"type": "input_text", "text": "ok"}]
        ),
        event("agent_message", message="A and B."),
        message("assistant", "A and B."),
        tokens(250, 150),
    )
    session = only_session(path)
    assert told(session) == [
        "system: You are careful.",
        "system: Sandbox is read-only.",
        "user (meta): <environment_context>cwd=/w</environment_context>",
        "user: List piers.",
        'assistant: Looking. +shell(k1) {"cmd":"ls"} +apply_patch(k2) {"input": "*** Begin"}',
        "tool: [k1] A B",
        "tool: [k2] ok",
        "assistant: A and B.",
    ]
    assert session.recorded_usage == (RecordedUsage(5, 100, 30, 5), RecordedUsage(8, 150, 0, 5))
    assert session.events[4].message.reasoning == "two lists"
    assert (session.id, session.cluster, session.format) == ("t1", "/w", "codex")
    assert session.repairs == ()


def test_messages_only_as_completed_items(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        META,
        message("user", "Go on."),
        completed("UserMessage", "Go on."),
        completed("AgentMessage", "One."),
        message("assistant", "One."),
        completed("UserMessage", "Go on."),
        completed("AgentMessage", "One."),
        event("item_completed", item={"type": "Plan", "text": "x"}),
    )
    assert told(only_session(path))[1:] == [
        "user: Go on.",
        "assistant: One.",
        "user: Go on.",
        "assistant: One.",
    ]


def test_a_genuine_repeat_in_the_newer_kind_of_line_stays(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        message("user", "Go on."),
        message("assistant", "One."),
        completed("UserMessage", "Go on."),
        completed("AgentMessage", "One."),
    )
    assert told(only_session(path)) == ["user: Go on.", "assistant: One."] * 2


def test_a_token_count_ends_a_response(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        message("user", "Go on."),
        message("assistant", "One."),
        tokens(40, 40),
        message("assistant", "Two."),
        tokens(40, 40),
        tokens(90, 50),
    )
    session = only_session(path)
    assert told(session)[1:] == ["assistant: One.", "assistant: Two."]
    assert session.recorded_usage == (RecordedUsage(2, 40, 0, 5), RecordedUsage(3, 50, 0, 5))


def test_bare_items_of_the_first_generation(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        {"id": "old", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        message("user", "List piers.")["payload"],
        item("function_call", name="shell", arguments="{}", call_id="k")["payload"],
        item("function_call_output", call_id="k", output="A")["payload"],
        message("assistant", "A.")["payload"],
    )
    session = only_session(path)
    assert told(session) == [
        "user: List piers.",
        "assistant: +shell(k) {}",
        "tool: [k] A",
        "assistant: A.",
    ]
    assert session.id == "old"


def test_compactions_are_kept_beside_the_history(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        META,
        message("user", "Paint it."),
        message("assistant", "Red."),
        tokens(90, 90),
        {"type": "compacted", "payload": {"message": "Painted red."}},
        event("context_compacted"),
        message("user", "And?"),
        {
            "type": "compacted",
            "payload": {
                "message": "",
                "replacement_history": [
                    message("user", "Paint it.")["payload"],
                    message("user", "Summary: red.")["payload"],
                ],
            },
        },
    )
    session = only_session(path)
    assert told(session)[1:] == ["user: Paint it.", "assistant: Red.", "user: And?"]
    assert session.recorded_compactions == (
        RecordedCompaction(3, "Painted red.", tokens_before=95),
        RecordedCompaction(4, "Summary: red.", tokens_before=95),
    )


def test_rolled_back_turns_are_gone(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        META,
        message("user", "Use RAL-3000."),
        message("assistant", "It is."),
        message("user", "Use RAL-5010."),
        {"type": "compacted", "payload": {"message": "RAL-5010."}},
        message("assistant", "Switched."),
        event("thread_rolled_back", num_turns=1),
        message("user", "How many tins?"),
    )
    session = only_session(path)
    assert told(session)[1:] == ["user: Use RAL-3000.", "assistant: It is.", "user: How many tins?"]
    assert session.recorded_compactions == ()
    assert repair_kinds(session) == ["rolled_back"]


def test_a_fork_keeps_its_own_id_and_a_thread_names_its_parent(tmp_path: Path) -> None:
    fork = {"type": "session_meta", "payload": {"id": "child", "forked_from_id": "t1"}}
    path = write_lines(tmp_path / "fork.jsonl", fork, META, message("user", "Go."))
    session = only_session(path)
    assert (session.id, session.subagent_of) == ("child", None)
    thread = {"type": "session_meta", "payload": {"id": "helper", "parent_thread_id": "t1"}}
    path = write_lines(tmp_path / "thread.jsonl", thread, message("user", "Go."))
    assert only_session(path).subagent_of == "t1"


def test_pictures_and_searches(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "rollout.jsonl",
        message("user", "Draw."),
        item("web_search_call", id="w", action={"type": "search", "query": "pier"}),
        item("image_generation_call", id="g", revised_prompt="a pier", result="aGk="),
        message("assistant", "Here."),
        item("ghost_snapshot"),
        item("mystery"),
    )
    session = only_session(path)
    assert told(session) == [
        "user: Draw.",
        'assistant: +web_search(w) {"type": "search", "query": "pier"} '
        '+image_generation_call(g) {"prompt": "a pier"}',
        "tool: [g] <image/png>",
        "assistant: Here.",
    ]
    assert repair_kinds(session) == ["unknown_record"]

"""Claude Code transcripts: split messages, boundaries, sidechains, slices, injected records."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bench.events import RecordedCompaction, RecordedUsage, Session
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told, write_lines

Record = dict[str, Any]


class Transcript:
    """Writes records as the tool does: each one knows its parent."""

    def __init__(self, session_id: str = "s", **common: Any) -> None:
        self.records: list[Record] = []
        self.common = {"sessionId": session_id, "cwd": "/work/boats", **common}
        self.numbers = count(1)
        self.parent: str | None = None

    def add(self, kind: str, **fields: Any) -> str:
        uuid = f"u{next(self.numbers)}"
        record = {"type": kind, "uuid": uuid, "parentUuid": self.parent, **self.common, **fields}
        self.records.append(record)
        self.parent = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def result(self, call_id: str, content: Any = "done", **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return self.user([block], toolUseResult={"stdout": "again"}, **fields)

    def says(
        self, message_id: str, *blocks: Any, usage: Record | None = None, **fields: Any
    ) -> str:
        content = [
            {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks
        ]
        message = {"id": message_id, "role": "assistant", "content": content}
        return self.add(
            "assistant", message=message | ({"usage": usage} if usage else {}), **fields
        )

    def boundary(self, **metadata: Any) -> str:
        parent, self.parent = self.parent, None
        return self.add(
            "system",
            subtype="compact_boundary",
            logicalParentUuid=parent,
            compactMetadata={"trigger": "auto", "preTokens": 900, **metadata},
        )

    def written(self, folder: Path, name: str = "s.jsonl") -> Path:
        return write_lines(folder / name, *self.records)


def tool_use(call_id: str, name: str = "Read", **arguments: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def loaded(transcript: Transcript, folder: Path) -> Session:
    return only_session(transcript.written(folder))


def test_records_of_one_message_become_one_event(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Check the locks.", timestamp="2030-01-02T03:04:05.500Z")
    early = {"input_tokens": 20, "cache_read_input_tokens": 480, "output_tokens": 1}
    log.says("m1", {"type": "thinking", "thinking": "two"}, usage=early)
    log.says("m1", "Both locks.", usage=early)
    log.says("m1", tool_use("a", lock=1), usage=early)
    log.result("a", "open")
    log.says("m1", tool_use("b", lock=2), usage=early | {"output_tokens": 64})
    log.result("b", [{"type": "text", "text": "shut"}])
    log.says("m2", "Lock 2 is shut.")
    session = loaded(log, tmp_path)
    assert told(session) == [
        "user: Check the locks.",
        'assistant: Both locks. +Read(a) {"lock": 1} +Read(b) {"lock": 2}',
        "tool: [a] open",
        "tool: [b] shut",
        "assistant: Lock 2 is shut.",
    ]
    assert session.recorded_usage == (RecordedUsage(2, 500, 480, 64),)
    assert session.events[1].message.reasoning == "two"
    assert session.events[0].timestamp == 1893553445.5
    assert (session.id, session.cluster, session.is_slice) == ("s", "/work/boats", False)
    assert session.repairs == ()


def test_only_the_newest_message_grows(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Go.")
    log.says("m1", "One.")
    log.says("m2", "Two.")
    log.says("m1", "Three.")
    assert told(loaded(log, tmp_path))[1:] == [
        "assistant: One.",
        "assistant: Two.",
        "assistant: Three.",
    ]


def test_boundaries_are_kept_beside_the_history(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Crate 1 holds rope.")
    log.says("m1", "Noted.")
    log.boundary(postTokens=70)
    log.user("Summary: rope.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    kept = log.user("Crate 2 holds tar.")
    log.says("m2", "Noted too.")
    log.boundary(trigger="manual", preservedSegment={"headUuid": kept, "tailUuid": "x"})
    log.user("Summary: rope, tar.", isCompactSummary=True)
    log.user("Crate 3?")
    session = loaded(log, tmp_path)
    assert told(session) == [
        "user: Crate 1 holds rope.",
        "assistant: Noted.",
        "user: Crate 2 holds tar.",
        "assistant: Noted too.",
        "user: Crate 3?",
    ]
    assert session.recorded_compactions == (
        RecordedCompaction(2, "Summary: rope.", "auto", None, 900, 70),
        RecordedCompaction(4, "Summary: rope, tar.", "manual", 3, 900),
    )
    assert (session.is_slice, session.repairs) == (False, ())


def test_summary_records_are_titles(tmp_path: Path) -> None:
    log = Transcript()
    log.records.append({"type": "summary", "summary": "Boats", "leafUuid": "zz"})
    log.user("Hello.")
    session = loaded(log, tmp_path)
    assert told(session) == ["user: Hello."]
    assert session.recorded_compactions == ()


def test_dangling_pointers_are_reported(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Hello.")
    log.parent = "gone"
    log.boundary(preservedSegment={"headUuid": "gone too"})
    log.user("Summary.", isCompactSummary=True)
    session = loaded(log, tmp_path)
    assert repair_kinds(session) == ["dangling_pointer", "dangling_pointer"]
    assert session.recorded_compactions[0].kept_from_seq is None


def test_repeated_records(tmp_path: Path) -> None:
    log = Transcript()
    log.user("A.")
    log.boundary()
    log.records.append(log.records[-1])
    log.user("Summary.", isCompactSummary=True)
    log.user("C.")
    log.records.append(log.records[-1] | {"parentUuid": "moved"})
    log.records.append(log.records[-1] | {"message": {"role": "user", "content": "Other."}})
    session = loaded(log, tmp_path)
    assert told(session) == ["user: A.", "user: C.", "user: Other."]
    assert len(session.recorded_compactions) == 1
    assert repair_kinds(session) == ["repeated_record", "repeated_record", "repeated_uuid"]


@pytest.mark.parametrize(
    "content",
    [
        "<local-command-stdout>ok</local-command-stdout>",
        "<command-name>/exit</command-name>",
        "[Request interrupted by user for tool use]",
        [{"type": "text", "text": "<system-reminder>\nlint\n</system-reminder>"}],
        "<task-notification>\n<task-id>1</task-id></task-notification>",
    ],
)
def test_what_the_runtime_injects_starts_no_turn(tmp_path: Path, content: Any) -> None:
    log = Transcript()
    log.user("Tide at noon?")
    log.user(content)
    log.user("Skill text", isMeta=True)
    session = loaded(log, tmp_path)
    assert [event.starts_turn for event in session.events] == [True, False, False]


def test_what_only_people_see_is_left_out(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Tide at noon?")
    log.user("Saved.", isVisibleInTranscriptOnly=True)
    session = loaded(log, tmp_path)
    assert told(session) == ["user: Tide at noon?"]
    assert repair_kinds(session) == ["transcript_only"]


def test_slash_commands_with_a_prompt_are_requests(tmp_path: Path) -> None:
    log = Transcript()
    log.user("<command-message>review</command-message>\n<command-name>/review</command-name>")
    assert [event.starts_turn for event in loaded(log, tmp_path).events] == [True]


def test_errors_in_the_models_name_are_left_out(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Tide at noon?")
    log.says("x", "API Error: aborted", isApiErrorMessage=True)
    log.records[-1]["message"]["model"] = "<synthetic>"
    log.says("m", "3.2 m.")
    session = loaded(log, tmp_path)
    assert told(session) == ["user: Tide at noon?", "assistant: 3.2 m."]
    assert repair_kinds(session) == ["synthetic_message"]
    assert session.repairs[0].where == "line 2"


def test_sidechains_in_the_file(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Survey the quay.")
    log.says("m1", tool_use("t", "Task", prompt="Measure"))
    main, log.parent = log.parent, None
    log.user("Measure", isSidechain=True, agentId="g7")
    log.says("c1", "84.5 m", isSidechain=True, agentId="g7")
    log.parent = None
    log.user("Measure again", isSidechain=True)
    log.add("attachment", isSidechain=True, attachment={"type": "hook_success"})
    log.says("c2", "84.6 m", isSidechain=True)
    log.parent = main
    log.result("t", "84.5 m")
    sessions = load_sessions(log.written(tmp_path)).sessions
    assert [(row.id, row.subagent_of) for row in sessions] == [
        ("s", None),
        ("g7", "s"),
        ("s-sidechain-2", "s"),
    ]
    assert told(sessions[0])[-1] == "tool: [t] 84.5 m"
    assert told(sessions[1]) == ["user: Measure", "assistant: 84.5 m"]
    assert told(sessions[2]) == ["user: Measure again", "assistant: 84.6 m"]


def test_subagent_folders_and_the_compaction_call(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Go.")
    log.boundary()
    log.user("Continued. Summary:\n1. Port is 8081.", isCompactSummary=True)
    log.says("m", "On it.")
    log.written(tmp_path)
    folder = tmp_path / "s" / "subagents"
    folder.mkdir(parents=True)
    agent = Transcript(isSidechain=True, agentId="g7")
    agent.user("Measure")
    agent.says("c", "84.5 m")
    agent.written(folder, "agent-g7.jsonl")
    summariser = Transcript(isSidechain=True, agentId="acompact-1")
    summariser.user("Caveat", isMeta=True)
    summariser.user("Summarise the conversation.")
    summariser.says("d", "<analysis>x</analysis><summary>\n1. Port is 8081.\n</summary>")
    summariser.written(folder, "agent-acompact-1.jsonl")
    found = load_sessions(tmp_path)
    assert [(row.id, row.subagent_of) for row in found.sessions] == [("s", None), ("g7", "s")]
    assert found.sessions[0].recorded_compactions[0].prompt == "Summarise the conversation."
    assert [Path(row.path).name for row in found.rejected] == ["agent-acompact-1.jsonl"]


def test_slices(tmp_path: Path) -> None:
    log = Transcript()
    log.parent = "before"
    log.user("Commit it.")
    log.says("m", "Done.")
    assert loaded(log, tmp_path).is_slice
    usage = {"input_tokens": 3, "cache_read_input_tokens": 136_000, "output_tokens": 1}
    log = Transcript()
    log.user("Commit it.")
    log.says("m", "Done.", usage=usage)
    assert loaded(log, tmp_path).is_slice
    usage["cache_read_input_tokens"] = 40_000
    log = Transcript()
    log.user("Commit it.")
    log.says("m", "Done.", usage=usage)
    assert not loaded(log, tmp_path).is_slice


def test_noise_is_silent_and_unknown_records_are_counted(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Hello.")
    for kind in ("progress", "file-history-snapshot", "queue-operation", "pr-link"):
        log.add(kind, data={"type": "hook_progress"})
    log.add("telemetry")
    log.add("telemetry")
    log.add("attachment", attachment={"type": "queued_command", "prompt": "And the tide?"})
    session = loaded(log, tmp_path)
    assert told(session) == ["user: Hello.", "user: And the tide?"]
    assert [(row.kind, row.what) for row in session.repairs] == [
        ("unknown_record", "2 records of unknown type 'telemetry' left out")
    ]


def test_results_stand_before_the_text_of_their_record(tmp_path: Path) -> None:
    log = Transcript()
    log.user("Go.")
    log.says("m", tool_use("a"))
    block = {"type": "tool_result", "tool_use_id": "a", "content": "denied"}
    log.user([block, {"type": "text", "text": "[Request interrupted by user for tool use]"}])
    assert told(loaded(log, tmp_path))[2:] == [
        "tool: [a] denied",
        "user (meta): [Request interrupted by user for tool use]",
    ]

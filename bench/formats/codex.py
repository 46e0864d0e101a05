"""Codex CLI rollouts: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

Three generations. The oldest has bare response items after a header line, the next wraps every line
in `{"type", "payload"}` and says each message twice (`response_item` and `event_msg`), the newest
may have messages only as `item_completed` events. Loaded are response items; `event_msg` copies are
not, except an `item_completed` message that no response item of the same turn has said.

The items of one model response (reasoning, text, calls) become one event. `compacted` is kept
beside the history, `thread_rolled_back` takes turns back, a fork keeps its own id. What the tool
writes in the user's name (environment, instructions) is `is_meta`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench.events import Session
from bench.formats.building import Draft, SessionBuilder, seconds, whole
from bench.formats.chat import ROLES, tool_definitions
from bench.formats.content import as_json, flatten, kind_of, text_of
from bench.formats.source import Record, Sample, Source

NAME = "codex"
RANK = 30

_LINE_TYPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_CALL_TYPES = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_search_call",
        "web_search_call",
        "tool_call",
    }
)
_RESULT_TYPES = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "tool_search_output",
        "tool_result",
    }
)
_BARE_TYPES = _CALL_TYPES | _RESULT_TYPES
_SILENT_TYPES = frozenset({"turn_context", "world_state", "inter_agent_communication_metadata"})
_INJECTED_STARTS = (
    "<environment_context>",
    "<user_instructions>",
    "<user_action>",
    "<ide_context>",
    "<permissions",
    "<turn_aborted>",
    "<skill>",
    "<INSTRUCTIONS>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
    "# Context from my IDE setup",
)


def detect(sample: Sample) -> str | None:
    """Lines with type and payload, or response items after a header with id and timestamp."""
    for record in sample.records:
        if kind_of(record) in _LINE_TYPES and isinstance(record.get("payload"), dict):
            return f"a line of type {record['type']!r} with payload"
        if kind_of(record) in _BARE_TYPES and "call_id" in record:
            return f"a bare response item of type {record['type']!r}"
        if record.get("type") == "message" and _has_part_types(record.get("content")):
            return "a bare response item of type 'message'"
        if record.get("record_type") == "state":
            return "a state record"
    return None


def _has_part_types(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in ("input_text", "output_text")
        for part in content
    )


def read(source: Source) -> Iterator[Session]:
    """The one session of the file."""
    reader = _Reader(source)
    for number, record in source.records():
        reader.take(number, record)
    session = reader.finish()
    if session is not None:
        yield session


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.builder = SessionBuilder("")
        self.open: Draft | None = None
        """The assistant draft of the response that is still being told."""
        self.newest: Draft | None = None
        """The assistant draft that the next token count speaks of."""
        self.said: Counter[tuple[str, str]] = Counter()
        """Messages of this turn that one of the two kinds of lines has said and the other not."""
        self.last_total: Any = None
        self.tokens_before: int | None = None
        self.unknown_types: Counter[str] = Counter()

    def take(self, number: int, record: Record) -> None:
        where = self.source.where(number)
        timestamp = seconds(record.get("timestamp"))
        kind, payload = kind_of(record), record.get("payload")
        if not isinstance(payload, dict):
            self._bare(record, where, timestamp)
        elif kind == "session_meta":
            self._meta(payload, where)
        elif kind == "response_item":
            self._item(payload, where, timestamp)
        elif kind == "event_msg":
            self._event(payload, where, timestamp)
        elif kind == "compacted":
            self._compacted(payload, where)
        elif kind not in _SILENT_TYPES:
            self.unknown_types[kind] += 1

    def _bare(self, record: Record, where: str, timestamp: float | None) -> None:
        if "type" in record:
            self._item(record, where, timestamp)
        elif isinstance(record.get("id"), str) and "timestamp" in record:
            self._meta(record, where)
        elif "record_type" not in record:
            self.unknown_types["(none)"] += 1

    def _meta(self, payload: Record, where: str) -> None:
        if self.builder.id:
            return  # A fork repeats the header of its parent; its own came first.
        self.builder.id = text_of(payload.get("id"))
        is_fork = isinstance(payload.get("forked_from_id"), str)
        if isinstance(payload.get("parent_thread_id"), str) and not is_fork:
            self.builder.subagent_of = payload["parent_thread_id"]
        if isinstance(payload.get("cwd"), str):
            self.builder.cluster = payload["cwd"]
        instructions = payload.get("base_instructions")
        if isinstance(instructions, dict) and isinstance(instructions.get("text"), str):
            self.builder.add("system", where, instructions["text"])
        dynamic = payload.get("dynamic_tools")
        if isinstance(dynamic, dict):
            dynamic = dynamic.get("tools")
        if isinstance(dynamic, list):
            renamed = [
                {**tool, "parameters": tool.get("inputSchema")}
                for tool in dynamic
                if isinstance(tool, dict)
            ]
            self.builder.tools = tool_definitions(renamed)

    def _item(self, item: Record, where: str, timestamp: float | None) -> None:
        kind = kind_of(item)
        if kind == "message" or (not kind and "role" in item):
            self._message(text_of(item.get("role")), item.get("content"), where, timestamp)
        elif kind == "reasoning":
            texts = [flatten(item.get(key))[0] for key in ("summary", "content")]
            self._assistant(where, timestamp).reasoning.append("\n".join(filter(None, texts)))
        elif kind in _CALL_TYPES:
            self._call(kind, item, self._assistant(where, timestamp))
        elif kind in _RESULT_TYPES:
            self._close()
            output = item.get("output", item.get("tools", item.get("result")))
            self.builder.add_result(
                item.get("call_id"), _unwrapped(output), where, timestamp=timestamp
            )
        elif kind == "image_generation_call":
            draft = self._assistant(where, timestamp)
            self.builder.add_call(
                draft, item.get("id"), kind, {"prompt": text_of(item.get("revised_prompt"))}
            )
            self._close()
            image = {"type": "image", "data": item.get("result"), "media_type": "image/png"}
            self.builder.add_result(item.get("id"), [image], where, timestamp=timestamp)
        elif kind == "agent_message":
            # Another agent wrote to this one: it is shown like a message of a user.
            self._close()
            text = flatten(item.get("content"))[0]
            self.builder.add("user", where, text, timestamp=timestamp, is_meta=True)
        elif kind not in ("ghost_snapshot", "other"):
            self.unknown_types[kind] += 1

    def _message(self, role: str, content: Any, where: str, timestamp: float | None) -> None:
        text, _ = flatten(content)
        if self._is_said("item_completed", role, text):
            return
        self.said["response_item", f"{role}\n{text}"] += 1
        self._add_message(role, content, where, timestamp)

    def _add_message(self, role: str, content: Any, where: str, timestamp: float | None) -> None:
        known = ROLES.get(role)
        text, attachments = flatten(_without_empty_images(content))
        if known == "assistant":
            draft = self._assistant(where, timestamp)
            draft.texts.append(text)
            draft.attachments += attachments
        elif known in ("user", "system"):
            self._close()
            self.builder.add(
                known,
                where,
                text,
                attachments=attachments,
                timestamp=timestamp,
                is_meta=known == "user" and text.lstrip().startswith(_INJECTED_STARTS),
            )
        else:
            self.builder.log.add("unknown_role", where, f"a message of role {role!r} left out")

    def _is_said(self, other: str, role: str, text: str) -> bool:
        """True when the other kind of line has said this message already in this turn."""
        key = (other, f"{role}\n{text}")
        if self.said[key]:
            self.said[key] -= 1
            return True
        if role in ("user", "assistant"):
            # The speaker changes: what was said before belongs to another turn.
            ended = "assistant\n" if role == "user" else "user\n"
            for known in [row for row in self.said if row[1].startswith(ended)]:
                del self.said[known]
        return False

    def _assistant(self, where: str, timestamp: float | None) -> Draft:
        if self.open is None:
            self.open = self.newest = self.builder.add("assistant", where, timestamp=timestamp)
        return self.open

    def _close(self) -> None:
        self.open = None

    def _call(self, kind: str, item: Record, draft: Draft) -> None:
        if kind == "function_call":
            self.builder.add_call(
                draft, item.get("call_id"), item.get("name"), item.get("arguments")
            )
            return
        function = item.get("function")
        named = function.get("name") if isinstance(function, dict) else item.get("name")
        name = text_of(named) or kind.removesuffix("_call")
        call_id = item.get("call_id") or item.get("id")
        if kind == "custom_tool_call":
            # Free text by design (a patch, a script): wrapped, so that it is a JSON object.
            text = text_of(item.get("input"))
            arguments: Any = text if _is_object(text) else {"input": text}
        else:
            arguments = item.get("action", item.get("arguments"))
        self.builder.add_call(draft, call_id, name, arguments)

    def _event(self, payload: Record, where: str, timestamp: float | None) -> None:
        kind = payload.get("type")
        if kind == "token_count":
            self._token_count(payload.get("info"))
        elif kind == "thread_rolled_back":
            self._roll_back(whole(payload.get("num_turns")) or 1, where)
        elif kind == "item_completed" and isinstance(payload.get("item"), dict):
            item = payload["item"]
            role = {"UserMessage": "user", "AgentMessage": "assistant"}.get(
                text_of(item.get("type"))
            )
            if role is None:
                return
            content = _lower_case_types(item.get("content"))
            text = flatten(content)[0]
            if not self._is_said("response_item", role, text):
                self.said["item_completed", f"{role}\n{text}"] += 1
                self._add_message(role, content, where, timestamp)

    def _token_count(self, info: Any) -> None:
        if not isinstance(info, dict):
            return
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        if not isinstance(last, dict) or total == self.last_total:
            return  # The same snapshot again.
        self.last_total = total
        self.tokens_before = whole(last.get("total_tokens"))
        tokens = whole(last.get("input_tokens"))
        if self.newest is not None and tokens is not None:
            self.builder.add_usage(
                self.newest,
                tokens,
                whole(last.get("cached_input_tokens")),
                whole(last.get("output_tokens")),
            )
        self.newest = None
        self._close()

    def _compacted(self, payload: Record, where: str) -> None:
        self._close()
        compaction = self.builder.add_compaction(where)
        compaction.tokens_before = self.tokens_before
        compaction.summary = text_of(payload.get("message"))
        replacement = payload.get("replacement_history")
        if not compaction.summary and isinstance(replacement, list):
            texts = [flatten(item.get("content"))[0] for item in replacement if _is_message(item)]
            compaction.summary = texts[-1] if texts else ""
        if not compaction.summary:
            self.builder.log.add(
                "compaction_without_summary", where, "the compaction left no readable summary"
            )

    def _roll_back(self, turns: int, where: str) -> None:
        self._close()
        self.newest = None
        self.said.clear()
        starts = [
            position
            for position, draft in enumerate(self.builder.drafts)
            if draft.role == "user" and not draft.is_meta
        ]
        if not starts:
            return
        position = starts[-min(turns, len(starts))]
        count = len(self.builder.drafts) - position
        self.builder.drop_from(position)
        self.builder.log.add(
            "rolled_back", where, f"{turns} turns taken back by the user: {count} events left out"
        )

    def finish(self) -> Session | None:
        for kind, count in self.unknown_types.items():
            self.source.log.add(
                "unknown_record", "whole file", f"{count} records of unknown type {kind!r} left out"
            )
        if not self.builder.id:
            self.builder.id = self.source.name
        return self.builder.finish(self.source, NAME)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "message"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _without_empty_images(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        part
        for part in content
        if not (
            isinstance(part, dict)
            and part.get("type") == "input_image"
            and part.get("image_url") is None
            and part.get("file_id") is None
        )
    ]


def _lower_case_types(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": text_of(part.get("type")).lower()} if isinstance(part, dict) else part
        for part in content
    ]


def _unwrapped(output: Any) -> Any:
    """The text of an output that is JSON around `output` and `metadata`, else it as it is."""
    if isinstance(output, str):
        if output.startswith("{") and '"output"' in output and '"metadata"' in output:
            try:
                inner = json.loads(output)
            except (ValueError, RecursionError):
                return output
            if isinstance(inner, dict) and isinstance(inner.get("output"), str):
                return inner["output"]
        return output
    if isinstance(output, dict):
        if isinstance(output.get("type"), str):
            return output
        if "content" in output:
            return output["content"]
        return as_json(output)
    return output

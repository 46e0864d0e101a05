"""Codex CLI rollouts: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

Three generations. The oldest has bare response items after a header line, the next wraps every line
in `{"type", "payload"}` and says each message twice (`response_item` and `event_msg`), the newest
may have messages only as `item_completed` events. Loaded are response items; `event_msg` copies are
not, except an `item_completed` message that no response item of the same turn has said.

The items of one model response become one event. `compacted` is kept beside the history,
`thread_rolled_back` takes turns back, a fork keeps its own id. What the tool writes in the user's
name (environment, instructions) is `is_meta`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench.events import Session
from bench.formats.building import SessionBuilder, seconds, whole
from bench.formats.chat import tool_definitions
from bench.formats.content import flatten, kind_of, text_of
from bench.formats.response_items import (
    CALL_TYPES,
    RESULT_TYPES,
    ResponseItems,
    has_part_types,
)
from bench.formats.source import Record, Sample, Source

NAME = "codex"
RANK = 30

_LINE_TYPES = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
)
_BARE_TYPES = CALL_TYPES | RESULT_TYPES
_SILENT_TYPES = frozenset({"turn_context", "world_state", "inter_agent_communication_metadata"})


def detect(sample: Sample) -> str | None:
    """Lines with type and payload, or response items after a header with id and timestamp."""
    begins_bare = sample.shape == "lines" and any(map(_is_bare_header, sample.records[:1]))
    for record in sample.records:
        if kind_of(record) in _LINE_TYPES and isinstance(record.get("payload"), dict):
            return f"a line of type {record['type']!r} with payload"
        if begins_bare and kind_of(record) in _BARE_TYPES and "call_id" in record:
            return f"a header, then a bare response item of type {record['type']!r}"
        if (
            begins_bare
            and record.get("type") == "message"
            and has_part_types(record.get("content"))
        ):
            return "a header, then a bare response item of type 'message'"
        if record.get("record_type") == "state":
            return "a state record"
    return None


def _is_bare_header(record: Record) -> bool:
    return "type" not in record and isinstance(record.get("id"), str) and "timestamp" in record


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
        self.items = ResponseItems(self.builder, unwraps_outputs=True)
        self.said: Counter[tuple[str, str]] = Counter()
        """Messages of this turn that one of the two kinds of lines has said and the other not."""
        self.has_events = False
        self.last_total: Any = None
        self.tokens_before: int | None = None

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
            self.has_events = True
            self._event(payload, where, timestamp)
        elif kind == "compacted":
            self._compacted(payload, where)
        elif kind not in _SILENT_TYPES:
            self.items.unknown_types[kind] += 1

    def _bare(self, record: Record, where: str, timestamp: float | None) -> None:
        if "type" in record:
            self._item(record, where, timestamp)
        elif _is_bare_header(record):
            self._meta(record, where)
        elif "record_type" not in record:
            self.items.unknown_types["(none)"] += 1

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
        else:
            self.items.take(item, where, timestamp)

    def _message(self, role: str, content: Any, where: str, timestamp: float | None) -> None:
        text, _ = flatten(content)
        if self._is_said("item_completed", role, text):
            return
        self.said["response_item", f"{role}\n{text}"] += 1
        self.items.message(role, content, where, timestamp)

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
                self.items.message(role, content, where, timestamp)

    def _token_count(self, info: Any) -> None:
        if not isinstance(info, dict):
            return
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        if not isinstance(last, dict) or total == self.last_total:
            return  # The same snapshot again.
        self.last_total = total
        self.tokens_before = whole(last.get("total_tokens"))
        tokens = whole(last.get("input_tokens"))
        if self.items.newest is not None and tokens is not None:
            self.builder.add_usage(
                self.items.newest,
                tokens,
                whole(last.get("cached_input_tokens")),
                whole(last.get("output_tokens")),
            )
        self.items.newest = None
        self.items.close()

    def _compacted(self, payload: Record, where: str) -> None:
        summary = text_of(payload.get("message"))
        replacement = payload.get("replacement_history")
        if not summary and isinstance(replacement, list):
            texts = [flatten(item.get("content"))[0] for item in replacement if _is_message(item)]
            summary = texts[-1] if texts else ""
        self.items.compaction(summary, where).tokens_before = self.tokens_before

    def _roll_back(self, turns: int, where: str) -> None:
        self.items.close()
        self.items.newest = None
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
        self.items.report_unknown(self.source.log)
        if not self.builder.id:
            self.builder.id = self.source.name
        if self.has_events and not self.builder.drafts and not self.source.lines_skipped:
            self.source.nothing_because = "a Codex rollout of events only: no message stands in it"
        return self.builder.finish(self.source, NAME)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "message"


def _lower_case_types(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": text_of(part.get("type")).lower()} if isinstance(part, dict) else part
        for part in content
    ]

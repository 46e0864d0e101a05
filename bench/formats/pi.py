"""pi sessions: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, and tools built on pi.

A `session` line, then entries: messages, compactions, changes of model and thinking level. Newer
files are trees (`id`, `parentId`): the branch of the last entry is the session, the others are left
out and counted. A compaction keeps the entries from `firstKeptEntryIndex` or `firstKeptEntryId` on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.events import Session
from bench.formats.building import CompactionDraft, Draft, SessionBuilder, seconds, whole
from bench.formats.chat import add_blocks
from bench.formats.content import flatten, kind_of, text_of
from bench.formats.source import Record, Sample, Source

NAME = "pi"
RANK = 25

_ROLES_OF_ITS_OWN = frozenset({"toolResult", "bashExecution"})
_SILENT_TYPES = frozenset({"model_change", "thinking_level_change", "label", "session_info"})


def detect(sample: Sample) -> str | None:
    """A session line with id and time, or messages of a role that only pi has."""
    for record in sample.records:
        kind = kind_of(record)
        if kind == "session" and isinstance(record.get("id"), str) and "timestamp" in record:
            return "a line of type 'session' with id and timestamp"
        message = record.get("message")
        if (
            kind == "message"
            and isinstance(message, dict)
            and kind_of(message, "role") in _ROLES_OF_ITS_OWN
        ):
            return f"an entry of type 'message' of role {message['role']!r}"
    return None


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
        self.builder = SessionBuilder(source.name)
        self.next_draft: list[int] = []
        """For every entry, the position of the first draft that it or a later one makes."""
        self.entry_of_id: dict[str, int] = {}
        self.parents: list[str | None] = []
        self.kept: list[tuple[CompactionDraft, Any]] = []
        self.compaction_entries: dict[int, CompactionDraft] = {}
        self.unknown_types: dict[str, int] = {}

    def take(self, number: int, record: Record) -> None:
        self.next_draft.append(len(self.builder.drafts))
        parent = record.get("parentId")
        self.parents.append(parent if isinstance(parent, str) else None)
        if isinstance(record.get("id"), str):
            self.entry_of_id[record["id"]] = len(self.parents) - 1
        where = self.source.where(number)
        kind = kind_of(record)
        message = record.get("message")
        if kind == "session":
            self.builder.id = text_of(record.get("id")) or self.builder.id
            if isinstance(record.get("cwd"), str):
                self.builder.cluster = record["cwd"]
        elif kind == "message" and isinstance(message, dict):
            self._message(message, where, seconds(record.get("timestamp")))
        elif kind == "compaction":
            self._compaction(record, where)
        elif kind in ("custom_message", "branch_summary"):
            text = flatten(record.get("content", record.get("summary")))[0]
            self.builder.add(
                "user", where, text, timestamp=seconds(record.get("timestamp")), is_meta=True
            )
        elif kind not in _SILENT_TYPES:
            self.unknown_types[kind] = self.unknown_types.get(kind, 0) + 1

    def _message(self, message: Record, where: str, timestamp: float | None) -> None:
        role, content = kind_of(message, "role"), message.get("content")
        if role == "toolResult":
            self.builder.add_result(message.get("toolCallId"), content, where, timestamp=timestamp)
        elif role == "bashExecution":
            ran = f"Ran `{text_of(message.get('command'))}`\n{text_of(message.get('output'))}"
            self.builder.add("user", where, ran, timestamp=timestamp, is_meta=True)
        elif role == "assistant":
            blocks = [self._renamed(block) for block in _blocks(content)]
            draft = add_blocks(self.builder, "assistant", blocks, where, timestamp=timestamp)
            self._usage(draft, message.get("usage"))
        elif role == "user":
            add_blocks(self.builder, "user", _blocks(content), where, timestamp=timestamp)
        else:
            self.builder.log.add("unknown_role", where, f"a message of role {role!r} left out")

    def _renamed(self, block: Any) -> Any:
        if not (isinstance(block, dict) and kind_of(block) == "toolCall"):
            return block
        # In some files a result names the call as its parent, not the entry that holds the call.
        self.entry_of_id.setdefault(text_of(block.get("id")), len(self.parents) - 1)
        return {**block, "type": "tool_use", "input": block.get("arguments")}

    def _usage(self, draft: Draft, usage: Any) -> None:
        if not isinstance(usage, dict) or draft.role != "assistant":
            return
        counts = [whole(usage.get(key)) or 0 for key in ("input", "cacheRead", "cacheWrite")]
        if sum(counts):
            self.builder.add_usage(draft, sum(counts), counts[1], whole(usage.get("output")))

    def _compaction(self, record: Record, where: str) -> None:
        compaction = self.builder.add_compaction(where)
        compaction.summary = text_of(record.get("summary"))
        compaction.tokens_before = whole(record.get("tokensBefore"))
        self.kept.append(
            (compaction, record.get("firstKeptEntryId", record.get("firstKeptEntryIndex")))
        )
        self.compaction_entries[len(self.parents) - 1] = compaction

    def finish(self) -> Session | None:
        for kind, count in self.unknown_types.items():
            self.source.log.add(
                "unknown_record", "whole file", f"{count} records of unknown type {kind!r} left out"
            )
        drafts = self.builder.drafts
        for compaction, kept in self.kept:
            entry = self.entry_of_id.get(kept) if isinstance(kept, str) else whole(kept)
            if entry is None or not 0 <= entry < len(self.next_draft):
                self.builder.log.add(
                    "dangling_pointer", compaction.where, "the first kept entry is not in the file"
                )
            elif self.next_draft[entry] < compaction.after_order:
                compaction.kept_from = drafts[self.next_draft[entry]]
        self._leave_out_other_branches()
        return self.builder.finish(self.source, NAME)

    def _leave_out_other_branches(self) -> None:
        """Keep the entries between the last one and the root, when they say where that is."""
        entry = len(self.parents) - 1
        if entry < 0 or self.parents[entry] is None:
            return
        branch = {entry}
        while (parent := self.parents[entry]) is not None:
            found = self.entry_of_id.get(parent)
            if found is None or found in branch:
                self.builder.log.add(
                    "dangling_pointer",
                    "whole file",
                    f"entry {parent} is missing: entries are in the order of the file",
                )
                return
            entry = found
            branch.add(entry)
        ends = [*self.next_draft[1:], len(self.builder.drafts)]
        dropped = {
            position
            for index, (start, end) in enumerate(zip(self.next_draft, ends, strict=True))
            if index not in branch
            for position in range(start, end)
        }
        if not dropped:
            return
        self.builder.drafts = [
            draft for position, draft in enumerate(self.builder.drafts) if position not in dropped
        ]
        on_branch = {id(row) for index, row in self.compaction_entries.items() if index in branch}
        self.builder.compactions = [row for row in self.builder.compactions if id(row) in on_branch]
        self.builder.log.add(
            "other_branch", "whole file", f"{len(dropped)} events of abandoned branches left out"
        )


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]

"""Edges: drafts of events become a session, put in order and with every repair named.

Formats tell what they read in file order; `SessionBuilder.finish` leaves out empty messages, pairs
results with calls by position (never by a session-wide dictionary: an id that is used again in a
later round is another call), drops duplicate results, and moves a result that stands outside its
round to the call that nothing else answered.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from math import isfinite
from typing import Any

from bench.events import (
    Attachment,
    Event,
    Message,
    RecordedCompaction,
    RecordedUsage,
    Role,
    Session,
    ToolCall,
    ToolDefinition,
)
from bench.formats.content import as_json, flatten, text_of
from bench.formats.decoding import RepairLog
from bench.formats.source import Source


@dataclass(slots=True, eq=False)
class Draft:
    """An event that may still grow; `call_id` None on a tool draft means: the next open call."""

    role: Role
    where: str
    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    call_id: str | None = None
    attachments: list[Attachment] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    timestamp: float | None = None
    is_meta: bool = False
    order: int = 0
    seq: int = 0

    @property
    def is_empty(self) -> bool:
        """True when no API would accept it: nothing in it, and it is no tool result."""
        if self.role == "tool" or self.calls or self.attachments:
            return False
        return not self._texts()

    def _texts(self) -> list[str]:
        if self.role == "tool":
            return self.texts if len(self.texts) < 2 else [text for text in self.texts if text]
        # Models write blank blocks before a call; APIs refuse them when they are sent back.
        return [text for text in self.texts if text and not text.isspace()]

    def event(self, seq: int) -> Event:
        """The finished event."""
        message = Message(
            self.role,
            "\n".join(self._texts()),
            tuple(self.calls),
            self.call_id,
            tuple(self.attachments),
            "\n".join(text for text in self.reasoning if text),
        )
        return Event(seq, message, self.timestamp, self.is_meta)


@dataclass(slots=True)
class CompactionDraft:
    """A recorded compaction whose places are still drafts, not seqs."""

    after_order: int
    where: str
    summary: str = ""
    trigger: str = "auto"
    kept_from: Draft | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    prompt: str | None = None


class SessionBuilder:
    """Collects drafts in file order and makes one session of them."""

    def __init__(self, session_id: str) -> None:
        self.id = session_id
        self.log = RepairLog()
        self.drafts: list[Draft] = []
        self.compactions: list[CompactionDraft] = []
        self.tools: tuple[ToolDefinition, ...] = ()
        self.is_slice = False
        self.subagent_of: str | None = None
        self.cluster: str | None = None
        self._usage: dict[int, tuple[Draft, int, int | None, int | None]] = {}

    def add(
        self,
        role: Role,
        where: str,
        text: str = "",
        *,
        attachments: Sequence[Attachment] = (),
        timestamp: float | None = None,
        is_meta: bool = False,
        call_id: str | None = None,
    ) -> Draft:
        """A new draft at the end."""
        draft = Draft(
            role,
            where,
            [text] if text else [],
            call_id=call_id,
            attachments=list(attachments),
            timestamp=timestamp,
            is_meta=is_meta,
            order=len(self.drafts) + 1,
        )
        self.drafts.append(draft)
        return draft

    def add_result(
        self, call_id: Any, content: Any, where: str, *, timestamp: float | None = None
    ) -> Draft:
        """A tool result; `content` in any shape, `call_id` None when the recording has none."""
        text, attachments = flatten(content)
        known_id = None if call_id is None else text_of(call_id)
        return self.add(
            "tool", where, text, attachments=attachments, timestamp=timestamp, call_id=known_id
        )

    def add_call(self, draft: Draft, call_id: Any, name: Any, arguments: Any) -> None:
        """One call of an assistant draft; arguments as text are kept as they are."""
        if isinstance(arguments, str):
            text = arguments
            if not text.strip():
                text = "{}"
                self.log.add("empty_arguments", draft.where, "empty arguments became {}")
            elif not is_json(text):
                self.log.add(
                    "arguments_not_json",
                    draft.where,
                    f"arguments of {text_of(name)} are no JSON and were kept as text",
                )
        else:
            text = "{}" if arguments is None else as_json(arguments)
        draft.calls.append(ToolCall(text_of(call_id), text_of(name), text))

    def add_usage(
        self,
        draft: Draft,
        input_tokens: int,
        cached_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        """What the provider counted for `draft`; told again, the newer figures hold."""
        self._usage[draft.order] = (draft, input_tokens, cached_tokens, output_tokens)

    def add_compaction(self, where: str) -> CompactionDraft:
        """A compaction at this place of the recording."""
        compaction = CompactionDraft(len(self.drafts), where)
        self.compactions.append(compaction)
        return compaction

    def drop_from(self, position: int) -> None:
        """Take back the drafts from `position` on, with what hangs on them."""
        self.drafts = self.drafts[:position]
        self._usage = {order: row for order, row in self._usage.items() if order <= position}
        self.compactions = [row for row in self.compactions if row.after_order <= position]

    def finish(self, source: Source, format_name: str) -> Session | None:
        """The session, None when nobody speaks in it. Repairs of the file so far go along."""
        kept = self._without_empty()
        kept = _paired(kept, self.log)
        if not any(draft.role in ("user", "assistant") for draft in kept):
            return None
        for seq, draft in enumerate(kept, 1):
            draft.seq = seq
        return Session(
            id=self.id,
            events=tuple(draft.event(draft.seq) for draft in kept),
            tools=self.tools,
            path=str(source.path),
            format=format_name,
            is_slice=self.is_slice,
            subagent_of=self.subagent_of,
            cluster=self.cluster,
            recorded_compactions=self._recorded_compactions(kept),
            recorded_usage=tuple(
                RecordedUsage(draft.seq, input_tokens, cached, output)
                for draft, input_tokens, cached, output in self._usage.values()
                if draft.seq
            ),
            repairs=source.log.take() + self.log.take(),
            skipped_lines=source.take_skipped(),
        )

    def _without_empty(self) -> list[Draft]:
        kept = []
        for draft in self.drafts:
            if draft.is_empty:
                self.log.add(
                    "empty_message", draft.where, f"an empty {draft.role} message left out"
                )
            else:
                kept.append(draft)
        return kept

    def _recorded_compactions(self, kept: Sequence[Draft]) -> tuple[RecordedCompaction, ...]:
        by_order = sorted(kept, key=lambda draft: draft.order)
        orders = [draft.order for draft in by_order]
        newest = [0, *accumulate((draft.seq for draft in by_order), max)]
        return tuple(
            RecordedCompaction(
                after_seq=newest[bisect_right(orders, row.after_order)],
                summary=row.summary,
                trigger=row.trigger,
                kept_from_seq=(row.kept_from.seq or None) if row.kept_from else None,
                tokens_before=row.tokens_before,
                tokens_after=row.tokens_after,
                prompt=row.prompt,
            )
            for row in self.compactions
        )


def is_json(text: str) -> bool:
    """True when the text is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@dataclass(slots=True)
class _Round:
    """An assistant draft with the results that its calls have got so far."""

    assistant: Draft
    results: list[Draft | None]
    last: Draft

    def take(self, result: Draft) -> bool:
        for index, call in enumerate(self.assistant.calls):
            if self.results[index] is None and result.call_id in (None, call.id):
                self.results[index] = self.last = result
                return True
        return False

    def is_open(self, call_id: str | None) -> bool:
        return any(
            result is None and call.id == call_id
            for call, result in zip(self.assistant.calls, self.results, strict=True)
        )

    def answered(self, call_id: str | None) -> Draft | None:
        for call, result in zip(self.assistant.calls, self.results, strict=True):
            if result is not None and call.id == call_id:
                return result
        return None


def _paired(drafts: list[Draft], log: RepairLog) -> list[Draft]:
    """The drafts with duplicate results dropped and stray ones moved to their calls."""
    rounds: list[_Round] = []
    strays: list[Draft] = []
    dropped: set[int] = set()
    for draft in drafts:
        if draft.role == "assistant":
            rounds.append(_Round(draft, [None] * len(draft.calls), draft))
        elif draft.role == "tool":
            is_nameless = draft.call_id is None
            if rounds and rounds[-1].take(draft):
                if is_nameless:
                    _name_after_call(draft, rounds[-1], log)
                continue
            first = rounds[-1].answered(draft.call_id) if rounds else None
            if first is not None:
                dropped.add(draft.order)
                _log_duplicate(draft, first, log)
            else:
                strays.append(draft)
    moved = _homes_of_strays(strays, rounds, dropped, log)
    if not dropped and not moved:
        return drafts
    remaining = [draft for draft in drafts if draft.order not in dropped]
    remaining.sort(key=lambda draft: moved.get(draft.order, (draft.order, 0)))
    return remaining


def _name_after_call(draft: Draft, open_round: _Round, log: RepairLog) -> None:
    index = next(i for i, result in enumerate(open_round.results) if result is draft)
    draft.call_id = open_round.assistant.calls[index].id
    if draft.call_id:
        log.add("missing_call_id", draft.where, "a result without id went to the next open call")


def _log_duplicate(draft: Draft, first: Draft, log: RepairLog) -> None:
    if (draft.texts, draft.attachments) == (first.texts, first.attachments):
        log.add("duplicate_result", draft.where, f"the result of {draft.call_id} stood there twice")
    else:
        log.add(
            "conflicting_result",
            draft.where,
            f"a different second result of {draft.call_id} left out; the first: {first.where}",
        )


def _homes_of_strays(
    strays: list[Draft], rounds: list[_Round], dropped: set[int], log: RepairLog
) -> dict[int, tuple[int, int]]:
    """New places of results outside their round; what fits nowhere stays where it was recorded."""
    moved: dict[int, tuple[int, int]] = {}
    rounds_of: dict[str, list[_Round]] = {}
    if strays:
        for candidate in rounds:
            for call_id in dict.fromkeys(call.id for call in candidate.assistant.calls):
                rounds_of.setdefault(call_id, []).append(candidate)
    for draft in strays:
        candidates = rounds_of.get(draft.call_id, []) if draft.call_id is not None else []
        earlier = [row for row in reversed(candidates) if row.assistant.order < draft.order]
        home = next((row for row in earlier if row.is_open(draft.call_id)), None)
        what = "came after a later message and was moved to its call"
        kind = "late_result"
        if home is None and earlier:
            first = earlier[0].answered(draft.call_id)
            if first is not None:
                dropped.add(draft.order)
                _log_duplicate(draft, first, log)
                continue
        if home is None:
            home = next((row for row in candidates if row.is_open(draft.call_id)), None)
            what = "came before its call and was moved behind it"
            kind = "result_before_call"
        if home is None:
            log.add("orphan_result", draft.where, f"no call has the id {draft.call_id}")
            continue
        anchor = home.last
        home.take(draft)
        place, shift = moved.get(anchor.order, (anchor.order, 0))
        moved[draft.order] = (place, shift + 1)
        log.add(kind, draft.where, f"the result of {draft.call_id} {what}")
    return moved


def seconds(value: Any) -> float | None:
    """A timestamp in seconds since the epoch; ISO text, seconds or milliseconds are understood."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return None if not isfinite(value) else value / 1000 if value > 1e11 else float(value)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            # Without a zone it must not depend on where the reader sits.
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return None


def whole(value: Any) -> int | None:
    """The value when it is a whole number, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None

"""The planner: which prefix of the history a compaction may cover (F3, F6.2, F6.3, F9.2).

It reads the canonical history, never a projection, and only ever cuts between groups (F1.2, F1.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.events import Message
from bench.history import History
from bench.projection import Projection
from strategies.layered.checkpoint import SEGMENTED, SESSION, TEXT, Checkpoint
from strategies.layered.estimate import messages_tokens
from strategies.layered.source import SourceMessage, source_digest, sources

GROUPS_AFTER_USER_MIN = 2
SEGMENTS_MAX = 4


class Refused(Exception):
    """There is nothing safe to cover; `reason` is a short name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Group:
    """Messages start..stop-1 that are covered together or not at all (F1.4).

    `is_complete` False means that an answer is still missing, so nothing may cover it (F3.5).
    """

    start: int
    stop: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Span:
    """What to plan in: all messages, their groups, and where the current user request stands.

    `last_user` is an index, None when there is no request. The first `pinned` messages (leading
    system messages) stay verbatim: they belong to the digest, but are never summarised.
    `newest_step` is the index where the newest step begins, None for that of the newest group.
    """

    messages: tuple[SourceMessage, ...]
    groups: tuple[Group, ...]
    last_user: int | None
    pinned: int = 0
    newest_step: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One compaction that may be tried.

    `source` is what the summariser reads: the new messages, with the old anchor in front of them
    when the anchor changed (F6.3). `new_digest` covers the new messages alone. Token figures are
    estimates of the covered span: raw, and as the model would see it now (F8.6).
    """

    phase: str
    through_seq: int
    head_anchor_seq: int
    covered: tuple[SourceMessage, ...]
    source: tuple[SourceMessage, ...]
    new_from_seq: int
    digest: str
    new_digest: str
    raw_tokens: int
    projected_tokens: int
    previous: Checkpoint | None
    is_append: bool

    @property
    def carries_previous_summary(self) -> bool:
        """True when an earlier text summary stands for the older part of the prefix."""
        return self.previous is not None and self.previous.projection_kind == TEXT

    @property
    def level(self) -> str:
        """`session` once an earlier checkpoint was merged into one summary, else `segmented`."""
        return SESSION if self.previous is not None and not self.is_append else SEGMENTED

    @property
    def segment_from_seq(self) -> int:
        """The first seq of the segment that this plan writes."""
        return self.new_from_seq if self.is_append else self.covered[0].seq


def groups_as_original(messages: Sequence[SourceMessage]) -> tuple[Group, ...]:
    """An assistant message with calls and the tool messages directly behind it; others alone.

    Complete when each call id was answered. A tool message elsewhere is never complete, and so
    blocks everything behind it for good (divergence `dead_calls`).
    """
    found: list[Group] = []
    start = 0
    while start < len(messages):
        message = messages[start].message
        stop = start + 1
        is_complete = message.role != "tool"
        if message.role == "assistant" and message.calls:
            while stop < len(messages) and messages[stop].message.role == "tool":
                stop += 1
            answered = {each.message.call_id or "" for each in messages[start + 1 : stop]}
            is_complete = {call.id for call in message.calls} <= answered
        found.append(Group(start, stop, is_complete))
        start = stop
    return tuple(found)


def groups_of(history: History, stop: int) -> tuple[Group, ...]:
    """The groups of a harness history; one with a *dead* call is complete (H5).

    A call is pending while no user or assistant message follows it, and dead afterwards: nothing
    can answer it any more, so it mustn't block compaction for ever. The same holds for a result
    that answers nothing.
    """
    found: list[Group] = []
    start = 0
    for position in range(1, stop + 1):
        if position < stop and history.group_start(position) == history.group_start(start):
            continue
        is_pending = any(history.is_pending(each, stop) for each in range(start, position))
        found.append(Group(start, position, not is_pending))
        start = position
    return tuple(found)


def span_of(view: Projection) -> Span:
    """What the strategy plans in: the harness history, dead calls told from pending ones.

    The current user request is the newest one that somebody really made; a runtime's own text in
    the user's name is none. The newest step is led by an assistant message, so that such text
    can't push the step that it follows out of sight (divergence `newest_step`).
    """
    events = view.events
    users = [index for index, event in enumerate(events) if event.message.role == "user"]
    asked = [index for index in users if events[index].starts_turn] or users
    groups = groups_of(view.history, view.stop)
    steps = [each.start for each in groups if events[each.start].message.role == "assistant"]
    return Span(
        messages=sources(events),
        groups=groups,
        last_user=asked[-1] if asked else None,
        pinned=view.leading_system,
        newest_step=steps[-1] if steps and asked and steps[-1] > asked[-1] else None,
    )


def span_as_original(messages: Sequence[SourceMessage]) -> Span:
    """What the original plans in: every message counts, and so does every user message."""
    last_user = max(
        (index for index, each in enumerate(messages) if each.message.role == "user"), default=None
    )
    return Span(tuple(messages), groups_as_original(messages), last_user)


def plan(
    span: Span,
    phase: str,
    previous: Checkpoint | None = None,
    through_seq_max: int | None = None,
    *,
    segments_max: int = SEGMENTS_MAX,
) -> Plan:
    """The compaction for this phase ("auto" chooses one). Raises Refused.

    `previous` must have been verified. `through_seq_max` is the retreat of F9.2: nothing behind it
    is covered. Coverage never goes back, and the same coverage is never summarised again.
    """
    if phase == "auto":
        return _automatic(span, previous, through_seq_max, segments_max)
    boundaries = {"pre_turn": _pre_turn, "mid_turn": _mid_turn, "standalone": _standalone}
    if phase not in boundaries:
        raise Refused("unknown_phase")
    if not span.messages:
        raise Refused("no_messages")
    stop, anchor = boundaries[phase](span, through_seq_max)
    through_seq = span.messages[stop - 1].seq
    if previous is not None and through_seq <= previous.through_seq:
        raise Refused("not_beyond_previous")
    return _plan(span, phase, stop, anchor, previous, segments_max)


def _automatic(
    span: Span, previous: Checkpoint | None, through_seq_max: int | None, segments_max: int
) -> Plan:
    """Both boundaries; `mid_turn` only when it covers further."""
    found: list[Plan] = []
    reasons: list[str] = []
    for phase in ("pre_turn", "mid_turn"):
        try:
            found.append(plan(span, phase, previous, through_seq_max, segments_max=segments_max))
        except Refused as refused:
            reasons.append(f"{phase}:{refused.reason}")
    if not found:
        raise Refused(";".join(reasons))
    return max(found, key=lambda each: each.through_seq)


def _complete_prefix(span: Span, stop_max: int) -> int:
    """Where the longest prefix of complete groups ends, at `stop_max` at the latest."""
    stop = 0
    for group in span.groups:
        if not group.is_complete or group.stop > stop_max:
            break
        stop = group.stop
    return stop


def _retreated(span: Span, stop: int, through_seq_max: int | None) -> int:
    """`stop`, moved back to the end of the last group that the limit reaches (F9.2)."""
    if through_seq_max is None:
        return stop
    fitting = [
        group.stop
        for group in span.groups
        if group.stop <= stop and span.messages[group.stop - 1].seq <= through_seq_max
    ]
    return max(fitting, default=0)


def _prefix_until(span: Span, stop_max: int, through_seq_max: int | None) -> int:
    stop = _complete_prefix(span, stop_max)
    if stop <= span.pinned:
        raise Refused("first_group_incomplete")
    stop = _retreated(span, stop, through_seq_max)
    if stop <= span.pinned:
        raise Refused("retreat_empty")
    return stop


def _pre_turn(span: Span, through_seq_max: int | None) -> tuple[int, int]:
    """Everything before the newest user message, which stays verbatim (F3.1)."""
    if span.last_user is None:
        raise Refused("no_user")
    if span.last_user <= span.pinned:
        raise Refused("nothing_before_last_user")
    return _prefix_until(span, span.last_user, through_seq_max), 0


def _mid_turn(span: Span, through_seq_max: int | None) -> tuple[int, int]:
    """Everything but the newest step, with the current user message as head anchor (F3.2, F3.3)."""
    if span.last_user is None:
        raise Refused("no_user")
    if any(group.start < span.last_user < group.stop for group in span.groups):
        # Put back alone, it would be torn out of its group.
        raise Refused("user_inside_group")
    after = [group for group in span.groups if group.start > span.last_user]
    if len(after) < GROUPS_AFTER_USER_MIN:
        raise Refused("fewer_than_two_groups_after_user")
    stop = after[-1].start if span.newest_step is None else span.newest_step
    if _complete_prefix(span, stop) < stop:
        raise Refused("incomplete_group_in_range")
    if stop <= after[0].start:
        raise Refused("fewer_than_two_groups_after_user")
    stop = _retreated(span, stop, through_seq_max)
    if stop <= after[0].start:
        raise Refused("retreat_not_past_user")
    return stop, span.messages[span.last_user].seq


def _standalone(span: Span, through_seq_max: int | None) -> tuple[int, int]:
    """All valid history, for an idle session (F3.4)."""
    return _prefix_until(span, len(span.messages), through_seq_max), 0


def _plan(
    span: Span, phase: str, stop: int, anchor: int, previous: Checkpoint | None, segments_max: int
) -> Plan:
    digested = span.messages[:stop]
    covered = digested[span.pinned :]
    old_through = previous.through_seq if previous is not None else 0
    old_anchor = previous.head_anchor_seq if previous is not None else 0
    new = tuple(each for each in covered if each.seq > old_through)
    put_back = tuple(each for each in covered if old_anchor and each.seq == old_anchor)
    is_append = (
        previous is not None
        and previous.projection_kind == TEXT
        and anchor == old_anchor
        and len(previous.segments or ()) < segments_max
    )
    shown = tuple(each.message for each in put_back + new)
    if previous is not None:
        shown = (checkpoint_message(previous.summary), *shown)
    return Plan(
        phase=phase,
        through_seq=digested[-1].seq,
        head_anchor_seq=anchor,
        covered=covered,
        source=new if anchor == old_anchor else put_back + new,
        new_from_seq=new[0].seq,
        digest=source_digest(digested),
        new_digest=source_digest(new),
        raw_tokens=messages_tokens([each.message for each in covered]),
        projected_tokens=messages_tokens(shown),
        previous=previous,
        is_append=is_append,
    )


def checkpoint_message(summary: str) -> Message:
    """How a text checkpoint stands in a projection: one system message."""
    return Message("system", f"<context_checkpoint>\n{summary}\n</context_checkpoint>")

"""The planner: which prefix of the history a compaction may cover (F3, F6.2, F6.3, F9.2).

It reads the canonical history, never a projection, and only ever cuts between groups (F1.2, F1.4).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from bench.events import Message
from bench.projection import Projection
from strategies.layered.checkpoint import SEGMENTED, SESSION, TEXT, Checkpoint
from strategies.layered.encoded import visible_units
from strategies.layered.estimate import array_tokens
from strategies.layered.groups import Group, groups_as_original
from strategies.layered.source import SourceMessage, source_digest, until_seq, with_seq
from strategies.layered.told import Told, told_of

GROUPS_AFTER_USER_MIN = 2
SEGMENTS_MAX = 4


class Refused(Exception):
    """There is nothing safe to cover; `reason` is a short name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Span:
    """What to plan in: all messages, their groups, and where the current user request stands.

    `last_user` is an index, None when there is no request. The first `pinned` messages (leading
    system messages) stay verbatim: they belong to the digest, but are never summarised.
    `newest_step` is the index where the newest step begins, None for that of the newest group.
    The first `complete` groups are known to be complete. `told` knows sizes and digests already.
    """

    messages: Sequence[SourceMessage]
    groups: Sequence[Group]
    last_user: int | None
    pinned: int = 0
    newest_step: int | None = None
    complete: int = 0
    told: Told | None = field(default=None, repr=False, compare=False)

    def digest(self, stop: int) -> str:
        """The source digest of the first `stop` messages (F4.4)."""
        return source_digest(self.messages[:stop]) if self.told is None else self.told.digest(stop)

    def part_digest(self, start: int, stop: int) -> str:
        """The source digest of the messages start..stop-1 alone."""
        if self.told is None:
            return source_digest(self.messages[start:stop])
        return self.told.part_digest(start, stop)

    def digest_through(self, seq: int) -> str:
        """The source digest of the messages up to and including `seq`."""
        return self.digest(until_seq(self.messages, seq))

    def raw_tokens(self, start: int, stop: int) -> int:
        """The tokens of the messages start..stop-1 as they are."""
        return array_tokens(self.units(start, stop))

    def units(self, start: int, stop: int) -> int:
        """The units that the messages start..stop-1 add to a request."""
        if self.told is None:
            return sum(visible_units(each.message) for each in self.messages[start:stop])
        return self.told.units(start, stop)


@dataclass(frozen=True, slots=True)
class Plan:
    """One compaction that may be tried.

    `source` is what the summariser reads: the new messages, with the old anchor in front of them
    when the anchor changed (F6.3); `new` are the new ones alone. Token figures are estimates of
    the covered span: raw, and as the model would see it now (F8.6).
    """

    phase: str
    through_seq: int
    head_anchor_seq: int
    covered: Sequence[SourceMessage]
    source: tuple[SourceMessage, ...]
    new: tuple[SourceMessage, ...]
    digest: str
    raw_tokens: int
    projected_tokens: int
    previous: Checkpoint | None
    is_append: bool
    part_digest: Callable[[], str] = field(repr=False, compare=False)

    @property
    def new_from_seq(self) -> int:
        """The first seq of the new messages."""
        return self.new[0].seq

    @property
    def new_digest(self) -> str:
        """The source digest of the new messages alone, which only an appended segment needs."""
        return self.part_digest()

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


def span_of(view: Projection, *, original: bool = False) -> Span:
    """What the strategy plans in: the harness history, dead calls told from pending ones.

    The current user request is the newest one that somebody really made; a runtime's own text in
    the user's name is none. The newest step is led by an assistant message, so that such text
    can't push the step that it follows out of sight (divergence `newest_step`). With `original`
    groups and newest step are the original's.
    """
    history, stop = view.history, view.stop
    told = told_of(history)
    messages = told.sources(history, stop)
    asked = history.last_turn_start(stop)
    if asked is None:
        asked = max(
            (index for index, each in enumerate(messages) if each.message.role == "user"),
            default=None,
        )
    if original:
        as_original = told.groups_as_original(stop)
        return Span(messages, as_original, asked, view.leading_system, told=told)
    groups, complete = told.groups(history, stop)
    steps = (each.start for each in reversed(groups))
    step = next((each for each in steps if messages[each].message.role == "assistant"), None)
    is_newest = step is not None and asked is not None and step > asked
    return Span(
        messages=messages,
        groups=groups,
        last_user=asked,
        pinned=view.leading_system,
        newest_step=step if is_newest else None,
        complete=complete,
        told=told,
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
    stop, anchor = _boundary(span, phase, previous, through_seq_max)
    return _plan(span, phase, stop, anchor, previous, segments_max)


def _boundary(
    span: Span, phase: str, previous: Checkpoint | None, through_seq_max: int | None
) -> tuple[int, int]:
    """How many messages this phase covers, and the seq of the head anchor (0: none)."""
    boundaries = {"pre_turn": _pre_turn, "mid_turn": _mid_turn, "standalone": _standalone}
    if phase not in boundaries:
        raise Refused("unknown_phase")
    if not span.messages:
        raise Refused("no_messages")
    stop, anchor = boundaries[phase](span, through_seq_max)
    if previous is not None and span.messages[stop - 1].seq <= previous.through_seq:
        raise Refused("not_beyond_previous")
    return stop, anchor


def _automatic(
    span: Span, previous: Checkpoint | None, through_seq_max: int | None, segments_max: int
) -> Plan:
    """Both boundaries; `mid_turn` only when it covers further."""
    found: list[tuple[int, int, str]] = []
    reasons: list[str] = []
    for phase in ("pre_turn", "mid_turn"):
        try:
            found.append((*_boundary(span, phase, previous, through_seq_max), phase))
        except Refused as refused:
            reasons.append(f"{phase}:{refused.reason}")
    if not found:
        raise Refused(";".join(reasons))
    stop, anchor, phase = max(found, key=lambda each: each[0])
    return _plan(span, phase, stop, anchor, previous, segments_max)


def _complete_prefix(span: Span, stop_max: int) -> int:
    """Where the longest prefix of complete groups ends, at `stop_max` at the latest."""
    within = _groups_until(span, stop_max)
    count = min(span.complete, within)
    while count < within and span.groups[count].is_complete:
        count += 1
    return span.groups[count - 1].stop if count else 0


def _groups_until(span: Span, stop: int) -> int:
    """How many groups end at `stop` at the latest."""
    return bisect_right(span.groups, stop, key=lambda group: group.stop)


def _retreated(span: Span, stop: int, through_seq_max: int | None) -> int:
    """`stop`, moved back to the end of the last group that the limit reaches (F9.2)."""
    if through_seq_max is None:
        return stop
    fitting = min(stop, until_seq(span.messages, through_seq_max))
    count = _groups_until(span, fitting)
    return span.groups[count - 1].stop if count else 0


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
    behind = bisect_right(span.groups, span.last_user, key=lambda group: group.start)
    own = span.groups[behind - 1]
    if own.start < span.last_user < own.stop:
        # Put back alone, it would be torn out of its group.
        raise Refused("user_inside_group")
    after = span.groups[behind:]
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
    messages, start = span.messages, span.pinned
    covered = messages[start:stop]
    old_through = previous.through_seq if previous is not None else 0
    old_anchor = previous.head_anchor_seq if previous is not None else 0
    new_start = max(start, until_seq(messages, old_through))
    new = tuple(messages[new_start:stop])
    put_back = with_seq(covered, old_anchor) if old_anchor else ()
    is_append = (
        previous is not None
        and previous.projection_kind == TEXT
        and anchor == old_anchor
        and len(previous.segments or ()) < segments_max
    )
    shown_units = span.units(new_start, stop) + sum(
        visible_units(each.message) for each in put_back
    )
    if previous is not None:
        shown_units += visible_units(checkpoint_message(previous.summary))
    return Plan(
        phase=phase,
        through_seq=messages[stop - 1].seq,
        head_anchor_seq=anchor,
        covered=covered,
        source=new if anchor == old_anchor else put_back + new,
        new=new,
        digest=span.digest(stop),
        raw_tokens=span.raw_tokens(start, stop),
        projected_tokens=array_tokens(shown_units),
        previous=previous,
        is_append=is_append,
        part_digest=lambda: span.part_digest(new_start, stop),
    )


@lru_cache(maxsize=16)
def checkpoint_message(summary: str) -> Message:
    """How a text checkpoint stands in a projection: one system message.

    The same object for the same summary, so that whoever measures it does so once.
    """
    return Message("system", f"<context_checkpoint>\n{summary}\n</context_checkpoint>")

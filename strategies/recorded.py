"""What the recording's own tool did: its summaries and its kept tails, replayed where it made them.

A recorded session holds what Claude Code, Codex or pi wrote when they compacted, and where. Put
beside other strategies at the same places (`--cuts recorded`), their compactions are judged by the
same facts and horizons. Nothing is compacted anew and no model is asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bench.events import Message, RecordedCompaction, Session, requests_after
from bench.projection import Item, Json, Kept, Projection, Written
from bench.strategy import Ask, Budget, Declined, Policy, Stage, Strategy

_STAGE = Stage("recorded", must_shrink=False)
_WAIVED = (
    ("H4", "the tool decided what to keep; its own summary stands where the request stood"),
    ("H2", "what the tool wrote is taken as it is, also where it was longer than what it replaced"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The compactions that the recording's own tool made, where it made them."""

    summary: ClassVar[str] = (
        "what the recording's own tool did: its summary and kept tail at its own points; the "
        "window isn't enforced, the cost of its summaries isn't known"
    )
    source: ClassVar[str] = "the recording itself"
    caveats: ClassVar[tuple[str, ...]] = (
        "recorded: the tool had its own window, so none is enforced; what writing its summaries "
        "cost isn't in the recording, so its tokens and cost leave that out; what it put back "
        "beside a summary counts only where the recording holds it",
    )
    policy: ClassVar[Policy] = Policy(
        stages=(_STAGE,), recovery_stages=(), ignores_window=True, waives=_WAIVED
    )

    def for_session(self, session: Session) -> Strategy:
        """The strategy that holds this session's recorded compactions.

        Raises Declined when the recording holds none that could be shown to a model.
        """
        found = sorted(session.recorded_compactions, key=lambda one: one.after_seq)
        if not found:
            raise Declined("this recording holds no compaction", deterministic=True)
        readable = [one for one in found if one.summary.strip()]
        if not readable:
            raise Declined(
                "this recording's compactions left no readable summary", deterministic=True
            )
        requests = requests_after(session, (one.after_seq for one in readable))
        if not requests:
            raise Declined(
                "no request follows the compactions of this recording", deterministic=True
            )
        return RecordedOfSession(
            tuple(found),
            Policy(
                stages=(_STAGE,),
                recovery_stages=(),
                ignores_window=True,
                waives=_WAIVED,
                low_water=False,
                at_requests=requests_after(session, (one.after_seq for one in found)),
            ),
        )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """Refuses: which compactions there are is known once a session is."""
        raise Declined(
            "recorded replays one session's compactions: call for_session(session) first",
            deterministic=True,
            kind="suppressed",
        )


@dataclass(frozen=True, slots=True)
class RecordedOfSession:
    """`recorded` for one session: its compactions in the order in which they were made."""

    compactions: tuple[RecordedCompaction, ...]
    policy: Policy

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """The newest compaction that was made by now, as the tool left the conversation.

        Where it cut through a group, the whole group is kept and said so. Raises Declined when the
        recording holds no readable summary of it.
        """
        number = bisect_right(self.compactions, view.stop, key=lambda one: one.after_seq)
        if number == 0 or number == _applied(view.memory):
            return None
        made = self.compactions[number - 1]
        memory: dict[str, Any] = {"applied": number, "diagnostics": {"recorded_number": number}}
        if not made.summary.strip():
            raise Declined(
                f"the recording holds no readable summary of its compaction {number}",
                deterministic=True,
                memory=memory,
            )
        kept_from = _kept_position(made, view)
        covered_from = view.leading_system
        if kept_from <= covered_from:
            # A session that begins with the summary of an earlier one: nothing of it is replaced.
            return None
        memory["diagnostics"] |= _details(made, kept_from, view)
        systems: list[Item] = [Kept(event) for event in view.history.events(0, covered_from)]
        summary = Written(Message("user", made.summary), covered_from + 1, kept_from)
        tail = [Kept(event) for event in view.history.events(kept_from, view.stop)]
        return view.with_items([*systems, summary, *tail]).remember(memory)


def _applied(memory: Json) -> int:
    return int(memory["applied"]) if isinstance(memory, dict) else 0


def _told_position(made: RecordedCompaction) -> int:
    """Where the kept events begin by the recording: never behind the boundary itself."""
    if made.kept_from_seq is None:
        return made.after_seq
    return min(max(0, made.kept_from_seq - 1), made.after_seq)


def _kept_position(made: RecordedCompaction, view: Projection) -> int:
    """The same, moved forward to the start of the group that stands there: groups stay whole."""
    position = min(_told_position(made), view.stop)
    return view.history.group_start(position) if position < view.stop else position


def _details(made: RecordedCompaction, kept_from: int, view: Projection) -> dict[str, Any]:
    """For the record: what the tool said of its own compaction, and what was widened."""
    widened = _told_position(made) - kept_from
    details = {
        "recorded_trigger": made.trigger,
        "recorded_tokens_before": made.tokens_before,
        "recorded_tokens_after": made.tokens_after,
        "kept_events": view.stop - kept_from,
        "kept_to_keep_a_group_whole": widened or None,
    }
    return {name: value for name, value in details.items() if value is not None}


STRATEGIES: dict[str, Callable[..., Strategy]] = {"recorded": Recorded}

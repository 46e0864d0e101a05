"""Assembly: from what a replay saw to the scores of its cell, between the two controls.

Used right after a replay and again by `report --rescore`; nothing here asks a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.costs import costs
from bench.events import Session
from bench.facts import Fact, Use
from bench.found_facts import find_uses
from bench.history import History
from bench.models import OfflineModel
from bench.observations import Replay
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.scoring import (
    Scores,
    Share,
    normalised,
    retention,
    retention_needed,
    retention_recoverable,
    score,
)
from bench.session_index import SessionIndex
from bench.validity import invalid_requests

UNTOUCHED_REASON = "it stopped before anything was compacted, and nothing was needed after that"
NOT_EXERCISED_REASON = "not exercised: nothing was compacted, so nothing could be lost"


def replay_control(session: Session, spec: str) -> Replay:
    """A replay of a control; the window means nothing to it."""
    provider = SimulatedProvider(OfflineModel(), 1, tools=session.tools, ignore_window=True)
    return replay(session, make_strategy(spec).strategy, provider)


@dataclass(frozen=True, slots=True)
class Judge:
    """What all cells of one session are judged with: its index, facts, uses and controls."""

    history: History
    index: SessionIndex
    facts: tuple[Fact, ...]
    uses: tuple[Use, ...]
    ceiling: Replay
    ceiling_scores: Scores
    floor_scores: Scores

    @classmethod
    def of(
        cls, session: Session, facts: Sequence[Fact], uses: Sequence[Use] | None = None
    ) -> Judge:
        """Replays the controls and scores them; `uses` are found anew unless given."""
        index = SessionIndex(session)
        found = tuple(find_uses(index) if uses is None else uses)
        ceiling = replay_control(session, "keep_all")
        floor = replay_control(session, "empty")
        history = History(session.events)
        return cls(
            history=history,
            index=index,
            facts=tuple(facts),
            uses=found,
            ceiling=ceiling,
            ceiling_scores=score(index, facts, found, ceiling, history),
            floor_scores=score(index, facts, found, floor, history),
        )

    def scores_of(self, seen: Replay, *, is_exercised: bool) -> dict[str, Any]:
        """All scores of one replay as plain data: `row` for tables, `detail` for the drill-down."""
        found = score(self.index, self.facts, self.uses, seen, self.history)
        return {"row": self._row(found, seen, is_exercised=is_exercised), "detail": asdict(found)}

    def _row(self, found: Scores, seen: Replay, *, is_exercised: bool) -> dict[str, Any]:
        kept = retention(found, self.floor_scores, self.ceiling_scores)
        needed = retention_needed(found, self.floor_scores, self.ceiling_scores)
        accepted = [one for one in seen.compactions if one.outcome == "accepted"]
        row: dict[str, Any] = {
            "retention": kept.value,
            "retention_layer": "present",
            "retention_basis": kept.basis,
            "retention_reason": kept.reason,
            "retention_needed": needed.value,
            "retention_said_once": self._by_severity(found, "said_once"),
            "retention_re_readable": self._by_severity(found, "re_readable"),
            "retention_recoverable": retention_recoverable(
                found, self.floor_scores, self.ceiling_scores
            ).value,
            "recoverable": found.lost_recoverable.value,
            "retention_after_recorded": self._after_recorded(found),
            "recovered": None,
            "stale": found.stale.value,
            "invented": found.invented.value,
        }
        # Stopped before it ever fired, and nothing was asked after the stop: no sign of skill.
        is_untouched = seen.stopped is not None and not accepted and kept.value == 1
        if is_untouched or not is_exercised:
            unknown = [name for name in row if name not in ("retention_layer", "retention_basis")]
            row |= dict.fromkeys(unknown)
            row["retention_reason"] = UNTOUCHED_REASON if is_untouched else NOT_EXERCISED_REASON
        return {
            **row,
            **asdict(costs(seen, self.ceiling)),
            "tokens_recovery": found.tokens_recovery,
            "compactions": len(accepted),
            "grew": sum(one.tokens_after > one.tokens_before for one in accepted),
            "invalid_projections": len(invalid_requests(seen, self.history)),
            "requests_served": sum(request.is_served for request in seen.requests),
        }

    def _after_recorded(self, found: Scores) -> float | None:
        """The needed uses that depended on a summary of the recorded tool: a stratum by itself."""
        value, floor, ceiling = (
            scores.needed_after_recorded_compaction.value
            for scores in (found, self.floor_scores, self.ceiling_scores)
        )
        return normalised(value, floor, ceiling)

    def _by_severity(self, found: Scores, severity: str) -> float | None:
        empty = Share()
        value, floor, ceiling = (
            scores.needed_by_severity.get(severity, empty).value
            for scores in (found, self.floor_scores, self.ceiling_scores)
        )
        return normalised(value, floor, ceiling)


def recovery_tokens(session: Session, facts: Sequence[Fact], seen: Replay) -> int:
    """`tokens.recovery`: what the searches for what `seen` didn't show would have cost.

    They cover the facts and the needed uses of the session.
    """
    index = SessionIndex(session)
    found = score(index, facts, find_uses(index), seen, History(session.events))
    return found.tokens_recovery

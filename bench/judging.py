"""Assembly: from what a replay saw to the scores of its cell, between the two controls.

Used right after a replay and again by `report --rescore`; nothing here asks a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property
from typing import Any

from bench import scoring_cache
from bench.costs import cost_ratios, costs
from bench.events import Session
from bench.facts import Fact, Use
from bench.found_facts import find_uses
from bench.history import History
from bench.models import OfflineModel
from bench.observations import AnswerObservation, Replay
from bench.probing import FOUND
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.scoring import (
    OPAQUE_REASON,
    Scores,
    Share,
    normalised,
    retention,
    retention_needed,
    retention_recoverable,
    score,
)
from bench.scoring_debt import reread_debt_tokens
from bench.scoring_keys import combined, replay_key, session_key
from bench.scoring_others import other_figures
from bench.scoring_recovered import Reading, read
from bench.scoring_survival import HORIZONS_STEPS, survived
from bench.session_index import SessionIndex
from bench.validity import invalid_requests

UNTOUCHED_REASON = "it stopped before anything was compacted, and nothing was needed after that"
NOT_EXERCISED_REASON = "not exercised: nothing was compacted, so nothing could be lost"
NO_CONTROLS_REASON = "the controls of this layer weren't asked"


def replay_control(session: Session, spec: str, *, overhead_tokens: int = 0) -> Replay:
    """A replay of a control; the window means nothing to it."""
    provider = SimulatedProvider(
        OfflineModel(),
        1,
        tools=session.tools,
        overhead_tokens=overhead_tokens,
        ignore_window=True,
    )
    return replay(session, make_strategy(spec).strategy, provider)


@dataclass(frozen=True, slots=True)
class ControlAnswers:
    """What the same reader answered from the whole history (or the oracle's), and from a bare
    request.
    """

    ceiling: tuple[AnswerObservation, ...]
    floor: tuple[AnswerObservation, ...]


class Judge:
    """What all cells of one session are judged with: its index, facts, uses and controls.

    Each is made when it is first asked for: what an earlier run on this machine found is taken from
    the cache (`scoring_cache`), and then most of them aren't needed.
    """

    def __init__(
        self,
        session: Session,
        facts: Sequence[Fact],
        uses: Sequence[Use] | None = None,
        *,
        overhead_tokens: int = 0,
    ) -> None:
        self.session = session
        self.overhead_tokens = overhead_tokens
        self.facts = tuple(facts)
        self._given_uses = None if uses is None else tuple(uses)

    @classmethod
    def of(
        cls,
        session: Session,
        facts: Sequence[Fact],
        uses: Sequence[Use] | None = None,
        *,
        overhead_tokens: int = 0,
    ) -> Judge:
        """The judge of a session; `uses` are found anew unless given.

        `overhead_tokens` is what every request carries beside what was recorded of it.
        """
        return cls(session, facts, uses, overhead_tokens=overhead_tokens)

    @cached_property
    def history(self) -> History:
        """The whole session as it is told."""
        return History(self.session.events)

    @cached_property
    def index(self) -> SessionIndex:
        """Where everything stands in the session."""
        return SessionIndex(self.session)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """What the agent used and an earlier event had introduced."""
        if self._given_uses is not None:
            return self._given_uses
        results = scoring_cache.shared()
        if results is None:
            return find_uses(self.index)
        key = combined(["uses", self._session_key])
        known = results.find(key)
        if known is not None:
            return tuple(Use(*each) for each in known)
        found = find_uses(self.index)
        results.add(key, list(map(astuple, found)))
        return found

    @cached_property
    def ceiling(self) -> Replay:
        """The replay of the control that keeps everything."""
        return replay_control(self.session, "keep_all", overhead_tokens=self.overhead_tokens)

    @cached_property
    def floor(self) -> Replay:
        """The replay of the control that keeps nothing."""
        return replay_control(self.session, "empty", overhead_tokens=self.overhead_tokens)

    @cached_property
    def ceiling_scores(self) -> Scores:
        """The most that can be kept."""
        return self._score(self.ceiling)

    @cached_property
    def floor_scores(self) -> Scores:
        """What every strategy shows."""
        return self._score(self.floor)

    @cached_property
    def _session_key(self) -> str:
        return session_key(self.session)

    def _score(self, seen: Replay) -> Scores:
        return score(self.index, self.facts, self.uses, seen, self.history)

    def scores_of(
        self,
        seen: Replay,
        *,
        is_exercised: bool,
        answers: Sequence[AnswerObservation] = (),
        controls: ControlAnswers | None = None,
    ) -> dict[str, Any]:
        """All scores of one replay as plain data: `row` for tables, `detail` for the drill-down.

        `answers` are those of a reader to this replay, `controls` those to its controls. Raises
        ValueError when the replay isn't one of this session.
        """
        if seen.session != self.session.id:
            raise ValueError(f"the replay must be of session {self.session.id}")
        results = scoring_cache.shared()
        if results is None:
            return self._scores_anew(seen, answers, controls, is_exercised=is_exercised)
        key = combined(
            [
                "scores",
                self._session_key,
                self.facts,
                self._given_uses,
                self.overhead_tokens,
                replay_key(self.session, seen),
                is_exercised,
                tuple(answers),
                controls,
            ]
        )
        known: dict[str, Any] | None = results.find(key)
        if known is not None:
            return known
        scores = self._scores_anew(seen, answers, controls, is_exercised=is_exercised)
        results.add(key, scores)
        return scores

    def _scores_anew(
        self,
        seen: Replay,
        answers: Sequence[AnswerObservation],
        controls: ControlAnswers | None,
        *,
        is_exercised: bool,
    ) -> dict[str, Any]:
        found = self._score(seen)
        reading = self._reading(answers, controls, found)
        if reading is not None:
            found = replace(found, recovered=Share(*reading.counts(reading.measured_probe)))
        row = self._row(found, seen, is_exercised=is_exercised)
        if reading is not None and is_exercised:
            row |= self._recovered(reading, controls, row)
        others = other_figures(answers, controls)
        row |= others.row if is_exercised else {}
        detail = asdict(found) | others.detail
        detail["reading"] = None if reading is None else reading_detail(reading)
        return {"row": row, "detail": detail}

    def _reading(
        self,
        answers: Sequence[AnswerObservation],
        controls: ControlAnswers | None,
        found: Scores,
    ) -> Reading | None:
        """The graded answers; None where no reader was asked."""
        expected = controls.ceiling if controls is not None else ()
        if not answers and not expected:
            return None
        return read(
            best_views(answers), expected, self.facts, found.facts, self.uses, found.visible
        )

    def _recovered(
        self, reading: Reading, controls: ControlAnswers | None, row: dict[str, Any]
    ) -> dict[str, Any]:
        """The figures of layer *recovered*; retention falls back on it where nothing can be read.

        A retention of this layer is its own: nothing is blended with what was present.
        """
        figures = recovered_figures(reading)
        floor = ceiling = None
        if controls is not None:
            floor = self._reading(controls.floor, controls, self.floor_scores)
            ceiling = self._reading(controls.ceiling, controls, self.ceiling_scores)
        if floor is not None and ceiling is not None:
            probe = reading.measured_probe
            low, own, high = (Share(*one.counts(probe)) for one in (floor, reading, ceiling))
            figures["retention_recovered"] = normalised(own.value, low.value, high.value)
        figures["recovered_reason"] = reading.reason or ("" if controls else NO_CONTROLS_REASON)
        kept = figures["retention_recovered"]
        if row["retention"] is None and row["retention_reason"] == OPAQUE_REASON:
            if kept is None:
                figures["retention_reason"] = figures["recovered_reason"] or OPAQUE_REASON
            else:
                figures |= {"retention": kept, "retention_layer": "recovered"}
                figures["retention_reason"] = ""
        return figures

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
            "present": found.present.value,
            "bound": found.bound.value,
            "recovered": found.recovered.value if found.recovered is not None else None,
            "stale": found.stale.value,
            "contradicted": found.contradicted.value,
            **{f"survived_{steps}": survived(found.survival, steps) for steps in HORIZONS_STEPS},
            "facts_untold": sum(not outcome.is_told for outcome in found.facts),
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
            "cost_by_cache": cost_ratios(seen, self.ceiling),
            "tokens_recovery": found.tokens_recovery,
            "tokens_reread_debt": reread_debt_tokens(self.index, self.uses, found.visible),
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


def best_views(answers: Sequence[AnswerObservation]) -> tuple[AnswerObservation, ...]:
    """One answer a question: that to the real request, the oracle's where it had no reply."""
    best: dict[tuple[str, str, int], AnswerObservation] = {}
    for answer in answers:
        key = (answer.probe, answer.subject, answer.at_seq)
        if key not in best or best[key].reply is None:
            best[key] = answer
    return tuple(best.values())


def recovered_figures(reading: Reading) -> dict[str, Any]:
    """The figures of a cell that stand on a reader alone, as shares from 0 to 1."""
    quadrants = reading.quadrants
    present = quadrants["recovered"] + quadrants["attention_loss"]
    absent = quadrants["inferred"] + quadrants["destroyed"]
    guessed, unanswerable = reading.guessed
    found = Share(*reading.counts(FOUND))
    return {
        "retention_recovered": None,
        "recovered_found": found.value,
        "attention_loss": quadrants["attention_loss"] / present if present else None,
        "inferred": quadrants["inferred"] / absent if absent else None,
        "guessed": guessed / unanswerable if unanswerable else None,
        "questions": sum(one.grade not in (None, "unserved") for one in reading.answers),
    }


def reading_detail(reading: Reading) -> dict[str, Any]:
    """The graded answers and their two-by-two as plain data."""
    return {
        "answers": [asdict(answer) for answer in reading.answers],
        "quadrants": reading.quadrants,
    }


def recovery_tokens(session: Session, facts: Sequence[Fact], seen: Replay) -> int:
    """`tokens.recovery`: what the searches for what `seen` didn't show would have cost.

    They cover the facts and the needed uses of the session.
    """
    index = SessionIndex(session)
    found = score(index, facts, find_uses(index), seen, History(session.events))
    return found.tokens_recovery

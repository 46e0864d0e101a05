"""Judgement: what one replay kept of one session, layer by layer, never blended.

Everything here is computed from stored observations, the session and its facts, without a model, so
a score can be computed again at any time. Raw outcomes come first; shares are sums over them. A
request that wasn't served showed nothing. Where a value could only stand in opaque native state the
outcome is None and shares over it are None, with the reason (scoring.md, "Layers").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.facts import Fact, Use
from bench.found_facts import AGE_BANDS, age_band, is_headline
from bench.history import History
from bench.observations import Replay
from bench.scoring_bound import subject_words
from bench.scoring_facts import Currency, FactOutcome, judge_fact, prepare_facts
from bench.scoring_invented import Invention, find_inventions
from bench.scoring_losses import Loss, worst_losses
from bench.scoring_recoverable import Recovery, find_reachable
from bench.scoring_survival import Survival, follow, survival
from bench.scoring_visibility import Visibility
from bench.session_index import Needle, SessionIndex

OPAQUE_REASON = "opaque native state can't be read"
NOTHING_MEASURED_REASON = "nothing was measured: no fact, and no use older than 2,000 tokens"
_WRONG = ("stale_only", "contradicted")
NO_SPREAD_REASON = "keep_all and empty score the same, so there is nothing to lose"


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `total`; `unreadable` of the total couldn't be answered."""

    hits: int = 0
    total: int = 0
    unreadable: int = 0

    @property
    def value(self) -> float | None:
        """The share, from 0 to 1; None when nothing was counted or something is unreadable."""
        return self.hits / self.total if self.total and not self.unreadable else None


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one cell. `visible[i]` says whether `uses[i]` was there when it was needed.

    `bound` is over facts that name a subject, `retained` over all (current for updates and
    negations, present for others); `currencies` counts the facts that have a wrong form by what was
    shown of it. `needed` is over uses older than 2,000 tokens, and so are its splits by severity,
    kind and recorded compaction; the split by age is over all uses. `invented` is over the typed
    entities of all written texts, `inventions` are those hits with their places. `losses` are the
    worst ones, for people to look at. `needed_recoverable` and `retained_recoverable` also count
    what one search on a visible reference would have returned; `lost_recoverable` is that part of
    the needed uses that weren't visible, `recoveries` are the searches, for uses and for facts.
    `recovered` needs a reader and is None without one.
    """

    facts: tuple[FactOutcome, ...]
    visible: tuple[bool | None, ...]
    present: Share
    bound: Share
    retained: Share
    currencies: dict[Currency, int]
    stale: Share
    contradicted: Share
    needed: Share
    needed_by_age: dict[str, Share]
    needed_by_severity: dict[str, Share]
    needed_by_kind: dict[str, Share]
    needed_after_recorded_compaction: Share
    facts_by_kind: dict[str, Share]
    invented: Share
    inventions: tuple[Invention, ...]
    losses: tuple[Loss, ...]
    survival: tuple[Survival, ...]
    needed_recoverable: Share
    retained_recoverable: Share
    lost_recoverable: Share
    recoveries: tuple[Recovery, ...]
    recovered: Share | None = None

    @property
    def measured(self) -> Share:
        """What retention stands on: facts where the corpus has them, else needed uses."""
        return self.retained if self.facts else self.needed

    @property
    def measured_recoverable(self) -> Share:
        """The same with what one search would have returned."""
        return self.retained_recoverable if self.facts else self.needed_recoverable

    @property
    def tokens_recovery(self) -> int:
        """What all searches cost that would have returned something, calls and pages."""
        return sum(one.tokens for one in self.recoveries)


def score(
    index: SessionIndex,
    facts: Sequence[Fact],
    uses: Sequence[Use],
    replay: Replay,
    history: History,
) -> Scores:
    """The scores of one replay. `uses` are `find_uses(index)`, the same for all cells.

    Raises ValueError when `replay` or `history` aren't those of the indexed session.
    """
    if replay.session != index.session.id or len(history) != len(index.session.events):
        raise ValueError(f"the replay and the history must be of session {index.session.id}")
    visibility = Visibility(index, replay)
    outcomes = tuple(judge_fact(visibility, fact) for fact in prepare_facts(index, facts))
    visible = tuple(_is_visible(visibility, use) for use in uses)
    reachable = find_reachable(visibility, facts, outcomes, uses, visible)
    reached = [pair for pair in zip(uses, reachable.uses, strict=True) if is_headline(pair[0])]
    inventions, written_entities = find_inventions(visibility)
    pairs = list(zip(uses, visible, strict=True))
    headline = [pair for pair in pairs if is_headline(pair[0])]
    currencies = [outcome.currency for outcome in outcomes if outcome.currency is not None]
    return Scores(
        facts=outcomes,
        visible=visible,
        present=_share(outcome.is_present for outcome in outcomes),
        bound=_share(
            outcome.is_bound
            for fact, outcome in zip(facts, outcomes, strict=True)
            if subject_words(fact.subject)
        ),
        retained=_share(outcome.is_retained for outcome in outcomes),
        currencies={currency: currencies.count(currency) for currency in sorted(set(currencies))},
        stale=_share([*(currency in _WRONG for currency in currencies), *_unread(facts, outcomes)]),
        contradicted=_share(
            [*(one == "contradicted" for one in currencies), *_unread(facts, outcomes)]
        ),
        needed=_share(was_there for _, was_there in headline),
        needed_by_age=_shares(
            pairs, lambda use: age_band(use.age_tokens), [band.name for band in AGE_BANDS]
        ),
        needed_by_severity=_shares(
            headline, lambda use: use.severity, ["said_once", "re_readable"]
        ),
        needed_by_kind=_shares(
            headline, lambda use: use.kind, sorted({u.kind for u, _ in headline})
        ),
        needed_after_recorded_compaction=_share(
            was_there for use, was_there in headline if use.after_recorded_compaction
        ),
        facts_by_kind={
            kind: _share(o.is_retained for o in outcomes if o.kind == kind)
            for kind in dict.fromkeys(outcome.kind for outcome in outcomes)
        },
        invented=Share(len(inventions), written_entities),
        inventions=inventions,
        losses=worst_losses(visibility, facts, outcomes, uses, visible),
        survival=survival(follow(visibility, uses)),
        needed_recoverable=_share(is_reachable for _, is_reachable in reached),
        retained_recoverable=_share(reachable.facts),
        lost_recoverable=_share(
            is_reachable
            for (_, is_reachable), (_, was_there) in zip(reached, headline, strict=True)
            if was_there is False
        ),
        recoveries=reachable.recoveries,
    )


def _unread(facts: Sequence[Fact], outcomes: Sequence[FactOutcome]) -> list[None]:
    """One None for each fact whose wrong form could only stand in opaque state."""
    return [
        None
        for fact, outcome in zip(facts, outcomes, strict=True)
        if outcome.is_present is None and (fact.stale or fact.kind == "negation")
    ]


def _is_visible(visibility: Visibility, use: Use) -> bool | None:
    seen = visibility.request_at(use.at_seq)
    return seen is not None and visibility.shows(seen, Needle(use.kind, use.key))


def _share(answers: Iterable[bool | None]) -> Share:
    counted = list(answers)
    return Share(counted.count(True), len(counted), counted.count(None))


def _shares(
    pairs: Sequence[tuple[Use, bool | None]],
    group: Callable[[Use], str],
    names: Sequence[str],
) -> dict[str, Share]:
    answers: dict[str, list[bool | None]] = {name: [] for name in names}
    for use, was_there in pairs:
        answers[group(use)].append(was_there)
    return {name: _share(members) for name, members in answers.items()}


def normalised(value: float | None, floor: float | None, ceiling: float | None) -> float | None:
    """(value - floor) / (ceiling - floor); None when one is missing or both ends are equal.

    `floor` is what `empty` scored on the same session, `ceiling` what `keep_all` did.
    """
    if value is None or floor is None or ceiling is None or floor == ceiling:
        return None
    return (value - floor) / (ceiling - floor)


@dataclass(frozen=True, slots=True)
class Retention:
    """A retention between the controls, and the reason where there is none.

    `basis` says what it stands on: planted or authored facts, or found uses.
    """

    value: float | None
    basis: str
    reason: str = ""


def retention(scores: Scores, empty: Scores, keep_all: Scores) -> Retention:
    """The `retention` of a cell, from its scores and those of the controls of its session."""
    basis = "facts" if scores.facts else "found uses"
    return _between(scores.measured, empty.measured, keep_all.measured, basis)


def retention_recoverable(scores: Scores, empty: Scores, keep_all: Scores) -> Retention:
    """`retention` with what one search would have returned, between the same two ends."""
    basis = "facts" if scores.facts else "found uses"
    return _between(scores.measured_recoverable, empty.measured, keep_all.measured, basis)


def retention_needed(scores: Scores, empty: Scores, keep_all: Scores) -> Retention:
    """The `retention_needed` of a cell, normalised in the same way."""
    return _between(scores.needed, empty.needed, keep_all.needed, "found uses")


def _between(share: Share, floor: Share, ceiling: Share, basis: str) -> Retention:
    value = normalised(share.value, floor.value, ceiling.value)
    if value is not None:
        return Retention(value, basis)
    if not share.total:
        return Retention(None, basis, NOTHING_MEASURED_REASON)
    if share.unreadable or floor.unreadable or ceiling.unreadable:
        return Retention(None, basis, OPAQUE_REASON)
    return Retention(None, basis, NO_SPREAD_REASON)

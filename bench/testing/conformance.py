"""Assembly: the conformance properties, H1 to H8 of the spec, over generated sessions.

Each promise is a function from a strategy and a case to a sentence that says how it was broken, or
None. `check_strategy` lets Hypothesis search and shrink; nothing here knows any strategy by name.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from bench.engine_policy import estimator_of, policy_of
from bench.events import Session
from bench.foreign.adapter import as_strategy
from bench.foreign.requests import NO_ANSWER
from bench.history import History
from bench.invariants import violations
from bench.models import make_model
from bench.observations import Replay
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.strategy import Declined, Policy, Strategy, strategy_for
from bench.testing.faulty_provider import FAULTS, FaultyProvider
from bench.testing.histories import recorded_sessions, sessions, truncated

_CRASHED = "strategy raised"
_KIND_LENGTH = 40
_KINDS_MAX = 6
# A process or a server takes some ten milliseconds for every call.
_SHRINKS_ELSEWHERE = 80
_SHARED: dict[str, Replay] = {}
_SHARED_MAX = 512


@dataclass(frozen=True, slots=True)
class Case:
    """One generated situation: a session, a window, how many compactions to force (None: none)."""

    session: Session
    window: int
    cuts: int | None = None
    model: str = "offline"
    fault_at: int = 1
    fault: str = "server"


class BrokenPromise(AssertionError):
    """A strategy broke a promise: which, how, and the smallest session found that shows it."""

    def __init__(self, promise: str, how: str, case: Case) -> None:
        roles = ", ".join(event.message.role for event in case.session.events)
        super().__init__(
            f"{promise}: {how} (window {case.window}, forced compactions {case.cuts}, "
            f"{len(case.session.events)} events: {roles})"
        )
        self.promise = promise
        self.how = how
        self.case = case


def _provider(strategy: Strategy, case: Case) -> SimulatedProvider:
    return SimulatedProvider(
        make_model(case.model),
        case.window,
        tools=case.session.tools,
        ignore_window=policy_of(strategy).ignores_window,
    )


def _replay(strategy: Strategy, case: Case) -> Replay:
    """One replay of the case. Promises share it where calls take their time; no case is big."""
    if not getattr(strategy, "runs_elsewhere", False):
        return _replay_anew(strategy, case)
    key = repr((strategy, case.session, case.window, case.cuts, case.model))
    if key not in _SHARED:
        if len(_SHARED) >= _SHARED_MAX:
            _SHARED.clear()
        _SHARED[key] = _replay_anew(strategy, case)
    return _SHARED[key]


def _replay_anew(strategy: Strategy, case: Case) -> Replay:
    provider = _provider(strategy, case)
    return replay(case.session, strategy, provider, cuts=case.cuts, manual=True)


def _findings(
    strategy: Strategy, case: Case, seen: Replay, crashes: tuple[str, ...] = (_CRASHED, NO_ANSWER)
) -> Iterator[str]:
    """Every violation in anything that was sent, or that a strategy asked to send.

    Growth is left to `never_grows`. A failure whose reason begins with one of `crashes` is one too.
    """
    for compaction in seen.compactions:
        yield from (one for one in compaction.violations if not one.startswith("H2"))
        if compaction.reason.startswith(crashes):
            yield f"H8: {compaction.reason}"
    waived = frozenset(name for name, _ in policy_of(strategy).waives)
    history = History(case.session.events)
    for index in range(len(seen.requests)):
        for found in violations(seen.projection(index, history), waived):
            yield f"request {index}: {found}"


def kind_of_finding(sentence: str) -> str:
    """What two sentences about the same mistake have in common: they differ in numbers."""
    return re.sub(r"^request \d+: |\d+", "", sentence)[:_KIND_LENGTH]


def valid_projections(
    strategy: Strategy, case: Case, known: frozenset[str] = frozenset()
) -> str | None:
    """H1, H4, H5: whole groups, pinned messages, requests that the APIs accept.

    Findings of the kinds in `known` aren't told again.
    """
    found = _findings(strategy, case, _replay(strategy, case))
    return next((one for one in found if kind_of_finding(one) not in known), None)


def never_grows(strategy: Strategy, case: Case) -> str | None:
    """H2: no accepted result is larger than what it replaced, by the strategy's own estimate."""
    policy = policy_of(strategy)
    if policy.is_control or any(name == "H2" for name, _ in policy.waives):
        return None
    for compaction in _replay(strategy, case).compactions:
        told = next((one for one in compaction.violations if one.startswith("H2")), None)
        if told is not None:
            return told
        before, after = compaction.estimate_before, compaction.estimate_after
        if compaction.outcome == "accepted" and after > before:
            return f"H2: an accepted result has {after} tokens instead of {before}"
    return None


def history_unchanged(strategy: Strategy, case: Case) -> str | None:
    """H3: the session is what it was."""
    before = copy.deepcopy(case.session)
    _replay_anew(strategy, case)
    return None if case.session == before else "H3: the history was changed"


def deterministic(strategy: Strategy, case: Case) -> str | None:
    """H6: the same seed and inputs give the same projections, byte for byte."""
    first, second = _replay(strategy, case), _replay_anew(strategy, case)
    if (first.heads, first.requests, first.compactions) == (
        second.heads,
        second.requests,
        second.compactions,
    ):
        return None
    return "H6: two replays of the same session differ"


def no_foresight(strategy: Strategy, case: Case) -> str | None:
    """A projection depends on what was said before it, never on what comes later."""
    if case.cuts is not None:
        return None
    whole = _replay(strategy, case)
    half = truncated(case.session, len(case.session.events) * 2 // 3)
    part = replay(half, strategy, _provider(strategy, case))
    history = History(case.session.events)
    cut_history = History(half.events)
    for index in range(min(len(part.requests), len(whole.requests))):
        expected = whole.projection(index, history).items
        if part.projection(index, cut_history).items != expected:
            return f"H6: request {index} looks other when the session ends earlier (it peeked)"
    return None


def one_recovery_a_turn(strategy: Strategy, case: Case) -> str | None:
    """H7: at most one reactive recovery in a turn (or as many as the policy says)."""
    turns = Counter(
        sum(event.starts_turn for event in case.session.events[: compaction.at_seq - 1])
        for compaction in _replay(strategy, case).compactions
        if compaction.trigger == "provider" and compaction.outcome == "accepted"
    )
    policy: Policy = policy_of(strategy)
    stages = len(policy.recovery_stages)
    worst = max(turns.values(), default=0)
    if worst <= policy.recoveries_per_turn * stages:
        return None
    return f"H7: {worst} recoveries in one turn"


def survives_faults(
    strategy: Strategy, case: Case, known: frozenset[str] = frozenset()
) -> str | None:
    """H8: a summariser that fails or answers nonsense leaves valid projections, nothing mixed.

    Findings of the kinds in `known` aren't told again.
    """
    provider = FaultyProvider(_provider(strategy, case), case.fault_at, case.fault)
    seen = replay(case.session, strategy, provider, cuts=case.cuts, manual=True)
    # Foreign code may end with an error when its model fails: what stood before stands.
    found = _findings(strategy, case, seen, crashes=(_CRASHED,))
    return next((one for one in found if kind_of_finding(one) not in known), None)


Promise = Callable[..., str | None]

_ABOUT_PROJECTIONS = ("valid_projections", "survives_faults")

PROMISES: dict[str, Promise] = {
    "valid_projections": valid_projections,
    "never_grows": never_grows,
    "history_unchanged": history_unchanged,
    "deterministic": deterministic,
    "no_foresight": no_foresight,
    "one_recovery_a_turn": one_recovery_a_turn,
    "survives_faults": survives_faults,
}


def cases(*, with_compactions: bool = False) -> st.SearchStrategy[Case]:
    """Generated situations, with windows small enough that something has to happen.

    `with_compactions`: of sessions in which the recording's own tool compacted.
    """
    return st.builds(
        Case,
        session=recorded_sessions() if with_compactions else sessions(),
        window=st.sampled_from((700, 1_500, 3_000, 6_000)),
        cuts=st.sampled_from((None, None, 1, 3)),
        model=st.sampled_from(("offline", "lossy(0.7)")),
        fault_at=st.integers(1, 4),
        fault=st.sampled_from(FAULTS),
    )


def check_promise(
    strategy: Strategy,
    promise: str,
    *,
    examples: int = 60,
    derandomize: bool = True,
    known: frozenset[str] = frozenset(),
    shrinks_max: int | None = None,
) -> None:
    """Searches for a session that breaks one promise; raises BrokenPromise with the smallest.

    So many smaller sessions are tried then, None = as many as Hypothesis likes to try.
    `known` holds kinds of findings in projections that aren't looked for again.
    """
    rule: Promise = PROMISES[promise]
    if promise in _ABOUT_PROJECTIONS:
        rule = partial(rule, known=known)

    if shrinks_max is None and getattr(strategy, "runs_elsewhere", False):
        shrinks_max = _SHRINKS_ELSEWHERE
    _search(strategy, promise, rule, examples, derandomize=derandomize, shrinks_max=shrinks_max)


def _search(
    strategy: Strategy,
    promise: str,
    rule: Promise,
    examples: int,
    *,
    derandomize: bool = True,
    shrinks_max: int | None = None,
) -> None:
    # What was judged once is judged so again, or Hypothesis would complain of code that draws.
    judged: dict[str, str | None] = {}
    smallest: BrokenPromise | None = None
    shrinks_left = shrinks_max

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        database=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(cases(with_compactions=hasattr(strategy, "for_session")))
    def search(case: Case) -> None:
        nonlocal smallest, shrinks_left
        key = repr(case)
        if key not in judged:
            if smallest is not None and shrinks_left is not None:
                shrinks_left -= 1
                if shrinks_left < 0:
                    raise _Enough
            try:
                judged[key] = rule(strategy_for(strategy, case.session), case)
            except Declined:
                judged[key] = None
        how = judged[key]
        if how is None:
            return
        found = BrokenPromise(promise, how, case)
        if smallest is None or _size(case) <= _size(smallest.case):
            smallest = found
        if shrinks_left == 0:
            raise _Enough
        raise found

    try:
        search()
    except _Enough:
        # Hypothesis would go on for minutes and end with a warning about what it shows.
        assert smallest is not None, "it is raised behind a failure only"
        raise smallest from None


class _Enough(BaseException):
    """No more smaller sessions are to be tried."""


def _size(case: Case) -> tuple[int, int]:
    events = case.session.events
    return len(events), sum(len(event.message.text) for event in events)


def check_strategy(strategy: Any, *, examples: int = 60) -> None:
    """Raises BrokenPromise when `strategy` breaks a promise of the harness on any session found.

    It may be a function `(messages, window)` too, or an object with `compact_messages`.
    """
    wrapped = as_strategy(strategy)
    estimator_of(wrapped)
    for promise in PROMISES:
        check_promise(wrapped, promise, examples=examples)


def find_broken_promises(
    strategy: Strategy, *, examples: int = 60, shrinks_max: int | None = None
) -> list[BrokenPromise]:
    """Every promise that is broken, each with the smallest session that shows it.

    Projections can be wrong in several ways at once; each kind is searched for by itself. So many
    smaller sessions are tried for each, None = as many as Hypothesis likes to try.
    """
    broken: list[BrokenPromise] = []
    known: frozenset[str] = frozenset()
    for promise in PROMISES:
        for _ in range(_KINDS_MAX if promise in _ABOUT_PROJECTIONS else 1):
            try:
                check_promise(
                    strategy, promise, examples=examples, known=known, shrinks_max=shrinks_max
                )
            except BrokenPromise as found:
                broken.append(found)
                known |= {kind_of_finding(found.how)}
            else:
                break
    return broken


def times_compacted(strategy: Strategy, *, examples: int = 20) -> int:
    """How many compactions were accepted in so many generated sessions: none shows nothing."""
    counted = 0

    def count(prepared: Strategy, case: Case) -> None:
        nonlocal counted
        compactions = _replay(prepared, case).compactions
        counted += sum(one.outcome == "accepted" for one in compactions)

    _search(strategy, "times_compacted", count, examples)
    return counted

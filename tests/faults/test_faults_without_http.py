"""Every fault against every strategy, without HTTP: what ends, what stays, what the counters tell.

The session is short and each replay takes milliseconds, so all n-th requests are tried.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import RunHalted
from bench.events import Message, Session
from bench.history import History
from bench.invariants import violations
from bench.models import ModelSettings, OfflineModel
from bench.observations import Replay
from bench.projection import Projection
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.providers.simulated_faults import FAULTS, FaultPlan, FaultyModel
from bench.registry import make_strategy
from bench.replay import replay
from bench.results import results_of
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from tests.builders import session
from tests.stored_runs import rule_fact, working_session

STRATEGIES = ("head_tail", "layered", "layered(compactor=native)", "prune", "native")
ASKING = tuple(spec for spec in STRATEGIES if spec != "prune")
# What a fault is counted as, whatever words stand around it.
LABELS = {
    "output_reservation": "output_reservation",
    "rate_limit": "rate_limit",
    "rate_limit_told": "rate_limit",
    "quota": "quota",
    "server": "server",
    "overloaded": "server",
    "timeout": "timeout",
    "reset": "server",
    "unreachable": "server",
    "malformed": "server",
    "other_shape": "server",
    "silent_truncation": "silent_overflow",
    "content_filter": "content_filter",
} | {name: "input_overflow" for name in FAULTS if name.startswith("overflow_")}
WAITED_OUT = tuple(
    name for name, label in LABELS.items() if label in ("rate_limit", "server", "timeout")
)
REQUESTS_TRIED = 3


@cache
def telling() -> Session:
    """Turns of one step each, so that every strategy that asks at all asks four times or more."""
    return told_anew()


def told_anew() -> Session:
    lines = ["system: Be terse."]
    for turn in range(30):
        lines += [
            f"user: request {turn} about topic{turn}",
            f"call c{turn}",
            f"result c{turn}: " + f"found{turn} " * 40,
            "assistant: " + f"decided to keep limit_{turn} at {turn * 37 + 100}. " * 5,
        ]
    return session(*lines, name="talk")


@dataclass(frozen=True)
class Seen:
    """A replay under a plan; `halted` says why the run would have stopped."""

    model: FaultyModel
    replay: Replay | None
    halted: str

    @property
    def refusals(self) -> list[str]:
        """Everything that went wrong on the line, in order."""
        return [label for call in self.model.calls for label in call.refusals]


def seen_under(spec: str, plan: FaultPlan) -> Seen:
    model = FaultyModel(OfflineModel(), plan)
    try:
        provider = SimulatedProvider(model, 1_500)
        seen = replay(telling(), make_strategy(spec).strategy, provider)
        # The projection at the end belongs to a history of its own.
        return Seen(model, replace(seen, final=None), "")
    except RunHalted as halt:
        return Seen(model, None, halt.reason)


@cache
def unfaulted(spec: str) -> Seen:
    """The replay without any fault."""
    return seen_under(spec, FaultPlan(faults=("server",)))


def untouched(spec: str) -> Replay:
    seen = unfaulted(spec).replay
    assert seen is not None
    return seen


def untouched_calls(spec: str) -> int:
    return len(unfaulted(spec).model.calls)


def plans(fault: str) -> list[FaultPlan]:
    once = [FaultPlan(faults=(fault,), at=at) for at in range(1, REQUESTS_TRIED + 1)]
    return [*once, replace(once[0], is_lasting=True)]


def check_unharmed(seen: Replay) -> None:
    """Whatever failed left what stood before; everything that was sent is valid."""
    history = History(telling().events)
    for one in seen.compactions:
        assert not one.violations
        if one.outcome != "accepted":
            assert one.head == one.head_before
            assert one.tokens_after == one.tokens_before
            assert one.reason
    for request in {request.head: request for request in seen.requests}.values():
        assert violations(seen.projection(request.index, history)) == ()


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("spec", STRATEGIES)
def test_the_replay_ends_and_the_counters_tell_what_happened(spec: str, fault: str) -> None:
    for plan in plans(fault):
        seen = seen_under(spec, plan)
        struck = [n for n in range(1, seen.model.requests + 1) if plan.fault_of(n) is not None]
        label = LABELS.get(fault)
        if label == "silent_overflow":
            # Of a short request nobody can tell whether it was cut.
            assert set(seen.refusals) <= {label}
            assert len(seen.refusals) <= len(struck)
        else:
            assert seen.refusals == ([label] * len(struck) if label else [])
        assert sum(call.attempts for call in seen.model.calls) == seen.model.requests
        if seen.replay is not None:
            check_unharmed(seen.replay)
            tried = [one for one in seen.replay.compactions if one.asked]
            assert sum(one.asked for one in tried) >= len(seen.model.calls)
            failed = [c for c in seen.model.calls if c.outcome != "ok"]
            if failed and spec in ("head_tail", "native"):
                outcomes = {one.outcome for one in tried}
                assert outcomes - {"accepted"} or label in ("input_overflow", "silent_overflow")
    assert telling() == told_anew()


@pytest.mark.parametrize("fault", WAITED_OUT)
@pytest.mark.parametrize("spec", ASKING)
def test_what_waiting_mends_changes_nothing_but_the_wait(spec: str, fault: str) -> None:
    clean = untouched(spec)
    for at in range(1, REQUESTS_TRIED + 1):
        seen = seen_under(spec, FaultPlan(faults=(fault,), at=at))
        assert seen.replay == clean
        if seen.model.requests >= at:
            assert seen.refusals == [LABELS[fault]]
            assert max(call.attempts for call in seen.model.calls) == 2
            assert seen.model.waited_seconds > 0
    told = seen_under(spec, FaultPlan(faults=("rate_limit_told",), at=1))
    assert told.model.waited_seconds == 20


@pytest.mark.parametrize("spec", ASKING)
def test_quota_halts_at_once_and_says_why(spec: str) -> None:
    seen = seen_under(spec, FaultPlan(faults=("quota",), at=2))
    assert "no quota left" in seen.halted
    assert seen.refusals == ["quota"]
    assert seen.model.waited_seconds == 0


@pytest.mark.parametrize("spec", ASKING)
def test_a_rate_limit_that_never_ends_halts_the_run_and_compacts_nothing(spec: str) -> None:
    seen = seen_under(spec, FaultPlan(faults=("rate_limit",), at=1, is_lasting=True))
    assert "still limits the rate" in seen.halted
    assert Counter(seen.refusals) == {"rate_limit": 5}
    assert len(seen.model.calls) == 1


@pytest.mark.parametrize("spec", [spec for spec in ASKING if spec != "head_tail"])
def test_output_reservation_is_tried_once_with_a_smaller_answer(spec: str) -> None:
    once = seen_under(spec, FaultPlan(faults=("output_reservation",), at=1))
    refused = once.model.calls[0]
    assert (refused.refusals, refused.outcome) == (("output_reservation",), "ok")
    assert once.model.waited_seconds == 0
    for_good = seen_under(spec, FaultPlan(faults=("output_reservation",), at=1, is_lasting=True))
    assert for_good.model.calls[0].outcome == "output_reservation"
    assert for_good.model.calls[0].attempts == 2
    assert for_good.replay is not None
    assert all(one.outcome != "accepted" for one in for_good.replay.compactions if one.asked)


def test_where_no_smaller_answer_fits_the_reservation_is_the_end_of_the_call() -> None:
    model = FaultyModel(OfflineModel(), FaultPlan(faults=("output_reservation",), at=1))
    with pytest.raises(ProviderError, match="exceed context limit"):
        model.complete(
            [Message("user", "Summarise the conversation.")], output_tokens_max=8, seed=0
        )
    assert model.calls[0].attempts == 1


@pytest.mark.parametrize("fault", [name for name in sorted(LABELS) if "overflow" in LABELS[name]])
def test_only_an_overflow_makes_a_strategy_ask_for_less(fault: str) -> None:
    seen = seen_under("native", FaultPlan(faults=(fault,), at=2))
    assert seen.replay is not None
    assert seen.replay.retries.replan == 1 + untouched("native").retries.replan
    assert len(seen.model.calls) == 1 + untouched_calls("native")


@pytest.mark.parametrize(
    "fault", [name for name in sorted(FAULTS) if "overflow" not in LABELS.get(name, "")]
)
def test_nothing_but_an_overflow_makes_a_strategy_ask_for_less(fault: str) -> None:
    seen = seen_under("native", FaultPlan(faults=(fault,), at=1))
    assert len(seen.model.calls) == 1 or seen.replay is not None
    if seen.replay is not None:
        assert seen.replay.compactions[0].asked == 1


def test_a_strategy_that_asks_nobody_meets_no_fault() -> None:
    for fault in FAULTS:
        seen = seen_under("prune", FaultPlan(faults=(fault,), at=1, is_lasting=True))
        assert seen.replay == untouched("prune")
        assert seen.model.requests == 0


@given(
    st.sampled_from(STRATEGIES),
    st.lists(st.sampled_from(sorted(FAULTS)), min_size=1, max_size=4),
    st.floats(0, 0.9),
    st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_drawn_faults_are_repeatable_and_harmless(
    spec: str, faults: list[str], chance: float, seed: int
) -> None:
    plan = FaultPlan(faults=tuple(faults), chance=chance, seed=seed)
    seen, again = seen_under(spec, plan), seen_under(spec, plan)
    assert (seen.replay, seen.halted, seen.model.calls) == (
        again.replay,
        again.halted,
        again.model.calls,
    )
    assert bool(seen.halted) == (seen.replay is None)
    if seen.replay is not None:
        check_unharmed(seen.replay)


def test_every_asking_strategy_asks_often_enough_to_be_tried() -> None:
    assert all(untouched_calls(spec) > REQUESTS_TRIED for spec in ASKING)
    assert all(untouched(spec).stopped is None for spec in ASKING)


def test_unknown_fault_is_named() -> None:
    with pytest.raises(ValueError, match="earthquake"):
        FaultPlan(faults=("earthquake",))


def test_fault_of_a_reply_without_text_is_no_state() -> None:
    for fault in ("truncated_summary", "empty_summary"):
        model = FaultyModel(OfflineModel(), FaultPlan(faults=(fault,), at=1))
        provider = SimulatedProvider(model, 3_000)
        history = History(telling().events[:12])
        with pytest.raises(ProviderError, match=r"cut off|no summary"):
            provider.native(Projection.whole(history))


# Whole runs


def run_once(folder: Path, faults: FaultPlan | None, *, stop_after: int | None = None) -> str:
    """Runs, or goes on with, a small run; returns why it halted, empty when it came to its end."""
    sessions = [working_session("s", steps=16)]
    options = RunOptions(
        specs=("head_tail", "layered", "prune", "native"), settings=ModelSettings(faults=faults)
    )
    plan, surveyed = plan_run(sessions, options, lambda _: None)
    facts = {one.id: (rule_fact(one),) for one in sessions}
    saved = 0

    def count_saved(_: Any) -> None:
        nonlocal saved
        saved += 1
        if saved == stop_after:
            raise KeyboardInterrupt

    is_new = not (folder / "run.sqlite").exists()
    with Run.create(folder, {}) if is_new else Run.open(folder) as run:
        tasks = tasks_of(plan, sessions, surveyed, facts, options, run.has_cell)
        try:
            execute(run, tasks, 1, count_saved)
        except RunHalted as halt:
            return halt.reason
        except KeyboardInterrupt:
            return "interrupted"
    return ""


def document(folder: Path) -> Any:
    with Run.open(folder) as run:
        found = results_of(run).document()
    for row in (*found["cells"], *found["table"]):
        row["seconds"] = None
    return found


@pytest.mark.parametrize("fault", ["server", "overflow_anthropic", "truncated_summary"])
def test_a_resumed_run_gives_the_table_of_one_never_interrupted(tmp_path: Path, fault: str) -> None:
    plan = FaultPlan(faults=(fault,), at=1)
    assert run_once(tmp_path / "whole", plan) == ""
    assert run_once(tmp_path / "parts", plan, stop_after=1) == "interrupted"
    assert run_once(tmp_path / "parts", plan, stop_after=2) == "interrupted"
    assert run_once(tmp_path / "parts", plan) == ""
    assert document(tmp_path / "parts") == document(tmp_path / "whole")
    cells = document(tmp_path / "whole")["cells"]
    transport = {row["strategy"]: row["retries"]["transport"] for row in cells}
    is_mended = fault == "server"
    assert transport["native"] == transport["head_tail"] == int(is_mended)
    assert transport["prune"] == 0


def test_a_quota_that_is_filled_again_leaves_the_table_of_a_run_without_a_fault(
    tmp_path: Path,
) -> None:
    assert run_once(tmp_path / "whole", None) == ""
    halted = run_once(tmp_path / "parts", FaultPlan(faults=("quota",), at=2))
    assert "no quota left" in halted
    assert run_once(tmp_path / "parts", None) == ""
    assert document(tmp_path / "parts") == document(tmp_path / "whole")

"""The suite bites: strategies that are wrong on purpose are caught, each by the right promise."""

import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from bench.events import Event, Message, Session, ToolCall
from bench.models import make_model
from bench.projection import Kept, Projection, Written
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.strategy import Ask, Budget, Policy, Stage, Strategy
from bench.testing import BrokenPromise, check_strategy
from bench.testing.conformance import check_promise


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepsNewest:
    """Right: the example of the documentation."""

    groups: int = 3

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        return view.keep(view.groups[-self.groups :])


@dataclass(frozen=True, slots=True)
class SplitsGroup:
    """Keeps the newest items whatever group they belong to."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        pinned = [item for item in view.items[:-2] if view.is_pinned(item)]
        return view.with_items([*pinned, *view.items[-2:]])


@dataclass(frozen=True, slots=True)
class Grows:
    """Writes more than it replaces, and tells the engine to take any size."""

    policy: ClassVar[Policy] = Policy(stages=(Stage("compact", must_shrink=False),))

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        groups = [group for group in view.groups if not group.is_pinned]
        if not groups:
            return None
        text = "padding " * 20 + " ".join(message.text for message in view.messages) * 2
        first = view.groups.index(groups[0])
        return view.summarise(view.groups[first : first + 1], text)


@dataclass(frozen=True, slots=True)
class GrowsQuietly:
    """Writes more than it replaces and relies on nobody measuring."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        return Grows().compact(view, budget, ask)


@dataclass(frozen=True, slots=True)
class RewritesEvent:
    """Shows a changed event as if it were the recorded one."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        items = list(view.items)
        for index, item in enumerate(items):
            if isinstance(item, Kept) and len(item.message.text) > 20:
                message = replace(item.message, text=item.message.text[:5])
                items[index] = Kept(replace(item.event, message=message))
                return view.with_items(items)
        return None


@dataclass(frozen=True, slots=True)
class EditsHistory:
    """Reaches into the log itself."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        for event in view.events:
            if event.message.role == "tool":
                object.__setattr__(event.message, "text", "")
        return None


@dataclass(frozen=True, slots=True)
class DropsNewestRequest:
    """Summarises everything, the question that is being worked on included."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        first = view.leading_system
        groups = view.groups[first:]
        return view.summarise(groups, "All is well.", keep_pinned=False) if groups else None


@dataclass(frozen=True, slots=True)
class DropsSystem:
    """Forgets the standing instructions."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        return view.with_items([i for i in view.items if i.message.role != "system"])


@dataclass(frozen=True, slots=True)
class PeeksAhead:
    """Looks up the stack for the session and writes down what is going to be said."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        frame = sys._getframe(1)
        while frame is not None and "session" not in frame.f_locals:
            frame = frame.f_back  # type: ignore[assignment]
        session = frame.f_locals["session"] if frame else None
        if not isinstance(session, Session):
            return None
        groups = view.groups[view.leading_system : -2]
        return view.summarise(groups, f"{len(session.events)} events") if groups else None


@dataclass(frozen=True, slots=True)
class WritesNothing:
    """Replaces the middle with an empty message."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        groups = view.groups[view.leading_system : -1]
        return view.summarise(groups, " ") if groups else None


@dataclass(frozen=True, slots=True)
class Shuffles:
    """Turns the order of the newest messages round."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        groups = view.groups[view.leading_system + 1 :]
        pinned = view.groups[: view.leading_system]
        turned = [*pinned, *reversed(groups)]
        return view.with_items([item for group in turned for item in group.items])


@dataclass(slots=True)
class Forgetful:
    """Keeps state of its own between sessions, so that no replay is like another."""

    seen: int = 0

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        self.seen += 1
        groups = view.groups[view.leading_system : -2]
        return view.summarise(groups, f"summary {self.seen}") if groups else None


@dataclass(frozen=True, slots=True)
class Crashes:
    """Has a bug."""

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        raise KeyError("section")


def test_right_strategy_passes() -> None:
    check_strategy(KeepsNewest(), examples=40)


@pytest.mark.parametrize(
    ("strategy", "promise", "words"),
    [
        (SplitsGroup(), "valid_projections", "H1"),
        (Grows(), "never_grows", "H2"),
        (RewritesEvent(), "valid_projections", "H3"),
        (EditsHistory(), "history_unchanged", "H3"),
        (DropsNewestRequest(), "valid_projections", "H4"),
        (DropsSystem(), "valid_projections", "H4"),
        (PeeksAhead(), "no_foresight", "peeked"),
        (WritesNothing(), "valid_projections", "empty"),
        (Shuffles(), "valid_projections", "H"),
        (Forgetful(), "deterministic", "H6"),
        (Crashes(), "valid_projections", "H8"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_wrong_strategy_is_caught(strategy: Strategy, promise: str, words: str) -> None:
    with pytest.raises(BrokenPromise, match=words):
        check_promise(strategy, promise, examples=120)


def _session() -> Session:
    messages = [Message("system", "Terse."), Message("user", "Go.")]
    for number in range(30):
        call = ToolCall(f"c{number}", "read", "{}")
        messages.append(Message("assistant", f"step {number}", (call,)))
        messages.append(Message("tool", f"line {number} of a log\n" * 30, call_id=f"c{number}"))
    messages.append(Message("assistant", "Done."))
    events = tuple(Event(index + 1, message) for index, message in enumerate(messages))
    return Session("hand-made", events)


def test_gate_refuses_a_larger_result() -> None:
    seen = replay(
        _session(), GrowsQuietly(), SimulatedProvider(make_model("offline"), 4_000), cuts=2
    )
    assert {compaction.outcome for compaction in seen.compactions} == {"rejected"}
    assert all(compaction.head == 0 for compaction in seen.compactions)
    assert not any(isinstance(item, Written) for head in seen.heads for item in head)


def test_rejected_result_leaves_the_valid_projection() -> None:
    provider = SimulatedProvider(make_model("offline"), 100_000)
    seen = replay(_session(), DropsNewestRequest(), provider, cuts=2)
    assert [compaction.outcome for compaction in seen.compactions] == ["rejected", "rejected"]
    assert seen.compactions[0].violations[0].startswith("H4")
    assert seen.stopped is None
    assert all(request.tail_start == 0 for request in seen.requests)

"""Words: the contract of a strategy: what it does, when it fires, and the one effect it has.

*What* is the method `compact`. *When* is data, `Policy`, which one engine runs for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, cast, runtime_checkable

from bench.events import Message, Session, ToolCall, ToolDefinition
from bench.projection import Json, Native, Projection

Trigger = Literal["budget", "provider", "manual"]
Phase = Literal["automatic", "pre_turn", "mid_turn", "standalone"]


class Usage(NamedTuple):
    """Tokens as a provider reports them; None means that it didn't say."""

    input_tokens: int
    output_tokens: int = 0
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. `finish_reason` is the provider's own word ("stop", "length" ...).

    `calls` are the tool calls in it; there are none in the answer to a strategy's question.
    """

    text: str
    finish_reason: str
    usage: Usage
    calls: tuple[ToolCall, ...] = ()


class Ask(Protocol):
    """The only effect that a strategy has: asking the session's model.

    Raises `bench.provider.ProviderError` when the provider refuses.
    """

    def __call__(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        """One request with these messages; the answer holds at most `output_tokens_max` tokens."""
        ...

    def native(self, view: Projection, *, form: str = "auto") -> Native:
        """Let the provider compact the view itself; raises ProviderError where it can't.

        `form` names one of the ways that vendors have; "auto" is the provider's usual one.
        """
        ...


@runtime_checkable
class Metered(Protocol):
    """An `Ask` that also takes down what was spent elsewhere, by code that asks a model itself."""

    def charge(self, usage: Usage) -> None:
        """Counts this usage as the summariser's."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one compaction and why it is asked for.

    Token figures are in the strategy's own estimator. `threshold_tokens` is the size above which
    the engine fires, `size_tokens` the size of the view now (tools included where the policy counts
    them). `accepted_seq` is the newest event that this route has accepted in an ordinary request
    (F9), None before the first. `attempt` counts the compactions of this request from 1,
    `now` is logical time in seconds: the newest event's timestamp, else its seq.
    `seed` is that of the cell, for strategies that draw.
    """

    window: int
    threshold_tokens: int
    size_tokens: int
    trigger: Trigger
    stage: str
    phase: Phase = "automatic"
    route: str = "simulated"
    model: str = "offline"
    session: str = ""
    accepted_seq: int | None = None
    attempt: int = 1
    now: float = 0.0
    tools: tuple[ToolDefinition, ...] = ()
    seed: int = 0


class Declined(Exception):
    """A strategy tried and refused. `deterministic` says that the same input would fail again.

    `memory` replaces the strategy's memory although nothing was compacted, None leaves it.
    `kind` tells the engine what happened: "failed" (the summariser or the provider failed),
    "rejected" (the result was no good) or "suppressed" (not even tried, known to fail).
    `violations` are promises that the result broke, each a sentence that begins with its name.
    """

    def __init__(
        self,
        reason: str,
        *,
        deterministic: bool = False,
        memory: Json = None,
        kind: Literal["failed", "rejected", "suppressed"] = "failed",
        repairs: int = 0,
        replans: int = 0,
        violations: tuple[str, ...] = (),
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.deterministic = deterministic
        self.memory = memory
        self.kind = kind
        self.repairs = repairs
        self.replans = replans
        self.violations = violations


@dataclass(frozen=True, slots=True)
class Estimator:
    """How a strategy guesses sizes: additive units for each message, then tokens of a sum of units.

    `envelope_units` are paid once a request, `tools_units` for all tool definitions together.
    """

    name: str
    message_units: Callable[[Message], int]
    tools_units: Callable[[Sequence[ToolDefinition]], int]
    tokens: Callable[[int], int] = int
    envelope_units: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """One thing to try when a projection is too large, by the name that `budget.stage` carries.

    `is_lasting` False: the result serves this request only, the next one starts without it.
    `must_shrink` False: the gate lets a result of any size pass. `must_be_valid` False: a result
    that breaks promises is sent as it is and its violations are counted, as happens to a runtime
    that compacts by itself.
    """

    name: str
    is_lasting: bool = True
    must_shrink: bool = True
    must_be_valid: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """When a strategy fires and how it recovers, run by the engine for everybody.

    `threshold_fraction` of the window, or `threshold_tokens` (wins when set), or the window less
    `reserve_tokens` (wins over both; at most `reserve_fraction` of the window, if that is set):
    above it (strictly) the stages are tried in order until one gets below.
    `count_tools` adds the tool definitions to the size. `anchor_to_usage` measures by
    the provider's last count plus the estimated difference. `low_water` remembers the size after a
    try and doesn't fire again at or below it, until a new turn (Z8). `recovery_stages` run after
    an overflow, at most `recoveries_per_turn` times a turn (F2.4, Z10); `spent_by` lists
    the outcomes that use up that allowance (Z11). `waives` names the promises (H4 ...) that an
    original program doesn't keep, each with its reason. `estimator` guesses sizes, None leaves that
    to the strategy's attribute of that name. `overflow_text` tells an overflow by the text of the
    provider's error (Z9), None trusts the provider's error class (F1.7). `at_requests`, indexes of
    requests, replaces every trigger, forced ones too: the stages are tried there and nowhere else.
    """

    stages: tuple[Stage, ...] = (Stage("compact"),)
    recovery_stages: tuple[Stage, ...] = (Stage("compact"),)
    threshold_fraction: float = 0.8
    threshold_tokens: int | None = None
    reserve_tokens: int | None = None
    reserve_fraction: float | None = None
    count_tools: bool = True
    anchor_to_usage: bool = False
    low_water: bool = True
    recoveries_per_turn: int = 1
    spent_by: tuple[str, ...] = ("accepted", "failed")
    is_control: bool = False
    ignores_window: bool = False
    waives: tuple[tuple[str, str], ...] = ()
    estimator: Estimator | None = None
    overflow_text: Callable[[str], bool] | None = None
    at_requests: tuple[int, ...] | None = None


@runtime_checkable
class Strategy(Protocol):
    """What to do. A frozen dataclass with this method is a strategy; its fields are parameters.

    Optional attributes with defaults: `policy` (Policy), `estimator` (Estimator; characters/4),
    `caveats` (sentences that belong beside its numbers). A strategy that needs to know the session
    before its replay has a method `for_session(session) -> Strategy`: what it returns is replayed
    in its place; it raises Declined where there is nothing to replay, and says why. It is shown the
    whole session, the future too: only a strategy that reports what happened may need that.
    """

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """A shorter projection, None when there is nothing to do; raises Declined."""
        ...


@runtime_checkable
class MessageStrategy(Protocol):
    """What to do, over message lists: for code that knows nothing of projections.

    A frozen dataclass with this method is wrapped into a `Strategy` (`bench.foreign.adapter`).
    `messages` are those of a Chat Completions request, freshly made, free to be changed; `window`
    is in tokens. Which of the keywords `tools`, `ask`, `state`, `request_at` (where the current
    user request stands), `reason`, `seed` and `budget` it is called with, its signature says. It
    returns the shorter list, None when there is nothing to do, or a pair of either and a JSON value
    that is its next `state`. It may be async. It raises Declined. Optional attributes are those of
    a strategy, and `calls` ("trigger" or "every": whether it is called above the threshold or
    before every request) and `lasting` (False: its answer serves one request, the next one starts
    from what was before).
    """

    @property
    def compact_messages(self) -> Callable[..., Any]:
        """A method `(messages, window, *, ...)`: what the model is to be shown instead."""
        ...


@contextmanager
def opened(strategy: Strategy) -> Iterator[Strategy]:
    """What is replayed, while it is replayed: for strategies that keep something alive meanwhile.

    Such a strategy has a method `opened()`, a context manager; others are replayed as they are.
    """
    scope = getattr(strategy, "opened", None)
    if scope is None:
        yield strategy
        return
    with scope() as alive:
        yield alive


def strategy_for(strategy: Strategy, session: Session) -> Strategy:
    """What is replayed on this session: the strategy itself unless it has `for_session`.

    Raises Declined when the strategy says that this session gives it nothing to do.
    """
    prepared = getattr(strategy, "for_session", None)
    return strategy if prepared is None else cast("Strategy", prepared(session))

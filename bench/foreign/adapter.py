"""Edge: a strategy made of code over message lists.

The view is shown on the code's wire, what comes back is compared with what was shown
(`bench.foreign.provenance`), and the engine judges the projection like any other. What an API would
refuse in the answer itself is found before that (`bench.foreign.findings`), so that nothing which
rendering would put right goes unseen.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from bench.engine_policy import DEFAULT_POLICY, estimator_of
from bench.estimators import CHARACTERS
from bench.foreign.asking import MessageAsk
from bench.foreign.findings import answer_problems
from bench.foreign.functions import MessageFunction, MessageObject, signature_problem
from bench.foreign.provenance import inferred
from bench.foreign.requests import ForeignAnswer, ForeignCode, ForeignRequest, failure
from bench.foreign.shown import Shown, Wire, shown
from bench.foreign.wires import WrongShape
from bench.invariants import violations
from bench.projection import Json, Projection
from bench.strategy import (
    Ask,
    Budget,
    Declined,
    Estimator,
    MessageStrategy,
    Metered,
    Policy,
    Stage,
    Strategy,
)

INFERRED = "what it kept, shortened and wrote is inferred by comparing messages"
_STATE = "state"


@dataclass(frozen=True, slots=True)
class MessageCompaction:
    """The strategy that runs foreign code. `inner` is what was named in the spec.

    `code` answers requests; without it `inner` does. When it is called and what is asked of it are
    attributes of `inner`: `policy`, or `threshold`, `calls`, `lasting` and `waives`.
    """

    inner: Any
    code: ForeignCode | None = None

    @property
    def is_inferred(self) -> bool:
        """That the provenance of its projections is found out by comparing."""
        return True

    @property
    def runs_elsewhere(self) -> bool:
        """That a call starts a process or goes over a network, and so takes its time."""
        return bool(getattr(self.inner, "runs_elsewhere", False))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What belongs beside its numbers."""
        name = getattr(self.inner, "name", type(self.inner).__name__)
        return (f"{name}: {INFERRED}", *getattr(self.inner, "caveats", ()))

    @property
    def prompt(self) -> Any:
        """The prompt of what is run, None when it has none."""
        return getattr(self.inner, "prompt", None)

    @property
    def calls_every(self) -> bool:
        """Whether the code is called before every request and decides itself."""
        return bool(getattr(self.inner, "calls", "trigger") == "every")

    @property
    def policy(self) -> Policy:
        """When it is called and what is asked of its answers."""
        own = getattr(self.inner, "policy", None)
        if isinstance(own, Policy):
            return own
        is_lasting = bool(getattr(self.inner, "lasting", True))
        asked = Stage("compact", is_lasting=is_lasting)
        waives = tuple((name, "waived by its spec") for name in getattr(self.inner, "waives", ()))
        if self.calls_every:
            free = replace(asked, must_shrink=False, must_be_valid=False)
            return Policy(
                stages=(free,),
                recovery_stages=(asked,),
                threshold_tokens=0,
                low_water=False,
                waives=waives,
            )
        return Policy(
            stages=(asked,),
            recovery_stages=(asked,),
            threshold_fraction=getattr(self.inner, "threshold", DEFAULT_POLICY.threshold_fraction),
            waives=waives,
        )

    @property
    def estimator(self) -> Estimator:
        """How sizes are guessed: as `inner` does, else characters/4."""
        own = getattr(self.inner, "estimator", None)
        return own if isinstance(own, Estimator) else CHARACTERS

    def check_ready(self) -> None:
        """Raises UsageError when the code can't be called at all: no such command, no server."""
        check = getattr(self.inner, "check_ready", None)
        if check is not None:
            check()

    @contextmanager
    def opened(self) -> Iterator[Strategy]:
        """This strategy with what its code keeps alive during one replay."""
        scope = getattr(self.inner, "opened", None)
        if scope is None:
            yield self
            return
        with scope() as code:
            yield replace(self, code=code)

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """What the code makes of the view. Raises Declined when it fails or breaks a promise."""
        wire: Wire = getattr(self.inner, "wire", "openai")
        told = shown(view, budget.tools, wire)
        state = view.memory.get(_STATE) if isinstance(view.memory, dict) else None
        metered = MessageAsk(ask)
        answer = self._code().answer(self._request(told, budget, state), metered)
        if answer.usage is not None and metered.asked == 0 and isinstance(ask, Metered):
            ask.charge(answer.usage)
        if answer.has_state:
            state = answer.state
        memory = None if state is None else {_STATE: state}
        if answer.messages is None:
            if metered.asked or answer.usage is not None:
                raise Declined(
                    "it asked a model and compacted nothing", kind="rejected", memory=memory
                )
            return view.remember(memory)
        return self._judged(view, told, answer, budget).remember(memory)

    def _code(self) -> ForeignCode:
        return self.code or as_code(self.inner)

    def _request(self, told: Shown, budget: Budget, state: Json) -> ForeignRequest:
        is_asked_always = self.calls_every and budget.trigger == "budget"
        return ForeignRequest(
            messages=told.payload,
            tools=told.tools,
            system=told.system,
            request_at=told.request_at,
            window=budget.window,
            reason="request" if is_asked_always else budget.trigger,
            state=state,
            seed=budget.seed,
            budget=budget,
        )

    def _judged(
        self, view: Projection, told: Shown, answer: ForeignAnswer, budget: Budget
    ) -> Projection:
        """The answer as a projection; Declined with every promise that it breaks."""
        try:
            messages = told.answered(answer.messages, answer.system)
        except WrongShape as error:
            raise failure(f"its answer is of another shape: {error}") from error
        candidate = inferred(view, told, messages)
        waived = frozenset(name for name, _ in self.policy.waives)
        broken = violations(candidate, waived, on_the_wire=False)
        if broken and self.calls_every and budget.trigger == "budget":
            return candidate  # It is sent as it is; the engine counts what it breaks.
        problems = [one for one in answer_problems(told, messages) if one[:2] not in waived]
        grown = self._grown(view, candidate, budget)
        if grown and "H2" not in waived:
            problems.append(grown)
        if problems:
            # What the projection lacks, the answer mostly lacks too, and says so in its own terms.
            said = {problem[:2] for problem in problems}
            found = (*dict.fromkeys(problems), *(one for one in broken if one[:2] not in said))
            raise Declined(found[0], kind="rejected", violations=found)
        return candidate

    def _grown(self, view: Projection, candidate: Projection, budget: Budget) -> str:
        """H2, asked only above the threshold: what is forced on a short view may find no room."""
        if self.calls_every or budget.size_tokens <= budget.threshold_tokens:
            return ""
        estimator = estimator_of(self)
        before, after = (
            estimator.tokens(sum(map(estimator.message_units, one.messages)))
            for one in (view, candidate)
        )
        return f"H2: its answer has {after} tokens instead of {before}" if after > before else ""


def as_code(inner: Any) -> ForeignCode:
    """What answers requests: the thing itself, or its method `compact_messages`."""
    if isinstance(inner, ForeignCode):
        return inner
    if isinstance(inner, MessageStrategy):
        return MessageObject(inner)
    raise TypeError(f"{type(inner).__name__} answers no requests and has no compact_messages")


def as_strategy(made: Any) -> Strategy:
    """What is run: strategies as they are, code over messages wrapped into one.

    Raises TypeError for what is neither, and for a function with another signature.
    """
    if callable(getattr(made, "compact", None)):
        return made  # type: ignore[no-any-return]
    if inspect.isroutine(made):
        problem = signature_problem(made)
        if problem:
            raise TypeError(f"{getattr(made, '__name__', 'the function')} {problem}")
        return MessageCompaction(MessageFunction(function=made))
    as_code(made)
    return MessageCompaction(made)

"""Edge: Python functions and objects over message lists, and what their signatures ask for.

`compact(messages, window)` over Chat Completions messages is the whole contract. It may be async
and may have keyword parameters: `tools` (definitions as Chat Completions has them), `ask` (the
session's model, `bench.foreign.asking`), `state` (what it returned last time), `request_at` (the
index of the current user request, None without one), `reason`, `seed` and `budget`. It returns the
shorter list, None when there is nothing to do, or a pair of either and its next state. The list
that it gets is its own; the history isn't in it.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from bench.foreign.asking import MessageAsk
from bench.foreign.requests import ForeignAnswer, ForeignRequest, failure
from bench.strategy import MessageStrategy

KEYWORDS = ("tools", "ask", "state", "request_at", "reason", "seed", "budget")
_RIGHT = "write (messages, window), and after a * any of " + ", ".join(KEYWORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFunction:
    """A plain function over message lists, run as a strategy.

    It is called above the fraction `threshold` of the window, tool definitions counted.
    It `calls` for every request instead where the function decides itself when it compacts.
    With `lasting` false an answer serves one request, and the next starts from what was before.
    The promises in `waives` (H4 ...) aren't asked of it.
    """

    function: Callable[..., Any]
    threshold: float = 0.8
    calls: Literal["trigger", "every"] = "trigger"
    lasting: bool = True
    waives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self.threshold, self.waives)

    @property
    def name(self) -> str:
        """The function's own name."""
        return str(getattr(self.function, "__name__", "function"))

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call of the function."""
        return called(self.function, request, ask)


@dataclass(frozen=True, slots=True)
class MessageObject:
    """A frozen dataclass with the method `compact_messages`, called like a function."""

    inner: MessageStrategy

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call of the method."""
        return called(self.inner.compact_messages, request, ask)


def check_settings(threshold: float, waives: tuple[str, ...]) -> None:
    """Raises ValueError for a threshold that is no fraction, and for promises that aren't known."""
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold={threshold} is no fraction of the window (0 to 1)")
    for name in waives:
        if name not in ("H1", "H2", "H4", "H5"):
            raise ValueError(f"waives={name}: H1, H2, H4 and H5 can be waived")


def signature_problem(function: Callable[..., Any]) -> str:
    """What keeps a function from being called as a strategy; empty when nothing does."""
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return f"is a generator; {_RIGHT}, and return the list"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return f"has no signature that can be read; {_RIGHT}"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty and p.name not in KEYWORDS]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    first_two = [p for p in positional[:2] if p.name not in KEYWORDS]
    if len(required) > 2 or (len(first_two) < 2 and not takes_any):
        return f"takes {_listed(parameters)}; {_RIGHT}"
    for parameter in parameters:
        is_needed = parameter.default is parameter.empty and parameter.name not in KEYWORDS
        if parameter.kind is parameter.KEYWORD_ONLY and is_needed:
            return f"needs {parameter.name}, which isn't known; {_RIGHT}"
    return ""


def _listed(parameters: list[inspect.Parameter]) -> str:
    return "(" + ", ".join(str(p) for p in parameters) + ")"


def called(function: Callable[..., Any], request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
    """What a function answers. What it raises goes through; raises Declined for no list."""
    offered = {
        "tools": request.tools,
        "ask": ask,
        "state": request.state,
        "request_at": request.request_at,
        "reason": request.reason,
        "seed": request.seed,
        "budget": request.budget,
    }
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    keywords = {k: v for k, v in offered.items() if takes_all or k in parameters}
    found = function(request.messages, request.window, **keywords)
    if inspect.iscoroutine(found):
        found = _awaited(found)
    state, has_state = None, False
    if isinstance(found, tuple):
        if len(found) != 2 or not (found[0] is None or isinstance(found[0], list)):
            raise failure(f"it returned {len(found)} values, not messages or (messages, state)")
        (found, state), has_state = found, True
    if found is not None and not isinstance(found, list):
        raise failure(f"it returned {type(found).__name__}, not a list of messages or None")
    return ForeignAnswer(found, state=state, has_state=has_state)


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]

"""Controls, the ends of every scale: `keep_all` forgets nothing, `empty` remembers nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from bench.projection import ItemGroup, Kept, Projection
from bench.strategy import Ask, Budget, Policy, Stage, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAll:
    """The ceiling: the whole history at every request; the window isn't enforced on it."""

    summary: ClassVar[str] = "control: the whole history, whatever the window"
    source: ClassVar[str] = "control"

    policy: ClassVar[Policy] = Policy(
        stages=(), recovery_stages=(), is_control=True, ignores_window=True
    )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """Never anything."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """The floor: the system prompt and the newest user request, made anew before every request."""

    summary: ClassVar[str] = "control: system prompt and newest user request only"
    source: ClassVar[str] = "control"

    policy: ClassVar[Policy] = Policy(
        stages=(Stage("empty", must_shrink=False),),
        recovery_stages=(),
        threshold_tokens=0,
        low_water=False,
        is_control=True,
    )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """System prompt and newest request; without any request the newest group stays.

        Costs O(what was said since the last request): the rest is gone from the view already.
        """
        if not view.groups:
            return None
        return view.keep([_newest_request(view)])


def _newest_request(view: Projection) -> ItemGroup:
    for group in reversed(view.groups):
        if any(isinstance(item, Kept) and item.event.starts_turn for item in group.items):
            return group
    return view.groups[-1]


STRATEGIES: dict[str, Callable[..., Strategy]] = {"keep_all": KeepAll, "empty": Empty}

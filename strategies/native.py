"""Compaction by the provider itself, the strategy `native`: opaque state instead of a summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from bench.projection import Item, ItemGroup, Kept, Native, Projection, Shortened
from bench.provider import ProviderError
from bench.strategy import Ask, Budget, Declined, Policy, Stage, Strategy
from strategies.head_tail.estimate import estimator, text_measure

CLEARED = "[Old tool result cleared to save context.]"
# Nothing that is tried again can help against these.
_UNAVAILABLE_STATUSES = (404, 405)
_UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCompaction:
    """Let the provider compact the conversation into state that nobody but the provider can read.

    The state is bound to the route that made it (provider, endpoint and model) and used only there.
    The `form` auto is the provider's usual one, else one that it offers, as listed below.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    The newest `preserve_last` groups of messages stay verbatim behind the state.
    With clear_tool_uses the newest `keep_tool_uses` results stay whole.
    With clear_tool_uses nothing is cleared unless it frees `clear_at_least` tokens.

    Forms: OpenAI compact (an endpoint of its own) and inline (within a request); Anthropic
    on_demand, threshold, and clear_tool_uses (context editing: old tool results give way to a line,
    nothing is opaque and nobody is asked); the simulated provider on_demand and compact.
    Source: OpenAI, /responses/compact and context_management; Anthropic, compact_20260112,
    on-demand compaction and clear_tool_uses_20250919.
    """

    summary: ClassVar[str] = "the provider's own compaction: opaque state, bound to its route"
    source: ClassVar[str] = (
        "OpenAI /responses/compact and context_management; Anthropic compaction, context editing"
    )

    form: Literal["auto", "compact", "inline", "on_demand", "threshold", "clear_tool_uses"] = "auto"
    threshold: float = 0.8
    preserve_last: int = 0
    keep_tool_uses: int = 3
    clear_at_least: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold={self.threshold} is no fraction of the window (0 to 1)")
        for name in ("preserve_last", "keep_tool_uses", "clear_at_least"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: at least 0 is needed")

    @property
    def policy(self) -> Policy:
        """One stage above the threshold; the same again after an overflow, once a turn.

        A vendor measures by its own count of the last request, and so does this.
        """
        return Policy(
            stages=(Stage("compact"),),
            recovery_stages=(Stage("compact"),),
            threshold_fraction=self.threshold,
            anchor_to_usage=True,
            estimator=estimator("bytes"),
        )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """The view with one opaque state for all but the newest groups and what is pinned.

        None when there is nothing to compact. Raises Declined: "suppressed" where the route has no
        such compaction or the view holds another route's state, "rejected" for a state that can't
        be used here, else "failed" with the provider's own words.
        """
        if self.form == "clear_tool_uses":
            return self._cleared(view)
        _refuse_known(view, budget)
        tried = 0
        refusal = ProviderError("unknown", "")
        for plan in _plans(view, self.preserve_last, budget.accepted_seq):
            tried += 1
            try:
                native = ask.native(plan.prefix, form=self.form)
            except ProviderError as error:
                refusal = error
                if error.kind != "input_overflow":
                    break
            else:
                return _compacted(view, plan, _checked(native, budget), replans=tried - 1)
        if not tried:
            return None
        raise _declined(refusal, view, budget, replans=tried - 1) from refusal

    def _cleared(self, view: Projection) -> Projection | None:
        """Anthropic's context editing: all but the newest results give way to a placeholder."""
        results = [
            item
            for item in view.items
            if isinstance(item, (Kept, Shortened)) and item.message.role == "tool"
        ]
        old = results[: max(0, len(results) - self.keep_tool_uses)]
        tokens = text_measure("bytes")
        freed = {
            item.event.seq: tokens(item.message.text) - tokens(CLEARED)
            for item in old
            if item.message.text != CLEARED
        }
        worth = {seq: gain for seq, gain in freed.items() if gain > 0}
        if not worth or sum(worth.values()) < self.clear_at_least:
            return None
        return view.shorten(dict.fromkeys(worth, CLEARED))


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is handed to the provider: the first `stop` items of the view, `prefix` shows them."""

    stop: int
    prefix: Projection
    covered: tuple[Item, ...]


def _plans(view: Projection, preserve_last: int, accepted_seq: int | None) -> Iterator[_Plan]:
    """What to hand over, largest first: a request that is too long is tried again with less.

    First everything but the newest groups; then what this route has accepted already, which fits
    but for the instructions (F9.2); then half of that, and half again.
    """
    groups = _candidates(view, preserve_last)
    sizes = [len(groups)]
    if accepted_seq is not None:
        sizes.append(sum(_last_seq(group.items) <= accepted_seq for group in groups))
    sizes += [sizes[-1] // 2, sizes[-1] // 4]
    smallest = len(groups) + 1
    for size in sizes:
        if size >= smallest:
            continue
        smallest = size
        plan = _plan(view, groups[:size])
        if plan is not None:
            yield plan


def _candidates(view: Projection, preserve_last: int) -> list[ItemGroup]:
    """The groups that may be compacted: no leading system message, nothing that is still open."""
    groups = [
        group
        for group in view.groups
        if not (group.is_pinned and group.items[0].message.role == "system")
    ]
    groups = groups[: max(0, len(groups) - preserve_last)]
    pending = next((i for i, group in enumerate(groups) if group.is_pending), len(groups))
    groups = groups[:pending]
    # A request that nothing follows yet stands behind the state anyway.
    while groups and any(_stays(view, item) for item in groups[-1].items):
        groups.pop()
    return groups


def _stays(view: Projection, item: Item) -> bool:
    """True for leading system messages and the newest request.

    That one stays even when it is answered, since a recording may go on with it all the same (H4).
    """
    if view.is_pinned(item):
        return True
    newest = view.history.last_turn_start(view.stop)
    return isinstance(item, (Kept, Shortened)) and item.event.seq - 1 == newest


def _plan(view: Projection, groups: Sequence[ItemGroup]) -> _Plan | None:
    """None when there is nothing in these groups that could be smaller afterwards."""
    items = tuple(item for group in groups for item in group.items)
    if not any(not isinstance(item, Native) and not _stays(view, item) for item in items):
        return None
    stop = groups[-1].stop
    shown = view.items[:stop]
    prefix = Projection.of_items(view.history, shown, _last_seq(shown), view.memory)
    return _Plan(stop, prefix, items)


def _last_seq(items: Sequence[Item]) -> int:
    return max(item.seqs[1] for item in items)


def _refuse_known(view: Projection, budget: Budget) -> None:
    """Raises Declined for what is known to fail without asking."""
    for item in view.head:
        if isinstance(item, Native) and item.route != budget.route:
            raise Declined(
                f"the view holds state of the route {item.route!r}, which means nothing on "
                f"{budget.route!r}",
                deterministic=True,
                kind="suppressed",
            )
    memory = view.memory if isinstance(view.memory, dict) else {}
    if memory.get(_UNAVAILABLE) == budget.route:
        reason = f"the route {budget.route!r} has no such compaction"
        raise Declined(reason, deterministic=True, kind="suppressed")


def _declined(error: ProviderError, view: Projection, budget: Budget, *, replans: int) -> Declined:
    memory = view.memory if isinstance(view.memory, dict) else {}
    is_unavailable = error.status in _UNAVAILABLE_STATUSES
    if is_unavailable:
        memory = {**memory, _UNAVAILABLE: budget.route}
    return Declined(
        f"{error.kind}: {error.text}",
        deterministic=is_unavailable or error.kind == "input_overflow",
        memory=memory,
        replans=replans,
    )


def _checked(native: Native, budget: Budget) -> Native:
    """The state, if it can be used: valid JSON, made on this route (F7.2, F7.3)."""
    if native.route != budget.route:
        made_on = f"the state was made on the route {native.route!r}, not on {budget.route!r}"
        raise Declined(made_on, kind="rejected")
    try:
        json.loads(native.state)
    except (ValueError, RecursionError) as error:
        raise Declined(f"the state isn't valid JSON: {error}", kind="rejected") from error
    return native


def _compacted(view: Projection, plan: _Plan, native: Native, *, replans: int) -> Projection:
    """Leading system messages, the state, the pinned request, then what wasn't covered."""
    first = min(item.seqs[0] for item in plan.covered)
    state = replace(native, first_seq=first, last_seq=_last_seq(plan.covered))
    gone = {id(item) for item in plan.covered if not _stays(view, item)}
    kept = [item for item in view.items[: plan.stop] if id(item) not in gone]
    systems = [item for item in kept if item.message.role == "system"]
    others = [item for item in kept if item.message.role != "system"]
    items = [*systems, state, *others, *view.items[plan.stop :]]
    diagnostics = {"route": native.route, "state_tokens": native.tokens, "replans": replans}
    return view.with_items(items).remember({"diagnostics": diagnostics})


STRATEGIES: dict[str, Callable[..., Strategy]] = {"native": NativeCompaction}

"""Edge: a view as foreign code is shown it, and which item every message came from.

It sees what a provider would be sent: unique call ids, results behind their calls, a marked stub
for a call that was never answered. The marked line that closes a request after an assistant message
is left out, and so is the one that opens it, except for the Messages API, which demands one.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from bench.events import Message, ToolDefinition
from bench.foreign.wires import Key, WrongShape, anthropic_messages, block_key, openai_messages
from bench.projection import Item, Kept, Native, Projection, Shortened, Written
from bench.wire.formats import to_anthropic, to_openai
from bench.wire.rendering import CONTINUE_LINE, LEADING_LINE, Rendered, WireMessage, render

Wire: TypeAlias = Literal["openai", "anthropic"]
Payload: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message that is shown; `position` is its item's place in the view, None for a stub."""

    message: Message
    item: Item | None
    position: int | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A view on a wire: what is handed over, and the same in neutral form, one to one by block.

    `system` is the system text of the Messages API, None elsewhere. `leading_system` counts the
    messages that are in it, or that open the list. `request_at` is the index of the current user
    request in `payload`.
    """

    wire: Wire
    system: str | None
    payload: list[Payload]
    tools: list[Payload]
    messages: tuple[ShownMessage, ...]
    leading_system: int
    blocks_of: tuple[tuple[Key, ...], ...] = ()
    request_at: int | None = None

    def answered(self, entries: Any, system: str | None = None) -> list[Message]:
        """What came back, in neutral form. Raises WrongShape.

        `system` None stands for the text that was shown.
        """
        if self.wire == "openai":
            return openai_messages(entries)
        known = [shown.message for shown in self.messages]
        told = anthropic_messages(entries, known, self.blocks_of)
        if system is None or system == self.system:
            return known[: self.leading_system] + told
        return [Message("system", system), *told] if system else told


def shown(view: Projection, tools: Sequence[ToolDefinition], wire: Wire) -> Shown:
    """The view on a wire, in objects that nobody else holds."""
    rendered = [one for one in render(view).messages if not _is_marked_line(one, wire)]
    told = to_openai if wire == "openai" else to_anthropic
    request = told(Rendered(tuple(rendered), 0), tools)
    leading = next((i for i, m in enumerate(rendered) if m.role != "system"), len(rendered))
    blocks: tuple[tuple[Key, ...], ...] = ()
    if wire == "openai":
        neutral = openai_messages(request.messages)
    else:
        alone = [_anthropic_alone(one, index < leading) for index, one in enumerate(rendered)]
        neutral = [message for message, _ in alone]
        blocks = tuple(keys for _, keys in alone)
    positions = _positions(view, rendered)
    messages = tuple(
        ShownMessage(message, None if at is None else view.items[at], at)
        for message, at in zip(neutral, positions, strict=True)
    )
    asked = _request_index(view, messages)
    if asked is not None:
        # Neighbours may have been merged; as many stand before it as there are without the rest.
        asked = len(told(Rendered(tuple(rendered[: asked + 1]), 0), ()).messages) - 1
    return Shown(
        wire,
        request.system,
        request.messages,
        deepcopy(request.tools),
        messages,
        leading,
        blocks,
        asked,
    )


def _request_index(view: Projection, messages: Sequence[ShownMessage]) -> int | None:
    if view.request_position is None:
        return None
    for index, one in enumerate(messages):
        item = one.item
        if isinstance(item, (Kept, Shortened)) and item.event.seq == view.request_position + 1:
            return index
    return None


def _is_marked_line(told: WireMessage, wire: Wire) -> bool:
    if told.seqs or told.role != "user":
        return False
    return told.text == CONTINUE_LINE or (told.text == LEADING_LINE and wire == "openai")


def _anthropic_alone(told: WireMessage, is_leading: bool) -> tuple[Message, tuple[Key, ...]]:
    """One message in the neutral form that its own blocks have, and the keys of the blocks."""
    if is_leading:
        return Message("system", told.text), ()
    entry = to_anthropic(Rendered((_behind_something(told), told), 0), ()).messages[-1]
    blocks = entry["content"]
    if told.role == "tool":
        blocks = blocks[-1:]
    keys = tuple(map(block_key, blocks))
    neutral = anthropic_messages([{"role": entry["role"], "content": blocks}], (), ())
    if len(neutral) != 1:
        raise WrongShape("one message was shown as several")
    return neutral[0], keys


def _behind_something(told: WireMessage) -> WireMessage:
    """A message of the other role, so that a system note stands behind one as it does in life."""
    role: Literal["user", "assistant"] = "user" if told.role == "assistant" else "assistant"
    return WireMessage(role, "-", "written", ())


def _positions(view: Projection, rendered: Sequence[WireMessage]) -> list[int | None]:
    """The place in the view of each message's item."""
    of_seq: dict[int, list[int]] = {}
    made: list[int] = []
    for position, item in enumerate(view.items):
        if isinstance(item, (Written, Native)):
            made.append(position)
        else:
            of_seq.setdefault(item.event.seq, []).append(position)
    made.reverse()
    found: list[int | None] = []
    for told in rendered:
        if not told.seqs:
            found.append(None)
        elif told.kind in ("written", "native"):
            found.append(made.pop())
        else:
            found.append(of_seq[told.seqs[0]].pop(0))
    return found

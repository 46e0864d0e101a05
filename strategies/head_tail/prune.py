"""Pruning of stale tool results: their bodies give way to a line that names tool and size (Z7).

Free of cost: no model is asked. Shared by `head_tail`, as its first stage, and by `prune`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.events import Message, with_text
from bench.projection import Kept, Projection, Shortened
from strategies.head_tail.go_text import WHITE_SPACE

PROTECT_TOKENS = 40_000
RECLAIM_TOKENS = 20_000
BODY_TOKENS_MIN = 200

# Of a window as large as those that the constants were made for, 200,000 tokens.
_PROTECT_FRACTION = 0.2
_RECLAIM_FRACTION = 0.1

_PRUNED = "[pruned "


@dataclass(frozen=True, slots=True)
class PruneLimits:
    """What pruning may touch, in tokens.

    The newest tool results are protected up to `protect`, the one that crosses that line included;
    bodies under `min_body` are left alone; nothing happens unless `reclaim` can be reclaimed.
    The last `spare_last` messages are never touched, yet their bodies use up protection.
    """

    protect: int = PROTECT_TOKENS
    reclaim: int = RECLAIM_TOKENS
    min_body: int = BODY_TOKENS_MIN
    spare_last: int = 0


def limits_for_window(
    window: int, protect: int | None, reclaim: int | None, min_body: int, spare_last: int = 0
) -> PruneLimits:
    """Limits for a window in tokens: None is the original's constant or a fraction, if smaller."""
    return PruneLimits(
        min(PROTECT_TOKENS, int(window * _PROTECT_FRACTION)) if protect is None else protect,
        min(RECLAIM_TOKENS, int(window * _RECLAIM_FRACTION)) if reclaim is None else reclaim,
        min_body,
        spare_last,
    )


def check_limits(protect: int | None, reclaim: int | None, min_body: int, spare_last: int) -> None:
    """Raise ValueError, one line that names the parameter, for a limit below zero."""
    for name, value in (("protect", protect), ("reclaim", reclaim), ("min_body", min_body)):
        if value is not None and value < 0:
            raise ValueError(f"{name}={value}: tokens can't be fewer than 0")
    if spare_last < 0:
        raise ValueError(f"prune_spares={spare_last}: messages can't be fewer than 0")


def stale_bodies(
    messages: Sequence[Message], limits: PruneLimits, text_tokens: Callable[[str], int]
) -> dict[int, str]:
    """The texts that take the place of stale tool results, by index into `messages`; maybe none.

    `text_tokens` never counts more tokens than a text has characters, so short texts, which most of
    those are that were pruned before, need no counting.
    """
    recent_tokens = candidate_tokens = 0
    candidates: dict[int, int] = {}
    first_spared = len(messages) - max(0, limits.spare_last)
    results = [
        (index, message.text) for index, message in enumerate(messages) if message.role == "tool"
    ]
    for index, text in reversed(results):
        if index >= first_spared or recent_tokens < limits.protect:
            recent_tokens += text_tokens(text)
        elif len(text) >= limits.min_body:
            tokens = text_tokens(text)
            if tokens >= limits.min_body and not text.lstrip(WHITE_SPACE).startswith(_PRUNED):
                candidates[index] = tokens
                candidate_tokens += tokens
    if candidate_tokens < limits.reclaim:
        return {}
    return {
        index: placeholder(_tool_name(messages, index), tokens)
        for index, tokens in sorted(candidates.items())
    }


def placeholder(tool: str, tokens: int) -> str:
    """The line that stands for a pruned body. It takes as many bytes as the original's."""
    return (
        f"{_PRUNED}{tool}: ~{tokens} tokens of output removed to reclaim space; "
        "call the tool again to see them]"
    )


def _tool_name(messages: Sequence[Message], result: int) -> str:
    """The tool that this result came from: that of the nearest earlier call with its id."""
    call_id = messages[result].call_id
    if call_id:
        for index in range(result - 1, -1, -1):
            for call in messages[index].calls:
                if call.id == call_id:
                    return call.name or "tool"
    return "tool"


def prune(
    view: Projection, limits: PruneLimits, text_tokens: Callable[[str], int]
) -> Projection | None:
    """`view` with its stale tool results pruned; None when there is nothing worth pruning."""
    texts = stale_bodies(view.messages, limits, text_tokens)
    if not texts:
        return None
    items = list(view.items)
    for index, text in texts.items():
        item = items[index]
        if isinstance(item, (Kept, Shortened)):
            items[index] = Shortened(item.event, with_text(item.message, text))
    return view.with_items(items)

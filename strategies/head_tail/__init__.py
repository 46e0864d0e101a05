"""Head/tail summary, the strategy `head_tail`: the oldest middle becomes one labelled message.

Before that, and often instead of it, stale tool results are pruned for free (Z7). The presets carry
the constants that the original had at two times, whatever the window: `zero_seed` is that program,
`zero_now` shares estimate, boundary, stale pruning, overflow texts and budget rules with its later
form, whose further features (superseded reads, calibration, a condensed transcript for the
summariser, task state) it doesn't have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import ClassVar, Literal

from bench.events import Message
from bench.projection import Projection
from bench.provider import ProviderError
from bench.strategy import Ask, Budget, Declined, Policy, Stage, Strategy
from strategies.head_tail.estimate import estimator, text_measure
from strategies.head_tail.go_text import trim
from strategies.head_tail.overflow import is_context_limit, is_overflow
from strategies.head_tail.prune import (
    BODY_TOKENS_MIN,
    PROTECT_TOKENS,
    RECLAIM_TOKENS,
    check_limits,
    limits_for_window,
    prune,
)
from strategies.head_tail.summary import (
    ContextLimitError,
    Summariser,
    middle,
    replacement,
    summarise_in_halves,
)

SUMMARY_TOKENS_MAX = 4_096
NO_SUMMARY = "the summariser answered nothing"
_SUMMARY_FRACTION = 0.125

_CLOSING = "Now write the summary of the conversation above, as you were told at the beginning."

_WAIVED_REQUEST = (
    "H4",
    "the original summarises the current user request too, once it is old enough",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTail:
    """Prune stale tool results and, where that isn't enough, summarise all but the newest messages.

    Sizes are tokens of the strategy's own measure.
    The newest `preserve_last` messages stay verbatim (Z4).
    It fires above the fraction `threshold` of the window, tool definitions counted (Z6).
    The newest tool results up to `protect` tokens stay whole, none = min(40000, window / 5) (Z7).
    Pruning happens only where it frees `reclaim` tokens, none = min(20000, window / 10) (Z7).
    A tool result of fewer than `min_body` tokens is never pruned (Z7).
    The last `prune_spares` messages are never pruned.
    A summary gets at most `summary_tokens_max` tokens, none = min(4096, window / 8).
    Its measure, the `estimator`, is bytes (bytes that aren't blank / 4, the original's) or chars
    (characters / 4, under which Chinese comes out at about a third of the truth).
    An `overflow` is told by the provider's error classes or, as the original does, by substrings.
    With `keep_request` the current user request stays verbatim right behind the summary (H4).
    The summariser's `prompt` may be another, none = prompts/head_tail.md.

    Source: the runtime Zero, internal/agent/compaction.go; spec section Z.
    """

    summary: ClassVar[str] = (
        "stale tool results pruned, then all but the newest messages summarised"
    )
    source: ClassVar[str] = "Zero (Gitlawb/zero), internal/agent/compaction.go"

    preserve_last: int = 8
    threshold: float = 0.8
    protect: int | None = None
    reclaim: int | None = None
    min_body: int = BODY_TOKENS_MIN
    prune_spares: int = 0
    summary_tokens_max: int | None = None
    estimator: Literal["bytes", "chars"] = "bytes"
    overflow: Literal["classes", "substrings"] = "classes"
    keep_request: bool = True
    prompt: str | None = None

    def __post_init__(self) -> None:
        if self.preserve_last < 1:
            raise ValueError(f"preserve_last={self.preserve_last}: at least one message must stay")
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold={self.threshold} is no fraction of the window (0 to 1)")
        if self.summary_tokens_max is not None and self.summary_tokens_max < 1:
            raise ValueError(f"summary_tokens_max={self.summary_tokens_max}: at least 1 is needed")
        check_limits(self.protect, self.reclaim, self.min_body, self.prune_spares)

    @property
    def policy(self) -> Policy:
        """Prune, then summarise, above the threshold; just summarise after an overflow (Z6-Z9)."""
        return Policy(
            stages=(Stage("prune"), Stage("summarise")),
            recovery_stages=(Stage("summarise"),),
            threshold_fraction=self.threshold,
            spent_by=("accepted", "failed"),
            waives=() if self.keep_request else (_WAIVED_REQUEST,),
            estimator=estimator(self.estimator),
            overflow_text=is_overflow if self.overflow == "substrings" else None,
        )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """The view pruned or summarised, as `budget.stage` says; None when there is nothing to do.

        Raises Declined("failed") when the summariser fails or answers nothing.
        """
        if budget.stage == "prune":
            limits = limits_for_window(
                budget.window, self.protect, self.reclaim, self.min_body, self.prune_spares
            )
            return prune(view, limits, text_measure(self.estimator))
        messages = view.messages
        start, stop = middle(messages, self.preserve_last)
        groups = [group for group in view.groups if start <= group.start < stop]
        if all(group.is_pinned and self.keep_request for group in groups):
            return None
        try:
            replaced = replacement(messages, self.preserve_last, self._summariser(budget, ask))
        except ContextLimitError as error:
            raise Declined(str(error), deterministic=True) from error
        except ProviderError as error:
            raise Declined(error.text) from error
        if replaced is None:
            return None
        return view.summarise(groups, replaced.message.text, keep_pinned=self.keep_request)

    def _summariser(self, budget: Budget, ask: Ask) -> Summariser:
        tokens_max = self.summary_tokens_max
        if tokens_max is None:
            tokens_max = max(1, min(SUMMARY_TOKENS_MAX, int(budget.window * _SUMMARY_FRACTION)))
        prompt = default_prompt() if self.prompt is None else self.prompt

        def question(messages: Sequence[Message]) -> list[Message]:
            return [Message("system", prompt), *messages, Message("user", _CLOSING)]

        def ask_once(messages: Sequence[Message]) -> str:
            try:
                text = ask(question(messages), output_tokens_max=tokens_max).text
            except ProviderError as error:
                if self._is_overflow(error):
                    raise ContextLimitError(error.text) from error
                raise
            if not trim(text):
                raise Declined(NO_SUMMARY)
            return text

        def summarise(messages: Sequence[Message]) -> str:
            return summarise_in_halves(messages, ask_once)

        return summarise

    def _is_overflow(self, error: ProviderError) -> bool:
        if self.overflow == "substrings":
            return is_context_limit(error.text)
        return error.kind == "input_overflow"


@lru_cache(maxsize=1)
def default_prompt() -> str:
    """The summariser's prompt where none is given: strategies/prompts/head_tail.md."""
    return resources.files("strategies").joinpath("prompts/head_tail.md").read_text("utf-8")


STRATEGIES: dict[str, Callable[..., Strategy]] = {"head_tail": HeadTail}
PRESETS: dict[str, Strategy] = {
    "zero_seed": HeadTail(
        preserve_last=8,
        threshold=0.8,
        protect=PROTECT_TOKENS,
        reclaim=RECLAIM_TOKENS,
        overflow="substrings",
        keep_request=False,
    ),
    "zero_now": HeadTail(
        preserve_last=6,
        threshold=0.7,
        protect=PROTECT_TOKENS,
        reclaim=RECLAIM_TOKENS,
        overflow="substrings",
        keep_request=False,
    ),
}

"""Edges: overflow that nobody reports: the server drops part of the input and answers the rest.

Detected from usage and finish reason alone. Source: behaviour of z.ai (accepts more than the
window), Xiaomi MiMo (ends at once with "length") and Ollama (drops the oldest messages).
"""

from __future__ import annotations

from bench.providers.results import DetailedResult

# Tokenizers of models in use count at least about this share of what o200k_base counts.
_USUAL_SHARE = 0.8
# A server that counts less than this share of what the same model counted before has dropped some.
_DROPPED_SHARE = 0.6
# Growing requests of one conversation are counted alike, so a smaller drop tells.
_FALLEN_SHARE = 0.9
_FILLED_SHARE = 0.99
# Below this, the difference between two counts of wrappers is as large as what is compared.
_ESTIMATE_TOKENS_MIN = 1_000
_LENGTH_FINISHES = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FULL_WINDOW = "model_context_window_exceeded"


class TruncationWatch:
    """Tells silent overflow in the answers of one model, from what it counted before.

    `window` is the server's own window in tokens, None where it isn't known.
    """

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self._share_max = _USUAL_SHARE
        self._last: tuple[int, int] | None = None

    def reason(
        self, result: DetailedResult, estimate_tokens: int, *, is_conversation: bool
    ) -> str | None:
        """What gives a silent overflow away; None for an answer to the whole input.

        `estimate_tokens` is our own count of the input. `is_conversation` says that the requests
        of this model are one conversation that grows, so that counts can be compared.
        """
        counted = result.window_tokens or result.usage.input_tokens
        is_empty = not result.text and not result.calls and not result.usage.output_tokens
        if result.finish_reason == _FULL_WINDOW and is_empty:
            return "the input left no room for an answer"
        if counted is None:
            return None
        if self.window and counted > self.window:
            return f"{counted} input tokens were accepted into a window of {self.window}"
        filled = self.window or 0
        is_cut = result.finish_reason in _LENGTH_FINISHES and is_empty
        if is_cut and filled and counted >= _FILLED_SHARE * filled:
            return "the input left no room for an answer"
        return self._dropped(counted, estimate_tokens, is_conversation=is_conversation)

    def reason_of_count(self, counted: int | None, estimate_tokens: int) -> str | None:
        """The same from the count alone, where there is no answer to look at."""
        if counted is None:
            return None
        return self._dropped(counted, estimate_tokens, is_conversation=False)

    def _dropped(self, counted: int, estimate: int, *, is_conversation: bool) -> str | None:
        if estimate < _ESTIMATE_TOKENS_MIN:
            return None
        last = self._last
        if is_conversation and last is not None:
            has_grown = estimate >= last[0]
            if has_grown and counted < _FALLEN_SHARE * last[1]:
                return f"{counted} input tokens counted, {last[1]} before, though more was sent"
        share = counted / estimate
        if share < _DROPPED_SHARE * self._share_max:
            return f"{counted} input tokens counted of about {estimate} that were sent"
        # Never more than one to one: text of another kind may be counted that much more finely.
        self._share_max = max(self._share_max, min(share, 1.0))
        self._last = (estimate, counted)
        return None

"""Edge: compaction by the provider itself: the simulated one's own, and that of a real model.

The simulated provider asks its model for a summary and seals it, so that nobody else can read it.
It has two forms: "on_demand" leaves the summary alone, "compact" also keeps what the user said, as
OpenAI's endpoint does. A real model's provider is asked itself (`native_compact`), and what it
answers travels verbatim. Either state means something on its own route only (F7.3).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.events import Message, ToolDefinition
from bench.models import Completion, Model
from bench.projection import Item, Kept, Native, Projection, Shortened, Written
from bench.provider import Compacted, ProviderError
from bench.providers.sealing import BrokenSeal, seal, unseal
from bench.providers.vendor_native import (
    STATE_TOKENS_MAX,
    VendorModel,
    compact_by_vendor,
    is_vendor_model,
    request_of,
)
from bench.strategy import Usage
from bench.tokens import count
from bench.wire.native_states import read_state
from bench.wire.rendering import messages_of, render

OWN_FORMS: tuple[str, ...] = ("on_demand", "compact")
_STATE_WINDOW_SHARE = 8
_STATE_TOKENS_MIN = 100
_OPENED_LINE = "[Summary of earlier conversation]"
_RETAINED_LINE = "What the user said, verbatim:"

INSTRUCTIONS = Message(
    "user",
    "The conversation above is about to be replaced by a summary that you write now. Whoever goes "
    "on with the work will know only the summary. Write down what the user asked for, every rule "
    "and preference they gave and whether it was changed later, what was decided and why, what "
    "was done and found out with exact names, paths, numbers and errors, and what comes next. "
    "Don't go on with the work and call no tool.",
)


@dataclass(frozen=True, slots=True)
class OwnState:
    """What a sealed state holds."""

    summary: str
    retained: tuple[str, ...] = ()

    @property
    def message(self) -> Message:
        """What the provider's own model reads in its place."""
        parts = [_OPENED_LINE, self.summary]
        if self.retained:
            parts += [_RETAINED_LINE, *self.retained]
        return Message("user", "\n\n".join(parts))


class NativeCompaction:
    """The part of the simulated provider that makes, checks and reads opaque state.

    `message_tokens` counts a message, `window` is in tokens.
    """

    def __init__(
        self,
        model: Model,
        window: int,
        *,
        route: str,
        tools: Sequence[ToolDefinition],
        seed: int,
        message_tokens: Callable[[Message], int],
    ) -> None:
        self._model = model
        self._window = window
        self._route = route
        self._tools = tuple(tools)
        self._seed = seed
        self._message_tokens = message_tokens
        self._opened: dict[str, OwnState | None] = {}

    def tokens(self, native: Native) -> int:
        """What a state costs in a request: of its own what it holds, else what its maker said."""
        own = self._open(native)
        return native.tokens if own is None else self._message_tokens(own.message)

    def check(self, projection: Projection) -> None:
        """Raises ProviderError for state of another route, or that was changed since."""
        if Native not in set(map(type, projection.head)):
            return
        for item in projection.head:
            if isinstance(item, Native) and not self._is_own(item):
                raise invalid_state_error(item)

    def readable(self, projection: Projection) -> Projection:
        """The projection with the provider's own state opened; raises as `check` does."""
        self.check(projection)
        return replace(projection, head=tuple(self._opened_item(item) for item in projection.head))

    def answer_by_vendor(
        self,
        projection: Projection,
        messages: Sequence[Message],
        sent_tokens: int,
        options: Mapping[str, Any],
    ) -> Completion | None:
        """The answer to a question that only the provider of a real model can give, since the
        projection holds its state; None where there is no such state. Raises ProviderError.
        """
        states = [item.state for item in projection.head if isinstance(item, Native)]
        if not any(read_state(state) is not None for state in states):
            return None
        self.check(projection)
        if not is_vendor_model(self._model):
            raise ProviderError("invalid_request", "only the provider that made the state reads it")
        request = request_of(self._model, projection, self._tools, messages)
        result = self._model.answer(request, estimate_tokens=sent_tokens, **options)
        return Completion(result.text, result.finish_reason, None, result.calls)

    def compact(self, projection: Projection, form: str, input_tokens: int) -> Compacted:
        """The state for all that `projection` shows, a request of `input_tokens`.

        Raises ProviderError where there is no such form, the request doesn't fit, or nothing came.
        """
        self.check(projection)
        if is_vendor_model(self._model):
            return self._by_vendor(self._model, projection, form)
        if not self._model.is_stand_in:
            raise ProviderError(
                "invalid_request",
                f"{self._model.name} has no compaction of its own; responses:NAME and "
                "anthropic:NAME have",
                status=404,
            )
        return self._by_itself(projection, form, input_tokens)

    def _by_itself(self, projection: Projection, form: str, input_tokens: int) -> Compacted:
        wanted = OWN_FORMS[0] if form == "auto" else form
        if wanted not in OWN_FORMS:
            raise ProviderError(
                "invalid_request",
                f"the simulated provider has no form {form!r}, it has: {', '.join(OWN_FORMS)}",
                status=404,
            )
        sent = input_tokens + self._message_tokens(INSTRUCTIONS)
        made = self._model.complete(
            [*messages_of(render(self.readable(projection))), INSTRUCTIONS],
            output_tokens_max=self._output_tokens_max(sent),
            seed=self._seed,
        )
        if made.finish_reason != "stop":
            raise ProviderError("output_limit", f"the summary was cut off ({made.finish_reason})")
        if not made.text.strip():
            raise ProviderError("server", "the compaction made no summary", status=529)
        retained = self._said_by_the_user(projection) if wanted == "compact" else ()
        own = OwnState(made.text, retained)
        sealed = json.dumps({"sealed": self._sealed(own)}, separators=(",", ":"))
        tokens = self._message_tokens(own.message)
        usage = made.usage or Usage(sent, count(made.text), None)
        return Compacted(Native(self._route, sealed, *_seqs(projection), tokens), usage)

    def _output_tokens_max(self, sent: int) -> int:
        share = max(_STATE_TOKENS_MIN, self._window // _STATE_WINDOW_SHARE)
        wanted = min(STATE_TOKENS_MAX, share)
        # Where the window means nothing (the ceiling), there is always room.
        return min(wanted, self._window - sent) if sent < self._window else wanted

    def _by_vendor(self, model: VendorModel, projection: Projection, form: str) -> Compacted:
        text, tokens, usage = compact_by_vendor(model, projection, self._tools, form)
        return Compacted(Native(self._route, text, *_seqs(projection), tokens), usage)

    def _sealed(self, own: OwnState) -> str:
        document = {"summary": own.summary, "retained": own.retained}
        return seal(json.dumps(document, ensure_ascii=True), route=self._route)

    def _is_own(self, native: Native) -> bool:
        if native.route != self._route:
            return False
        return read_state(native.state) is not None or self._open(native) is not None

    def _open(self, native: Native) -> OwnState | None:
        """What the provider itself sealed for this route; None for anything else."""
        if native.state not in self._opened:
            self._opened[native.state] = self._unsealed(native.state)
        return self._opened[native.state]

    def _unsealed(self, state: str) -> OwnState | None:
        try:
            document: Any = json.loads(state)
            opened = json.loads(unseal(document["sealed"], route=self._route))
            return OwnState(opened["summary"], tuple(opened["retained"]))
        except (BrokenSeal, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def _said_by_the_user(self, projection: Projection) -> tuple[str, ...]:
        """All requests that the view still shows, those in an earlier state of its own too."""
        said: list[str] = []
        for item in projection.items:
            if isinstance(item, Native):
                own = self._open(item)
                said += () if own is None else own.retained
            elif isinstance(item, (Kept, Shortened)) and item.event.starts_turn:
                said += [item.message.text] if item.message.text else []
        return tuple(said)

    def _opened_item(self, item: Item) -> Item:
        own = self._open(item) if isinstance(item, Native) else None
        return item if own is None else Written(own.message, *item.seqs)


def invalid_state_error(native: Native) -> ProviderError:
    """The refusal of state that this provider didn't make, worded and shaped like OpenAI's."""
    text = (
        f"The encrypted content for events {native.first_seq} to {native.last_seq} could not be "
        f"verified. Reason: it was made on another route ({native.route}) or changed since."
    )
    error = {
        "message": text,
        "type": "invalid_request_error",
        "param": "input",
        "code": "invalid_encrypted_content",
    }
    return ProviderError("invalid_request", text, body=json.dumps({"error": error}))


def _seqs(projection: Projection) -> tuple[int, int]:
    """First and last event that a state of this projection stands for."""
    seqs = [item.seqs for item in projection.items if item.message.role != "system"]
    if not seqs:
        return 1, max(1, projection.stop)
    return min(first for first, _ in seqs), max(last for _, last in seqs)

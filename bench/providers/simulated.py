"""Edge: the simulated provider, the arbiter that accepts or refuses requests.

It counts with the true tokenizer plus wire overhead, refuses above the window with an error shaped
like OpenAI's, and reports the cached prefix. Strategies have cruder estimators, so that errors of
estimation cause real overflows, as in life. It compacts by itself too (`simulated_native`), and
answers for its own opaque state. Deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.events import Event, Message, ToolDefinition
from bench.history import History
from bench.models import Model
from bench.projection import Native, Projection
from bench.provider import Compacted, ProviderError
from bench.providers.simulated_native import NativeCompaction
from bench.sizes import ProjectionSizes
from bench.strategy import Reply, Usage
from bench.tokens import count
from bench.wire.rendering import (
    CONTINUE_LINE,
    LEADING_LINE,
    ORPHAN_RESULT,
    STUB_RESULT,
    messages_of,
    render,
)


@dataclass(frozen=True, slots=True)
class WireCosts:
    """What a request costs beside its texts, in tokens.

    Message and reply overhead as in OpenAI's counting recipe; a call and a tool definition carry
    JSON around their texts. Images cost a flat amount, caches work in blocks from a minimum on.
    """

    per_request: int = 3
    per_message: int = 4
    per_call: int = 8
    per_tool: int = 8
    per_attachment: int = 1_000
    cache_block: int = 128
    cache_minimum: int = 1_024


DEFAULT_COSTS = WireCosts()

# Without the constructor of a named tuple, which takes twice as long: one is made a request.
_tuple = tuple.__new__


def tools_tokens(tools: Sequence[ToolDefinition], costs: WireCosts = DEFAULT_COSTS) -> int:
    """The tokens of the tool definitions that travel with every request."""
    return sum(
        costs.per_tool
        + count(tool.name)
        + count(tool.description)
        + count(json.dumps(dict(tool.parameters), ensure_ascii=False, separators=(",", ":")))
        for tool in tools
    )


def message_measure(costs: WireCosts) -> Callable[[Message], int]:
    """What tells the tokens of one message on the wire."""
    # Asked for every event, so that looking up a cost each time would show.
    per_message, per_call, per_attachment = costs.per_message, costs.per_call, costs.per_attachment

    def message_tokens(message: Message) -> int:
        total = per_message + count(message.text)
        for call in message.calls:
            total += per_call + count(call.name) + count(call.arguments)
        if message.attachments:
            total += per_attachment * len(message.attachments)
        return total

    return message_tokens


message_tokens = message_measure(DEFAULT_COSTS)


class SimulatedProvider:
    """Accepts what fits into `window` tokens and refuses the rest.

    `ignore_window` is for the control that is the ceiling: its requests are counted, never refused.
    """

    def __init__(
        self,
        model: Model,
        window: int,
        *,
        tools: Sequence[ToolDefinition] = (),
        overhead_tokens: int = 0,
        seed: int = 0,
        ignore_window: bool = False,
        costs: WireCosts = DEFAULT_COSTS,
    ) -> None:
        self._model = model
        self._window = window
        self._costs = costs
        self._cache_block, self._cache_minimum = costs.cache_block, costs.cache_minimum
        self._seed = seed
        self._ignore_window = ignore_window
        self._tools = tuple(tools)
        self._fixed = costs.per_request + tools_tokens(tools, costs) + overhead_tokens
        route = getattr(model, "route", None)
        self._route = route if isinstance(route, str) else f"simulated/{model.name}"
        self._message_tokens = message_measure(costs)
        self._native = NativeCompaction(
            model,
            window,
            route=self.route,
            tools=tools,
            seed=seed,
            message_tokens=self._message_tokens,
        )
        self._sizes = ProjectionSizes(
            self._message_tokens,
            self._repair_tokens,
            native_size=self._native.tokens,
        )
        self._stub_tokens = costs.per_message + count(STUB_RESULT)
        self._orphan_tokens = count(ORPHAN_RESULT)
        self._leading_tokens = costs.per_message + count(LEADING_LINE)
        self._continue_tokens = costs.per_message + count(CONTINUE_LINE)
        self._last_accepted: Projection | None = None
        self._last_read: tuple[Projection, Sequence[Message]] | None = None

    @property
    def route(self) -> str:
        """Provider and model in one string; a real model names its endpoint too."""
        return self._route

    @property
    def model(self) -> str:
        """The model that serves the summariser."""
        return self._model.name

    @property
    def window(self) -> int:
        """The context window in tokens."""
        return self._window

    @property
    def seed(self) -> int:
        """What the model's draws depend on."""
        return self._seed

    def expect(self, events: Sequence[Event]) -> None:
        """These events will be told next: they are measured now, in one go."""
        self._sizes.expect(events)

    def _repair_tokens(self, history: History, position: int, message: Message) -> int:
        """What rendering adds to an event: stubs for unanswered calls, the mark of an orphan."""
        if message.role == "tool":
            return self._orphan_tokens if history.result_wire_id(position) is None else 0
        return history.unanswered(position) * self._stub_tokens if message.calls else 0

    def _line_tokens(self, projection: Projection) -> int:
        """The marked lines before a leading and behind a trailing assistant message."""
        extra = 0
        first, last = _roles_at_ends(projection)
        if first == "assistant":
            extra += self._leading_tokens
        if last == "assistant" or last is None:
            extra += self._continue_tokens
        return extra

    def measure(self, projection: Projection) -> int:
        """The true input tokens of an agent request with this projection."""
        return self._fixed + self._sizes.total(projection) + self._line_tokens(projection)

    def send(self, projection: Projection) -> Usage:
        """An agent request. Raises ProviderError("input_overflow") above the window.

        Opaque state of another route, or changed since, is refused as vendors do (F7.3).
        """
        last = self._last_accepted
        shared: int | None = None
        if last is None or projection.head is not last.head:
            self._native.check(projection)
        else:
            # Asked first: the sum of the last request is still at hand.
            shared = self._shared_prefix(projection)
        tokens = self.measure(projection)
        if tokens > self._window and not self._ignore_window:
            raise overflow_error(tokens, self._window)
        cached = self._cached_tokens(projection, tokens, shared)
        self._last_accepted = projection
        return _tuple(Usage, (tokens, 0, cached))

    def _cached_tokens(self, projection: Projection, tokens: int, shared: int | None = None) -> int:
        """What of a request of so many tokens is read from the cache of the last accepted one."""
        if shared is None:
            shared = self._shared_prefix(projection)
        blocks = shared // self._cache_block * self._cache_block
        return min(blocks if blocks >= self._cache_minimum else 0, tokens)

    def _shared_prefix(self, projection: Projection) -> int:
        """Tokens at the start that this request shares with the last accepted one."""
        last = self._last_accepted
        if last is None or last.history is not projection.history:
            return 0
        if last.head is projection.head and last.tail_start == projection.tail_start:
            return self._fixed + self._sizes.total(last)
        return self._fixed + self._sizes.shared(last, projection)

    def complete(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        """A strategy's question. Raises ProviderError("input_overflow") above the window."""
        sent = self._costs.per_request + sum(map(self._message_tokens, messages))
        room = self._window - sent
        if room <= 0:
            raise overflow_error(sent, self._window)
        completion = self._model.complete(
            messages, output_tokens_max=min(output_tokens_max, room), seed=self._seed
        )
        usage = completion.usage or Usage(sent, count(completion.text), None)
        return Reply(completion.text, completion.finish_reason, usage)

    def question(
        self,
        projection: Projection,
        messages: Sequence[Message],
        *,
        output_tokens_max: int,
        calls_wanted: bool = False,
        seed: int | None = None,
    ) -> Reply:
        """A reader's question behind an agent request; see `bench.provider.ReadableProvider`.

        Raises ProviderError("input_overflow") above the window, as `send` does.
        """
        sent = self.measure(projection) + sum(map(self._message_tokens, messages))
        if sent > self._window and not self._ignore_window:
            raise overflow_error(sent, self._window)
        options: dict[str, Any] = {
            "output_tokens_max": output_tokens_max,
            "seed": self._seed if seed is None else seed,
            "calls_wanted": calls_wanted,
        }
        completion = self._native.answer_by_vendor(projection, messages, sent, options)
        if completion is None:
            respond = getattr(self._model, "respond", None)
            if respond is None:
                raise ProviderError(
                    "invalid_request", f"the model {self._model.name} answers no questions"
                )
            shown = [*self._readable_messages(projection), *messages]
            completion = respond(shown, tools=self._tools, **options)
        usage = completion.usage or Usage(sent, count(completion.text), None)
        return Reply(completion.text, completion.finish_reason, usage, completion.calls)

    def _readable_messages(self, projection: Projection) -> Sequence[Message]:
        """What the model reads: the provider's own state is opened for it, no other is.

        Raises ProviderError for state that it can't read.
        """
        if self._last_read is None or self._last_read[0] is not projection:
            messages = messages_of(render(self._native.readable(projection)))
            self._last_read = (projection, messages)
        return self._last_read[1]

    def native(self, projection: Projection, *, form: str = "auto") -> Compacted:
        """Compaction by the provider itself; see `bench.providers.simulated_native`.

        The request must itself fit into the window: raises ProviderError("input_overflow") else.
        """
        tokens = self.measure(projection)
        if tokens > self._window and not self._ignore_window:
            raise overflow_error(tokens, self._window)
        made = self._native.compact(projection, form, tokens)
        cached = made.usage.cached_tokens
        if cached is None:
            cached = self._cached_tokens(projection, tokens)
        return replace(made, usage=made.usage._replace(cached_tokens=cached))


def _roles_at_ends(projection: Projection) -> tuple[str | None, str | None]:
    """The role of the first message that isn't a system one, and of the trailing message.

    The second is None when the request has no message but system ones; an assistant message with
    calls counts as answered, since its stubs stand behind it.
    """
    head, history = projection.head, projection.history
    first: str | None = None
    for item in head:
        first = item.message.role
        if first != "system":
            break
    else:
        for position in range(projection.tail_start, projection.stop):
            first = history.message(position).role
            if first != "system":
                break
        else:
            return None, None
    if projection.tail_start < projection.stop:
        last = history.message(projection.stop - 1)
    elif isinstance(head[-1], Native):
        return first, "assistant"
    else:
        last = head[-1].message
    return first, "user" if last.calls else last.role


def overflow_error(sent_tokens: int, window: int) -> ProviderError:
    """The refusal of a request that is too long, worded and shaped like OpenAI's."""
    text = (
        f"This model's maximum context length is {window} tokens. However, your messages "
        f"resulted in {sent_tokens} tokens. Please reduce the length of the messages."
    )
    body = json.dumps(
        {
            "error": {
                "message": text,
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        }
    )
    return ProviderError(
        "input_overflow",
        text,
        status=400,
        body=body,
        sent_tokens=sent_tokens,
        limit_tokens=window,
    )

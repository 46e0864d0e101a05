"""Edge: the simulated provider, the arbiter that accepts or refuses requests.

It counts with the true tokenizer plus wire overhead, refuses above the window with an error shaped
like OpenAI's, and reports the cached prefix. Strategies have cruder estimators, so that errors of
estimation cause real overflows, as in life. Deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bench.events import Message, ToolDefinition
from bench.history import History
from bench.models import Completion, Model
from bench.projection import Native, Projection
from bench.provider import ProviderError
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


def tools_tokens(tools: Sequence[ToolDefinition], costs: WireCosts = DEFAULT_COSTS) -> int:
    """The tokens of the tool definitions that travel with every request."""
    return sum(
        costs.per_tool
        + count(tool.name)
        + count(tool.description)
        + count(json.dumps(dict(tool.parameters), ensure_ascii=False, separators=(",", ":")))
        for tool in tools
    )


def message_tokens(message: Message, costs: WireCosts = DEFAULT_COSTS) -> int:
    """The tokens of one message on the wire."""
    total = costs.per_message + count(message.text)
    total += costs.per_attachment * len(message.attachments)
    for call in message.calls:
        total += costs.per_call + count(call.name) + count(call.arguments)
    return total


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
        self._seed = seed
        self._ignore_window = ignore_window
        self._tools = tuple(tools)
        self._fixed = costs.per_request + tools_tokens(tools, costs) + overhead_tokens
        self._sizes = ProjectionSizes(
            lambda message: message_tokens(message, costs), self._repair_tokens
        )
        self._last_accepted: Projection | None = None

    @property
    def route(self) -> str:
        """Provider and model in one string."""
        return f"simulated/{self._model.name}"

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

    def _repair_tokens(self, history: History, position: int) -> int:
        """What rendering adds to an event: stubs for unanswered calls, the mark of an orphan."""
        message = history.message(position)
        if message.role == "tool":
            return count(ORPHAN_RESULT) if history.result_wire_id(position) is None else 0
        if not message.calls:
            return 0
        unanswered = [state for state in history.calls_at(position) if state.result_seq is None]
        return len(unanswered) * (self._costs.per_message + count(STUB_RESULT))

    def _line_tokens(self, projection: Projection) -> int:
        """The marked lines before a leading and behind a trailing assistant message."""
        extra = 0
        roles = _roles_at_ends(projection)
        if roles[0] == "assistant":
            extra += self._costs.per_message + count(LEADING_LINE)
        if roles[1] in ("assistant", None):
            extra += self._costs.per_message + count(CONTINUE_LINE)
        return extra

    def measure(self, projection: Projection) -> int:
        """The true input tokens of an agent request with this projection."""
        return self._fixed + self._sizes.total(projection) + self._line_tokens(projection)

    def send(self, projection: Projection) -> Usage:
        """An agent request. Raises ProviderError("input_overflow") above the window."""
        tokens = self.measure(projection)
        if tokens > self._window and not self._ignore_window:
            raise overflow_error(tokens, self._window)
        shared = self._shared_prefix(projection)
        blocks = shared // self._costs.cache_block * self._costs.cache_block
        cached = blocks if blocks >= self._costs.cache_minimum else 0
        self._last_accepted = projection
        return Usage(tokens, 0, min(cached, tokens))

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
        sent = self._costs.per_request + sum(message_tokens(m, self._costs) for m in messages)
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
        respond = getattr(self._model, "respond", None)
        if respond is None:
            raise ProviderError(
                "invalid_request", f"the model {self._model.name} answers no questions"
            )
        sent = self.measure(projection) + sum(message_tokens(m, self._costs) for m in messages)
        if sent > self._window and not self._ignore_window:
            raise overflow_error(sent, self._window)
        completion: Completion = respond(
            [*self._readable_messages(projection), *messages],
            tools=self._tools,
            output_tokens_max=output_tokens_max,
            seed=self._seed if seed is None else seed,
            calls_wanted=calls_wanted,
        )
        usage = completion.usage or Usage(sent, count(completion.text), None)
        return Reply(completion.text, completion.finish_reason, usage, completion.calls)

    def _readable_messages(self, projection: Projection) -> Sequence[Message]:
        """What the model reads. Raises ProviderError for opaque state, which isn't its own."""
        if any(isinstance(item, Native) for item in projection.head):
            raise ProviderError(
                "invalid_request", "the projection holds opaque state that can't be read here"
            )
        return messages_of(render(projection))

    def native(self, projection: Projection) -> Native:
        """This provider offers no compaction of its own."""
        raise ProviderError(
            "invalid_request", "the simulated provider offers no native compaction", status=404
        )


def _roles_at_ends(projection: Projection) -> tuple[str | None, str | None]:
    """The role of the first message that isn't a system one, and of the trailing message.

    The second is None when the request has no message but system ones; an assistant message with
    calls counts as answered, since its stubs stand behind it.
    """
    first: str | None = None
    for index in range(len(projection.head)):
        if projection.head[index].message.role != "system":
            first = projection.head[index].message.role
            break
    else:
        for position in range(projection.tail_start, projection.stop):
            if projection.history.message(position).role != "system":
                first = projection.history.message(position).role
                break
    if first is None:
        return None, None
    if projection.tail_start < projection.stop:
        last = projection.history.message(projection.stop - 1)
    else:
        last = projection.head[-1].message
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

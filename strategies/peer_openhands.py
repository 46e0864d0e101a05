"""OpenHands' own compaction: `LLMSummarizingCondenser` of its software agent SDK.

The condenser runs as it is, on a view of events that the messages are translated to; tried with
openhands-sdk 1.58.2 on Python 3.12, which it needs. Tokens are characters/4, since the SDK's own
count asks litellm for the vocabulary of a vendor's model.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

from bench.strategy import Budget, Declined, Policy, Reply
from strategies.peers import (
    NEEDS_EXTRA,
    NO_PINNED_REQUEST,
    MessageDict,
    PeerAsk,
    require,
    text_of,
)

# What keeps the SDK and what it imports from the network and from the terminal.
_QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LOG_AUTO_CONFIG": "false",
    "OPENHANDS_SUPPRESS_BANNER": "1",
    "OTEL_SDK_DISABLED": "true",
}
# Where one of these is set, the SDK sends traces.
_TRACED_BY = (
    "LMNR_PROJECT_API_KEY",
    "OTEL_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHandsSummarizing:
    """OpenHands' LLMSummarizingCondenser: the first events, a summary, the newest events.

    The first `keep_first` events stay, and of the newest so many that half of `max_size` events and
    half of the threshold's tokens are left, whichever is fewer.
    A summary has at most `summary_tokens` tokens.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    """

    name: ClassVar[str] = "openhands_summarizing"
    summary: ClassVar[str] = (
        f"OpenHands' LLMSummarizingCondenser, its own code; Python 3.12 and newer; {NEEDS_EXTRA}"
    )
    source: ClassVar[str] = "openhands-sdk, context/condenser/llm_summarizing_condenser.py"

    max_size: int = 240
    keep_first: int = 2
    summary_tokens: int = 4_096
    threshold: float = 0.8

    def __post_init__(self) -> None:
        if self.max_size // 2 - self.keep_first - 1 <= 0:
            raise ValueError("keep_first must be less than half of max_size, less one")

    @property
    def policy(self) -> Policy:
        """The harness's trigger; the condenser keeps no request but the first in its place."""
        return Policy(threshold_fraction=self.threshold, waives=(NO_PINNED_REQUEST,))

    def check_ready(self) -> None:
        """Raises UsageError when the SDK isn't installed."""
        require("openhands", "openhands-sdk (Python 3.12 and newer)")
        require("openhands.sdk", "openhands-sdk (Python 3.12 and newer)")

    def compact_messages(
        self,
        messages: list[MessageDict],
        window: int,
        *,
        ask: Callable[..., Reply],
        budget: Budget,
    ) -> list[MessageDict] | None:
        """What the condenser makes of the events that the messages stand for."""
        self.check_ready()
        asked = PeerAsk(ask)
        with _quiet(), asked.surfacing():
            return self._condensed(_sdk(), messages, asked, budget)

    def _condensed(
        self, sdk: Any, messages: list[MessageDict], asked: PeerAsk, budget: Budget
    ) -> list[MessageDict] | None:
        events = _events(sdk, messages)
        model = sdk.SessionModel.asking(asked, self.summary_tokens)
        condenser = sdk.LLMSummarizingCondenser(
            llm=model,
            max_size=self.max_size,
            max_tokens=max(1, budget.threshold_tokens),
            keep_first=self.keep_first,
        )
        view = sdk.View(events=[event for event, _ in events])
        if condenser.condensation_requirement(view, agent_llm=model) is None:
            # Forced, or the tool definitions alone are above the threshold: as a user asks for it.
            view = view.model_copy(update={"unhandled_condensation_request": True})
        try:
            condensed = condenser.condense(view, agent_llm=model)
        except sdk.NoCondensationAvailableException as error:
            asked.give_up()
            raise Declined(str(error), kind="rejected") from error
        if isinstance(condensed, sdk.View):
            return None
        place_of = {event.id: place for event, place in events}
        return _messages(condensed.apply(view.events), place_of, messages)


@contextmanager
def _quiet() -> Iterator[None]:
    """No traces, no log on the terminal and no look-ups inside; the environment is put back."""
    logging.getLogger("openhands").addHandler(_SILENT)
    before = {name: os.environ.get(name) for name in (*_QUIET, *_TRACED_BY)}
    for name in _TRACED_BY:
        os.environ.pop(name, None)
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_SILENT = logging.NullHandler()


def _events(sdk: Any, messages: Sequence[MessageDict]) -> list[tuple[Any, int]]:
    """The events of the messages, each with the place of its message: one for every call."""
    made: list[tuple[Any, int]] = []
    names: dict[str, str] = {}
    actions: dict[str, str] = {}
    for place, message in enumerate(messages):
        role, texts = message["role"], [sdk.TextContent(text=text_of(message))]
        calls = message.get("tool_calls") or ()
        common = {"id": f"m{place}", "timestamp": ""}
        if role in ("system", "developer") and place == 0:
            event = sdk.SystemPromptEvent(system_prompt=texts[0], tools=[], **common)
            made.append((event, place))
        elif role == "tool":
            call_id = message["tool_call_id"]
            event = sdk.ObservationEvent(
                observation=sdk.RecordedObservation(content=texts),
                action_id=actions.get(call_id, ""),
                tool_name=names.get(call_id, "unknown"),
                tool_call_id=call_id,
                **common,
            )
            made.append((event, place))
        elif calls:
            for number, call in enumerate(calls):
                common["id"] = actions[call["id"]] = f"m{place}.{number}"
                names[call["id"]] = call["function"]["name"]
                event = _action(sdk, call, texts if number == 0 else [], place, common)
                made.append((event, place))
        else:
            said = sdk.Message(role="system" if role == "developer" else role, content=texts)
            source = "agent" if role == "assistant" else "user"
            event = sdk.MessageEvent(source=source, llm_message=said, **common)
            made.append((event, place))
    return made


def _action(
    sdk: Any, call: MessageDict, thought: list[Any], place: int, common: dict[str, str]
) -> Any:
    function = call["function"]
    return sdk.ActionEvent(
        thought=thought,
        tool_name=function["name"],
        tool_call_id=call["id"],
        tool_call=sdk.MessageToolCall(
            id=call["id"],
            name=function["name"],
            arguments=function["arguments"],
            origin="completion",
        ),
        llm_response_id=f"response-{place}",
        **common,
    )


def _messages(
    events: Sequence[Any], place_of: dict[str, int], messages: Sequence[MessageDict]
) -> list[MessageDict]:
    """The messages that these events stand for. Of an assistant message all calls are there."""
    shown: list[MessageDict] = []
    last: int | None = None
    for event in events:
        place = place_of.get(event.id)
        if place is None:
            written = event.to_llm_message()
            shown.append(
                {"role": written.role, "content": "\n".join(part.text for part in written.content)}
            )
        elif place != last:
            shown.append(messages[place])
        last = place
    return shown


@cache
def _sdk() -> Any:
    """What is used of the SDK, and two classes that have to be derived from its own."""
    from openhands.sdk.context.condenser import LLMSummarizingCondenser
    from openhands.sdk.context.condenser.base import NoCondensationAvailableException
    from openhands.sdk.context.view import View
    from openhands.sdk.event import (
        ActionEvent,
        MessageEvent,
        ObservationEvent,
        SystemPromptEvent,
    )
    from openhands.sdk.llm import LLM, Message, MessageToolCall, TextContent
    from openhands.sdk.tool import Observation
    from pydantic import PrivateAttr

    class RecordedObservation(Observation):  # type: ignore[misc]
        """What a tool said, as it was recorded."""

    class SessionModel(LLM):  # type: ignore[misc]
        """The session's model as an LLM of the SDK."""

        _asked: Any = PrivateAttr(default=None)
        _summary_tokens: int = PrivateAttr(default=0)

        @classmethod
        def asking(cls, asked: PeerAsk, summary_tokens: int) -> Any:
            """A model whose questions go to the session's."""
            made = cls(model="compaction-bench", usage_id="condenser", num_retries=0)
            made._asked, made._summary_tokens = asked, summary_tokens
            return made

        @property
        def effective_max_input_tokens(self) -> int | None:
            return None

        def get_token_count(self, messages: Any, tools: Any = None, **_: Any) -> int:
            characters = sum(
                sum(len(part.text) for part in message.content if hasattr(part, "text"))
                + sum(len(call.name) + len(call.arguments) for call in message.tool_calls or ())
                for message in messages
            )
            return characters // 4

        def generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            reply = self._asked(
                [
                    {"role": one.role, "content": "\n".join(part.text for part in one.content)}
                    for one in messages
                ],
                output_tokens_max=self._summary_tokens,
            )
            said = Message(role="assistant", content=[TextContent(text=reply.text)])
            return SimpleNamespace(message=said, id="response-summary")

    return SimpleNamespace(
        ActionEvent=ActionEvent,
        LLMSummarizingCondenser=LLMSummarizingCondenser,
        Message=Message,
        MessageEvent=MessageEvent,
        MessageToolCall=MessageToolCall,
        NoCondensationAvailableException=NoCondensationAvailableException,
        ObservationEvent=ObservationEvent,
        RecordedObservation=RecordedObservation,
        SessionModel=SessionModel,
        SystemPromptEvent=SystemPromptEvent,
        TextContent=TextContent,
        View=View,
    )


STRATEGIES = {"openhands_summarizing": OpenHandsSummarizing}

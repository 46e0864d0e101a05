"""LangChain's own compaction: `SummarizationMiddleware` and `trim_messages`.

Run as they are, tried with langchain 1.5.2 and langchain-core 1.8.3. The system prompt is kept
apart, as LangChain's agents do. When it fires is the harness's trigger, as for everybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from bench.provider import ProviderError
from bench.strategy import Policy, Reply
from strategies.peers import (
    NEEDS_EXTRA,
    NO_PINNED_REQUEST,
    MessageDict,
    PeerAsk,
    Translated,
    leading_system,
    require,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LangChainSummarization:
    """LangChain's SummarizationMiddleware: one summary, then the newest messages.

    The newest `keep_messages` messages stay, or with `keep_tokens` as many as fit into so many.
    Of what is summarised the newest `trim_tokens` are shown to the model, 0 shows all of it.
    A summary has at most `summary_tokens` tokens.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    The summary is asked for with `prompt`, LangChain's own unless given.
    """

    name: ClassVar[str] = "langchain_summarization"
    summary: ClassVar[str] = f"LangChain's SummarizationMiddleware, its own code; {NEEDS_EXTRA}"
    source: ClassVar[str] = "langchain, agents/middleware/summarization.py"

    keep_messages: int = 20
    keep_tokens: int | None = None
    trim_tokens: int = 4_000
    summary_tokens: int = 4_096
    threshold: float = 0.8
    prompt: str | None = None

    def __post_init__(self) -> None:
        if self.prompt is not None and "{messages}" not in self.prompt:
            raise ValueError("prompt has no place {messages} for what is to be summarised")

    @property
    def policy(self) -> Policy:
        """The harness's trigger; the library keeps no request in its place."""
        return Policy(threshold_fraction=self.threshold, waives=(NO_PINNED_REQUEST,))

    def check_ready(self) -> None:
        """Raises UsageError when LangChain isn't installed."""
        require("langchain", "langchain")

    def compact_messages(
        self, messages: list[MessageDict], window: int, *, ask: Callable[..., Reply]
    ) -> list[MessageDict] | None:
        """What the middleware makes of the messages behind the system prompt."""
        self.check_ready()
        from langchain.agents.middleware import SummarizationMiddleware
        from langchain_core.messages import RemoveMessage

        first = leading_system(messages)
        told = Translated(messages[first:], _to_langchain)
        asked = PeerAsk(ask)
        middleware = SummarizationMiddleware(
            _model_class()(
                asked=asked,
                output_tokens_max=self.summary_tokens,
                profile={"max_input_tokens": window},
            ),
            trigger=("messages", 1),
            keep=self._keep(),
            trim_tokens_to_summarize=self.trim_tokens or None,
            **({} if self.prompt is None else {"summary_prompt": self.prompt}),
        )
        with untraced(), asked.surfacing():
            update = middleware.before_model({"messages": list(told.objects)}, None)
        if update is None:
            return None
        kept = [one for one in update["messages"] if not isinstance(one, RemoveMessage)]
        return messages[:first] + told.back(kept, _from_langchain, _id_of)

    def _keep(self) -> tuple[str, int]:
        if self.keep_tokens is not None:
            return "tokens", self.keep_tokens
        return "messages", self.keep_messages


@dataclass(frozen=True, slots=True, kw_only=True)
class LangChainTrim:
    """LangChain's trim_messages: only the newest messages, from a user message on.

    They fill the fraction `keep` of the window by LangChain's approximate count.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    """

    name: ClassVar[str] = "langchain_trim"
    summary: ClassVar[str] = f"LangChain's trim_messages, its own code, no model; {NEEDS_EXTRA}"
    source: ClassVar[str] = "langchain-core, messages/utils.py"

    keep: float = 0.5
    threshold: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep={self.keep} is no fraction of the window (0 to 1)")

    @property
    def policy(self) -> Policy:
        """The harness's trigger; the library keeps no request in its place."""
        return Policy(threshold_fraction=self.threshold, waives=(NO_PINNED_REQUEST,))

    def check_ready(self) -> None:
        """Raises UsageError when LangChain isn't installed."""
        require("langchain_core", "langchain-core")

    def compact_messages(self, messages: list[MessageDict], window: int) -> list[MessageDict]:
        """The newest messages, as LangChain's documentation calls it for chat models."""
        self.check_ready()
        from langchain_core.messages import trim_messages
        from langchain_core.messages.utils import count_tokens_approximately

        told = Translated(messages, _to_langchain)
        with untraced():
            kept = trim_messages(
                list(told.objects),
                max_tokens=int(window * self.keep),
                token_counter=count_tokens_approximately,
                strategy="last",
                start_on="human",
                end_on=("human", "tool"),
                include_system=True,
            )
        return told.back(kept, _from_langchain, _id_of)


def untraced() -> AbstractContextManager[Any]:
    """No traces to LangSmith, whatever the environment says: sessions stay on this machine."""
    from langsmith import tracing_context

    return tracing_context(enabled=False)  # type: ignore[no-any-return]


def _to_langchain(message: MessageDict, name: str) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    role, content = message["role"], message.get("content") or ""
    if role == "user":
        return HumanMessage(content, id=name)
    if role == "tool":
        return ToolMessage(content, tool_call_id=message["tool_call_id"], id=name)
    if role != "assistant":
        return SystemMessage(content, id=name)
    calls: list[MessageDict] = []
    invalid: list[MessageDict] = []
    for call in message.get("tool_calls") or ():
        called, written = call["function"]["name"], call["function"]["arguments"]
        try:
            arguments = json.loads(written or "{}")
        except (ValueError, RecursionError):
            arguments = None
        if isinstance(arguments, dict):
            calls.append({"name": called, "args": arguments, "id": call["id"]})
        else:
            error = "no JSON object"
            invalid.append({"name": called, "args": written, "id": call["id"], "error": error})
    return AIMessage(content, tool_calls=calls, invalid_tool_calls=invalid, id=name)


def _from_langchain(message: Any) -> MessageDict:
    from langchain_core.messages import convert_to_openai_messages

    written: MessageDict = convert_to_openai_messages([message])[0]
    return written


def _id_of(message: Any) -> str | None:
    return message.id if isinstance(message.id, str) else None


@cache
def _model_class() -> Any:
    """The chat model that asks the session's model; made late, since LangChain is imported late."""
    from langchain_core.exceptions import ContextOverflowError, ModelInvalidRequestError
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult

    class SessionModel(BaseChatModel):  # type: ignore[misc]
        """The session's model as a LangChain chat model."""

        asked: Any
        output_tokens_max: int

        @property
        def _llm_type(self) -> str:
            return "compaction-bench"

        def _generate(
            self, messages: Sequence[Any], stop: Any = None, run_manager: Any = None, **_: Any
        ) -> Any:
            try:
                reply = self.asked(
                    convert_to_openai_messages(list(messages)),
                    output_tokens_max=self.output_tokens_max,
                )
            except ProviderError as error:
                # What can be tried again was, on the way; only an overflow is worth LangChain's.
                kind = ContextOverflowError if error.kind == "input_overflow" else None
                raise (kind or ModelInvalidRequestError)(error.text) from error
            return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.text))])

    return SessionModel


STRATEGIES = {"langchain_summarization": LangChainSummarization, "langchain_trim": LangChainTrim}

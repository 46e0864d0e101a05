"""inspect_ai's own compaction: `CompactionSummary`, `CompactionEdit` and `CompactionTrim`.

Run through its orchestrator, `compaction()`, as an agent would, tried with inspect_ai 0.3.285. The
harness says when; the orchestrator then compacts by force, again while it is above the threshold,
and refuses when that is in vain. The system prompt and the first request are its prefix, which
always stays. Tokens are three for ten bytes, about what inspect_ai's own count comes to (o200k_base
and a tenth more), which would fetch a vocabulary from the network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from bench.events import Message, ToolDefinition
from bench.provider import ProviderError
from bench.strategy import Budget, Declined, Estimator, Policy, Reply
from strategies.peers import (
    NEEDS_EXTRA,
    NO_PINNED_REQUEST,
    MessageDict,
    PeerAsk,
    Translated,
    require,
    text_of,
)

_PROVIDER = "compaction_bench"
_SOURCE = "inspect_ai, model/_compaction/{}.py"
_SUMMARY_TOKENS = 4_096
_PICTURE_BYTES = 4_000


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _tokens(size: int) -> int:
    return max(1, size * 3 // 10)


def _message_bytes(message: Message) -> int:
    calls = sum(_bytes(call.name) + _bytes(call.arguments) for call in message.calls)
    return _bytes(message.text) + calls + _PICTURE_BYTES * len(message.attachments)


def _tools_bytes(tools: Sequence[ToolDefinition]) -> int:
    return sum(
        _bytes(tool.name) + _bytes(tool.description) + _bytes(json.dumps(dict(tool.parameters)))
        for tool in tools
    )


_ESTIMATOR = Estimator("bytes x 0.3", _message_bytes, _tools_bytes, _tokens)


class _Orchestrated:
    """What the three strategies share: the trigger, the library, and one run of it."""

    __slots__ = ()

    threshold: float
    estimator: ClassVar[Estimator] = _ESTIMATOR

    @property
    def policy(self) -> Policy:
        """The harness's trigger; the library keeps no request but the first in its place."""
        return Policy(threshold_fraction=self.threshold, waives=(NO_PINNED_REQUEST,))

    def check_ready(self) -> None:
        """Raises UsageError when inspect_ai isn't installed."""
        require("inspect_ai", "inspect-ai")

    async def _compacted(
        self,
        kind: str,
        messages: list[MessageDict],
        budget: Budget,
        ask: Callable[..., Reply],
        summary: str | None,
        settings: dict[str, Any],
    ) -> tuple[list[MessageDict] | None, str | None]:
        """What the orchestrator makes of the messages, and the newest summary.

        `summary` is the text of the last one, by which its message is known again.
        """
        self.check_ready()
        import inspect_ai.model as library

        def make(message: MessageDict, name: str) -> Any:
            return _to_inspect(library, message, name, summary)

        told = Translated(messages, make)
        asked = PeerAsk(ask)
        strategy = getattr(library, kind)(
            threshold=max(1, budget.threshold_tokens - _tokens(_tools_bytes(budget.tools))),
            memory=False,
            **settings,
        )
        handler = library.compaction(
            strategy,
            prefix=_prefix(told.objects),
            model=_model(asked, budget.window),
        )
        with asked.surfacing():
            shown, written = await _run(handler, list(told.objects))
        text = summary if written is None else str(written.content)
        return told.back(shown, _from_inspect, lambda one: one.id), text


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectSummary(_Orchestrated):
    """inspect_ai's CompactionSummary: prefix and one summary, no tail.

    It fires above the fraction `threshold` of the window, tool definitions counted.
    The summary is asked for with `prompt`, inspect_ai's own unless given.
    """

    name: ClassVar[str] = "inspect_ai_summary"
    summary: ClassVar[str] = f"inspect_ai's CompactionSummary, its own code; {NEEDS_EXTRA}"
    source: ClassVar[str] = _SOURCE.format("summary")

    threshold: float = 0.9
    prompt: str | None = None

    async def compact_messages(
        self,
        messages: list[MessageDict],
        window: int,
        *,
        ask: Callable[..., Reply],
        state: Any,
        budget: Budget,
    ) -> tuple[list[MessageDict] | None, Any]:
        """Prefix and summary; the state is the summary's text, which the next one begins with."""
        settings = {} if self.prompt is None else {"prompt": self.prompt}
        before = state if isinstance(state, str) else None
        return await self._compacted("CompactionSummary", messages, budget, ask, before, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectEdit(_Orchestrated):
    """inspect_ai's CompactionEdit: old tool results are cleared, no model is asked.

    The newest `keep_tool_uses` results stay. Calls stay with their arguments unless
    `keep_tool_inputs` is false. It fires above the fraction `threshold` of the window.
    """

    name: ClassVar[str] = "inspect_ai_edit"
    summary: ClassVar[str] = f"inspect_ai's CompactionEdit, its own code, no model; {NEEDS_EXTRA}"
    source: ClassVar[str] = _SOURCE.format("edit")

    keep_tool_uses: int = 3
    keep_tool_inputs: bool = True
    threshold: float = 0.9

    async def compact_messages(
        self,
        messages: list[MessageDict],
        window: int,
        *,
        ask: Callable[..., Reply],
        budget: Budget,
    ) -> list[MessageDict] | None:
        """The messages with old results cleared."""
        settings = {
            "keep_tool_uses": self.keep_tool_uses,
            "keep_tool_inputs": self.keep_tool_inputs,
        }
        shown, _ = await self._compacted("CompactionEdit", messages, budget, ask, None, settings)
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectTrim(_Orchestrated):
    """inspect_ai's CompactionTrim: the prefix and the newest messages, no model is asked.

    The share `preserve` of the messages behind the prefix stays. It fires above the fraction
    `threshold` of the window.
    """

    name: ClassVar[str] = "inspect_ai_trim"
    summary: ClassVar[str] = f"inspect_ai's CompactionTrim, its own code, no model; {NEEDS_EXTRA}"
    source: ClassVar[str] = _SOURCE.format("trim")

    preserve: float = 0.8
    threshold: float = 0.9

    async def compact_messages(
        self,
        messages: list[MessageDict],
        window: int,
        *,
        ask: Callable[..., Reply],
        budget: Budget,
    ) -> list[MessageDict] | None:
        """The prefix and the newest messages."""
        settings = {"preserve": self.preserve}
        shown, _ = await self._compacted("CompactionTrim", messages, budget, ask, None, settings)
        return shown


async def _run(handler: Any, messages: list[Any]) -> tuple[list[Any], Any]:
    """One forced compaction. What the library can't shrink enough is refused, not failed."""
    from inspect_ai.log._transcript import Transcript, init_transcript

    # The transcript of this task alone: the global one would keep every request for ever.
    init_transcript(Transcript())
    try:
        shown, written = await handler.compact_input(messages, force=True)
    except RuntimeError as error:
        if str(error).startswith("Compaction insufficient"):
            raise Declined(str(error).partition(" (")[0], kind="rejected") from error
        raise
    return list(shown), written


def _prefix(messages: list[Any]) -> list[Any]:
    """What an agent of inspect_ai starts with: the system prompt and the request behind it."""
    first = next((at for at, one in enumerate(messages) if one.role != "system"), len(messages))
    is_asked = first < len(messages) and messages[first].role == "user"
    return messages[: first + is_asked]


def _to_inspect(library: Any, message: MessageDict, name: str, summary: str | None) -> Any:
    role, content = message["role"], _content(library, message.get("content"))
    if role == "user":
        is_summary = summary is not None and text_of(message) == summary
        metadata = {"summary": True} if is_summary else None
        return library.ChatMessageUser(content=content, id=name, metadata=metadata)
    if role == "tool":
        call_id = message["tool_call_id"]
        return library.ChatMessageTool(content=content, tool_call_id=call_id, id=name)
    if role != "assistant":
        return library.ChatMessageSystem(content=content, id=name)
    calls = [_call(call) for call in message.get("tool_calls") or ()]
    return library.ChatMessageAssistant(content=content, tool_calls=calls or None, id=name)


def _call(call: MessageDict) -> Any:
    from inspect_ai.tool import ToolCall

    written = call["function"]["arguments"]
    try:
        arguments = json.loads(written or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"_raw": written}
    return ToolCall(id=call["id"], function=call["function"]["name"], arguments=arguments)


def _content(library: Any, content: Any) -> Any:
    if not isinstance(content, list):
        return content or ""
    parts: list[Any] = []
    for part in content:
        if part.get("type") == "image_url":
            parts.append(library.ContentImage(image=part["image_url"]["url"]))
        else:
            parts.append(library.ContentText(text=str(part.get("text", ""))))
    return parts


def _from_inspect(message: Any) -> MessageDict:
    """A message that the library wrote or changed, as Chat Completions has it."""
    written: MessageDict = {"role": message.role, "content": message.text}
    if message.role == "tool":
        written["tool_call_id"] = message.tool_call_id
    calls = message.tool_calls if message.role == "assistant" else None
    if calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.function,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in calls
        ]
    return written


def _model(asked: PeerAsk, window: int) -> Any:
    """The session's model as inspect_ai has it, with this window."""
    from inspect_ai.model import GenerateConfig, ModelInfo, get_model, set_model_info

    _provider()
    name = f"{_PROVIDER}/window-{window}"
    set_model_info(name, ModelInfo(context_length=window))
    config = GenerateConfig(max_tokens=min(_SUMMARY_TOKENS, max(1, window // 4)))
    return get_model(name, config=config, memoize=False, asked=asked)


@cache
def _provider() -> Any:
    """Registers the provider; made late, since inspect_ai is imported late."""
    from inspect_ai.model import ModelAPI, ModelOutput, modelapi

    class SessionModel(ModelAPI):  # type: ignore[misc]
        """The session's model as a provider of inspect_ai."""

        def __init__(
            self,
            model_name: str,
            base_url: Any = None,
            api_key: Any = None,
            config: Any = None,
            *,
            asked: PeerAsk,
        ) -> None:
            super().__init__(model_name, base_url, api_key, [], config)
            self._asked = asked

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            try:
                reply = self._asked(
                    [_from_inspect(one) for one in input],
                    output_tokens_max=config.max_tokens,
                )
            except ProviderError as error:
                if error.kind != "input_overflow":
                    raise
                return ModelOutput.from_content(
                    self.model_name, error.text, stop_reason="model_length"
                )
            return ModelOutput.from_content(self.model_name, reply.text)

        async def count_text_tokens(self, text: str) -> int:
            return _tokens(_bytes(text))

    @modelapi(name=_PROVIDER)  # type: ignore[untyped-decorator]
    def provider() -> Any:
        return SessionModel

    return provider


STRATEGIES = {
    "inspect_ai_summary": InspectSummary,
    "inspect_ai_edit": InspectEdit,
    "inspect_ai_trim": InspectTrim,
}

"""Microsoft Agent Framework's own compaction: `SummarizationStrategy` and the context window's.

Run through `apply_compaction`, tried with agent-framework-core 1.23.0. The framework marks whole
groups as excluded; what is left is what the model is shown. When it fires is the harness's trigger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bench.strategy import Policy, Reply
from strategies.peers import (
    NEEDS_EXTRA,
    NO_PINNED_REQUEST,
    MessageDict,
    PeerAsk,
    Translated,
    require,
)

# What a picture counts as where only its address is known.
_PICTURE = "image/png"


class _AgentFramework:
    """What both strategies share: the trigger, and one run of the framework."""

    __slots__ = ()

    threshold: float

    @property
    def policy(self) -> Policy:
        """The harness's trigger; the framework keeps no request in its place."""
        return Policy(threshold_fraction=self.threshold, waives=(NO_PINNED_REQUEST,))

    def check_ready(self) -> None:
        """Raises UsageError when the framework isn't installed."""
        require("agent_framework", "agent-framework-core")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFrameworkSummary(_AgentFramework):
    """Agent Framework's SummarizationStrategy: the oldest groups become one assistant message.

    About `keep_messages` of the newest messages stay; what is beyond them by fewer than
    `spare_messages` is left alone. One summary reads at most `input_tokens` tokens of the oldest
    groups (characters/4), so several may be needed. It has at most `summary_tokens` tokens.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    The summary is asked for with `prompt`, the framework's own unless given.
    """

    name: ClassVar[str] = "agent_framework_summary"
    summary: ClassVar[str] = (
        f"Microsoft Agent Framework's SummarizationStrategy, its own code; {NEEDS_EXTRA}"
    )
    source: ClassVar[str] = "agent-framework-core, _compaction.py"

    keep_messages: int = 4
    spare_messages: int = 2
    input_tokens: int = 8_000
    summary_tokens: int = 4_096
    threshold: float = 0.8
    prompt: str | None = None

    async def compact_messages(
        self, messages: list[MessageDict], window: int, *, ask: Callable[..., Reply]
    ) -> list[MessageDict] | None:
        """What the strategy makes of all messages."""
        self.check_ready()
        from agent_framework import SummarizationStrategy

        asked = PeerAsk(ask)
        strategy = SummarizationStrategy(
            client=_SessionClient(asked, self.summary_tokens),
            target_count=self.keep_messages,
            threshold=self.spare_messages,
            prompt=self.prompt,
            max_summary_input_tokens=self.input_tokens,
        )
        with asked.surfacing():
            shown = await _applied(messages, strategy)
        if shown is None:
            # The framework only logs that its summariser failed.
            asked.give_up()
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFrameworkWindow(_AgentFramework):
    """Agent Framework's ContextWindowCompactionStrategy: old tool groups in a line, then cutting.

    Above the fraction `evict` of the input all but the newest `keep_tool_groups` tool groups become
    a line each; above `truncate` the oldest groups go until `evict` is reached. The input is the
    window without `output_tokens`, none = an eighth of it.
    It fires above the fraction `threshold` of the window, tool definitions counted.
    """

    name: ClassVar[str] = "agent_framework_window"
    summary: ClassVar[str] = (
        "Microsoft Agent Framework's ContextWindowCompactionStrategy, its own code, no model; "
        + NEEDS_EXTRA
    )
    source: ClassVar[str] = "agent-framework-core, _compaction.py"

    evict: float = 0.5
    truncate: float = 0.8
    keep_tool_groups: int = 4
    output_tokens: int | None = None
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.evict <= self.truncate <= 1:
            raise ValueError("evict and truncate are fractions (0 to 1), evict the smaller one")

    async def compact_messages(
        self, messages: list[MessageDict], window: int
    ) -> list[MessageDict] | None:
        """What the strategy makes of all messages."""
        self.check_ready()
        from agent_framework import ContextWindowCompactionStrategy

        output = window // 8 if self.output_tokens is None else self.output_tokens
        strategy = ContextWindowCompactionStrategy(
            max_context_window_tokens=window,
            max_output_tokens=min(output, window - 1),
            tool_eviction_threshold=self.evict,
            truncation_threshold=self.truncate,
            keep_last_tool_call_groups=self.keep_tool_groups,
        )
        return await _applied(messages, strategy)


async def _applied(messages: list[MessageDict], strategy: Any) -> list[MessageDict] | None:
    """The messages that are left; None when the framework changed nothing."""
    from agent_framework import apply_compaction

    # Its warnings go to the logger; without any handler Python would print them on stderr.
    logging.getLogger("agent_framework").addHandler(_SILENT)
    told = Translated(messages, _to_framework)
    shown = await apply_compaction(list(told.objects), strategy=strategy)
    if len(shown) == len(told.objects) and all(map(_is, shown, told.objects)):
        return None
    return told.back(shown, _from_framework, lambda one: None)


_SILENT = logging.NullHandler()


def _is(left: Any, right: Any) -> bool:
    return left is right


def _to_framework(message: MessageDict, name: str) -> Any:
    from agent_framework import Content, Message

    contents: list[Any] = []
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}] if content else []
    if message["role"] == "tool":
        result = Content.from_function_result(message["tool_call_id"], result=content or "")
        return Message("tool", [result], message_id=name)
    for part in parts:
        if part.get("type") == "image_url":
            address = part["image_url"]["url"]
            media_type = address.partition(":")[2].partition(";")[0] or _PICTURE
            is_data = address.startswith("data:")
            kind = media_type if is_data else _PICTURE
            contents.append(Content.from_uri(address, media_type=kind))
        else:
            contents.append(Content.from_text(str(part.get("text", ""))))
    for call in message.get("tool_calls") or ():
        called = call["function"]
        contents.append(
            Content.from_function_call(call["id"], called["name"], arguments=called["arguments"])
        )
    return Message(message["role"], contents, message_id=name)


def _from_framework(message: Any) -> MessageDict:
    """A message that the framework wrote: text of one role."""
    return {"role": message.role, "content": message.text}


class _SessionClient:
    """The session's model as a chat client of the framework."""

    def __init__(self, asked: PeerAsk, output_tokens_max: int) -> None:
        self._asked = asked
        self._output_tokens_max = output_tokens_max

    async def get_response(self, messages: Any, **_: Any) -> Any:
        """One answer to these messages."""
        from agent_framework import ChatResponse, Message

        reply = self._asked(
            [_from_framework(message) for message in messages],
            output_tokens_max=self._output_tokens_max,
        )
        return ChatResponse(messages=[Message("assistant", [reply.text])])


STRATEGIES = {
    "agent_framework_summary": AgentFrameworkSummary,
    "agent_framework_window": AgentFrameworkWindow,
}

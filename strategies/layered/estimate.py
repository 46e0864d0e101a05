"""How the original guesses sizes: units of the JSON that a provider would see (constants page).

A message costs the units of its JSON object, so escapes count as encoded. Sizes add up: a request
is the envelope, plus every message with its comma, plus the tools. That makes a guess cost only
what is new, and nothing here loops over characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.events import Message, ToolDefinition
from bench.strategy import Estimator
from strategies.layered.encoded import visible_units
from strategies.layered.encoding import compact_json, quoted, to_json, tokens, units
from strategies.layered.message_json import is_dropped, raw_json, visible_json

ATTACHMENT_UNITS = 4_096
EMPTY_REQUEST = '{"messages":[],"tools":null}'
# Every message is counted with a comma, so the envelope is one comma short of an empty request.
ENVELOPE_UNITS = len(EMPTY_REQUEST) - 1


def messages_json(messages: Iterable[Message]) -> str:
    """The array of all messages that aren't dropped."""
    return f"[{','.join(visible_json(each) for each in messages if not is_dropped(each))}]"


def message_units(message: Message) -> int:
    """The units that one message adds to a request: its JSON, a comma, its attachments."""
    shown = visible_units(message)
    return shown + ATTACHMENT_UNITS * len(message.attachments) if message.attachments else shown


@dataclass(frozen=True, slots=True)
class ToolText:
    """A tool as it is sent; `parameters` is raw JSON text, empty when there is none."""

    name: str
    description: str = ""
    parameters: str = ""
    type: str = "function"


def tool_texts(tools: Iterable[ToolDefinition]) -> tuple[ToolText, ...]:
    """The tools of a harness session as they would be sent."""
    return tuple(
        ToolText(tool.name, tool.description, json.dumps(tool.parameters, ensure_ascii=False))
        for tool in tools
    )


def tools_json(tools: Sequence[ToolText]) -> str:
    """The array of all tools; null without tools. Broken parameters count as one JSON string."""
    if not tools:
        return "null"
    return f"[{','.join(_tool_json(tool) for tool in tools)}]"


def _tool_json(tool: ToolText) -> str:
    function = f'"name":{quoted(tool.name)}'
    if tool.description:
        function += f',"description":{quoted(tool.description)}'
    function += f',"parameters":{raw_json(tool.parameters)}'
    return f'{{"type":{quoted(tool.type)},"function":{{{function}}}}}'


def tools_units(tools: Sequence[ToolDefinition]) -> int:
    """The units that all tool definitions add to a request."""
    return units(tools_json(tool_texts(tools))) - len("null")


def is_encodable(messages: Iterable[Message], tools: Iterable[ToolText] = ()) -> bool:
    """False when some raw JSON of a sent message or a tool isn't JSON."""
    raw = [call.arguments for each in messages for call in each.calls]
    raw += [tool.parameters for tool in tools]
    return all(compact_json(text) is not None for text in raw if text)


def request_units(
    messages: Sequence[Message],
    tools: Sequence[ToolText] = (),
    context_state: str = "",
    *,
    original: bool = False,
) -> int:
    """The units of a whole request. `context_state` is the raw JSON object of native state.

    The original counts a request whose raw JSON is broken as 0 (attachments apart), so that it
    never triggers a compaction; with `original` this does too (divergence `broken_json`).
    """
    attached = ATTACHMENT_UNITS * sum(len(each.attachments) for each in messages)
    if original and not is_encodable(messages, tools):
        return attached
    state = f',"context_state":{context_state}' if context_state else ""
    sent = f'{{"messages":{messages_json(messages)},"tools":{tools_json(tools)}{state}}}'
    return units(sent) + attached


def context_state_json(kind: str, data: str) -> str:
    """Native state as a request carries it; `data` is raw JSON."""
    return f'{{"kind":{to_json(kind)},"data":{raw_json(data)}}}'


def messages_tokens(messages: Sequence[Message], *, original: bool = False) -> int:
    """The tokens of the array of messages alone, attachments left out."""
    if original and not is_encodable(messages):
        return 0
    return array_tokens(sum(map(visible_units, messages)))


def array_tokens(units_total: int) -> int:
    """The tokens of an array of messages, by the sum of their `visible_units`."""
    return tokens(len("[]") + max(0, units_total - len(",")))


def next_input_tokens(prior_input_tokens: int, prior_units: int, current_units: int) -> int:
    """The next input size: the provider's last count plus the estimated difference, at least 0.

    Without a last count (either prior figure not positive) the units alone decide.
    """
    if prior_input_tokens > 0 and prior_units > 0:
        return max(0, prior_input_tokens + tokens(current_units - prior_units))
    return max(0, tokens(current_units))


ESTIMATOR = Estimator(
    name="json_runes",
    message_units=message_units,
    tools_units=tools_units,
    tokens=tokens,
    envelope_units=ENVELOPE_UNITS,
)

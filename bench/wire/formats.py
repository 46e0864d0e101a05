"""Rendered messages in the shapes of four APIs, each with the provenance of every entry.

Shapes from the vendors' published request types: OpenAI Chat Completions and Responses, Anthropic
Messages, Gemini generateContent. Opaque state goes back verbatim to the API that it is of; another
API's is refused with NativeRefused (F7.3).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bench.events import Attachment, ToolDefinition
from bench.wire.native_states import Demands, demands_of, items_for, read_state, refusal
from bench.wire.rendering import LEADING_LINE, Rendered, WireCall, WireMessage

Payload: TypeAlias = dict[str, Any]

# NaN and infinities are no JSON; written as words they stay readable and harmless.
_DECODER = json.JSONDecoder(parse_constant=str)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `messages[i]` came from `provenance[i]` (kind and all seqs).

    `system` is the top-level system text for APIs that have one, else None. `betas` are values of
    the vendor's beta header and `body` further fields of the body, both needed by opaque state.
    """

    system: str | None
    messages: list[Payload]
    provenance: list[Payload]
    tools: list[Payload]
    betas: tuple[str, ...] = ()
    body: Payload = field(default_factory=dict)


def _provenance(message: WireMessage) -> Payload:
    return {"kind": message.kind, "seqs": list(message.seqs)}


def _arguments_object(call: WireCall) -> Payload:
    """The arguments as an object; text that is no JSON object is carried under one key."""
    try:
        value = _DECODER.decode(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {"_raw": call.arguments}
    return value if isinstance(value, dict) else {"_raw": call.arguments}


def to_openai(rendered: Rendered, tools: Sequence[ToolDefinition]) -> Request:
    """Chat Completions. Raises NativeRefused for any opaque state: this API knows none."""
    messages: list[Payload] = []
    for message in rendered.messages:
        if message.native_state is not None:
            raise refusal("openai", message.native_state)
        entry: Payload = {"role": message.role, "content": _openai_content(message)}
        if message.calls:
            entry["content"] = message.text or None
            entry["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in message.calls
            ]
        if message.role == "tool":
            entry["tool_call_id"] = message.call_id
        messages.append(entry)
    definitions: list[Payload] = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]
    return Request(None, messages, [_provenance(m) for m in rendered.messages], definitions)


def _openai_content(message: WireMessage) -> Any:
    if not message.attachments or message.role != "user":
        return message.text + "".join(f"\n[{a.media_type}]" for a in message.attachments)
    parts: list[Payload] = [{"type": "text", "text": message.text}] if message.text else []
    parts += [
        {"type": "image_url", "image_url": {"url": _data_address(attachment)}}
        for attachment in message.attachments
    ]
    return parts


def _data_address(attachment: Attachment) -> str:
    if "://" in attachment.data[:12]:
        return attachment.data
    return f"data:{attachment.media_type};base64,{attachment.data}"


def to_anthropic(rendered: Rendered, tools: Sequence[ToolDefinition]) -> Request:
    """Messages API: neighbours of one role are merged, all results of a batch stand first.

    System messages before the first other message become the top-level system text; later ones
    stay in their place as marked user text, since the API knows no system role there.
    Raises NativeRefused for opaque state of another API.
    """
    system: list[str] = []
    messages: list[Payload] = []
    provenance: list[Payload] = []
    demands = _anthropic_demands(rendered)
    for message in rendered.messages:
        if message.role == "system" and not messages:
            system.append(message.text)
            continue
        if message.native_state is not None:
            _add_compaction(messages, provenance, message)
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _anthropic_blocks(message)
        if messages and messages[-1]["role"] == role and not _is_leading_block(messages):
            messages[-1]["content"].extend(blocks)
            merged = provenance[-1]
            merged["seqs"] += message.seqs
            merged["kind"] = message.kind if message.kind != "kept" else merged["kind"]
        else:
            messages.append({"role": role, "content": blocks})
            provenance.append(_provenance(message))
    definitions: list[Payload] = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.parameters) or {"type": "object", "properties": {}},
        }
        for tool in tools
    ]
    text = "\n\n".join(system) or None
    return Request(text, messages, provenance, definitions, demands.betas, demands.body)


def _anthropic_demands(rendered: Rendered) -> Demands:
    states = (read_state(m.native_state) for m in rendered.messages if m.native_state is not None)
    return next((demands_of(state) for state in states if state is not None), Demands())


def _add_compaction(
    messages: list[Payload], provenance: list[Payload], message: WireMessage
) -> None:
    """A compaction block where its form wants it.

    On demand: first of all, an assistant message of its own. Threshold: it begins an answer, so
    that a user message must stand before it; what the assistant says next is joined to it.
    """
    state, blocks = items_for("anthropic", message.native_state or "")
    is_threshold = state is not None and state.form == "anthropic_threshold"
    if is_threshold and not (messages and messages[-1]["role"] == "user"):
        messages.append({"role": "user", "content": [{"type": "text", "text": LEADING_LINE}]})
        provenance.append({"kind": "written", "seqs": []})
    messages.append({"role": "assistant", "content": blocks})
    provenance.append(_provenance(message))


def _is_leading_block(messages: Sequence[Payload]) -> bool:
    """True while nothing but a compaction block on demand has been written: nothing joins it."""
    return len(messages) == 1 and leads_with_compaction(messages)


def leads_with_compaction(messages: Sequence[Payload]) -> bool:
    """Whether the first message is a compaction block alone, which only such a one may be."""
    first = messages[0]["content"] if messages else []
    return len(first) == 1 and first[0]["type"] == "compaction"


def _anthropic_blocks(message: WireMessage) -> list[Payload]:
    text = f"[System note] {message.text}" if message.role == "system" else message.text
    # The API refuses text blocks that hold only blanks.
    blocks: list[Payload] = [{"type": "text", "text": text}] if text.strip() else []
    blocks += [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": attachment.media_type,
                "data": attachment.data,
            },
        }
        for attachment in message.attachments
    ]
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": blocks}]
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _arguments_object(call)}
        for call in message.calls
    ]
    return blocks or [{"type": "text", "text": "[Blank message.]"}]


def to_responses(rendered: Rendered, tools: Sequence[ToolDefinition]) -> Request:
    """Responses API input items; an assistant message with calls becomes several items.

    Raises NativeRefused for opaque state of another API.
    """
    items: list[Payload] = []
    provenance: list[Payload] = []

    def add(item: Payload, message: WireMessage) -> None:
        items.append(item)
        provenance.append(_provenance(message))

    for message in rendered.messages:
        if message.native_state is not None:
            for item in items_for("responses", message.native_state)[1]:
                add(item, message)
        elif message.role == "tool":
            add(
                {
                    "type": "function_call_output",
                    "call_id": message.call_id,
                    "output": message.text,
                },
                message,
            )
        else:
            if message.text or message.attachments or not message.calls:
                add(_responses_message(message), message)
            for call in message.calls:
                add(
                    {
                        "type": "function_call",
                        "call_id": call.id,
                        "name": call.name,
                        "arguments": call.arguments,
                    },
                    message,
                )
    definitions: list[Payload] = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }
        for tool in tools
    ]
    return Request(None, items, provenance, definitions)


def _responses_message(message: WireMessage) -> Payload:
    kind = "output_text" if message.role == "assistant" else "input_text"
    content: list[Payload] = [{"type": kind, "text": message.text}] if message.text else []
    content += [
        {"type": "input_image", "image_url": _data_address(attachment)}
        for attachment in message.attachments
    ]
    return {"type": "message", "role": message.role, "content": content}


def to_gemini(rendered: Rendered, tools: Sequence[ToolDefinition]) -> Request:
    """generateContent: roles user and model, results as functionResponse parts of a user turn.

    Raises NativeRefused for any opaque state: this API knows none.
    """
    system: list[str] = []
    contents: list[Payload] = []
    provenance: list[Payload] = []
    names: dict[str, str] = {}
    for message in rendered.messages:
        if message.native_state is not None:
            raise refusal("gemini", message.native_state)
        if message.role == "system" and not contents:
            system.append(message.text)
            continue
        names.update({call.id: call.name for call in message.calls})
        role = "model" if message.role == "assistant" else "user"
        parts = _gemini_parts(message, names)
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"].extend(parts)
            provenance[-1]["seqs"] += message.seqs
        else:
            contents.append({"role": role, "parts": parts})
            provenance.append(_provenance(message))
    definitions: list[Payload] = [
        {
            "functionDeclarations": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                }
                for tool in tools
            ]
        }
    ]
    return Request("\n\n".join(system) or None, contents, provenance, definitions if tools else [])


def _gemini_parts(message: WireMessage, names: dict[str, str]) -> list[Payload]:
    if message.role == "tool":
        return [
            {
                "functionResponse": {
                    "name": names.get(message.call_id or "", "tool"),
                    "response": {"output": message.text},
                }
            }
        ]
    text = f"[System note] {message.text}" if message.role == "system" else message.text
    parts: list[Payload] = [{"text": text}] if text else []
    parts += [
        {"inlineData": {"mimeType": attachment.media_type, "data": attachment.data}}
        for attachment in message.attachments
    ]
    parts += [
        {"functionCall": {"name": call.name, "args": _arguments_object(call)}}
        for call in message.calls
    ]
    return parts or [{"text": "[Blank message.]"}]


FORMATS: dict[str, Callable[[Rendered, Sequence[ToolDefinition]], Request]] = {
    "openai": to_openai,
    "anthropic": to_anthropic,
    "responses": to_responses,
    "gemini": to_gemini,
}

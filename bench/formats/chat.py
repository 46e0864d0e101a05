"""Edges: messages in the shapes of chat APIs become drafts.

OpenAI Chat Completions and Anthropic Messages are both understood wherever either may stand, since
request logs mix them. Sources: the two vendors' message references.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.events import Role, ToolDefinition
from bench.formats.building import Draft, SessionBuilder, seconds, whole
from bench.formats.content import (
    REASONING_TYPES,
    attachment_of,
    flatten,
    kind_of,
    part_text,
    text_of,
)

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
CALL_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def is_result_type(kind: str) -> bool:
    """True for tool_result and for the result blocks of tools that the provider runs itself."""
    return kind == "tool_result" or kind.endswith("_tool_result")


def looks_like_message(record: Mapping[str, Any]) -> bool:
    """True for an object that has a known role and something a message has."""
    return kind_of(record, "role") in ROLES and bool(
        record.keys() & {"content", "tool_calls", "function_call", "refusal", "tool_call_id"}
        or len(record) == 1
    )


def add_message(builder: SessionBuilder, message: Mapping[str, Any], where: str) -> Draft | None:
    """Add one message; the draft that holds its text, None when its role is unknown."""
    role = ROLES.get(text_of(message.get("role")))
    if role is None:
        builder.log.add(
            "unknown_role", where, f"a message of role {message.get('role')!r} left out"
        )
        return None
    timestamp = seconds(message.get("timestamp") or message.get("created_at"))
    content = message.get("content")
    if role == "tool":
        call_id = message.get("tool_call_id", message.get("call_id", message.get("tool_use_id")))
        return builder.add_result(call_id, content, where, timestamp=timestamp)
    if isinstance(content, list) and _has_blocks(content):
        draft = add_blocks(builder, role, content, where, timestamp=timestamp)
    else:
        text, attachments = flatten(content)
        draft = builder.add(role, where, text, attachments=attachments, timestamp=timestamp)
    if role == "assistant":
        _add_openai_fields(builder, draft, message)
    return draft


def _has_blocks(content: list[Any]) -> bool:
    return any(
        isinstance(part, dict)
        and (
            kind_of(part) in CALL_TYPES
            or kind_of(part) in REASONING_TYPES
            or is_result_type(kind_of(part))
        )
        for part in content
    )


def _add_openai_fields(builder: SessionBuilder, draft: Draft, message: Mapping[str, Any]) -> None:
    for key in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(message.get(key), str):
            draft.reasoning.append(message[key])
            break
    if not draft.texts and isinstance(message.get("refusal"), str):
        draft.texts.append(message["refusal"])
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, dict):
            builder.log.add("unknown_call", draft.where, "a tool call that is no object left out")
            continue
        inner = call.get("function") or call.get("custom") or call
        if not isinstance(inner, dict):
            inner = {**call, "name": inner}
        arguments = inner.get("arguments", inner.get("input", inner.get("args")))
        builder.add_call(draft, call.get("id"), inner.get("name"), arguments)
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        builder.add_call(draft, None, legacy.get("name"), legacy.get("arguments"))


def add_blocks(
    builder: SessionBuilder,
    role: Role,
    blocks: list[Any],
    where: str,
    *,
    draft: Draft | None = None,
    timestamp: float | None = None,
    is_meta: bool = False,
) -> Draft:
    """Add the content blocks of an Anthropic message; the draft that can take further blocks.

    Results that stand in a user message become events of their own before its text. A result that
    stands in an assistant message (of a tool that the provider ran) ends that draft: what follows
    is a message that has seen the result.
    """
    for block in blocks:
        if isinstance(block, dict) and is_result_type(kind_of(block)):
            builder.add_result(
                block.get("tool_use_id"), block.get("content"), where, timestamp=timestamp
            )
            if role == "assistant":
                draft = None
            continue
        if draft is None or (role == "user" and draft is not builder.drafts[-1]):
            draft = builder.add(role, where, timestamp=timestamp, is_meta=is_meta)
        _add_block(builder, draft, block)
    if draft is None:
        return builder.drafts[-1] if builder.drafts and blocks else builder.add(role, where)
    return draft


def _add_block(builder: SessionBuilder, draft: Draft, block: Any) -> None:
    if not isinstance(block, dict):
        draft.texts.append(text_of(block))
        return
    kind = kind_of(block)
    if kind == "text":
        draft.texts.append(text_of(block.get("text")))
        return
    if kind in CALL_TYPES:
        builder.add_call(draft, block.get("id"), block.get("name"), block.get("input"))
        return
    if kind in REASONING_TYPES:
        reasoning = block.get("thinking", block.get("reasoning", block.get("text")))
        if isinstance(reasoning, str):
            draft.reasoning.append(reasoning)
        return
    attachment = attachment_of(block)
    if attachment is not None:
        draft.attachments.append(attachment)
    else:
        draft.texts.append(part_text(block))


def tool_definitions(tools: Any) -> tuple[ToolDefinition, ...]:
    """Tool definitions in the shape of either vendor; what has no name is left out."""
    found = []
    for tool in tools if isinstance(tools, list) else []:
        if not isinstance(tool, dict):
            continue
        inner = tool["function"] if isinstance(tool.get("function"), dict) else tool
        if isinstance(inner.get("name"), str):
            schema = inner.get("parameters", inner.get("input_schema"))
            found.append(
                ToolDefinition(
                    inner["name"],
                    text_of(inner.get("description")),
                    schema if isinstance(schema, dict) else {},
                )
            )
    return tuple(found)


def add_usage(builder: SessionBuilder, draft: Draft, usage: Any) -> None:
    """Usage in either vendor's fields, in one normal form: all input, of which cached, output.

    OpenAI counts cached tokens inside the prompt, Anthropic counts them apart.
    """
    if not isinstance(usage, dict):
        return
    prompt = whole(usage.get("prompt_tokens"))
    if prompt is not None:
        details = usage.get("prompt_tokens_details")
        cached = whole(details.get("cached_tokens")) if isinstance(details, dict) else None
        builder.add_usage(draft, prompt, cached, whole(usage.get("completion_tokens")))
        return
    fresh = whole(usage.get("input_tokens"))
    if fresh is None:
        return
    read = whole(usage.get("cache_read_input_tokens"))
    written = whole(usage.get("cache_creation_input_tokens"))
    total = fresh + (read or 0) + (written or 0)
    if total > 0:
        builder.add_usage(draft, total, read, whole(usage.get("output_tokens")))

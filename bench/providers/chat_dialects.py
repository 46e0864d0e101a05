"""Edges: what single hosts of Chat Completions want otherwise than OpenAI does.

Sources: OpenRouter's page on message transforms; Mistral's error on the ids of calls.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from bench.providers.reading import Payload

_MISTRAL_LETTERS = 9


def adapted(body: Payload, host: str) -> Payload:
    """The body as this host takes it; `host` is its name, perhaps with a port.

    OpenRouter would silently drop the middle of what is too long for some models. Mistral takes
    ids of calls only if they have exactly nine letters and digits.
    """
    name = host.partition(":")[0].lower()
    if name == "openrouter.ai" or name.endswith(".openrouter.ai"):
        return {**body, "transforms": []}
    if name.endswith("mistral.ai"):
        return {**body, "messages": [_with_short_ids(one) for one in body["messages"]]}
    return body


def _with_short_ids(message: dict[str, Any]) -> dict[str, Any]:
    changed = dict(message)
    if "tool_call_id" in message:
        changed["tool_call_id"] = short_id(message["tool_call_id"])
    if "tool_calls" in message:
        changed["tool_calls"] = [
            {**call, "id": short_id(call["id"])} for call in message["tool_calls"]
        ]
    return changed


def short_id(call_id: str) -> str:
    """Nine letters and digits for an id, always the same for the same one."""
    is_fine = len(call_id) == _MISTRAL_LETTERS and call_id.isalnum() and call_id.isascii()
    return call_id if is_fine else sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]

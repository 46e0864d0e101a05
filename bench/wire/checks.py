"""Would the API accept it? Checks of finished requests that know nothing of how they were made.

Each returns sentences that name the entry; an empty list means acceptable. The rules are those that
the vendors document and enforce: pairing, order, roles, no empty content, unique call ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bench.wire.formats import FORMATS, Request
from bench.wire.rendering import Rendered


def check_openai(request: Request) -> list[str]:
    """Chat Completions: every call is answered directly behind it, every result has its call."""
    problems: list[str] = []
    waiting: set[str] = set()
    seen_ids: set[str] = set()
    if not any(message["role"] != "system" for message in request.messages):
        problems.append("no message but system ones")
    for index, message in enumerate(request.messages):
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                problems.append(f"message {index}: a result without its call directly before")
            waiting.discard(message.get("tool_call_id", ""))
            continue
        if waiting:
            problems.append(f"message {index}: {len(waiting)} calls before it have no result")
            waiting = set()
        if role not in ("system", "user", "assistant"):
            problems.append(f"message {index}: role {role!r} doesn't exist")
        calls = message.get("tool_calls", [])
        if not message["content"] and not calls:
            problems.append(f"message {index}: {role} message without content")
        problems += _check_ids([call["id"] for call in calls], seen_ids, index)
        waiting = {call["id"] for call in calls}
    if waiting:
        problems.append(f"end: {len(waiting)} calls have no result")
    if request.messages and request.messages[-1]["role"] == "assistant":
        problems.append("end: trailing assistant message")
    return problems


def _check_ids(ids: Sequence[str], seen: set[str], index: int) -> list[str]:
    problems = [f"message {index}: call id {i!r} is used twice" for i in ids if i in seen]
    problems += [f"message {index}: a call without id" for i in ids if not i]
    if len(set(ids)) != len(ids):
        problems.append(f"message {index}: two calls share an id")
    seen.update(ids)
    return problems


def check_anthropic(request: Request) -> list[str]:
    """Messages API: first role user, roles alternate, results first in the next user message."""
    problems: list[str] = []
    waiting: list[str] = []
    seen_ids: set[str] = set()
    if not request.messages:
        return ["no message at all"]
    if request.messages[0]["role"] != "user":
        problems.append("message 0: the first message must be a user message")
    for index, message in enumerate(request.messages):
        if index and message["role"] == request.messages[index - 1]["role"]:
            problems.append(f"message {index}: role {message['role']} twice in a row")
        blocks = message["content"]
        if not blocks:
            problems.append(f"message {index}: empty content")
        problems += _check_anthropic_results(blocks, waiting, index)
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if uses and message["role"] != "assistant":
            problems.append(f"message {index}: a call in a {message['role']} message")
        problems += _check_ids(uses, seen_ids, index)
        problems += [
            f"message {index}: blank text block"
            for block in blocks
            if block["type"] == "text" and not block["text"].strip()
        ]
        waiting = uses
    if waiting:
        problems.append(f"end: {len(waiting)} calls have no result")
    if request.messages[-1]["role"] == "assistant":
        problems.append("end: trailing assistant message")
    return problems


def _check_anthropic_results(
    blocks: Sequence[dict[str, Any]], waiting: Sequence[str], index: int
) -> list[str]:
    problems: list[str] = []
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if sorted(results) != sorted(waiting):
        problems.append(
            f"message {index}: {len(results)} results, but {len(waiting)} calls stand before it"
        )
    kinds = [block["type"] == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        problems.append(f"message {index}: results must stand before other content")
    return problems


def check_serialisable(request: Request) -> list[str]:
    """Every entry must be JSON that a strict parser reads (no NaN, no lone surrogate)."""
    try:
        json.dumps(request.messages, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        return [f"the request is no valid JSON: {error}"]
    return []


CHECKS: dict[str, Callable[[Request], list[str]]] = {
    "openai": check_openai,
    "anthropic": check_anthropic,
}


def api_problems(rendered: Rendered) -> list[str]:
    """Why the OpenAI or the Anthropic API would refuse this request; empty when both accept it."""
    problems: list[str] = []
    for name, check in CHECKS.items():
        request = FORMATS[name](rendered, ())
        found = [*check(request), *check_serialisable(request)]
        problems += [f"{name}: {problem}" for problem in found]
    return problems

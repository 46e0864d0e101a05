"""Would the API accept it? Checks of finished requests that know nothing of how they were made.

Each returns sentences that name the entry; an empty list means acceptable. The rules are those that
the vendors document and enforce: pairing, order, roles, no empty content, unique call ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bench.wire.formats import FORMATS, Request, leads_with_compaction
from bench.wire.native_states import NativeRefused
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
    """Messages API: first role user, roles alternate, results first in the next user message.

    A compaction block on demand stands first of all, and then another assistant message may follow.
    """
    problems: list[str] = []
    waiting: list[str] = []
    seen_ids: set[str] = set()
    if not request.messages:
        return ["no message at all"]
    has_leading_block = leads_with_compaction(request.messages)
    if request.messages[0]["role"] != "user" and not has_leading_block:
        problems.append("message 0: the first message must be a user message")
    problems += _check_compaction_blocks(request)
    for index, message in enumerate(request.messages):
        is_behind_block = index == 1 and has_leading_block
        is_same_role = index and message["role"] == request.messages[index - 1]["role"]
        if is_same_role and not is_behind_block:
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


def _check_compaction_blocks(request: Request) -> list[str]:
    """Only assistant messages hold them, first in their content; without nulls, with their beta."""
    problems: list[str] = []
    found = 0
    for index, message in enumerate(request.messages):
        for place, block in enumerate(message["content"]):
            if block["type"] != "compaction":
                continue
            found += 1
            if message["role"] != "assistant" or place:
                problems.append(f"message {index}: a compaction block must begin an answer")
            if not (block.get("content") or block.get("encrypted_content")):
                problems.append(f"message {index}: an empty compaction block")
            if None in block.values():
                problems.append(f"message {index}: a compaction block holds nulls")
    edits = request.body.get("context_management", {}).get("edits", [])
    has_edit = any(edit["type"] == "compact_20260112" for edit in edits)
    if found and request.betas and not leads_with_compaction(request.messages) and not has_edit:
        problems.append("compaction blocks require a compact_20260112 edit")
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


def check_responses(request: Request) -> list[str]:
    """Responses API: calls and outputs match by id, item ids are unique, no foreign fields.

    Order is free, but an output that stands before its call is a mistake of ours all the same.
    """
    problems: list[str] = []
    called: set[str] = set()
    answered: set[str] = set()
    item_ids: set[str] = set()
    for index, item in enumerate(request.messages):
        kind = item.get("type", "message")
        if kind == "function_call":
            problems += _check_ids([item["call_id"]], called, index)
        elif kind == "function_call_output":
            if item["call_id"] not in called:
                problems.append(f"item {index}: an output without its call before it")
            if item["call_id"] in answered:
                problems.append(f"item {index}: a second output for one call")
            answered.add(item["call_id"])
        elif kind == "compaction" and not item.get("encrypted_content"):
            problems.append(f"item {index}: a compaction item without encrypted_content")
        elif kind == "message" and not item.get("content"):
            problems.append(f"item {index}: message without content")
        if "created_by" in item or None in item.values():
            problems.append(f"item {index}: a field that isn't accepted as input")
        item_id = item.get("id")
        if item_id in item_ids:
            problems.append(f"item {index}: duplicate item id {item_id!r}")
        item_ids |= {item_id} if item_id else set()
    if called - answered:
        problems.append(f"end: {len(called - answered)} calls have no output")
    if all(item.get("role") in ("system", "developer") for item in request.messages):
        problems.append("no item but system ones")
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
    "responses": check_responses,
}
# What is acceptable to Chat Completions is so to Responses, which asks for less.
_ASKED_ABOUT_TEXT = ("openai", "anthropic")
_ASKED_ABOUT_STATE = ("anthropic", "responses")


def api_problems(rendered: Rendered) -> list[str]:
    """Why the OpenAI or the Anthropic API would refuse this request; empty when both accept it.

    Opaque state is asked about only where it could be sent at all.
    """
    problems: list[str] = []
    has_state = any(message.native_state is not None for message in rendered.messages)
    refusals: list[str] = []
    names = _ASKED_ABOUT_STATE if has_state else _ASKED_ABOUT_TEXT
    for name in names:
        try:
            request = FORMATS[name](rendered, ())
        except NativeRefused as refused:
            refusals.append(f"{name}: {refused}")
            continue
        found = [*CHECKS[name](request), *check_serialisable(request)]
        problems += [f"{name}: {problem}" for problem in found]
    return problems if len(refusals) < len(names) else refusals

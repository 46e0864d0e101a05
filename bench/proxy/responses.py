"""Edges: the proxy's Responses API, as OpenAI documents it, whole or as server-sent events.

Nothing is stored between requests: `previous_response_id` and conversations are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Message, Role
from bench.proxy.chat_completions import is_cut_off, pieces
from bench.proxy.question import (
    MalformedRequest,
    Payload,
    Question,
    call_of,
    flag,
    ignored_fields,
    limit,
    objects,
    parts_of,
    role_of,
    text_field,
)
from bench.strategy import Reply

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_STORED = ("previous_response_id", "conversation", "prompt", "background")


def read(body: Payload) -> Question:
    """The question of a request body. Raises MalformedRequest."""
    for name in _STORED:
        if body.get(name):
            raise MalformedRequest(f"{name}: nothing is stored here, send the whole input", name)
    wanted = body.get("text")
    shape = wanted.get("format") if isinstance(wanted, dict) else None
    if isinstance(shape, dict) and shape.get("type") != "text":
        raise MalformedRequest("text.format: only text can be asked for", "text.format")
    messages: list[Message] = []
    if body.get("instructions") is not None:
        messages.append(Message("system", text_field(body, "instructions", "body")))
    given = body.get("input")
    if isinstance(given, str):
        messages.append(Message("user", given))
    else:
        for position, item in enumerate(objects(given, "input")):
            message = _message(item, f"input[{position}]")
            if message is not None:
                messages.append(message)
    return Question(
        messages=tuple(messages),
        output_tokens_max=limit(body, ("max_output_tokens",)),
        is_streamed=flag(body, "stream"),
        ignored=ignored_fields(body, ("input", "instructions", "max_output_tokens", "text")),
    )


def _message(item: Payload, where: str) -> Message | None:
    kind = item.get("type", "message")
    if kind == "message":
        text, attachments = parts_of(item.get("content"), f"{where}.content")
        return Message(role_of(item, _ROLES, where), text, attachments=attachments)
    if kind == "function_call":
        call = call_of(item.get("name"), item.get("arguments"), item.get("call_id"), where)
        return Message("assistant", calls=(call,))
    if kind == "function_call_output":
        text, _ = parts_of(item.get("output"), f"{where}.output")
        return Message("tool", text, call_id=text_field(item, "call_id", where))
    if kind == "reasoning":
        return None
    raise MalformedRequest(
        f"{where}.type is {str(kind)[:60]!r}, which can't be passed on", f"{where}.type"
    )


def answer(question: Question, reply: Reply, model: str, answer_id: str) -> Payload:
    """The whole answer."""
    is_whole = not is_cut_off(reply)
    return {
        "id": f"resp_{answer_id}",
        "object": "response",
        "created_at": 0,
        "status": "completed" if is_whole else "incomplete",
        "error": None,
        "incomplete_details": None if is_whole else {"reason": "max_output_tokens"},
        "instructions": None,
        "max_output_tokens": question.output_tokens_max,
        "model": model,
        "output": [_item(reply, answer_id)],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": _usage(reply),
    }


def _item(reply: Reply, answer_id: str) -> Payload:
    status = "incomplete" if is_cut_off(reply) else "completed"
    return {
        "type": "message",
        "id": f"msg_{answer_id}",
        "status": status,
        "role": "assistant",
        "content": [_part(reply.text)],
    }


def _part(text: str) -> Payload:
    return {"type": "output_text", "text": text, "annotations": []}


def events(
    question: Question, reply: Reply, model: str, answer_id: str
) -> Iterator[tuple[str, Payload | str]]:
    """The same as a stream: the name of each event and its data."""
    whole = answer(question, reply, model, answer_id)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    item = whole["output"][0]
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    told: list[tuple[str, Payload]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        (
            "response.output_item.added",
            {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}},
        ),
        ("response.content_part.added", {**place, "part": _part("")}),
    ]
    told += [
        ("response.output_text.delta", {**place, "delta": piece, "logprobs": []})
        for piece in pieces(reply.text)
    ]
    told += [
        ("response.output_text.done", {**place, "text": reply.text, "logprobs": []}),
        ("response.content_part.done", {**place, "part": _part(reply.text)}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        (f"response.{whole['status']}", {"response": whole}),
    ]
    for number, (name, data) in enumerate(told):
        yield name, {"type": name, "sequence_number": number, **data}


def _usage(reply: Reply) -> dict[str, Any]:
    asked, said = reply.usage.input_tokens, reply.usage.output_tokens
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": reply.usage.cached_tokens or 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said,
    }

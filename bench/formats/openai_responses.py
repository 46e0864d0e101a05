"""OpenAI Responses: items as the Responses API takes and gives them.

Read are a JSON list or JSONL of items, a request (`input`, `instructions`, `tools`), a response
(`output`, `usage`), both in one record (`request` and `response`, or the fields side by side), and
logs of those in which each request repeats the growing prefix of one conversation. Only the
documented shape was seen, no recording. Source: the Responses reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Session
from bench.formats.building import Draft, SessionBuilder, seconds, whole
from bench.formats.chat import tool_definitions
from bench.formats.content import flatten, kind_of, text_of
from bench.formats.response_items import (
    CALL_TYPES,
    COMPACTION_TYPES,
    RESULT_TYPES,
    ResponseItems,
    has_part_types,
)
from bench.formats.source import Sample, Source

NAME = "openai-responses"
RANK = 33
REPEATS_PREFIXES = True

_ITEM_TYPES = CALL_TYPES | RESULT_TYPES | COMPACTION_TYPES | {"reasoning"}


def detect(sample: Sample) -> str | None:
    """A list of items under `input` or `output`, or items of types that only this API has."""
    for record in sample.records:
        if _is_lone_item(record):
            continue
        request, response = _request(record), _response(record)
        if response is not None and response.get("object") == "response":
            return "an object of type 'response'"
        for holder, key in ((request, "input"), (response or {}, "output")):
            if _has_items(holder.get(key)):
                return f"an object with a list of items under {key!r}"
        if isinstance(request.get("input"), str) and "instructions" in request:
            return "a request with 'input' and 'instructions'"
    items = [record for record in sample.records if _is_item(record)]
    messages = [record for record in sample.records if "role" in record and "type" not in record]
    if items and 2 * len(items + messages) > len(sample.records):
        return f"an item of type {items[0]['type']!r}"
    return None


def _is_item(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = kind_of(value)
    if kind == "message":
        return "role" in value and has_part_types(value.get("content"))
    return kind in _ITEM_TYPES and bool(
        value.keys() & {"call_id", "summary", "action", "encrypted_content", "arguments"}
    )


def _is_lone_item(record: Mapping[str, Any]) -> bool:
    # Some items have an input or an output of their own.
    return "role" in record or kind_of(record) in _ITEM_TYPES


def _has_items(value: Any) -> bool:
    return isinstance(value, list) and any(
        _is_item(item) or (isinstance(item, dict) and has_part_types(item.get("content")))
        for item in value
    )


def _request(record: Mapping[str, Any]) -> Mapping[str, Any]:
    for wrapper in ("request", "body"):
        inner = record.get(wrapper)
        if isinstance(inner, dict) and "input" in inner:
            return inner
    return record


def _response(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = record.get("response", record)
    if isinstance(found, dict) and isinstance(found.get("body"), dict):
        found = found["body"]
    return found if isinstance(found, dict) and isinstance(found.get("output"), list) else None


def read(source: Source) -> Iterator[Session]:
    """The conversations of the file: one, unless requests begin anew."""
    conversation = _Conversation(source)
    for number, record in source.records():
        request, response = _request(record), _response(record)
        if _is_lone_item(record) or ("input" not in request and response is None):
            conversation.item(record, source.where(number))
            continue
        shown = request.get("input")
        items = (
            shown
            if isinstance(shown, list)
            else [{"role": "user", "content": shown}] * (shown is not None)
        )
        if conversation.begins_anew(items, request):
            yield from conversation.finished()
            conversation = _Conversation(source)
        conversation.exchange(items, request, response, source.where(number))
    yield from conversation.finished()


class _Conversation:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.builder = SessionBuilder(source.name)
        self.reader = ResponseItems(self.builder)
        self.said: list[Any] = []
        """Items so far, as they come again in the next request."""
        self.requests = 0
        self.last_response_id: Any = None

    def begins_anew(self, items: list[Any], request: Mapping[str, Any]) -> bool:
        """True for a request that neither repeats this conversation nor names its last response."""
        if not self.said and not self.builder.drafts:
            return False
        if self._follows(request):
            return False
        known = [_essence(item) for item in self.said]
        return [_essence(item) for item in items[: len(known)]] != known

    def _follows(self, request: Mapping[str, Any]) -> bool:
        previous = request.get("previous_response_id")
        return previous is not None and previous == self.last_response_id

    def exchange(
        self,
        items: list[Any],
        request: Mapping[str, Any],
        response: Mapping[str, Any] | None,
        where: str,
    ) -> None:
        """One request with its response; what an earlier one said isn't said again."""
        if not self.requests:
            if isinstance(request.get("instructions"), (str, list)):
                instructions = flatten(request["instructions"])[0]
                self.builder.add("system", where, instructions)
            named = request.get("conversation") or request.get("session_id")
            self.builder.id = text_of(named if isinstance(named, str) else None) or self.builder.id
        self.builder.tools = tool_definitions(request.get("tools")) or self.builder.tools
        self.requests += 1
        new = items if self._follows(request) else items[len(self.said) :]
        for position, item in enumerate(new, len(items) - len(new) + 1):
            self.item(item, f"{where}, input item {position}")
        if response is None:
            return
        self.last_response_id = response.get("id")
        self.reader.close()
        first = len(self.builder.drafts)
        made = seconds(response.get("created_at"))
        for position, item in enumerate(response["output"], 1):
            self.item(item, f"{where}, output item {position}", made)
        answer = next((row for row in self.builder.drafts[first:] if row.role == "assistant"), None)
        if answer is not None:
            _add_usage(self.builder, answer, response.get("usage"))
        self.reader.close()

    def item(self, item: Any, where: str, timestamp: float | None = None) -> None:
        """One item that wasn't said before."""
        self.said.append(item)
        if isinstance(item, dict):
            self.reader.take(item, where, timestamp)
        else:
            self.builder.log.add("not_an_object", where, f"a {type(item).__name__} left out")

    def finished(self) -> Iterator[Session]:
        """The session, if anybody spoke in it."""
        self.reader.report_unknown(self.builder.log)
        if self.requests > 1:
            self.builder.log.add(
                "growing_prefix",
                "whole file",
                f"{self.requests} requests of one conversation became one session",
            )
        session = self.builder.finish(self.source, NAME)
        if session is not None:
            yield session


def _essence(item: Any) -> Any:
    """What of an item stays the same when it is sent again; ids and states may be left out."""
    if not isinstance(item, dict):
        return item
    kind = kind_of(item) or "message"
    if kind == "message":
        return kind, item.get("role"), flatten(item.get("content"))[0]
    if kind == "reasoning":
        return (kind,)
    return kind, text_of(item.get("call_id") or item.get("id"))


def _add_usage(builder: SessionBuilder, draft: Draft, usage: Any) -> None:
    tokens = whole(usage.get("input_tokens")) if isinstance(usage, dict) else None
    if tokens is None:
        return
    details = usage.get("input_tokens_details")
    cached = whole(details.get("cached_tokens")) if isinstance(details, dict) else None
    builder.add_usage(draft, tokens, cached, whole(usage.get("output_tokens")))

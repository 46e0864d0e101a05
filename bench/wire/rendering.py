"""From a projection to provider-neutral messages that any API would accept (H5).

Results stand directly behind their calls, calls without result get a marked stub, a result without
call becomes a marked user line, and so does what is missing before a leading or behind a trailing
assistant message. Each such repair is counted; none of them touches the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from bench.events import Attachment, Message, Role, ToolCall
from bench.history import CallState
from bench.projection import Item, Kept, Native, Projection, Shortened, Written

ProvenanceKind = Literal["kept", "shortened", "written", "native"]

STUB_RESULT = "[No result was recorded for this call.]"
ORPHAN_RESULT = "[Result of a call that isn't in this conversation.]"
LEADING_LINE = "[The conversation starts in mid-session.]"
CONTINUE_LINE = "[Continue.]"
EMPTY_LINE = "[Empty message.]"


@dataclass(frozen=True, slots=True)
class WireCall:
    """A call with an id that is unique in its request."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class WireMessage:
    """One message of a request. `kind` and `seqs` (all of them) say where it came from."""

    role: Role
    text: str
    kind: ProvenanceKind
    seqs: tuple[int, ...]
    calls: tuple[WireCall, ...] = ()
    call_id: str | None = None
    attachments: tuple[Attachment, ...] = ()
    native_state: str | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """The messages of one request and how many repairs made it acceptable."""

    messages: tuple[WireMessage, ...]
    repairs: int


def render(projection: Projection) -> Rendered:
    """The request that this projection stands for."""
    messages: list[WireMessage] = []
    repairs = 0
    for group in projection.groups:
        rendered, repaired = _group(projection, group.items)
        messages.extend(rendered)
        repairs += repaired
    first = next((i for i, message in enumerate(messages) if message.role != "system"), None)
    if first is not None and messages[first].role == "assistant":
        messages.insert(first, WireMessage("user", LEADING_LINE, "written", ()))
        repairs += 1
    if first is None or needs_continue_line(messages[-1]):
        messages.append(WireMessage("user", CONTINUE_LINE, "written", ()))
        repairs += 1
    return Rendered(tuple(messages), repairs)


def needs_continue_line(last: WireMessage) -> bool:
    """Many APIs refuse a request that ends with an assistant message, or with opaque state."""
    return last.native_state is not None or (last.role == "assistant" and not last.calls)


def _group(projection: Projection, items: tuple[Item, ...]) -> tuple[list[WireMessage], int]:
    """The messages of one group, results first behind their calls, and the repairs made."""
    messages: list[WireMessage] = []
    others: list[WireMessage] = []
    repairs = 0
    open_calls: dict[str, CallState] = {}
    for item in items:
        if isinstance(item, (Written, Native)):
            messages.append(_written(item))
            continue
        message, is_result = _told(projection, item)
        if message.role == "assistant":
            messages.append(message)
            open_calls = {
                state.wire_id: state for state in projection.history.calls_at(item.event.seq - 1)
            }
        elif is_result and message.call_id in open_calls:
            del open_calls[message.call_id]
            messages.append(message)
        elif message.role == "tool":
            repairs += 1
            text = f"{ORPHAN_RESULT}\n{message.text}"
            others.append(replace(message, role="user", text=text, call_id=None))
        else:
            others.append(message)
    for wire_id in open_calls:
        repairs += 1
        messages.append(WireMessage("tool", STUB_RESULT, "written", (), call_id=wire_id))
    return messages + others, repairs


def _told(projection: Projection, item: Kept | Shortened) -> tuple[WireMessage, bool]:
    """An event as it is shown, and whether it is the result of a call that can be told."""
    position = item.event.seq - 1
    shown = item.message
    calls = tuple(
        WireCall(state.wire_id, state.call.name, state.call.arguments)
        for state in projection.history.calls_at(position)
    )
    call_id = projection.history.result_wire_id(position) if shown.role == "tool" else None
    is_empty = not (shown.text or shown.attachments or calls or shown.role == "tool")
    message = WireMessage(
        shown.role,
        EMPTY_LINE if is_empty else shown.text,
        "kept" if isinstance(item, Kept) else "shortened",
        (item.event.seq,),
        calls,
        call_id,
        shown.attachments,
    )
    return message, call_id is not None


def _written(item: Written | Native) -> WireMessage:
    seqs = tuple(range(item.first_seq, item.last_seq + 1))
    if isinstance(item, Native):
        return WireMessage("user", "", "native", seqs, native_state=item.state)
    shown = item.message
    calls = tuple(WireCall(call.id, call.name, call.arguments) for call in shown.calls)
    return WireMessage(
        shown.role, shown.text, "written", seqs, calls, shown.call_id, shown.attachments
    )


def visible_texts(rendered: Rendered) -> Iterator[str]:
    """Everything that a model would read in these messages, in order."""
    for message in rendered.messages:
        if message.text:
            yield message.text
        for call in message.calls:
            yield call.name
            yield call.arguments


def messages_of(rendered: Rendered) -> tuple[Message, ...]:
    """The same messages in the words of the project, without where they came from."""
    return tuple(
        Message(
            message.role,
            message.text,
            tuple(ToolCall(call.id, call.name, call.arguments) for call in message.calls),
            message.call_id,
            message.attachments,
        )
        for message in rendered.messages
    )

"""Words: what a replay saw, raw. Scores are computed from these, never stored in their place."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any, Literal, NamedTuple

from bench.events import Attachment, Message, ToolCall
from bench.history import History
from bench.projection import Item, Kept, Native, Projection, Shortened, Written

Outcome = Literal["accepted", "rejected", "failed", "suppressed", "nothing"]


class RequestObservation(NamedTuple):
    """One agent request: made before the recorded event `at_seq`.

    A tuple, since a replay keeps one for every request: half the time and memory of a dataclass.

    `head` indexes `Replay.heads`; with `tail_start` and `stop` it rebuilds the projection that was
    sent last. `tokens` and `cached_tokens` are the provider's count, `estimate` the strategy's.
    `repairs` counts stub results and marked lines that made the projection acceptable (H5).
    """

    index: int  # type: ignore[assignment]  # nobody looks for a value in here
    at_seq: int
    is_served: bool
    tokens: int
    cached_tokens: int
    estimate: int
    head: int
    tail_start: int
    stop: int
    repairs: int = 0


@dataclass(frozen=True, slots=True)
class CompactionObservation:
    """One try at compacting, accepted or not.

    `request` is the index of the request it was made for (the number of requests for a manual one
    at the end). Tokens are true, estimates the strategy's own. `covered_messages` counts items of
    the projection before that are gone after; `generation` counts accepted summaries.
    `head_before` and `head` index `Replay.heads`; after `head` everything from `tail_start` on was
    shown. `repetition` counts from 1 when the same span was summarised again, 0 the first time.
    """

    request: int
    at_seq: int
    trigger: str
    phase: str
    stage: str
    outcome: Outcome
    reason: str
    generation: int
    segments: int
    covered_messages: int
    covered_first_seq: int
    covered_last_seq: int
    tokens_before: int
    tokens_after: int
    estimate_before: int
    estimate_after: int
    asked: int
    ask_input_tokens: int
    ask_output_tokens: int
    head_before: int
    head: int
    violations: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    ask_cached_tokens: int = 0
    repetition: int = 0
    tail_start: int = 0


@dataclass(frozen=True, slots=True)
class CallObservation:
    """One request to a model that isn't a stand-in: sent, refused, or served from a cassette.

    `purpose` is "summary", "native", "reader", "next_action", "judge" or "agent" (a live arbiter).
    `key` is the content address of the request, `outcome` "ok" or the kind of the error.
    `is_recorded` means that nothing was sent or paid now; `attempts` counts the requests that were
    sent when the answer was first asked for, and `refusals` names what all but a successful one of
    them met, in order: kinds of errors, and "silent_overflow" for an input that the provider cut
    without saying so. Tokens and dollars that nobody told are None, never 0. In an estimate the
    outcome is "rehearsed" and `tokens_worst` the most that one try may take.
    """

    purpose: str
    model: str
    host: str
    key: str
    outcome: str
    is_recorded: bool
    attempts: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    usd: float | None = None
    usd_worst: float | None = None
    tokens_worst: int | None = None
    seconds: float = 0.0
    finish_reason: str = ""
    refusals: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Stored as JSON, where a tuple comes back as a list.
        object.__setattr__(self, "refusals", tuple(self.refusals))


@dataclass(frozen=True, slots=True)
class AnswerObservation:
    """One question that was put to a reader, and its raw reply; grades are computed from it.

    `probe` names the kind of question ("recovered", "unanswerable", "next_action" ...), `subject`
    what it is about (the id of a fact), `view` what the reader was shown ("projection", "full",
    "oracle"). `request` and `at_seq` say where it stands. `reply` is None where there is none, and
    `reason` says why.
    """

    probe: str
    subject: str
    view: str
    request: int
    at_seq: int
    question: str
    options: tuple[str, ...] = ()
    reply: str | None = None
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retries:
    """Every kind of second try, counted apart."""

    overflow: int = 0
    repair: int = 0
    replan: int = 0
    transport: int = 0
    suppressed: int = 0


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a replay ended before the recording did; `at_request` is the index of that request."""

    at_request: int
    reason: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Everything that one replay of one session through one strategy saw."""

    session: str
    requests: tuple[RequestObservation, ...]
    requests_total: int
    heads: tuple[tuple[Item, ...], ...]
    compactions: tuple[CompactionObservation, ...]
    retries: Retries
    stopped: Stopped | None
    final: Projection | None = None

    @property
    def summariser_tokens(self) -> int:
        """Input and output tokens of all questions that the strategy asked."""
        return sum(c.ask_input_tokens + c.ask_output_tokens for c in self.compactions)

    def projection(self, index: int, history: History) -> Projection:
        """The projection of request `index`, over a history that holds the session's events."""
        seen = self.requests[index]
        return Projection(history, self.heads[seen.head], seen.tail_start, seen.stop)


def item_to_json(item: Item) -> dict[str, Any]:
    """An item as plain data; events are named by seq, since the session itself is stored once."""
    match item:
        case Kept():
            return {"kind": "kept", "seq": item.event.seq}
        case Shortened():
            shortened: dict[str, Any] = {
                "kind": "shortened",
                "seq": item.event.seq,
                "text": item.message.text,
                "reference": item.reference,
            }
            if item.message.attachments != item.event.message.attachments:
                shortened["attachments"] = list(map(astuple, item.message.attachments))
            return shortened
        case Written():
            written: dict[str, Any] = {
                "kind": "written",
                "role": item.message.role,
                "text": item.message.text,
                "first_seq": item.first_seq,
                "last_seq": item.last_seq,
            }
            if item.message.calls:
                written["calls"] = list(map(astuple, item.message.calls))
            if item.message.call_id is not None:
                written["call_id"] = item.message.call_id
            if item.message.attachments:
                written["attachments"] = list(map(astuple, item.message.attachments))
            return written
        case Native():
            return {
                "kind": "native",
                "route": item.route,
                "state": item.state,
                "tokens": item.tokens,
                "first_seq": item.first_seq,
                "last_seq": item.last_seq,
            }


def item_from_json(data: dict[str, Any], history: History) -> Item:
    """The inverse of `item_to_json`; raises KeyError or ValueError on data of another shape."""
    match data["kind"]:
        case "kept":
            return Kept(history[data["seq"] - 1])
        case "shortened":
            event = history[data["seq"] - 1]
            shown = event.message
            attachments = shown.attachments
            if "attachments" in data:
                attachments = tuple(Attachment(*each) for each in data["attachments"])
            message = Message(shown.role, data["text"], shown.calls, shown.call_id, attachments)
            return Shortened(event, message, data.get("reference"))
        case "written":
            message = Message(
                data["role"],
                data["text"],
                tuple(ToolCall(*each) for each in data.get("calls", ())),
                data.get("call_id"),
                tuple(Attachment(*each) for each in data.get("attachments", ())),
            )
            return Written(message, data["first_seq"], data["last_seq"])
        case "native":
            return Native(
                data["route"], data["state"], data["first_seq"], data["last_seq"], data["tokens"]
            )
        case kind:
            raise ValueError(f"unknown item kind {kind!r}")

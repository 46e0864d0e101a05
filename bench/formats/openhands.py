"""OpenHands V0 events: `output.jsonl` of an evaluation (`history`), or a list of events.

Actions and the observations that they cause. Newer events carry the model's response, whose calls
(several actions may come from one response) are taken as the model made them; older ones have only
the action, which becomes a call. Condensations are kept beside the history. Events that no model
sees (states, recalls) are left out. Seen were recordings of two generations without condensations;
those follow the documented shape.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Session
from bench.formats.building import Draft, SessionBuilder, seconds, whole
from bench.formats.chat import add_usage, tool_definitions
from bench.formats.content import flatten, kind_of, text_of
from bench.formats.source import Record, Sample, Source

NAME = "openhands"
RANK = 38

_SILENT_ACTIONS = frozenset(
    {
        "null",
        "recall",
        "change_agent_state",
        "condensation_request",
        "start_hook_execution",
        "pause",
        "resume",
        "stop",
    }
)
_SILENT_OBSERVATIONS = frozenset({"null", "agent_state_changed"})
_NO_ARGUMENTS = frozenset(
    {
        "thought",
        "keep_prompt",
        "is_confirmed",
        "confirmation_state",
        "action_risk",
        "security_risk",
        "kernel_init_code",
        "wait_for_response",
        "image_urls",
        "images_urls",
        "impl_source",
        "translated_ipython_code",
        "hidden",
        "blocking",
    }
)
_EVENT_FIELDS = frozenset(
    {"id", "timestamp", "source", "message", "action", "cause", "timeout", "tool_call_metadata"}
)
_ID_KEYS = ("instance_id", "session_id", "id")


def detect(sample: Sample) -> str | None:
    """Events with an action or an observation, alone or in a list under `history`."""
    for record in sample.records:
        for event in _history(record) or [record]:
            if isinstance(event, dict) and _is_event(event):
                key = "action" if "action" in event else "observation"
                return f"an event with {key} {event[key]!r}"
    return None


def _is_event(event: Mapping[str, Any]) -> bool:
    if "role" in event:
        return False
    if kind_of(event, "action"):
        return bool(event.keys() & {"args", "thought", "wait_for_response", "outputs", "source"})
    return bool(kind_of(event, "observation")) and bool(event.keys() & {"content", "extras"})


def _history(record: Mapping[str, Any]) -> list[Any] | None:
    found = record.get("history")
    if not isinstance(found, list):
        return None
    # The first evaluations wrote pairs of an action and its observation.
    flat: list[Any] = []
    for item in found:
        flat += item if isinstance(item, list) else [item]
    return flat


def read(source: Source) -> Iterator[Session]:
    """A session for every record with `history`, one for all bare events."""
    is_single = source.sample.shape == "object"
    bare = _Reader(source.name)
    for number, record in source.records():
        history = _history(record)
        if history is None:
            bare.take(record, source.where(number))
            continue
        named = next((record[key] for key in _ID_KEYS if isinstance(record.get(key), str)), None)
        reader = _Reader(named or (source.name if is_single else f"{source.name}-{number}"))
        place = "" if is_single else f"{source.where(number)}, "
        for position, event in enumerate(history, 1):
            reader.take(event, f"{place}event {position}")
        session = reader.finish(source)
        if session is not None:
            yield session
    session = bare.finish(source)
    if session is not None:
        yield session


class _Reader:
    def __init__(self, session_id: str) -> None:
        self.builder = SessionBuilder(session_id)
        self.open: Draft | None = None
        self.open_response: str | None = None
        self.call_of_event: dict[int, str] = {}
        self.calls: set[str] = set()
        self.positions: list[tuple[int, int]] = []
        """For every event with an id, how many drafts there were before it."""
        self.forgotten_until: list[tuple[Any, int]] = []
        self.unknown_types: Counter[str] = Counter()

    def take(self, event: Any, where: str) -> None:
        if not isinstance(event, dict):
            self.builder.log.add("not_an_object", where, f"a {type(event).__name__} left out")
            return
        number = whole(event.get("id"))
        if number is not None:
            self.positions.append((number, len(self.builder.drafts)))
        timestamp = seconds(event.get("timestamp"))
        action, observation = kind_of(event, "action"), kind_of(event, "observation")
        if observation or not action:
            self._observation(event, observation, where, timestamp)
        else:
            self._action(event, action, where, timestamp)

    def _action(self, event: Record, action: str, where: str, timestamp: float | None) -> None:
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            arguments = {key: event[key] for key in event if key not in _EVENT_FIELDS}
        by_user = event.get("source") == "user" or (
            "source" not in event and action == "message" and not self._has_request()
        )
        if action in _SILENT_ACTIONS:
            return
        if action == "condensation":
            self._condensation(arguments, where)
        elif action == "system":
            self.builder.add("system", where, text_of(arguments.get("content")))
            self.builder.tools = tool_definitions(arguments.get("tools"))
        elif action == "message" and by_user:
            self._user(arguments, event, where, timestamp)
        elif by_user:
            ran = text_of(arguments.get("command", arguments.get("code")))
            self.builder.add(
                "user", where, f"Ran {action}: {ran}", timestamp=timestamp, is_meta=True
            )
        else:
            self._agent(event, action, arguments, where, timestamp)

    def _has_request(self) -> bool:
        return any(draft.role == "user" for draft in self.builder.drafts)

    def _user(self, arguments: Record, event: Record, where: str, timestamp: float | None) -> None:
        self.open = None
        text = arguments.get("content", event.get("message"))
        draft = self.builder.add("user", where, text_of(text), timestamp=timestamp)
        images = arguments.get("image_urls") or arguments.get("images_urls")
        for image in images if isinstance(images, list) else []:
            draft.attachments += flatten([{"type": "image_url", "image_url": image}])[1]

    def _agent(
        self,
        event: Record,
        action: str,
        arguments: Record,
        where: str,
        timestamp: float | None,
    ) -> None:
        metadata = event.get("tool_call_metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        response = metadata.get("model_response")
        response = response if isinstance(response, dict) else {}
        response_id = text_of(response.get("id")) or None
        draft = self.open if response_id and response_id == self.open_response else None
        if draft is None:
            draft = self.builder.add("assistant", where, timestamp=timestamp)
            self.open, self.open_response = draft, response_id
            draft.texts.append(_said(response, arguments))
            add_usage(self.builder, draft, response.get("usage"))
        if action in ("message", "finish"):
            # The runtime shows both as plain messages of the agent.
            keys = ("content", "final_thought", "message")
            said = next((text_of(arguments[key]) for key in keys if arguments.get(key)), "")
            if said and said not in draft.texts:
                draft.texts.append(said)
            return
        number = whole(event.get("id"))
        call_id = text_of(metadata.get("tool_call_id")) or (
            f"event-{len(self.builder.drafts) if number is None else number}"
        )
        name = text_of(metadata.get("function_name")) or action
        asked = _arguments_of_call(response, call_id)
        if asked is None:
            asked = {key: value for key, value in arguments.items() if key not in _NO_ARGUMENTS}
        self.builder.add_call(draft, call_id, name, asked)
        self.calls.add(call_id)
        if number is not None:
            self.call_of_event[number] = call_id

    def _observation(
        self, event: Record, observation: str, where: str, timestamp: float | None
    ) -> None:
        if observation in _SILENT_OBSERVATIONS:
            return
        if not observation:
            self.unknown_types["(none)"] += 1
            return
        if observation == "recall":
            text = _recalled(event)
            if text:
                self.builder.add("user", where, text, timestamp=timestamp, is_meta=True)
            return
        metadata = event.get("tool_call_metadata")
        call_id = text_of(metadata.get("tool_call_id")) if isinstance(metadata, dict) else ""
        cause = whole(event.get("cause"))
        if call_id not in self.calls:
            call_id = self.call_of_event.get(cause, "") if cause is not None else ""
        content = event.get("content", event.get("message"))
        if not call_id and cause is None:
            # Events of the first generation have no ids: what is observed follows its action.
            call_id = self._open_call()
        if call_id:
            self.builder.add_result(call_id, content, where, timestamp=timestamp)
            return
        text = flatten(content)[0]
        self.builder.add("user", where, text, timestamp=timestamp, is_meta=True)

    def _open_call(self) -> str:
        """The id of the next call of the newest response that has no result; empty for none."""
        answered = 0
        for draft in reversed(self.builder.drafts):
            if draft.role == "assistant":
                return draft.calls[answered].id if len(draft.calls) > answered else ""
            answered += draft.role == "tool"
        return ""

    def _condensation(self, arguments: Record, where: str) -> None:
        self.open = None
        compaction = self.builder.add_compaction(where)
        compaction.summary = text_of(arguments.get("summary"))
        ids = arguments.get("forgotten_event_ids")
        last = whole(arguments.get("forgotten_events_end_id"))
        if isinstance(ids, list):
            last = max((found for item in ids if (found := whole(item)) is not None), default=last)
        if last is not None:
            self.forgotten_until.append((compaction, last))
        if not compaction.summary:
            self.builder.log.add(
                "compaction_without_summary", where, "events were forgotten without a summary"
            )

    def finish(self, source: Source) -> Session | None:
        for kind, count in self.unknown_types.items():
            self.builder.log.add(
                "unknown_record", "whole file", f"{count} events of unknown kind {kind} left out"
            )
        drafts = self.builder.drafts
        for compaction, last in self.forgotten_until:
            starts = [position for number, position in self.positions if number > last]
            if starts and starts[0] < compaction.after_order:
                compaction.kept_from = drafts[starts[0]]
        return self.builder.finish(source, NAME)


def _message_of(response: Record) -> Record:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else {}


def _said(response: Record, arguments: Record) -> str:
    content = _message_of(response).get("content")
    thought = arguments.get("thought")
    return flatten(content)[0] if content else text_of(thought)


def _arguments_of_call(response: Record, call_id: str) -> Any:
    calls = _message_of(response).get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and call.get("id") == call_id:
            function = call.get("function")
            return function.get("arguments") if isinstance(function, dict) else None
    return None


def _recalled(event: Record) -> str:
    """What a recall gave the model to see: notes on the workspace, knowledge by keyword."""
    extras = event.get("extras")
    fields = extras if isinstance(extras, dict) else {}
    knowledge = fields.get("microagent_knowledge")
    texts = [
        text_of(fields.get("repo_instructions")),
        text_of(fields.get("additional_agent_instructions")),
        *(
            text_of(item.get("content"))
            for item in (knowledge if isinstance(knowledge, list) else [])
            if isinstance(item, dict)
        ),
    ]
    return "\n".join(text for text in texts if text)

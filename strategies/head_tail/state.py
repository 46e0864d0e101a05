"""Structured state that is lifted verbatim out of the part that gets summarised (Z5).

Prose blurs, state must not: the plan, loaded tools and skills, and project instructions travel as
one line of JSON behind the summary, and from one summary into the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.events import Message, ToolCall
from strategies.head_tail.go_text import (
    cut_to_bytes,
    read_fields,
    read_json,
    trim,
    utf8,
    write_json,
)

SUMMARY_LABEL = "[Summary of earlier conversation]"
STATE_HEADING = "## Preserved state (active plan + loaded skills; carried across compaction)"
BODY_BYTES_MAX = 2_048

_TRUNCATED = "\n… (truncated; re-load the skill for the full body)"
_UNNAMED_SKILL = "(unnamed)"
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_INSTRUCTIONS_HEADING = re.compile(r"# (.* instructions for .*)")
_INSTRUCTIONS_OPEN, _INSTRUCTIONS_CLOSE = "<INSTRUCTIONS>", "</INSTRUCTIONS>"


@dataclass(frozen=True, slots=True)
class State:
    """What a summary carries beside its prose; bodies by name, in the order of first sight."""

    plan: str
    tools: dict[str, str]
    skills: dict[str, str]
    project_instructions: dict[str, str]

    def to_json(self) -> str:
        """One line of JSON, empty parts left out; an empty text when all are empty."""
        parts: dict[str, object] = {}
        if self.plan:
            parts["plan"] = self.plan
        for part, key, bodies in (
            ("tools", "name", self.tools),
            ("skills", "name", self.skills),
            ("project_instructions", "source", self.project_instructions),
        ):
            if bodies:
                parts[part] = [{key: name, "body": body} for name, body in bodies.items()]
        return write_json(parts, sort_keys=False) if parts else ""


def lift_state(messages: Sequence[Message]) -> State:
    """The state in `messages`, what earlier summaries among them carry included."""
    carried = [state for state in map(carried_state, messages) if state is not None]
    plan = newest_plan(messages)
    if not plan:
        plan = next((state.plan for state in reversed(carried) if state.plan), "")
    tools: dict[str, str] = {}
    skills: dict[str, str] = {}
    instructions: dict[str, str] = {}
    for state in carried:
        tools.update(state.tools)
        skills.update(state.skills)
        instructions.update(state.project_instructions)
    # A dict keeps the place of first sight when a newer body replaces an older one.
    tools.update(_loaded_tools(messages))
    skills.update(_loaded_skills(messages))
    instructions.update(_project_instructions(messages))
    return State(plan, tools, skills, instructions)


def carried_state(message: Message) -> State | None:
    """The state that an earlier summary carries; None for other messages and damaged state."""
    if message.role != "user" or not message.text.startswith(SUMMARY_LABEL):
        return None
    # A summary may quote the heading: only the last one is the program's own.
    _, found, line = message.text.rpartition(STATE_HEADING + "\n")
    if not found:
        return None
    try:
        fields = read_fields(
            read_json(line),
            {"plan": str, "tools": list, "skills": list, "project_instructions": list},
        )
        return State(
            fields.get("plan", ""),
            _bodies(fields.get("tools", []), "name"),
            _bodies(fields.get("skills", []), "name"),
            _bodies(fields.get("project_instructions", []), "source"),
        )
    except ValueError:
        return None


def _bodies(entries: list[object], key: str) -> dict[str, str]:
    bodies: dict[str, str] = {}
    for entry in entries:
        fields = read_fields(entry, {key: str, "body": str})
        bodies[fields.get(key, "")] = fields.get("body", "")
    return bodies


def newest_plan(messages: Sequence[Message]) -> str:
    """The lines of the newest plan that has any; malformed and empty ones are passed over."""
    for message in reversed(messages):
        for call in reversed(message.calls):
            if call.name == "update_plan" and (lines := plan_lines(call.arguments)):
                return lines
    return ""


def plan_lines(arguments: str) -> str:
    """`- [status] content` for each item of a plan, with its notes; empty when it is malformed."""
    try:
        items = read_fields(read_json(arguments), {"plan": list}).get("plan", [])
        texts = {"content": str, "step": str, "status": str, "notes": str}
        fields = [read_fields(item, texts) for item in items]
    except ValueError:
        return ""
    lines: list[str] = []
    for item in fields:
        content = trim(item.get("content", "")) or trim(item.get("step", ""))
        if not content:
            continue
        notes = trim(item.get("notes", ""))
        line = f"- [{trim(item.get('status', '')) or 'pending'}] {content}"
        lines.append(f"{line}\n  Notes: {notes}" if notes else line)
    return "\n".join(lines)


def _results_of(messages: Sequence[Message], tool: str) -> Iterator[tuple[ToolCall, str]]:
    """Each result that isn't blank of a call of `tool`, trimmed, with its call; joined by id."""
    if not any(call.name == tool for message in messages for call in message.calls):
        return
    calls: dict[str, ToolCall] = {}
    for message in messages:
        calls.update((call.id, call) for call in message.calls if call.id)
        if message.role == "tool" and message.call_id in calls:
            call, text = calls[message.call_id], trim(message.text)
            if call.name == tool and text:
                yield call, text


def _loaded_tools(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Name and section of each tool that a tool search has loaded."""
    for _, text in _results_of(messages, "tool_search"):
        if not text.startswith("Loaded ") or "Full schemas follow" not in text:
            continue
        headings = list(_SECTION.finditer(text))
        stops = [heading.start() for heading in headings[1:]] + [len(text)]
        for heading, stop in zip(headings, stops, strict=True):
            if name := trim(heading[1]):
                yield name, _capped(trim(text[heading.start() : stop]))


def _loaded_skills(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Name and body of each skill whose call was answered."""
    for call, text in _results_of(messages, "skill"):
        yield _skill_name(call), _capped(text)


def _skill_name(call: ToolCall) -> str:
    try:
        fields = read_fields(read_json(call.arguments), {"name": str, "skill": str})
    except ValueError:
        return _UNNAMED_SKILL
    return trim(fields.get("name", "")) or trim(fields.get("skill", "")) or _UNNAMED_SKILL


def _project_instructions(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Heading and tagged text of each message that carries a project's instructions."""
    for message in messages:
        if message.role != "user" or _INSTRUCTIONS_OPEN not in message.text:
            continue
        text = trim(message.text)
        heading = _INSTRUCTIONS_HEADING.match(text)
        start = text.find(_INSTRUCTIONS_OPEN)
        stop = text.find(_INSTRUCTIONS_CLOSE, max(0, start))
        if heading and stop >= 0:
            tagged = text[start : stop + len(_INSTRUCTIONS_CLOSE)]
            source = trim(heading[1])
            yield source, f"# {source}\n\n{tagged}"


def _capped(body: str) -> str:
    if len(utf8(body)) <= BODY_BYTES_MAX:
        return body
    return cut_to_bytes(body, BODY_BYTES_MAX - len(utf8(_TRUNCATED))) + _TRUNCATED

"""ATIF trajectories (Agent Trajectory Interchange Format, as Harbor writes it).

Steps of a user, an agent or the system; an agent's step has its calls and, as its observation,
their results. After a summarisation the trajectory goes on in another file, which
`continued_trajectory_ref` names: both are sessions of one cluster, and the place is noted. Only the
documented shape was seen, no recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from bench.events import Session
from bench.formats.building import SessionBuilder, seconds, whole
from bench.formats.chat import tool_definitions
from bench.formats.content import flatten, text_of
from bench.formats.source import Record, Sample, Source

NAME = "atif"
RANK = 24


def detect(sample: Sample) -> str | None:
    """An object with schema_version and steps."""
    for record in sample.records:
        if "schema_version" in record and isinstance(record.get("steps"), list):
            return "an object with schema_version and steps"
    return None


def read(source: Source) -> Iterator[Session]:
    """A session for every trajectory in the file."""
    is_single = source.sample.shape == "object"
    for number, record in source.records():
        steps = record.get("steps")
        if not isinstance(steps, list):
            source.log.add("unknown_record", source.where(number), "no trajectory")
            continue
        builder = SessionBuilder(text_of(record.get("session_id")) or source.name)
        agent = record.get("agent")
        if isinstance(agent, dict):
            builder.tools = tool_definitions(agent.get("tool_definitions"))
        place = "" if is_single else f"{source.where(number)}, "
        for position, step in enumerate(steps, 1):
            _add_step(builder, step, f"{place}step {position}")
        _link(builder, record, source)
        session = builder.finish(source, NAME)
        if session is not None:
            yield session


def _add_step(builder: SessionBuilder, step: Any, where: str) -> None:
    if not isinstance(step, dict):
        builder.log.add("not_an_object", where, f"a {type(step).__name__} left out")
        return
    timestamp = seconds(step.get("timestamp"))
    role = {"agent": "assistant", "user": "user", "system": "system"}.get(
        text_of(step.get("source"))
    )
    text, attachments = flatten(step.get("message"))
    if role in ("user", "system"):
        builder.add(
            "user" if role == "user" else "system",
            where,
            text,
            attachments=attachments,
            timestamp=timestamp,
        )
    elif role == "assistant":
        draft = builder.add("assistant", where, text, attachments=attachments, timestamp=timestamp)
        draft.reasoning.append(text_of(step.get("reasoning_content")))
        for call in _objects(step.get("tool_calls")):
            builder.add_call(
                draft, call.get("tool_call_id"), call.get("function_name"), call.get("arguments")
            )
        metrics = step.get("metrics")
        if isinstance(metrics, dict) and whole(metrics.get("prompt_tokens")) is not None:
            builder.add_usage(
                draft,
                metrics["prompt_tokens"],
                whole(metrics.get("cached_tokens")),
                whole(metrics.get("completion_tokens")),
            )
    else:
        builder.log.add("unknown_role", where, f"a step of {step.get('source')!r} left out")
        return
    _add_results(builder, step, where, timestamp)


def _add_results(
    builder: SessionBuilder, step: Record, where: str, timestamp: float | None
) -> None:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    asked = len(_objects(step.get("tool_calls")))
    for result in _objects(results):
        content, call_id = result.get("content"), result.get("source_call_id")
        if call_id is None and not asked:
            # What the surroundings said unasked is shown in the user's name.
            builder.add("user", where, flatten(content)[0], timestamp=timestamp, is_meta=True)
        else:
            builder.add_result(call_id, content, where, timestamp=timestamp)


def _link(builder: SessionBuilder, record: Record, source: Source) -> None:
    name = PurePath(text_of(record.get("continued_trajectory_ref"))).name
    # Harbor calls the files trajectory.json, trajectory.cont-1.json and so on.
    folder, stem = source.path.absolute().parent.name, source.name.split(".cont-")[0]
    builder.cluster = f"atif/{folder}/{stem}"
    if name:
        builder.log.add("continued", "whole file", f"the trajectory goes on in {name}")


def _objects(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

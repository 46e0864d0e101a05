"""SWE-agent trajectories (`.traj`) and mini-swe-agent trajectories (`.traj.json`).

Read is the conversation (`history`, `messages`), not the trajectory that repeats it. Observations
that are given in the user's name are `is_meta`, as are demonstrations: the one request is the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Session
from bench.formats.building import SessionBuilder
from bench.formats.chat import add_message, add_usage, looks_like_message
from bench.formats.content import text_of
from bench.formats.source import Record, Sample, Source

NAME = "swe-agent"
RANK = 40


def detect(sample: Sample) -> str | None:
    """An object with trajectory and history, or with messages and trajectory_format."""
    for record in sample.records:
        if isinstance(record.get("trajectory"), list) and _conversation(record):
            return "an object with trajectory and history"
        info = record.get("info")
        is_mini = isinstance(info, Mapping) and "mini_version" in info
        if (is_mini or "trajectory_format" in record) and _conversation(record):
            return "an object with messages and trajectory_format or mini_version"
    return None


def _conversation(record: Record) -> list[Any]:
    for key in ("history", "messages"):
        if isinstance(record.get(key), list):
            return list(record[key])
    return []


def read(source: Source) -> Iterator[Session]:
    """One session for every trajectory in the file."""
    is_single = source.sample.shape == "object"
    for number, record in source.records():
        place = "" if is_single else f"{source.where(number)}, "
        name = source.name.removesuffix(".traj")
        builder = SessionBuilder(
            text_of(record.get("instance_id")) or (name if is_single else f"{name}-{number}")
        )
        has_task = False
        for position, message in enumerate(_conversation(record), 1):
            where = f"{place}message {position}"
            if not (isinstance(message, dict) and looks_like_message(message)):
                builder.log.add("unknown_record", where, "no message of a known role")
                continue
            ids = message.get("tool_call_ids")
            if isinstance(ids, list) and ids:
                message = {**message, "tool_call_id": ids[0]}
            draft = add_message(builder, message, where)
            if draft is None:
                continue
            if draft.role == "user":
                draft.is_meta = has_task or bool(message.get("is_demo"))
                has_task = has_task or not draft.is_meta
            elif draft.role == "assistant":
                extra = message.get("extra")
                response = extra.get("response") if isinstance(extra, dict) else None
                if isinstance(response, dict):
                    add_usage(builder, draft, response.get("usage"))
        session = builder.finish(source, NAME)
        if session is not None:
            yield session

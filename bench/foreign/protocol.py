"""Edge: version 1 of the protocol for compaction in another process (PROTOCOL.md).

One JSON object in, one JSON object out. `protocol.schema.json`, beside this file, says the same for
programs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, NoReturn

from bench.foreign.requests import ForeignAnswer, ForeignRequest, failure
from bench.strategy import Usage

VERSION = 1

_EXCERPT_LENGTH = 80
_TOKENS_MAX = 1_000_000_000


def request_line(request: ForeignRequest, model: Mapping[str, str] | None = None) -> bytes:
    """What is sent: one line of ASCII JSON. `model` names a way to the model, for addresses."""
    told: dict[str, Any] = {
        "protocol": VERSION,
        "reason": request.reason,
        "window": request.window,
        "seed": request.seed,
        "state": request.state,
        "request_at": request.request_at,
        "tools": request.tools,
    }
    if request.system is not None:
        told["system"] = request.system
    if model:
        told["model"] = dict(model)
    told["messages"] = request.messages
    try:
        line = json.dumps(told, separators=(",", ":"), allow_nan=False)
    except ValueError:
        # Definitions of tools may hold numbers that JSON doesn't have; as words they are harmless.
        line = json.dumps(json.loads(json.dumps(told), parse_constant=str), separators=(",", ":"))
    return line.encode() + b"\n"


def read_answer(written: bytes) -> ForeignAnswer:
    """What was answered. Raises Declined that says in which way it is none."""
    told = _object(written)
    version = told.get("protocol", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise failure(f"it speaks protocol {version!r:.40}, this is protocol {VERSION}")
    if "error" in told:
        raise failure(f"it says: {_one_line(str(told['error']))[:200]}")
    fired = told.get("fired", True)
    if not isinstance(fired, bool):
        raise failure(f"fired is {fired!r:.40}, not true or false")
    messages = told.get("messages")
    if fired and not isinstance(messages, list):
        names = ", ".join(map(_one_line, list(told)[:6])) or "nothing"
        raise failure(f"its answer has no list of messages; it has {names:.120}")
    system = told.get("system")
    if system is not None and not isinstance(system, str):
        raise failure("system is no text")
    return ForeignAnswer(
        messages=messages if fired else None,
        system=system,
        state=told.get("state"),
        has_state="state" in told,
        usage=_usage(told.get("usage")),
    )


def _object(written: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(written, parse_constant=_no_number)
    except (ValueError, RecursionError):
        if not written.strip():
            raise failure("it answered nothing") from None
        excerpt = _one_line(written[:_EXCERPT_LENGTH].decode("utf-8", "replace"))
        raise failure(f"its answer is no JSON: {excerpt!r}") from None
    if not isinstance(told, dict):
        raise failure(f"its answer is no JSON object but {type(told).__name__}")
    return told


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


def _usage(told: Any) -> Usage | None:
    """What was spent, in our words or in those of either vendor."""
    if told is None:
        return None
    if not isinstance(told, dict):
        raise failure("usage is no object")
    counts = [
        next((told[name] for name in names if told.get(name) is not None), 0)
        for names in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    ]
    for value in counts:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _TOKENS_MAX:
            raise failure(f"usage holds {value!r:.40}, which is no number of tokens")
    return Usage(counts[0], counts[1])


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def schema() -> dict[str, Any]:
    """The JSON Schema of requests and answers, under `$defs`."""
    text = resources.files("bench.foreign").joinpath("protocol.schema.json").read_text("utf-8")
    return dict(json.loads(text))

"""Sessions as files that commands read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.stored_runs import working_session


def session_file(name: str = "a", *, steps: int = 9) -> str:
    """A working session as a file of OpenAI messages in the current folder."""
    messages: list[dict[str, Any]] = []
    for event in working_session(name, steps=steps, note=name).events:
        told = event.message
        entry: dict[str, Any] = {"role": told.role, "content": told.text}
        if told.calls:
            entry["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in told.calls
            ]
        if told.call_id:
            entry["tool_call_id"] = told.call_id
        messages.append(entry)
    Path(f"{name}.json").write_text(json.dumps({"messages": messages}), encoding="utf-8")
    return f"{name}.json"

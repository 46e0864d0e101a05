"""What Claude Code asked its summariser, from the sub-agent file of the compaction call.

The file `<session>/subagents/agent-acompact-*.jsonl` beside `<session>.jsonl` is no session: it
holds one call, the prompt and the raw answer whose `<summary>` is the recorded summary.
"""

from __future__ import annotations

import re
from pathlib import Path

from bench.formats.content import flatten
from bench.formats.source import Source

_COMPARED_CHARACTERS = 300
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)


def owner_of(path: Path) -> Path | None:
    """The session file that a compaction call belongs to; None when there is none beside it."""
    if path.parent.name != "subagents" or not path.name.startswith("agent-acompact-"):
        return None
    folder = path.parent.parent
    session = folder.parent / f"{folder.name}.jsonl"
    return session if session.is_file() else None


def compaction_calls(session: Path) -> list[tuple[str, str]]:
    """Prompt and summary of every compaction call beside a session file, in order of file names."""
    folder = session.with_suffix("") / "subagents"
    calls = [_call(path) for path in sorted(folder.glob("agent-acompact-*.jsonl"))]
    return [call for call in calls if call is not None]


def is_same_summary(answered: str, recorded: str) -> bool:
    """True when the recorded summary holds what was answered, white space apart."""
    start = " ".join(answered.split())[:_COMPARED_CHARACTERS]
    return bool(start) and start in " ".join(recorded.split())


def _call(path: Path) -> tuple[str, str] | None:
    prompt = answer = ""
    try:
        for _, record in Source(path).records():
            message = record.get("message")
            if not isinstance(message, dict):
                continue
            text = flatten(message.get("content"))[0]
            if record.get("type") == "user" and not record.get("isMeta"):
                prompt = text
            elif record.get("type") == "assistant":
                answer += text
    except OSError:
        return None
    found = _SUMMARY.search(answer)
    return (prompt, found.group(1) if found else answer) if prompt and answer else None

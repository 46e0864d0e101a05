"""Edges: the items of the OpenAI Responses API become drafts.

The items of one model response (reasoning, text, calls) become one event; a user's or a tool's item
ends it. Source: the Responses reference (input items and output items); Codex writes the same ones.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from bench.formats.building import CompactionDraft, Draft, SessionBuilder
from bench.formats.chat import ROLES
from bench.formats.content import as_json, flatten, kind_of, text_of
from bench.formats.decoding import RepairLog
from bench.formats.source import Record

CALL_TYPES = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "computer_call",
        "tool_search_call",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "mcp_call",
        "tool_call",
    }
)
RESULT_TYPES = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "apply_patch_call_output",
        "computer_call_output",
        "tool_search_output",
        "tool_result",
    }
)
COMPACTION_TYPES = frozenset({"compaction", "compaction_summary", "context_compaction"})
_SILENT_TYPES = frozenset({"ghost_snapshot", "other", "item_reference", "mcp_list_tools"})
_INJECTED_STARTS = (
    "<environment_context>",
    "<user_instructions>",
    "<user_action>",
    "<ide_context>",
    "<permissions",
    "<turn_aborted>",
    "<skill>",
    "<INSTRUCTIONS>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
    "# Context from my IDE setup",
)


def has_part_types(content: Any) -> bool:
    """True for content parts that only this API has."""
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in ("input_text", "output_text")
        for part in content
    )


class ResponseItems:
    """Takes items in their order and fills a builder."""

    def __init__(self, builder: SessionBuilder, *, unwraps_outputs: bool = False) -> None:
        self.builder = builder
        self.unwraps_outputs = unwraps_outputs
        """True when outputs are JSON around the text, as Codex writes them."""
        self.open: Draft | None = None
        """The assistant draft of the response that is still being told."""
        self.newest: Draft | None = None
        """The assistant draft that the next token count speaks of."""
        self.unknown_types: Counter[str] = Counter()

    def take(self, item: Record, where: str, timestamp: float | None = None) -> None:
        """One item; items of unknown types are counted in `unknown_types`."""
        kind = kind_of(item)
        if kind == "message" or (not kind and "role" in item):
            self.message(text_of(item.get("role")), item.get("content"), where, timestamp)
        elif kind == "reasoning":
            texts = [flatten(item.get(key))[0] for key in ("summary", "content")]
            self.assistant(where, timestamp).reasoning.append("\n".join(filter(None, texts)))
        elif kind in CALL_TYPES:
            self._call(kind, item, where, timestamp)
        elif kind in RESULT_TYPES:
            self.close()
            output = item.get("output", item.get("tools", item.get("result")))
            if self.unwraps_outputs:
                output = _unwrapped(output)
            self.builder.add_result(item.get("call_id"), output, where, timestamp=timestamp)
        elif kind == "image_generation_call":
            draft = self.assistant(where, timestamp)
            self.builder.add_call(
                draft, item.get("id"), kind, {"prompt": text_of(item.get("revised_prompt"))}
            )
            self.close()
            image = {"type": "image", "data": item.get("result"), "media_type": "image/png"}
            self.builder.add_result(item.get("id"), [image], where, timestamp=timestamp)
        elif kind == "agent_message":
            # Another agent wrote to this one: it is shown like a message of a user.
            self.close()
            text = flatten(item.get("content"))[0]
            self.builder.add("user", where, text, timestamp=timestamp, is_meta=True)
        elif kind in COMPACTION_TYPES:
            self.compaction(item.get("summary", item.get("content")), where)
        elif kind not in _SILENT_TYPES:
            self.unknown_types[kind] += 1

    def message(self, role: str, content: Any, where: str, timestamp: float | None) -> None:
        """One message; what a runtime writes in the user's name is `is_meta`."""
        known = ROLES.get(role)
        text, attachments = flatten(_without_empty_images(content))
        if known == "assistant":
            draft = self.assistant(where, timestamp)
            draft.texts.append(text)
            draft.attachments += attachments
        elif known in ("user", "system"):
            self.close()
            self.builder.add(
                known,
                where,
                text,
                attachments=attachments,
                timestamp=timestamp,
                is_meta=known == "user" and text.lstrip().startswith(_INJECTED_STARTS),
            )
        else:
            self.builder.log.add("unknown_role", where, f"a message of role {role!r} left out")

    def assistant(self, where: str, timestamp: float | None) -> Draft:
        """The draft of the response that is being told."""
        if self.open is None:
            self.open = self.newest = self.builder.add("assistant", where, timestamp=timestamp)
        return self.open

    def close(self) -> None:
        """The response ends here."""
        self.open = None

    def compaction(self, summary: Any, where: str) -> CompactionDraft:
        """A compaction at this place; one whose summary is opaque is noted."""
        self.close()
        compaction = self.builder.add_compaction(where)
        compaction.summary = flatten(summary)[0]
        if not compaction.summary:
            self.builder.log.add(
                "compaction_without_summary", where, "the compaction left no readable summary"
            )
        return compaction

    def report_unknown(self, log: RepairLog) -> None:
        """Note how many items of unknown types were left out."""
        for kind, count in self.unknown_types.items():
            log.add(
                "unknown_record", "whole file", f"{count} records of unknown type {kind!r} left out"
            )

    def _call(self, kind: str, item: Record, where: str, timestamp: float | None) -> None:
        draft = self.assistant(where, timestamp)
        if kind == "function_call":
            self.builder.add_call(
                draft, item.get("call_id"), item.get("name"), item.get("arguments")
            )
            return
        function = item.get("function")
        named = function.get("name") if isinstance(function, dict) else item.get("name")
        name = text_of(named) or kind.removesuffix("_call")
        call_id = item.get("call_id") or item.get("id")
        if kind == "custom_tool_call":
            # Free text by design (a patch, a script): wrapped, so that it is a JSON object.
            text = text_of(item.get("input"))
            arguments: Any = text if _is_object(text) else {"input": text}
        else:
            found = (item.get(key) for key in _ARGUMENT_KEYS)
            arguments = next((value for value in found if value is not None), None)
        self.builder.add_call(draft, call_id, name, arguments)
        # Tools that the API runs itself have their results in the call.
        own_result = next((item[key] for key in _RESULT_KEYS if item.get(key) is not None), None)
        if own_result is not None:
            self.close()
            self.builder.add_result(call_id, own_result, where, timestamp=timestamp)


_ARGUMENT_KEYS = ("action", "operation", "arguments", "queries", "code")
_RESULT_KEYS = ("results", "outputs", "output", "error")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _without_empty_images(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        part
        for part in content
        if not (
            isinstance(part, dict)
            and part.get("type") == "input_image"
            and part.get("image_url") is None
            and part.get("file_id") is None
        )
    ]


def _unwrapped(output: Any) -> Any:
    """The text of an output that is JSON around `output` and `metadata`, else it as it is."""
    if isinstance(output, str):
        if output.startswith("{") and '"output"' in output and '"metadata"' in output:
            try:
                inner = json.loads(output)
            except (ValueError, RecursionError):
                return output
            if isinstance(inner, dict) and isinstance(inner.get("output"), str):
                return inner["output"]
        return output
    if isinstance(output, dict):
        if isinstance(output.get("type"), str):
            return output
        if "content" in output:
            return output["content"]
        return as_json(output)
    return output

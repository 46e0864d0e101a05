"""Opaque state on the wire: what a vendor answered, kept verbatim, and how it is sent back.

`Native.state` is JSON text. A vendor's names the form of compaction that made it, which tells the
API it belongs to, and the items as they came:

    {"form": "responses_compact", "items": [ ... ]}

OpenAI: all output items of /responses/compact or of in-line context management, `created_by` left
out, since it isn't accepted as input. Anthropic: the compaction blocks, byte-exact. What isn't of
this shape is some other provider's own and is carried as text by the formats that could hold it.
Sources: SDK types of openai and anthropic; platform.claude.com, compaction, on-demand, threshold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Payload: TypeAlias = dict[str, Any]
StateFormat = Literal["responses", "anthropic"]

FORMATS_OF_FORMS: Mapping[str, StateFormat] = {
    "responses_compact": "responses",
    "responses_inline": "responses",
    "anthropic_threshold": "anthropic",
    "anthropic_on_demand": "anthropic",
}
BETAS: Mapping[str, str] = {
    "anthropic_threshold": "compact-2026-01-12",
    "anthropic_on_demand": "compact-2026-09-04",
}
# A block of threshold compaction is accepted only beside such an edit; it must never fire itself.
_TRIGGER_NEVER_TOKENS = 100_000_000
# What a vendor adds to an item and refuses when it is sent back.
_NOT_ACCEPTED = ("created_by",)


class NativeRefused(ValueError):
    """A request can't be written in this format, since it holds state of another one (F7.3)."""


@dataclass(frozen=True, slots=True)
class NativeState:
    """A vendor's state: the form of compaction that made it, and its items verbatim."""

    form: str
    items: tuple[Payload, ...]

    @property
    def format(self) -> StateFormat:
        """The API that it belongs to."""
        return FORMATS_OF_FORMS[self.form]

    def to_text(self) -> str:
        """The JSON text that a projection carries. Raises ValueError for what is no JSON."""
        document = {"form": self.form, "items": list(self.items)}
        return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Demands:
    """What every request with this state must carry beside it: beta headers, body fields."""

    betas: tuple[str, ...] = ()
    body: Payload = field(default_factory=dict)


def checked_state(form: str, items: Sequence[Payload]) -> NativeState:
    """The state of a vendor's answer; raises ValueError when it holds nothing to go on from.

    OpenAI: everything of the output, since it is "the canonical next context window". Anthropic:
    the last compaction block, since the API ignores every block before it, and what stands behind
    it is the answer; `content` null is a compaction that failed. Nulls, and what the API doesn't
    take back, are left out.
    """
    format = FORMATS_OF_FORMS.get(form)
    if format is None:
        raise ValueError(f"unknown form {form!r}, there are: {', '.join(FORMATS_OF_FORMS)}")
    accepted = [_accepted(item) for item in items]
    blocks = [item for item in accepted if item.get("type") == "compaction"]
    names = ("encrypted_content",) if format == "responses" else ("content", "encrypted_content")
    if not blocks or not any(blocks[-1].get(name) for name in names):
        raise ValueError("the answer holds no compaction item with content")
    return NativeState(form, tuple(accepted if format == "responses" else blocks[-1:]))


def _accepted(item: Payload) -> Payload:
    return {
        name: value
        for name, value in item.items()
        if name not in _NOT_ACCEPTED and value is not None
    }


def read_state(text: str) -> NativeState | None:
    """A vendor's state; None for text that is no such state (another provider's own)."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    form, items = document.get("form"), document.get("items")
    if not isinstance(form, str) or form not in FORMATS_OF_FORMS:
        return None
    if not isinstance(items, list) or not items or not all(isinstance(i, dict) for i in items):
        return None
    return NativeState(form, tuple(items))


def items_for(wanted: StateFormat, text: str) -> tuple[NativeState | None, list[Payload]]:
    """The state and its items as this API takes them; raises NativeRefused for another API's.

    State that isn't a vendor's becomes one compaction item, as a stand-in for one.
    """
    state = read_state(text)
    if state is None:
        if wanted == "responses":
            return None, [{"type": "compaction", "encrypted_content": text}]
        return None, [{"type": "compaction", "content": text}]
    if state.format != wanted:
        raise refusal(wanted, text)
    return state, [dict(item) for item in state.items]


def format_for(text: str) -> StateFormat:
    """The format that carries this state; what is no vendor's could stand in either."""
    state = read_state(text)
    return "responses" if state is None else state.format


def refusal(wanted: str, text: str) -> NativeRefused:
    """Why state can't be sent in the format `wanted`."""
    state = read_state(text)
    if state is None:
        return NativeRefused(f"the format {wanted} can't carry a provider's opaque state")
    return NativeRefused(
        f"the format {wanted} can't carry opaque state of the {state.format} API ({state.form}): "
        "it is bound to the provider that made it"
    )


def demands_of(state: NativeState) -> Demands:
    """What later requests need: Anthropic's beta header, and its edit for threshold blocks."""
    if state.form not in BETAS:
        return Demands()
    body: Payload = {}
    if state.form == "anthropic_threshold":
        body["context_management"] = {"edits": [compact_edit(_TRIGGER_NEVER_TOKENS)]}
    return Demands((BETAS[state.form],), body)


def compact_edit(trigger_tokens: int, *, pause_after_compaction: bool = False) -> Payload:
    """Anthropic's threshold compaction as an edit; the API takes triggers from 50,000 tokens on."""
    edit: Payload = {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": trigger_tokens},
    }
    if pause_after_compaction:
        edit["pause_after_compaction"] = True
    return edit

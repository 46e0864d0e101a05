"""Edges: compaction by the provider itself, as pure builders and readers of vendor requests.

Sources: OpenAI's and Anthropic's published request types and guides on compaction and context
editing. Four forms: `POST /responses/compact`; `context_management` in a response; Anthropic's
threshold edit `compact_20260112`, made to pause behind the block; its on-demand `compaction`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from bench.provider import ErrorKind, ProviderError
from bench.providers.anthropic_wire import anthropic_body, anthropic_usage
from bench.providers.reading import Payload, UnreadableAnswerError, mapping, objects, text_of
from bench.providers.responses_wire import finish_of_response, responses_body, responses_usage
from bench.providers.results import CallUsage
from bench.wire.formats import Request
from bench.wire.native_states import BETAS, Demands, checked_state, compact_edit

NativeForm = Literal[
    "responses_compact", "responses_inline", "anthropic_threshold", "anthropic_on_demand"
]

BETA_HEADER = "anthropic-beta"
EDITING_BETA = "context-management-2025-06-27"
# The API refuses a smaller trigger.
THRESHOLD_TOKENS_MIN = 50_000
# No minimum is documented for responses; anything that is worth compacting is larger than this.
_INLINE_THRESHOLD_TOKENS = 1_000
SUMMARY_TOKENS_MAX = 16_384

_MISSING_SUMMARY: Mapping[str, ErrorKind] = {
    "max_tokens": "output_limit",
    "max_output_tokens": "output_limit",
    "model_context_window_exceeded": "input_overflow",
    "refusal": "content_filter",
    "content_filter": "content_filter",
}


@dataclass(frozen=True, slots=True)
class NativeReply:
    """What the provider made of a request.

    `state` is JSON to send back verbatim: {"form": NativeForm, "items": [...]}, as
    `bench.wire.native_states` reads it. `finish_reason` is the provider's own word, empty where the
    endpoint has none. `usage` is what was billed, all passes of the call added up.
    """

    state: dict[str, Any]
    usage: CallUsage
    finish_reason: str


class NativeModel(Protocol):
    """A model whose provider offers compaction of its own."""

    def native_compact(
        self, request: Request, *, form: str, output_tokens_max: int | None
    ) -> NativeReply:
        """Lets the provider compact `request` (in the model's own wire format).

        `form` is a NativeForm; "" takes the provider's usual one. Raises ProviderError: status
        404 where the provider has none, "invalid_request" for a form of another vendor.
        """
        ...


# The form that a vendor's own documents recommend comes first.
FORMS: Mapping[str, tuple[NativeForm, ...]] = {
    "openai": (),
    "responses": ("responses_compact", "responses_inline"),
    "anthropic": ("anthropic_on_demand", "anthropic_threshold"),
}


def form_of(vendor: str, form: str) -> NativeForm:
    """The form to use with a vendor. Raises ProviderError where there is none, or not this one."""
    offered = FORMS.get(vendor, ())
    if not offered:
        raise ProviderError(
            "invalid_request", f"{vendor}: this API offers no compaction of its own", status=404
        )
    wanted = next((one for one in offered if one == (form or offered[0])), None)
    if wanted is None:
        raise ProviderError(
            "invalid_request",
            f"{vendor}: no compaction of the form {form[:40]}; there is: {', '.join(offered)}",
        )
    return wanted


def native_path(form: NativeForm, path: str) -> str:
    """Where a compaction is asked for; `path` is that of the vendor's ordinary requests."""
    return f"{path}/compact" if form == "responses_compact" else path


def native_body(
    form: NativeForm, request: Request, *, model: str, output_tokens_max: int | None
) -> Payload:
    """The body that asks for a compaction of `request`, whose input must itself still fit."""
    if form == "responses_compact":
        # Neither tools nor limits nor storage are accepted here.
        body: Payload = {"model": model, "input": request.messages}
        return {**body, "instructions": request.system} if request.system else body
    if form == "responses_inline":
        edit = {"type": "compaction", "compact_threshold": _INLINE_THRESHOLD_TOKENS}
        limit = output_tokens_max or SUMMARY_TOKENS_MAX
        body = responses_body(request, model=model, output_tokens_max=limit)
        return {**body, "context_management": [edit]}
    limit = output_tokens_max or SUMMARY_TOKENS_MAX
    body = anthropic_body(request, model=model, output_tokens_max=limit)
    if form == "anthropic_on_demand":
        return {**body, "compaction": {"type": "summarize"}}
    # It takes the place of the edit that state of this form brings along, and that never fires.
    edit = compact_edit(THRESHOLD_TOKENS_MIN, pause_after_compaction=True)
    return {**body, "context_management": {"edits": [edit]}}


def native_betas(form: NativeForm, request: Request) -> tuple[str, ...]:
    """The values of the beta header: those of the form and those of state in the request."""
    own = [BETAS[form]] if form in BETAS else []
    return tuple(dict.fromkeys([*own, *request.betas]))


def read_native(form: NativeForm, payload: object) -> NativeReply:
    """The state that a compaction left.

    Raises UnreadableAnswerError for another shape, ProviderError where nothing was compacted.
    """
    answer = mapping(payload)
    if form.startswith("responses"):
        return _read_responses(form, answer)
    return _read_anthropic(form, answer)


def _read_responses(form: NativeForm, answer: Mapping[str, Any]) -> NativeReply:
    if not isinstance(answer.get("output"), list):
        raise UnreadableAnswerError("no output: this is no compaction of the Responses API")
    items = [dict(item) for item in objects(answer["output"])]
    finish = finish_of_response(answer)
    if form == "responses_inline":
        # What stands before the block is replaced by it; what follows is an answer to nobody.
        items = [item for item in items if item.get("type") == "compaction"][-1:]
    return NativeReply(_state(form, items, finish), responses_usage(answer), finish)


def _read_anthropic(form: NativeForm, answer: Mapping[str, Any]) -> NativeReply:
    if not isinstance(answer.get("content"), list):
        raise UnreadableAnswerError("no content: this is no answer of the Messages API")
    finish = text_of(answer.get("stop_reason"))
    blocks = [dict(block) for block in objects(answer["content"])]
    return NativeReply(_state(form, blocks, finish), anthropic_usage(answer), finish)


def _state(form: NativeForm, items: Sequence[Payload], finish: str) -> dict[str, Any]:
    """The state as plain data. Raises ProviderError where nothing was compacted."""
    try:
        state = checked_state(form, items)
    except ValueError:
        kind = _MISSING_SUMMARY.get(finish, "unknown")
        ended = f" (ended with {finish[:40]})" if finish else ""
        raise ProviderError(kind, f"the provider compacted nothing{ended}", status=200) from None
    return {"form": state.form, "items": list(state.items)}


def clear_tool_uses(
    *,
    trigger_tokens: int | None = None,
    keep: int | None = None,
    clear_at_least_tokens: int | None = None,
    exclude_tools: Sequence[str] = (),
    clear_tool_inputs: bool = False,
) -> Demands:
    """Anthropic's clearing of old tool results on the server; None leaves the API's default.

    Tokens that are sent don't fall: the history stays with the client.
    """
    edit: Payload = {"type": "clear_tool_uses_20250919"}
    if trigger_tokens is not None:
        edit["trigger"] = {"type": "input_tokens", "value": trigger_tokens}
    if keep is not None:
        edit["keep"] = {"type": "tool_uses", "value": keep}
    if clear_at_least_tokens is not None:
        edit["clear_at_least"] = {"type": "input_tokens", "value": clear_at_least_tokens}
    if exclude_tools:
        edit["exclude_tools"] = list(exclude_tools)
    if clear_tool_inputs:
        edit["clear_tool_inputs"] = True
    return _editing(edit)


def clear_thinking(*, keep_turns: int | None = None) -> Demands:
    """Anthropic's clearing of earlier thoughts on the server; None keeps all."""
    keep: Any = "all" if keep_turns is None else {"type": "thinking_turns", "value": keep_turns}
    return _editing({"type": "clear_thinking_20251015", "keep": keep})


def _editing(edit: Payload) -> Demands:
    return Demands((EDITING_BETA,), {"context_management": {"edits": [edit]}})


def with_demands(request: Request, *demands: Demands) -> Request:
    """The request with further betas, fields and edits of the context.

    Clearing of thoughts must stand first among the edits.
    """
    betas = list(request.betas)
    body = dict(request.body)
    edits = objects(mapping(body.get("context_management")).get("edits"))
    for one in demands:
        betas += one.betas
        body |= one.body
        edits += objects(mapping(one.body.get("context_management")).get("edits"))
    if edits:
        edits.sort(key=lambda edit: not text_of(edit.get("type")).startswith("clear_thinking"))
        body["context_management"] = {"edits": edits}
    return replace(request, betas=tuple(dict.fromkeys(betas)), body=body)


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """One edit that the server made: how many tool uses or thoughts, and how many tokens."""

    type: str
    cleared: int
    cleared_input_tokens: int


def applied_edits(payload: object) -> tuple[AppliedEdit, ...]:
    """The edits that an answer reports; compactions are never among them."""
    told = mapping(mapping(payload).get("context_management")).get("applied_edits")
    edits: list[AppliedEdit] = []
    for edit in objects(told):
        numbers = {name: value for name, value in edit.items() if type(value) is int}
        cleared = numbers.get("cleared_tool_uses", numbers.get("cleared_thinking_turns", 0))
        tokens = numbers.get("cleared_input_tokens", 0)
        edits.append(AppliedEdit(text_of(edit.get("type")), cleared, tokens))
    return tuple(edits)

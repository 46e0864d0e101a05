"""Edge: compaction by the provider of a real model, and questions about the state that it made.

What the vendor answers travels verbatim (`bench.wire.native_states`); only its own requests carry
it again. The model is asked by `native_compact` and `answer` (see `bench.providers.native_wire`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

from bench.events import Message, ToolDefinition
from bench.models import Model
from bench.projection import Projection
from bench.provider import ProviderError
from bench.providers.native_wire import NativeModel
from bench.providers.results import CallUsage, DetailedResult
from bench.strategy import Usage
from bench.tokens import count
from bench.wire.formats import FORMATS, Request
from bench.wire.native_states import FORMATS_OF_FORMS, NativeRefused, checked_state
from bench.wire.rendering import Rendered, WireMessage, render

STATE_TOKENS_MAX = 4_096
# Base64 of encrypted text: 4 letters for 3 bytes, and about 4 bytes a token.
_SEALED_LETTERS_PER_TOKEN = 5


class VendorModel(Model, NativeModel, Protocol):
    """A real model whose provider compacts and answers from its own state.

    `format` names the format of its requests in `bench.wire.formats`.
    """

    @property
    def format(self) -> str:
        """The format of its requests."""
        ...

    def answer(
        self,
        request: Request,
        *,
        output_tokens_max: int,
        estimate_tokens: int,
        seed: int,
        calls_wanted: bool,
    ) -> DetailedResult:
        """The answer to a finished request. Raises ProviderError."""
        ...


def is_vendor_model(model: Model) -> TypeGuard[VendorModel]:
    """Whether there is a provider behind this model that can be asked to compact."""
    return hasattr(model, "native_compact") and hasattr(model, "answer")


def request_of(
    model: VendorModel,
    projection: Projection,
    tools: Sequence[ToolDefinition],
    messages: Sequence[Message] = (),
) -> Request:
    """The agent request of a projection, with `messages` behind it, as this model's API takes it.

    Raises ProviderError for state that the API can't carry (F7.3).
    """
    shown = render(projection)
    asked = tuple(WireMessage(each.role, each.text, "written", ()) for each in messages)
    try:
        made = FORMATS[model.format](Rendered((*shown.messages, *asked), shown.repairs), tools)
    except NativeRefused as refused:
        raise ProviderError("invalid_request", str(refused)) from refused
    return _with_instructions(made) if model.format == "responses" else made


def _with_instructions(request: Request) -> Request:
    """Leading system items as instructions, or they would be compacted with the rest."""
    leading = 0
    while request.messages[leading:] and request.messages[leading].get("role") == "system":
        leading += 1
    texts = [part["text"] for item in request.messages[:leading] for part in item["content"]]
    return replace(
        request,
        system="\n\n".join(texts) or None,
        messages=request.messages[leading:],
        provenance=request.provenance[leading:],
    )


def compact_by_vendor(
    model: VendorModel, projection: Projection, tools: Sequence[ToolDefinition], form: str
) -> tuple[str, int, Usage]:
    """The state as JSON text, its tokens, and what the pass was billed at.

    `form` is "auto" or the name of a form without the vendor's. Raises ProviderError.
    """
    reply = model.native_compact(
        request_of(model, projection, tools),
        form="" if form == "auto" else _wire_form(form),
        output_tokens_max=STATE_TOKENS_MAX,
    )
    try:
        state = checked_state(str(reply.state.get("form")), reply.state.get("items") or ())
        text = state.to_text()
    except ValueError as error:
        raise ProviderError("server", f"no compaction came: {error}", status=502) from error
    used: CallUsage = reply.usage
    output = used.output_tokens
    tokens = _guessed_tokens(state.items) if output is None else output
    return text, max(1, tokens), Usage(used.input_tokens or 0, tokens, used.cached_tokens)


def _wire_form(form: str) -> str:
    """The full name of a form; an unknown one is passed on for the model to refuse."""
    return next((name for name in FORMATS_OF_FORMS if name.partition("_")[2] == form), form)


def _guessed_tokens(items: Sequence[dict[str, Any]]) -> int:
    """The size of a state where the provider told none."""
    total = 0
    for item in items:
        sealed = item.get("encrypted_content")
        if isinstance(sealed, str):
            total += len(sealed) // _SEALED_LETTERS_PER_TOKEN
        else:
            total += count(json.dumps(item.get("content"), ensure_ascii=False))
    return total

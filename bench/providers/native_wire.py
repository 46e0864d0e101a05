"""Edges: compaction by the provider itself, as pure builders and readers of vendor requests.

Sources: OpenAI's and Anthropic's published request types and guides on compaction and context
editing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bench.providers.results import CallUsage
from bench.wire.formats import Request

NativeForm = Literal[
    "responses_compact", "responses_inline", "anthropic_threshold", "anthropic_on_demand"
]


@dataclass(frozen=True, slots=True)
class NativeReply:
    """What the provider made of a request.

    `state` is JSON to send back verbatim: {"form": NativeForm, "items": [...]}. For Responses the
    items are input items (everything of `output`, in order, never pruned), for Anthropic content
    blocks of one assistant message. `finish_reason` is the provider's own word, empty where the
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

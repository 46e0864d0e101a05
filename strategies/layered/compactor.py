"""From a plan to a checkpoint: the two compactors, repair, retreat, the memory of failures.

One interface (F7.1): a compactor is handed a plan and answers with a candidate. Everything that
can go wrong ends in `CompactionFailed`, and nothing half-done leaves this module (F1.6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from bench.events import with_text
from bench.provider import ProviderError
from bench.strategy import Reply
from strategies.layered.acceptance import NotAccepted, check_savings
from strategies.layered.bounding import RESULT_TOKENS_MAX, bound
from strategies.layered.budget import SUMMARY_OUTPUT_TOKENS
from strategies.layered.checkpoint import (
    NATIVE,
    PROMPT_VERSION,
    Checkpoint,
    Segment,
    rendered,
    sealed,
)
from strategies.layered.encoding import compact_json
from strategies.layered.estimate import messages_tokens
from strategies.layered.failures import (
    SUPPRESS_AFTER,
    Failures,
    fingerprint,
    is_suppressed,
    with_failure,
)
from strategies.layered.planner import (
    SEGMENTS_MAX,
    Plan,
    Refused,
    Span,
    checkpoint_message,
    plan,
)
from strategies.layered.questions import Question, instructions_for
from strategies.layered.source import SourceMessage, with_seq
from strategies.layered.summary import InvalidSummary, check_ending, validated

FailureKind = Literal[
    "nothing_to_compact",
    "suppressed",
    "denied",
    "unavailable",
    "overflow",
    "invalid_summary",
    "no_savings",
    "other",
]
DETERMINISTIC = ("overflow", "invalid_summary", "no_savings")
NATIVE_STATE_KIND = "native"


class CompactionFailed(Exception):
    """A try that came to nothing. `failures` is the memory of failures afterwards."""

    def __init__(self, kind: FailureKind, text: str, progress: Progress) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.progress = progress

    @property
    def is_deterministic(self) -> bool:
        """True when the same try would fail again (F11.2)."""
        return self.kind in DETERMINISTIC


@dataclass
class Progress:
    """What a try has done so far: second tries, and what it learned about failures."""

    failures: Failures = ()
    repairs: int = 0
    replans: int = 0
    native_refusal: str = ""
    plan: Plan | None = field(default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The parameters of a try; defaults are the original's constants.

    `is_overflow` tells a provider's overflow from its other refusals. With `original` the answers
    are the original's to the letter, its oddities included.
    """

    session_id: str
    model: str
    created_at: str
    route: str = ""
    segments_max: int = SEGMENTS_MAX
    output_tokens_max: int = SUMMARY_OUTPUT_TOKENS
    result_tokens_max: int = RESULT_TOKENS_MAX
    suppress_after: int = SUPPRESS_AFTER
    prompt_version: str = PROMPT_VERSION
    own_prompt: str | None = None
    is_overflow: Callable[[ProviderError], bool] = lambda error: error.kind == "input_overflow"
    original: bool = False


class AskSummary(Protocol):
    """Puts a question to the session's model. Raises ProviderError."""

    def __call__(self, question: Question) -> Reply:
        """The model's answer."""
        ...


class AskNative(Protocol):
    """Lets the provider compact what a plan covers: (route, state as JSON text, tokens)."""

    def __call__(self, planned: Plan) -> tuple[str, str, int]:
        """Raises ProviderError where the provider can't."""
        ...


def compact_history(
    span: Span,
    phase: str,
    previous: Checkpoint | None,
    settings: Settings,
    ask: AskSummary | None,
    *,
    failures: Failures = (),
    accepted_seq: int | None = None,
    ask_native: AskNative | None = None,
    parent_id: str | None = None,
    veto: Callable[[Plan], str] = lambda planned: "",
) -> tuple[Checkpoint, Progress]:
    """Plan, summarise, check: the checkpoint to commit, or CompactionFailed.

    `previous` is the verified checkpoint that the plan builds on; `parent_id` names another one
    that stands now, when the plan can't build on it (native state). When a request overflows, one
    retreat to `accepted_seq` is tried, if that is smaller (F9.2). `ask` None means that no model
    can be asked. `veto` is a runtime's say before anything is paid for: a reason, or nothing.
    """
    progress = Progress(failures)
    try:
        planned = plan(span, phase, previous, segments_max=settings.segments_max)
    except Refused as refused:
        raise CompactionFailed("nothing_to_compact", refused.reason, progress) from refused
    if reason := veto(planned):
        raise CompactionFailed("denied", reason, progress)
    if ask is None:
        raise CompactionFailed("unavailable", "context compaction unavailable", progress)
    parent = previous.checkpoint_id if previous is not None else ""
    lineage = parent if parent_id is None else parent_id
    try:
        return _try(planned, lineage, settings, ask, progress, ask_native), progress
    except CompactionFailed as failed:
        if failed.kind != "overflow" or accepted_seq is None:
            raise
        smaller = _retreat(span, phase, previous, accepted_seq, settings, planned)
        if smaller is None:
            raise
        progress.replans += 1
        return _try(smaller, lineage, settings, ask, progress, None), progress


def _retreat(
    span: Span,
    phase: str,
    previous: Checkpoint | None,
    accepted_seq: int,
    settings: Settings,
    planned: Plan,
) -> Plan | None:
    """A plan no later than what this route has accepted, when that is really smaller."""
    try:
        smaller = plan(span, phase, previous, accepted_seq, segments_max=settings.segments_max)
    except Refused:
        return None
    return smaller if smaller.through_seq < planned.through_seq else None


def _try(
    planned: Plan,
    lineage: str,
    settings: Settings,
    ask: AskSummary,
    progress: Progress,
    ask_native: AskNative | None,
) -> Checkpoint:
    """One plan, to the end; what fails for good is remembered (F11.2)."""
    progress.plan = planned
    mark = fingerprint(planned, settings.prompt_version, settings.route)
    if is_suppressed(progress.failures, mark, settings.suppress_after):
        raise CompactionFailed(
            "suppressed", "compaction suppressed after deterministic failure", progress
        )
    kind: FailureKind
    try:
        if ask_native is not None:
            native = _native_checkpoint(planned, lineage, settings, ask_native, progress)
            if native is not None:
                return native
        return _text_checkpoint(planned, lineage, settings, ask, progress)
    except InvalidSummary as error:
        kind, text = "invalid_summary", f"invalid compaction summary: {error.text}"
    except NotAccepted as error:
        kind, text = "no_savings", error.text
    except ProviderError as error:
        kind, text = ("overflow" if settings.is_overflow(error) else "other"), error.text
    if kind in DETERMINISTIC:
        progress.failures = with_failure(progress.failures, mark)
    raise CompactionFailed(kind, text, progress)


def summarised(planned: Plan, settings: Settings, ask: AskSummary, progress: Progress) -> str:
    """The checked summary of a plan's source; a first bad candidate gets one repair (F5.3).

    Large results in the source are shortened first. Raises InvalidSummary or ProviderError.
    """
    question = Question(
        instructions=instructions_for(planned.is_append, settings.own_prompt),
        source=bounded_source(planned.source, settings),
        output_tokens_max=settings.output_tokens_max,
        previous_summary=_shown_summary(planned),
    )
    try:
        return _checked(ask(question), settings)
    except InvalidSummary as invalid:
        if not invalid.may_repair:
            raise
        progress.repairs += 1
        return _checked(ask(replace(question, repair_reason=invalid.text)), settings)


def _shown_summary(planned: Plan) -> str:
    if planned.is_append or not planned.carries_previous_summary or planned.previous is None:
        return ""
    return planned.previous.summary


def _checked(reply: Reply, settings: Settings) -> str:
    check_ending(reply.finish_reason, original=settings.original)
    return validated(reply.text)


def bounded_source(
    source: tuple[SourceMessage, ...], settings: Settings
) -> tuple[SourceMessage, ...]:
    """The source with large results shortened, each with its reference (F10.2)."""
    cut = bound(source, settings.result_tokens_max, original=settings.original)
    if not cut:
        return source
    shown = list(source)
    for index, result in cut.items():
        seq, message, stored = source[index]
        shown[index] = SourceMessage(seq, with_text(message, result.text), stored)
    return tuple(shown)


def _text_checkpoint(
    planned: Plan, lineage: str, settings: Settings, ask: AskSummary, progress: Progress
) -> Checkpoint:
    """The text compactor (F7.1): a projection that any provider can use."""
    text = summarised(planned, settings, ask, progress)
    segment = Segment(
        planned.segment_from_seq,
        planned.through_seq,
        planned.new_digest if planned.is_append else planned.digest,
        text,
    )
    old = (planned.previous.segments or ()) if planned.previous and planned.is_append else ()
    segments = (*old, segment)
    summary = rendered(segments)
    anchor = [each.message for each in with_seq(planned.covered, planned.head_anchor_seq)]
    tokens_after = messages_tokens([checkpoint_message(summary), *anchor])
    check_savings(planned.projected_tokens, tokens_after)
    return sealed(
        Checkpoint(
            **_fields(planned, lineage, settings),
            level=planned.level,
            segments=segments,
            summary=summary,
            estimated_tokens_after=tokens_after,
        )
    )


def _fields(planned: Plan, lineage: str, settings: Settings) -> dict[str, Any]:
    """What records of both kinds hold."""
    return {
        "prompt_version": settings.prompt_version,
        "session_id": settings.session_id,
        "previous_checkpoint_id": lineage,
        "phase": planned.phase,
        "through_seq": planned.through_seq,
        "head_anchor_seq": planned.head_anchor_seq,
        "source_digest": planned.digest,
        "model": settings.model,
        "created_at": settings.created_at,
        "estimated_raw_tokens": planned.raw_tokens,
        "estimated_tokens_before": planned.projected_tokens,
    }


def _native_checkpoint(
    planned: Plan,
    lineage: str,
    settings: Settings,
    ask_native: AskNative,
    progress: Progress,
) -> Checkpoint | None:
    """The provider-native compactor; None falls back to text (F7.2 to F7.4).

    The state must be JSON and from the route that is asked. It is made compact before the id is
    computed, so that storing it can't change it (divergence `lost_state`).
    """
    try:
        route, state, tokens_after = ask_native(planned)
    except ProviderError as error:
        progress.native_refusal = f"{error.kind}: {error.text}"
        return None
    canonical = compact_json(state)
    if canonical is None:
        progress.native_refusal = "the native state isn't valid JSON"
    elif route != settings.route:
        progress.native_refusal = f"the native state is bound to the route {route!r}"
    elif tokens_after >= planned.projected_tokens:
        progress.native_refusal = "the native state isn't smaller than what it replaces"
    else:
        return sealed(
            Checkpoint(
                **_fields(planned, lineage, settings),
                projection_kind=NATIVE,
                provider_route=route,
                provider_state_kind=NATIVE_STATE_KIND,
                provider_state=canonical,
                estimated_tokens_after=tokens_after,
            )
        )
    return None

"""The strategy `layered`: a checkpoint of the history's prefix, in segments (spec section F)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from bench.projection import Item, Kept, Native, Projection, Shortened, Written
from bench.provider import ProviderError
from bench.strategy import Ask, Budget, Declined, Policy, Reply, Stage
from strategies.layered.acceptance import NotAccepted, check_candidate
from strategies.layered.bounding import RESULT_TOKENS_MAX, bound
from strategies.layered.budget import (
    RESERVE_TOKENS_MAX,
    RESERVE_WINDOW_SHARE,
    SUMMARY_OUTPUT_TOKENS,
)
from strategies.layered.checkpoint import (
    PROMPT_VERSION,
    Checkpoint,
    InvalidCheckpoint,
    read_record,
    verify,
)
from strategies.layered.compactor import (
    AskNative,
    CompactionFailed,
    Progress,
    Settings,
    compact_history,
)
from strategies.layered.encoding import utf8
from strategies.layered.estimate import ESTIMATOR
from strategies.layered.failures import SUPPRESS_AFTER
from strategies.layered.memory import Memory
from strategies.layered.overflow import is_overflow
from strategies.layered.planner import (
    SEGMENTS_MAX,
    Plan,
    Span,
    checkpoint_message,
    span_of,
)
from strategies.layered.questions import Question
from strategies.layered.source import SourceMessage

# In a small window the constants of the original would never let anything happen.
_RESULT_WINDOW_SHARE = 16
_SUMMARY_WINDOW_SHARE = 16
_RESULT_TOKENS_MIN = 100
_SUMMARY_TOKENS_MIN = 200

_KEPT_NEWEST = {"bound_older": 1, "bound_all": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layered:
    """Summarise a verified prefix of the history in segments; shorten large results if need be.

    It fires when less than `reserve_tokens` of the window are left, none = min(16384, window / 4).
    A tool result over `result_tokens_max` may be shortened, none = min(2048, window / 16) (F10).
    A summary gets at most `summary_tokens_max` tokens, none = min(4096, window / 16).
    Up to `segments_max` segments stand side by side before they are merged into one (F6).
    The `mode` is segments, or resummarise (each compaction rewrites the whole summary).
    A plan that failed for good is left alone after `suppress_after` failures (F11.2).
    The `compactor` is text, or native where the provider has one, with text to fall back on (F7).
    An `overflow` is told by the provider's error classes or, as the original does, by substrings.
    With `as_original` the original's oddities are kept, as DIVERGENCES lists them.
    The summariser's `prompt` may be another, none = prompts/layered_append.md and layered_merge.md.

    Source: the runtime Foya (freesoulcode/foya), context compaction; spec section F.
    """

    summary: ClassVar[str] = "a verified checkpoint of the oldest history, grown in segments"
    source: ClassVar[str] = "Foya (freesoulcode/foya), context compaction"

    reserve_tokens: int | None = None
    result_tokens_max: int | None = None
    summary_tokens_max: int | None = None
    segments_max: int = SEGMENTS_MAX
    mode: Literal["segments", "resummarise"] = "segments"
    suppress_after: int = SUPPRESS_AFTER
    compactor: Literal["text", "native"] = "text"
    overflow: Literal["classes", "substrings"] = "classes"
    as_original: bool = False
    prompt: str | None = None

    def __post_init__(self) -> None:
        for name in ("reserve_tokens", "result_tokens_max", "summary_tokens_max"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1 is needed")
        for name in ("segments_max", "suppress_after"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: at least 1 is needed")

    @property
    def policy(self) -> Policy:
        """Compact, then shorten all but the newest result, then all, then send anyway (F10.1).

        Shortening serves one request only. After an overflow the same ladder runs, once a turn
        (F2.2, F2.4). There is no low-water mark: what fails for good is remembered instead.
        """
        ladder = (
            Stage("compact"),
            Stage("bound_older", is_lasting=False),
            Stage("bound_all", is_lasting=False),
        )
        is_default = self.reserve_tokens is None
        return Policy(
            stages=ladder,
            recovery_stages=ladder,
            reserve_tokens=RESERVE_TOKENS_MAX if is_default else self.reserve_tokens,
            reserve_fraction=1 / RESERVE_WINDOW_SHARE if is_default else None,
            anchor_to_usage=True,
            low_water=False,
            spent_by=("accepted", "rejected", "failed", "suppressed", "nothing"),
            estimator=ESTIMATOR,
            overflow_text=is_overflow if self.overflow == "substrings" else None,
        )

    def compact(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        """The view with a new checkpoint, or with shortened results, as `budget.stage` says.

        None when there is nothing to do. Raises Declined: "suppressed" for a plan that is known to
        fail, "rejected" for a summary without savings, else "failed".
        """
        if budget.stage in _KEPT_NEWEST:
            return self._bounded(view, budget, _KEPT_NEWEST[budget.stage])
        return self._compacted(view, budget, ask)

    def _compacted(self, view: Projection, budget: Budget, ask: Ask) -> Projection | None:
        memory = Memory.read(view.memory)
        span = span_of(view, original=self.as_original)
        session_id = budget.session or "session"
        current, refusal = _current(memory, span, session_id, budget.route)
        is_native = self.compactor == "native"
        # A text summariser can't continue an opaque state, so it starts from the history.
        previous = current if is_native or current is None or not current.is_native else None
        try:
            made, progress = compact_history(
                span,
                _phase(view, budget),
                previous,
                self._settings(budget, session_id),
                _asking(ask),
                failures=memory.failures,
                accepted_seq=budget.accepted_seq,
                ask_native=_asking_native(view, ask) if is_native else None,
                parent_id=current.checkpoint_id if current is not None else "",
            )
        except CompactionFailed as failed:
            if failed.kind == "nothing_to_compact":
                return None
            raise _declined(failed, memory) from failed
        try:
            check_candidate(
                made,
                span.messages,
                current,
                session_id=session_id,
                digest=span.digest_through(made.through_seq),
                original=self.as_original,
            )
        except NotAccepted as refused:
            raise Declined(refused.text, kind="rejected") from refused
        diagnostics = _diagnostics(made, progress, budget, refusal)
        after = memory.after_success(made)
        diagnostics["generation"] = after.generation
        return replace(
            view,
            head=head_of(view, made),
            tail_start=made.through_seq,
            memory=after.to_json(diagnostics),
        )

    def _settings(self, budget: Budget, session_id: str) -> Settings:
        by_text = self.overflow == "substrings"

        def is_input_overflow(error: ProviderError) -> bool:
            return is_overflow(error.text) if by_text else error.kind == "input_overflow"

        return Settings(
            session_id=session_id,
            model=budget.model or "unknown",
            created_at=_created_at(budget.now),
            route=budget.route,
            segments_max=1 if self.mode == "resummarise" else self.segments_max,
            output_tokens_max=self._summary_tokens(budget.window),
            result_tokens_max=self._result_tokens(budget.window),
            suppress_after=self.suppress_after,
            prompt_version=_prompt_version(self.prompt),
            own_prompt=self.prompt,
            is_overflow=is_input_overflow,
            original=self.as_original,
        )

    def _summary_tokens(self, window: int) -> int:
        if self.summary_tokens_max is not None:
            return self.summary_tokens_max
        share = max(_SUMMARY_TOKENS_MIN, window // _SUMMARY_WINDOW_SHARE)
        return min(SUMMARY_OUTPUT_TOKENS, share)

    def _result_tokens(self, window: int) -> int:
        if self.result_tokens_max is not None:
            return self.result_tokens_max
        return min(RESULT_TOKENS_MAX, max(_RESULT_TOKENS_MIN, window // _RESULT_WINDOW_SHARE))

    def _bounded(self, view: Projection, budget: Budget, keep_newest: int) -> Projection | None:
        """Large tool results shortened, the newest `keep_newest` left whole (F10.1, F10.2)."""
        shown = [SourceMessage(_seq(item), item.message) for item in view.items]
        cut = bound(
            shown, self._result_tokens(budget.window), keep_newest, original=self.as_original
        )
        changed = {
            index: result for index, result in cut.items() if isinstance(view.items[index], Kept)
        }
        if not changed:
            return None
        memory = Memory.read(view.memory)
        shortened = view.shorten(
            {result.seq: result.text for result in changed.values()},
            {result.seq: result.reference for result in changed.values()},
        )
        diagnostics = {
            "stage": budget.stage,
            "trigger": budget.trigger,
            "phase": budget.phase,
            "shortened": len(changed),
            "generation": memory.generation,
            "segments": _segments(memory),
        }
        return shortened.remember(memory.to_json(diagnostics))


def _seq(item: Item) -> int:
    return item.event.seq if isinstance(item, (Kept, Shortened)) else 0


def _segments(memory: Memory) -> int:
    record = memory.record
    segments = record.get("segments") if isinstance(record, dict) else None
    return len(segments) if isinstance(segments, list) else 0


def _phase(view: Projection, budget: Budget) -> str:
    """Which boundary to plan: automatic, or the one that is asked for.

    Only an idle session may be covered to its end (F3.4): an open request keeps its place.
    """
    if budget.phase == "automatic":
        return "auto"
    if budget.phase == "standalone" and view.request_position is not None:
        return "auto"
    return budget.phase


def _current(
    memory: Memory, span: Span, session_id: str, route: str
) -> tuple[Checkpoint | None, str]:
    """The remembered checkpoint, verified, and why it was refused (empty: it wasn't)."""
    if memory.record is None:
        return None, ""
    try:
        checkpoint = read_record(memory.record)
        digest = span.digest_through(checkpoint.through_seq)
        return verify(
            checkpoint, span.messages, session_id=session_id, route=route, digest=digest
        ), ""
    except InvalidCheckpoint as invalid:
        return None, f"{invalid.failure}: {invalid.text}"


class _Asking:
    """Puts questions to the session's model."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def __call__(self, question: Question) -> Reply:
        return self._ask(question.messages, output_tokens_max=question.output_tokens_max)


def _asking(ask: Ask) -> _Asking:
    return _Asking(ask)


def _asking_native(view: Projection, ask: Ask) -> AskNative:
    """Lets the provider compact the part of the view that a plan covers."""

    def compact_natively(planned: Plan) -> tuple[str, str, int]:
        prefix = replace(view, stop=planned.through_seq)
        native = ask.native(prefix)
        return native.route, native.state, native.tokens

    return compact_natively


def _declined(failed: CompactionFailed, memory: Memory) -> Declined:
    progress = failed.progress
    kind: Literal["failed", "rejected", "suppressed"] = "failed"
    if failed.kind == "suppressed":
        kind = "suppressed"
    elif failed.kind == "no_savings":
        kind = "rejected"
    return Declined(
        failed.text,
        deterministic=failed.is_deterministic,
        memory=memory.after_failure(progress.failures).to_json(),
        kind=kind,
        repairs=progress.repairs,
        replans=progress.replans,
    )


def head_of(view: Projection, made: Checkpoint) -> tuple[Item, ...]:
    """Leading system messages, the checkpoint, and the head anchor put back verbatim (F3.2)."""
    history = view.history
    first_seq = view.leading_system + 1
    systems = tuple(Kept(history[position]) for position in range(view.leading_system))
    written: Item
    if made.is_native:
        written = Native(
            made.provider_route,
            made.provider_state,
            first_seq,
            made.through_seq,
            made.estimated_tokens_after,
        )
    else:
        written = Written(checkpoint_message(made.summary), first_seq, made.through_seq)
    anchor = (Kept(history[made.head_anchor_seq - 1]),) if made.head_anchor_seq else ()
    return (*systems, written, *anchor)


def _diagnostics(
    made: Checkpoint, progress: Progress, budget: Budget, refusal: str
) -> dict[str, Any]:
    """What is reported of an accepted checkpoint (F11.4)."""
    found: dict[str, Any] = {
        "trigger": budget.trigger,
        "stage": budget.stage,
        "phase": made.phase,
        "level": made.level,
        "kind": made.projection_kind,
        "segments": len(made.segments or ()),
        "repairs": progress.repairs,
        "replans": progress.replans,
        "estimated_tokens_before": made.estimated_tokens_before,
        "estimated_tokens_after": made.estimated_tokens_after,
    }
    if refusal:
        found["refused_checkpoint"] = refusal
    if progress.native_refusal:
        found["refused_native"] = progress.native_refusal
    return found


def _prompt_version(prompt: str | None) -> str:
    """The prompt's version: another prompt is another version, so failures don't carry over."""
    if prompt is None:
        return PROMPT_VERSION
    return f"{PROMPT_VERSION}:{hashlib.sha256(utf8(prompt)).hexdigest()[:16]}"


def _created_at(now: float) -> str:
    """Logical time as RFC 3339; a time that no calendar has is the beginning of the epoch."""
    try:
        moment = datetime.fromtimestamp(now, UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

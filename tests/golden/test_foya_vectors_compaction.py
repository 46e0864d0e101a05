"""Agreement with the original program, second part: summaries, whole tries, acceptance."""

from __future__ import annotations

import json

from foya_cases import Case, history, stored_checkpoint, unfolded, vectors

from bench.events import Message
from bench.provider import ProviderError
from bench.strategy import Reply, Usage
from strategies.layered import (
    acceptance,
    bounding,
    budget,
    checkpoint,
    compactor,
    overflow,
    planner,
    summary,
)
from strategies.layered.failures import Failures
from strategies.layered.questions import Question
from strategies.layered.source import SourceMessage

# The history of the generate cases isn't recorded, only its messages and its tokens.
GENERATE_TOKENS_BEFORE = 1_786


class Replies:
    """Answers questions with the replies of a case, in order, and keeps what was asked."""

    def __init__(self, replies: list[Case]) -> None:
        self.replies = replies
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> Reply:
        reply = self.replies[len(self.asked)]
        self.asked.append(question)
        if "error" in reply:
            raise ProviderError("unknown", unfolded(reply["error"]))
        return Reply(unfolded(reply["text"]), reply.get("finish_reason", ""), Usage(0))

    @property
    def requests(self) -> list[Case]:
        return [
            {
                "has_previous_checkpoint": bool(question.previous_summary),
                "is_retry": question.is_repair,
                "max_output_tokens": question.output_tokens_max,
                "messages": question.parts,
            }
            for question in self.asked
        ]


def settings(session_id: str = "s1", output_tokens: int = 0) -> compactor.Settings:
    return compactor.Settings(
        session_id=session_id,
        model="m-1",
        created_at="2026-03-04T05:06:07Z",
        output_tokens_max=budget.summary_output_tokens(output_tokens),
        is_overflow=lambda error: overflow.is_overflow(error.text),
        original=True,
    )


@vectors("summary")
def test_foya_vectors_summary(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    if given["kind"] == "generate":
        check_generate(given, expect)
        return
    try:
        summary.validated(unfolded(given["text"]))
    except summary.InvalidSummary as invalid:
        assert expect == {"valid": False, "code": invalid.code, "error": invalid.text}
    else:
        assert expect == {"valid": True}


def generate_history() -> tuple[SourceMessage, ...]:
    def said(characters: int) -> tuple[SourceMessage, ...]:
        return (
            SourceMessage(1, Message("user", "x" * characters)),
            SourceMessage(2, Message("assistant", "y")),
            SourceMessage(3, Message("user", "z")),
        )

    shortest = planner.plan(planner.span_as_original(said(1)), "pre_turn").projected_tokens
    return said(1 + (GENERATE_TOKENS_BEFORE - shortest) * 4)


def check_generate(given: Case, expect: Case) -> None:
    span = planner.span_as_original(generate_history())
    ask = Replies(given["replies"])
    parameters = settings(output_tokens=given["max_output_tokens"])
    try:
        made, _ = compactor.compact_history(span, "pre_turn", None, parameters, ask)
    except compactor.CompactionFailed as failed:
        assert expect["accepted"] is False
        assert (failed.kind, failed.text) == (expect["error_kind"], expect["error"])
    else:
        assert expect["accepted"] is True
        assert made.summary == unfolded(expect["summary"])
    assert ask.requests == expect["requests"]
    assert len(ask.asked) == expect["calls"]


@vectors("accept")
def test_foya_vectors_accept(case: Case) -> None:
    given, expect = case["input"], case["expect"]
    if given["kind"] == "record":
        check_record(given, expect)
    else:
        check_compact(given, expect)


def current_of(given: Case, said: tuple[SourceMessage, ...]) -> checkpoint.Checkpoint | None:
    """What the store reports before: from the row, else from the completion event."""
    current = given.get("current")
    if current is None or "rewound_after_to_seq" in current:
        return None
    record = json.dumps(checkpoint.to_record(stored_checkpoint(current["checkpoint"])))
    row = current.get("row_raw", record) if current.get("row") else None
    completions = [record] if current.get("event") else []
    return acceptance.current_checkpoint(row, completions, said, session_id="s1")


def check_record(given: Case, expect: Case) -> None:
    said = history(given["events"])
    rewound_to = given.get("current", {}).get("rewound_after_to_seq")
    if rewound_to is not None:
        said = tuple(each for each in said if each.seq < rewound_to)
    current = current_of(given, said)
    candidate = stored_checkpoint(given["candidate"])
    after = current
    try:
        acceptance.check_candidate(
            candidate,
            said,
            current,
            session_id="s1",
            is_deleted=bool(given.get("deleted")),
            original=True,
        )
    except acceptance.NotAccepted as refused:
        assert expect["accepted"] is False
        assert (refused.code, refused.text) == (expect["code"], expect["error"])
    else:
        assert expect["accepted"] is True
        stored = json.dumps(checkpoint.to_record(candidate))
        after = acceptance.current_checkpoint(stored, [], said, session_id="s1")
    assert expect["current_after"] == (after.checkpoint_id if after else None)


def check_compact(given: Case, expect: Case) -> None:
    said = history(given["events"])
    span = planner.span_as_original(said)
    ask = Replies(given["replies"])
    current = current_of(given, said)
    failures: Failures = ()
    for wanted in expect["calls"]:
        seen = len(ask.asked)
        is_native = current is not None and current.is_native
        try:
            made, _ = compactor.compact_history(
                span,
                given["phase"],
                None if is_native else current,
                settings(given.get("session", "s1")),
                None if given.get("provider_cannot_complete") else ask,
                failures=failures,
                accepted_seq=given.get("accepted_through_seq"),
                parent_id=current.checkpoint_id if current is not None else "",
                veto=lambda _: "denied" if given.get("hook_denies") else "",
            )
        except compactor.CompactionFailed as failed:
            failures = failed.progress.failures
            assert wanted["accepted"] is False
            assert failed.kind == "denied" or failed.kind == wanted["error_kind"]
            # How a hook or an empty plan says so is the runtime's own wording.
            is_own = failed.kind in ("denied", "nothing_to_compact")
            assert is_own or failed.text == wanted["error"]
        else:
            assert wanted["accepted"] is True
            answers = made_by(made)
            assert wanted["checkpoint"] == {key: answers[key] for key in wanted["checkpoint"]}
            current, failures = made, ()
        assert ask.requests[seen:] == wanted["requests"]
    assert len(ask.asked) == expect["replies_used"]


def made_by(made: checkpoint.Checkpoint) -> Case:
    return {
        "checkpoint_id": made.checkpoint_id,
        "estimated_raw_tokens": made.estimated_raw_tokens,
        "estimated_tokens_after": made.estimated_tokens_after,
        "estimated_tokens_before": made.estimated_tokens_before,
        "head_anchor_seq": made.head_anchor_seq,
        "level": made.level,
        "phase": made.phase,
        "previous_checkpoint_id": made.previous_checkpoint_id,
        "segments": [[each.from_seq, each.through_seq] for each in made.segments or ()],
        "source_digest": made.source_digest,
        "summary": made.summary,
        "summary_sha256": bounding.sha256_of(made.summary),
        "through_seq": made.through_seq,
    }

"""`head_tail` against what the original program answered, one test for each recorded case.

`now` is a later version of it: what its preset shares with the older one is checked, its further
features (superseded reads, calibration, condensed transcripts, task state) aren't there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from zero_cases import (
    ScriptedFailure,
    ScriptedProvider,
    append,
    folder,
    messages_of,
    read_cases,
    scripted_text,
    sha256_16,
    text_of,
    tools_of,
)

from bench.engine import Engine
from bench.engine_policy import threshold_of
from bench.events import Message, Session
from bench.history import History
from bench.projection import Projection, Shortened, Written
from bench.provider import ProviderError
from bench.strategy import Budget
from strategies.head_tail import NO_SUMMARY, PRESETS, HeadTail
from strategies.head_tail.estimate import estimator, messages_tokens, text_tokens_by_bytes
from strategies.head_tail.overflow import text_classes
from strategies.head_tail.prune import PruneLimits, placeholder, stale_bodies
from strategies.head_tail.state import STATE_HEADING, SUMMARY_LABEL
from strategies.head_tail.summary import replacement

BYTES = estimator("bytes")
ORIGINAL_NO_TEXT = "summarizer returned no text"


def preset(case: dict[str, Any], preserve_last: int = 0) -> HeadTail:
    """The version's preset; a `preserve_last` of zero or less leaves the default."""
    strategy = cast(HeadTail, PRESETS[f"zero_{case['version']}"])
    if preserve_last <= 0:
        return strategy
    return replace(strategy, preserve_last=preserve_last, prune_spares=preserve_last)


def check_estimate(case: dict[str, Any]) -> None:
    given, expect = case["input"], case["expect"]
    messages, tools = messages_of(given["messages"]), tools_of(given.get("tools"))
    per_message = [BYTES.message_units(message) for message in messages]
    per_tool = [BYTES.tools_units([tool]) for tool in tools]
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    window, total = given["window"], BYTES.tokens(sum(per_message) + BYTES.tools_units(tools))
    assert per_message == expect["per_message"]
    assert per_tool == expect["per_tool"]
    assert messages_tokens(messages) == expect["messages"]
    assert BYTES.tools_units(tools) == expect["tools"]
    assert total == expect["total"]
    assert max(0, threshold_of(preset(case).policy, window)) == expect["threshold"]
    assert [text_tokens_by_bytes(text_of(text)) for text in given.get("texts") or ()] == (
        expect.get("texts") or []
    )
    assert expect["breakdown"] == {
        "system": sum(per_message[:leading]),
        "conversation": sum(per_message[leading:]),
        "tools": sum(per_tool),
        "total": total,
        "used_fraction": pytest.approx(total / window if window > 0 else 0),
    }


def check_compact(case: dict[str, Any]) -> None:
    given, expect = case["input"], case["expect"]
    messages = messages_of(given["messages"])
    preserve_last = preset(case, given["preserve_last"]).preserve_last
    seen: list[list[Message]] = []

    def summarise(covered: Any) -> str:
        seen.append(list(covered))
        return scripted_text(given["summarizer"])

    summariser = None if given["summarizer"] is None else summarise
    if expect["error"] is not None:
        with pytest.raises((ScriptedFailure, ValueError)) as failure:
            replacement(messages, preserve_last, summariser)
        if summariser is not None:
            assert str(failure.value) == expect["error"]
        assert len(seen) == expect["calls"]
        return
    replaced = replacement(messages, preserve_last, summariser)
    assert len(seen) == expect["calls"]
    assert (replaced is not None) == expect["compacted"]
    start, stop = (replaced.start, replaced.stop) if replaced else (0, 0)
    assert list(range(start, stop)) == expect["summarized"]
    assert stop - start == expect["removed_count"]
    summary = {"summary": True, "role": "user", "text_prefix": SUMMARY_LABEL}
    kept = [{"kept": index} for index in range(len(messages))]
    assert [*kept[:start], *([summary] if replaced else []), *kept[stop:]] == expect["result"]
    assert len(messages) - (stop - start) == expect["preserved_count"]
    assert messages_tokens(messages) == expect["tokens_before"]
    if replaced is None:
        assert expect["tokens_after"] == expect["tokens_before"]
        return
    check_strategy_agrees(case, messages)
    assert replaced.message.role == "user"
    assert replaced.message.text.startswith(SUMMARY_LABEL + "\n")
    if case["version"] == "seed":
        check_written(expect, messages, seen, replaced.message)
        after = [*messages[:start], replaced.message, *messages[stop:]]
        assert messages_tokens(after) == expect["tokens_after"]


def check_written(
    expect: dict[str, Any], messages: list[Message], seen: list[list[Message]], written: Message
) -> None:
    """The summariser's input and the bytes of the message that stands for it."""
    saw = expect["summarizer_saw"]
    assert saw["kind"] == "messages"
    assert seen == [messages[saw["first"] : saw["first"] + saw["count"]]]
    text = written.text
    summary, _, state = text.removeprefix(SUMMARY_LABEL + "\n").partition(f"\n\n{STATE_HEADING}\n")
    assert (json.loads(state) if state else None) == expect["state"]
    told = expect["summary_text"]
    if isinstance(told, str):
        assert summary == told
    else:
        assert len(summary.encode()) == told["bytes"]
        assert sha256_16(summary) == told["sha256_16"]
    assert text == expect.get("content", text)
    assert len(text.encode("utf-8", "surrogatepass")) == expect["content_bytes"]
    assert sha256_16(text) == expect["content_sha256_16"]


def check_strategy_agrees(case: dict[str, Any], messages: list[Message]) -> None:
    """The strategy itself makes the same cut on a projection; it alone refuses empty summaries."""
    given, expect = case["input"], case["expect"]
    if not text_of(given["summarizer"]["text"]).strip():
        return
    history = History()
    append(history, messages)
    provider = ScriptedProvider(10_000_000, [given["summarizer"]])
    budget = Budget(
        window=provider.window,
        threshold_tokens=0,
        size_tokens=0,
        trigger="manual",
        stage="summarise",
    )
    strategy = preset(case, given["preserve_last"])
    ask = cast(Any, provider.complete)
    result = strategy.compact(Projection.whole(history), budget, ask)
    assert result is not None
    assert [
        {"kept": item.seqs[0] - 1} if not isinstance(item, Written) else "summary"
        for item in result.items
    ] == [entry if "kept" in entry else "summary" for entry in expect["result"]]


def check_prune(case: dict[str, Any]) -> None:
    given, expect = case["input"], case["expect"]
    messages = messages_of(given["messages"])
    limits = PruneLimits(spare_last=max(0, given["preserve_last"]))
    texts = stale_bodies(messages, limits, text_tokens_by_bytes)
    pruned = [
        replace(message, text=texts.get(index, message.text))
        for index, message in enumerate(messages)
    ]
    assert list(texts) == expect["pruned"]
    for told, (index, text) in zip(expect["placeholders"], texts.items(), strict=True):
        before = text_tokens_by_bytes(messages[index].text)
        assert (told["index"], told["tokens_before"]) == (index, before)
        assert text == placeholder(told["tool"], before)
        # The wording is our own, its size isn't: sizes decide what happens next.
        assert text_tokens_by_bytes(text) == told["tokens_after"]
        assert told["tool"] in text
        assert f"~{before} tokens" in text
    assert messages_tokens(messages) == expect["tokens_before"]
    assert messages_tokens(pruned) == expect["tokens_after"]
    assert messages_tokens(messages) - messages_tokens(pruned) == expect["reclaimed"]
    again = stale_bodies(pruned, limits, text_tokens_by_bytes)
    assert {"pruned": list(again), "reclaimed": 0} == expect["second_pass"]


def check_ctxerr(case: dict[str, Any]) -> None:
    classes = text_classes(text_of(case["input"]["text"]))
    expect = dict(case["expect"])
    if case["version"] != "seed":
        # Which failed connections are worth another try has changed since.
        del expect["reconnect"]
    assert {name: name in classes for name in expect} == expect


class Run:
    """One run of the original: its state is an engine, a history and the projection of it."""

    def __init__(self, case: dict[str, Any]) -> None:
        given = case["input"]
        self.strategy = preset(case, given["preserve_last"])
        self.provider = ScriptedProvider(given["window"], given["script"])
        session = Session("case", (), tools_of(given.get("tools")))
        self.engine = Engine(self.strategy, self.provider, session)
        self.tools_tokens = BYTES.tools_units(session.tools)
        self.history = History()
        self.view = Projection.whole(self.history)

    def append(self, shapes: Any) -> None:
        append(self.history, messages_of(shapes))
        self.view = self.view.advance()

    def changes(self, before: Projection) -> dict[str, Any]:
        """What became of the items of `before`: positions dropped, events pruned, text written."""
        after = self.view
        found: dict[str, Any] = {"len": len(after.items)}
        texts = {item.seqs[0]: item.message.text for item in before.items}
        pruned = [
            item.event.seq - 1
            for item in after.items
            if isinstance(item, Shortened) and texts[item.event.seq] != item.message.text
        ]
        if pruned:
            found["pruned"] = pruned
        written = [item for item in after.items if isinstance(item, Written)]
        if written and written[0] not in before.items:
            seqs = range(written[0].first_seq, written[0].last_seq + 1)
            places = [place for place, item in enumerate(before.items) if item.seqs[0] in seqs]
            text = written[0].message.text
            found["dropped"] = [places[0], places[-1]]
            found["content_bytes"] = len(text.encode("utf-8", "surrogatepass"))
            found["has_state"] = STATE_HEADING in text
        return found


_ACTIONS = {
    "accepted": "compacted",
    "failed": "failed",
    "rejected": "no_shrink",
    "nothing": "nothing",
}


def action_of(run: Run, before: int, outcomes: tuple[str, ...], is_pruned: bool) -> str:
    """The original's word; it names pruning where a pruned body is still there afterwards."""
    if run.provider.window <= 0:
        return "disabled"
    if not outcomes:
        return "under" if before <= run.engine.threshold else "guard"
    pruned = ["pruned"] if is_pruned else []
    return "+".join(pruned + [_ACTIONS[outcome] for outcome in outcomes[1:]])


def check_maybe_compact(case: dict[str, Any]) -> None:
    expect = case["expect"]
    run = Run(case)
    assert max(0, run.engine.threshold) == expect["threshold"]
    assert run.tools_tokens == expect["tool_tokens"]
    for request, (turn, told) in enumerate(
        zip(case["input"]["turns"], expect["turns"], strict=True)
    ):
        run.append(turn["append"])
        before, asked = run.view, len(run.provider.asked)
        size, mark = run.engine.size(before), run.engine.low_water
        prepared = run.engine.prepare(before, request)
        run.view = prepared.lasting
        changes = run.changes(before)
        found = {
            "action": action_of(run, size, prepared.outcomes, "pruned" in changes),
            "before": size,
            "calls": len(run.provider.asked) - asked,
            **changes,
        }
        if run.engine.size(run.view) != size:
            found["after"] = run.engine.size(run.view)
        if run.engine.low_water != mark:
            found["low_water"] = run.engine.low_water
        assert found == told
        assert prepared.sent == prepared.lasting
    assert len(run.provider.asked) == expect["total_calls"]


def check_recover(case: dict[str, Any]) -> None:
    given, expect = case["input"], case["expect"]
    run = Run(case)
    run.append(given["messages"])
    spent = False
    for request, (attempt, told) in enumerate(
        zip(given["attempts"], expect["attempts"], strict=True)
    ):
        run.append(attempt.get("append"))
        before, asked = run.view, len(run.provider.asked)
        is_overflow = run.engine.is_overflow(ProviderError("unknown", attempt["error"]))
        retried, error = False, None
        if is_overflow:
            recovery = run.engine.recover(before, request)
            spent = spent or recovery.is_spent
            retried = recovery.prepared is not None
            if recovery.prepared is not None:
                run.view = recovery.prepared.lasting
            elif recovery.is_spent:
                error = run.engine.compactions[-1].reason
        found = {
            "context_limit": is_overflow,
            "retried": retried or error is not None,
            "error": error,
            "budget_spent": spent,
            "low_water": run.engine.low_water,
            "calls": len(run.provider.asked) - asked,
            "before": run.engine.size(before),
            "after": run.engine.size(run.view),
            "surfaces": "compaction_error" if error else None if retried else "original_error",
            **run.changes(before),
        }
        if told["error"] == ORIGINAL_NO_TEXT:
            told = {**told, "error": NO_SUMMARY}
        assert {name: found.get(name) for name in told} == told
    assert len(run.provider.asked) == expect["total_calls"]


def check_until_compacted(case: dict[str, Any]) -> None:
    """What `now` shares with `seed`: sizes and the trigger, up to the first thing that is done."""
    expect = case["expect"]
    run = Run(case)
    assert max(0, run.engine.threshold) == expect["threshold"]
    assert run.tools_tokens == expect["tool_tokens"]
    for turn, told in zip(case["input"]["turns"], expect["turns"], strict=True):
        run.append(turn["append"])
        size = run.engine.size(run.view)
        assert size == told["before"]
        if "ratio" in told:
            return
        prepared = run.engine.prepare(run.view, 0)
        is_idle = told["action"] in ("disabled", "under")
        assert (prepared.outcomes == ()) == is_idle
        if not is_idle:
            return
        assert action_of(run, size, prepared.outcomes, False) == told["action"]


def check_first_attempt(case: dict[str, Any]) -> None:
    """What `now` shares with `seed`: which errors are overflows, and the size at the first."""
    run = Run(case)
    run.append(case["input"]["messages"])
    first = case["input"]["attempts"][0]
    run.append(first.get("append"))
    assert run.engine.size(run.view) == case["expect"]["attempts"][0]["before"]
    for attempt, told in zip(case["input"]["attempts"], case["expect"]["attempts"], strict=True):
        error = ProviderError("unknown", attempt["error"])
        assert run.engine.is_overflow(error) == told["context_limit"]


CHECKS: dict[tuple[str, str], Callable[[dict[str, Any]], None]] = {
    ("seed", "estimate"): check_estimate,
    ("seed", "compact"): check_compact,
    ("seed", "prune"): check_prune,
    ("seed", "maybe_compact"): check_maybe_compact,
    ("seed", "recover"): check_recover,
    ("seed", "ctxerr"): check_ctxerr,
    ("now", "estimate"): check_estimate,
    ("now", "compact"): check_compact,
    ("now", "prune"): check_prune,
    ("now", "ctxerr"): check_ctxerr,
    ("now", "maybe_compact"): check_until_compacted,
    ("now", "recover"): check_first_attempt,
}

NOT_REBUILT = pytest.mark.skip(reason="the original's run loop isn't rebuilt")


def _parameters() -> list[Any]:
    cases = read_cases()
    if not cases:
        skipped = pytest.mark.skip(reason=f"no cases in {folder()}: set ZERO_VECTORS")
        return [pytest.param({}, id="none", marks=skipped)]
    return [
        pytest.param(
            case,
            id=f"{case['version']}-{case['id']}",
            marks=[] if (case["version"], case["group"]) in CHECKS else [NOT_REBUILT],
        )
        for case in cases
    ]


@pytest.mark.parametrize("case", _parameters())
def test_zero_vectors(case: dict[str, Any]) -> None:
    CHECKS[case["version"], case["group"]](case)

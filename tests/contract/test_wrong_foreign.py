"""verify finds in foreign code what bug reports found: each mistake by its promise."""

import itertools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.foreign.adapter import as_strategy
from bench.foreign.functions import MessageFunction
from bench.strategy import Strategy
from bench.testing import BrokenPromise, check_strategy, conformance, find_broken_promises
from bench.testing.conformance import check_promise

Messages = list[dict[str, Any]]


def _parts(messages: Messages, newest: int) -> tuple[Messages, Messages, Messages]:
    """Leading system messages, the old and the newest others; no group is cut."""
    first = next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))
    cut = max(first, len(messages) - newest)
    while first < cut < len(messages) and messages[cut]["role"] == "tool":
        cut -= 1
    return messages[:first], messages[first:cut], messages[cut:]


def right(messages: Messages, window: int, *, request_at: int | None) -> Messages | None:
    """Keeps system, request and the newest messages."""
    system, old, kept = _parts(messages, 4)
    request = None if request_at is None else messages[request_at]
    gone = [one for one in old if one is not request]
    if len(gone) < 3:
        return None
    asked = [] if request is None or request in kept else [request]
    return [*system, {"role": "user", "content": "[left out]"}, *asked, *kept]


def cuts_by_count(messages: Messages, window: int, *, request_at: int | None) -> Messages:
    """Keeps the newest five, wherever that cuts."""
    pinned = [m for i, m in enumerate(messages[:-5]) if m["role"] == "system" or i == request_at]
    return [*pinned, *messages[-5:]]


def drops_assistants(messages: Messages, window: int) -> Messages:
    """Leaves out what the assistant said, not what its tools said."""
    return [one for one in messages if one["role"] != "assistant"]


def drops_results(messages: Messages, window: int) -> Messages:
    """Leaves out results, not their calls."""
    return [one for one in messages if one["role"] != "tool"]


def drops_one_result(messages: Messages, window: int) -> Messages:
    """Of several results in a row only the last is kept."""
    return [
        one
        for one, after in itertools.zip_longest(messages, messages[1:], fillvalue={})
        if not (one["role"] == "tool" and after.get("role") == "tool")
    ]


def grows(messages: Messages, window: int) -> Messages:
    """Adds a summary and removes nothing."""
    told = " ".join(str(one["content"]) for one in messages)
    return [*messages, {"role": "user", "content": f"Summary: {told}"}]


def drops_the_request(messages: Messages, window: int) -> Messages:
    """Summarises everything, the question that is being worked on included."""
    system = _parts(messages, 0)[0]
    return [*system, {"role": "user", "content": "All is well."}]


def drops_the_system(messages: Messages, window: int, *, request_at: int | None) -> Messages | None:
    """Loses the standing instructions."""
    answer = right(messages, window, request_at=request_at)
    return answer and [one for one in answer if one["role"] != "system"]


def adds_to_the_system(
    messages: Messages, window: int, *, request_at: int | None
) -> Messages | None:
    """Hides its summary in the instructions."""
    answer = right(messages, window, request_at=request_at)
    if answer and answer[0]["role"] == "system":
        answer[0] = {"role": "system", "content": answer[0]["content"] + " [left out]"}
    return answer


def draws(messages: Messages, window: int, *, request_at: int | None) -> Messages | None:
    """Never says the same twice."""
    answer = right(messages, window, request_at=request_at)
    for one in answer or []:
        if one["content"] == "[left out]":
            one["content"] = f"[{random.random()}]"
    return answer


_calls = itertools.count()


def counts(messages: Messages, window: int, *, request_at: int | None) -> Messages | None:
    """Keeps a counter of its own between sessions."""
    answer = right(messages, window, request_at=request_at)
    for one in answer or []:
        if one["content"] == "[left out]":
            one["content"] = f"[summary {next(_calls)}]"
    return answer


def turns_round(messages: Messages, window: int) -> Messages:
    """Newest first."""
    system = _parts(messages, 0)[0]
    return [*system, *reversed(messages[len(system) :])]


def repeats(messages: Messages, window: int, *, request_at: int | None) -> Messages | None:
    """Says the newest group twice."""
    answer = right(messages, window, request_at=request_at)
    return answer and [*answer, *_parts(answer, 1)[2]]


def writes_nothing(messages: Messages, window: int) -> Messages:
    """Its summariser answered with nothing."""
    system, old, kept = _parts(messages, 3)
    return [*system, {"role": "user", "content": ""}, *kept] if old else messages


def expects_text(messages: Messages, window: int) -> Messages:
    """Doesn't know that a message with calls may have no text."""
    return [one for one in messages if len(one["content"]) > 0]


def answers_a_text(messages: Messages, window: int) -> str:
    """Returns its summary alone."""
    return "All is well."


WRONG: list[tuple[Callable[..., Any], str, str]] = [
    (cuts_by_count, "valid_projections", "H1: message .* isn't directly before it"),
    (drops_assistants, "valid_projections", "H1: message .* isn't directly before it"),
    (drops_results, "valid_projections", "H1: .* calls of message .* have no result"),
    (drops_one_result, "valid_projections", "H1: 1 calls of message .* have no result"),
    (grows, "never_grows", "H2: its answer has .* tokens instead of"),
    (drops_the_request, "valid_projections", "H4: the current user request"),
    (drops_the_system, "valid_projections", "H4: leading system message"),
    (adds_to_the_system, "valid_projections", "H4: leading system message"),
    (draws, "deterministic", "H6"),
    (counts, "deterministic", "H6"),
    (turns_round, "valid_projections", "H[15]"),
    (repeats, "valid_projections", "H[15]"),
    (writes_nothing, "valid_projections", "H5: message .* is empty"),
    (expects_text, "valid_projections", "H8: strategy raised TypeError"),
    (answers_a_text, "valid_projections", "H8: no usable answer: it returned str"),
]


def _strategy(function: Callable[..., Any], **settings: Any) -> Strategy:
    return as_strategy(MessageFunction(function=function, **settings))


@pytest.mark.parametrize("calls", ["trigger", "every"])
def test_a_right_function_keeps_every_promise(calls: str) -> None:
    check_strategy(_strategy(right, calls=calls), examples=12)


def test_functions_are_checked_as_they_are() -> None:
    check_strategy(right, examples=2)
    with pytest.raises(BrokenPromise, match="H4"):
        check_strategy(drops_the_request, examples=5)
    with pytest.raises(TypeError, match=r"takes \(messages\); write \(messages, window\)"):
        check_strategy(lambda messages: messages)


@pytest.mark.parametrize(
    ("function", "promise", "words"), WRONG, ids=lambda value: getattr(value, "__name__", "")
)
def test_wrong_code_is_caught(function: Callable[..., Any], promise: str, words: str) -> None:
    with pytest.raises(BrokenPromise, match=words):
        check_promise(_strategy(function), promise, examples=60, shrinks_max=0)


@pytest.mark.parametrize(
    ("function", "words"),
    [(cuts_by_count, "H1"), (drops_the_request, "H4"), (drops_results, "H1")],
)
def test_wrong_code_that_decides_itself_is_caught(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(BrokenPromise, match=words):
        strategy = _strategy(function, calls="every")
        check_promise(strategy, "valid_projections", examples=60, shrinks_max=0)


def test_every_mistake_is_told_with_a_small_history() -> None:
    def several(messages: Messages, window: int) -> Messages:
        return [one for one in messages[-3:] if one["role"] != "assistant"]

    found = find_broken_promises(_strategy(several), examples=6, shrinks_max=60)
    told = " ".join(one.how for one in found)
    for words in ("H1: message", "H4: leading system", "H4: the current user request"):
        assert words in told
    assert all(len(one.case.session.events) <= 16 for one in found)


JAVASCRIPT = """
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { messages, request_at } = JSON.parse(line);
  const pinned = messages.slice(0, -3).filter((m, i) => m.role === "system" || i === request_at);
  const answer = [...pinned, ...messages.slice(-3)];
  console.log(JSON.stringify({ messages: answer }));
});
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js isn't installed")
def test_a_wrong_program_in_another_language_is_caught(
    tmp_path: Path, run_command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cuts.js").write_text(JAVASCRIPT)
    spec = f"exec:{json.dumps('node cuts.js')}(mode=jsonl)"
    monkeypatch.setattr(conformance, "_SHRINKS_ELSEWHERE", 10)
    ran = run_command("verify", spec, "--examples", 4)
    assert ran.code == 1
    assert "BROKEN valid_projections" in ran.out
    assert "kept   deterministic" in ran.out and "kept   history_unchanged" in ran.out
    assert "valid_projections: H1: " in ran.out
    assert "the smallest history that shows it, window " in ran.out
    assert "assistant calls call" in ran.out and "answers call" in ran.out

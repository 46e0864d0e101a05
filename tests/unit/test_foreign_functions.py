"""Functions and objects over message lists: signatures, keywords, state, async, what they raise."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.errors import UsageError
from bench.foreign.adapter import MessageCompaction, as_strategy
from bench.foreign.functions import MessageFunction, signature_problem
from bench.history import History
from bench.models import make_model
from bench.observations import Replay
from bench.projection import Projection, Written
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.strategy import Ask, Declined
from bench.wire.rendering import render
from tests.builders import long_session

SESSION = long_session(12, turns=2)
Messages = list[dict[str, Any]]


def shorter(messages: Messages, text: str = "[left out]", at: int | None = None) -> Messages:
    system = [one for one in messages if one["role"] == "system"]
    kept = messages[-2:] if messages[-1]["role"] == "tool" else messages[-1:]
    request = [] if at is None or messages[at] in kept else [messages[at]]
    return [*system, {"role": "user", "content": text}, *request, *kept]


def _replayed(function: Callable[..., Any], **settings: Any) -> Replay:
    return _run(as_strategy(MessageFunction(function=function, **settings)))


def _run(strategy: Any, window: int = 100_000, cuts: int | None = 4) -> Replay:
    return replay(SESSION, strategy, SimulatedProvider(make_model("offline"), window), cuts=cuts)


def _outcomes(seen: Replay) -> list[str]:
    return [one.outcome for one in seen.compactions]


def test_a_function_of_messages_and_window_is_enough() -> None:
    windows = []

    def compact(messages: Messages, window: int) -> Messages:
        last = max(i for i, one in enumerate(messages) if one["role"] == "user")
        windows.append(window)
        return shorter(messages, at=last)

    seen = _replayed(compact)
    assert _outcomes(seen) == ["accepted"] * 4 and windows == [100_000] * 4
    assert seen.compactions[0].violations == ()


def test_keywords_are_given_to_those_who_ask_for_them() -> None:
    seen: list[tuple[Any, ...]] = []

    def compact(
        messages: Messages,
        window: int,
        *,
        tools: Any,
        state: Any,
        reason: str,
        seed: int,
        budget: Any,
        request_at: int | None,
    ) -> tuple[Messages, int]:
        assert request_at is not None and messages[request_at]["content"].startswith("request")
        seen.append((tools, state, reason, seed, budget.stage))
        return shorter(messages, at=request_at), (state or 0) + 1

    assert _outcomes(_replayed(compact)) == ["accepted"] * 4
    states = [None, 1, 2, 3]
    assert seen == [([], state, "budget", 0, "compact") for state in states]


def test_state_comes_back_from_calls_in_which_nothing_was_done() -> None:
    states = []

    def compact(messages: Messages, window: int, state: Any = None) -> tuple[None, list[Any]]:
        states.append(state)
        return None, [*(state or []), len(messages)]

    assert _outcomes(_replayed(compact, calls="every")) == []
    assert [len(state or []) for state in states] == [0, 1, 2, 3]


def test_a_refused_answer_leaves_the_state() -> None:
    states = []  # What was refused never happened.

    def compact(messages: Messages, window: int, *, state: Any) -> tuple[Messages, int]:
        states.append(state)
        return messages[1:], 1 + (state or 0)

    assert _outcomes(_replayed(compact)) == ["rejected"] * 4
    assert states == [None] * 4


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_functions_may_be_async(in_a_loop: bool) -> None:
    async def compact(messages: Messages, window: int, *, request_at: int | None) -> Messages:
        await asyncio.sleep(0)
        return shorter(messages, at=request_at)

    async def within() -> Replay:
        return _replayed(compact)

    seen = asyncio.run(within()) if in_a_loop else _replayed(compact)
    assert _outcomes(seen) == ["accepted"] * 4


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_what_an_async_function_raises_is_named(in_a_loop: bool) -> None:
    async def compact(messages: Messages, window: int) -> Messages:
        raise LookupError("gone")

    async def within() -> Replay:
        return _replayed(compact)

    seen = asyncio.run(within()) if in_a_loop else _replayed(compact)
    assert {one.reason for one in seen.compactions} == {"strategy raised LookupError: gone"}


@pytest.mark.parametrize(
    "question",
    ["Summarise it.", [{"role": "user", "content": "Summarise it."}]],
)
def test_the_model_is_asked_and_counted(question: Any) -> None:
    def compact(messages: Messages, window: int, *, ask: Any, request_at: int) -> Messages:
        reply = ask(question, output_tokens_max=20)
        assert reply.finish_reason in ("stop", "length")
        return shorter(messages, f"Summary: {reply.text}", request_at)

    seen = _replayed(compact)
    assert _outcomes(seen) == ["accepted"] * 4
    assert all(one.asked == 1 and one.ask_input_tokens > 0 for one in seen.compactions)


def test_asking_and_doing_nothing_is_counted() -> None:
    def compact(messages: Messages, window: int, *, ask: Any) -> None:
        ask("Is it time?")

    seen = _replayed(compact)
    assert _outcomes(seen) == ["rejected"] * 4 and seen.summariser_tokens > 0


def test_the_list_belongs_to_the_function() -> None:
    def compact(messages: Messages, window: int, *, tools: Any, request_at: int) -> Messages:
        answer = shorter([dict(one) for one in messages], at=request_at)
        for one in messages:
            one["content"] = "changed"
            for call in one.get("tool_calls", ()):
                call["function"]["name"] = "changed"
        messages.clear()
        return answer

    before = repr(SESSION)
    assert _outcomes(_replayed(compact)) == ["accepted"] * 4
    assert repr(SESSION) == before


def test_whoever_is_called_for_every_request_decides_itself() -> None:
    lengths = []

    def compact(messages: Messages, window: int, *, request_at: int | None) -> Messages | None:
        lengths.append(len(messages))
        return shorter(messages, at=request_at) if len(messages) > 9 else None

    strategy = as_strategy(MessageFunction(function=compact, calls="every"))
    seen = _run(strategy, cuts=None)
    assert len(lengths) == seen.requests_total and max(lengths) < 12
    assert set(_outcomes(seen)) == {"accepted"} and len(seen.compactions) > 3


def test_an_answer_that_does_not_last_serves_one_request() -> None:
    lengths = []

    def compact(messages: Messages, window: int, *, request_at: int | None) -> Messages:
        lengths.append(len(messages))
        return shorter(messages, at=request_at)

    settings = {"calls": "every", "lasting": False}
    _run(as_strategy(MessageFunction(function=compact, **settings)), cuts=None)  # type: ignore[arg-type]
    assert lengths == sorted(lengths) and lengths[-1] > 40


def test_broken_answers_are_refused_or_for_every_request_sent_and_counted() -> None:
    def compact(messages: Messages, window: int) -> Messages:
        return messages[1:]  # the system message is gone

    seen = _replayed(compact)
    assert _outcomes(seen) == ["rejected"] * 4
    assert seen.compactions[0].violations[0].startswith("H4: leading system message")
    seen = _run(as_strategy(MessageFunction(function=compact, calls="every")), cuts=None)
    assert set(_outcomes(seen)) == {"accepted"} and seen.stopped is None
    assert all(one.violations for one in seen.compactions)
    last = seen.projection(len(seen.requests) - 1, History(SESSION.events))
    assert "system" not in {message.role for message in render(last).messages}


def test_promises_can_be_waived() -> None:
    def compact(messages: Messages, window: int) -> Messages:
        return [messages[0], {"role": "user", "content": "All of it."}]

    assert _outcomes(_replayed(compact)) == ["rejected"] * 4
    assert _outcomes(_replayed(compact, waives=("H4",))) == ["accepted"] * 4


def test_growth_above_the_threshold_is_a_finding() -> None:
    def compact(messages: Messages, window: int) -> Messages:
        return [*messages, {"role": "user", "content": "and so on " * 50}]

    strategy = as_strategy(MessageFunction(function=compact))
    seen = _run(strategy, window=3_000, cuts=None)
    assert seen.compactions[0].outcome == "rejected"
    assert seen.compactions[0].violations[0].startswith("H2: its answer has ")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("text", "returned str, not a list"),
        ({"messages": []}, "returned dict, not a list"),
        (([], 1, 2), "returned 3 values"),
        (["text"], "message 0 is no object but a text"),
        ([{"role": "robot", "content": ""}], "has the role 'robot'"),
        ([{"role": "user", "content": 5}], "a content that is no text but int"),
        ([{"role": "user", "tool_calls": [{}]}], "a tool call without function.name"),
        ([{"role": "assistant", "tool_calls": 5}], "tool_calls that is no list but int"),
    ],
)
def test_answers_of_another_shape_are_named(answer: Any, words: str) -> None:
    seen = _replayed(lambda messages, window: answer)
    assert _outcomes(seen) == ["failed"] * 4
    assert seen.compactions[0].reason.startswith("no usable answer: ")
    assert words in seen.compactions[0].reason


def test_lone_surrogates_do_no_harm() -> None:
    def compact(messages: Messages, window: int, *, request_at: int) -> Messages:
        return shorter(messages, "half \ud83d a pair", request_at)

    assert _outcomes(_replayed(compact)) == ["accepted"] * 4


SIGNATURES = """
import functools
async def right(messages, window): ...
def with_defaults(messages, window, verbose=False, *, tools, ask=None): ...
def anything(*args, **kwargs): ...
def only_messages(messages): ...
def nothing(): ...
def three(messages, window, model): ...
def unknown_keyword(messages, window, *, model): ...
def yields(messages, window):
    yield messages
async def yields_async(messages, window):
    yield messages
def state_instead(messages, state): ...
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("right", ""),
        ("with_defaults", ""),
        ("anything", ""),
        ("only_messages", "takes (messages)"),
        ("nothing", "takes ()"),
        ("three", "takes (messages, window, model)"),
        ("unknown_keyword", "needs model, which isn't known"),
        ("yields", "is a generator"),
        ("yields_async", "is a generator"),
        ("state_instead", "takes (messages, state)"),
    ],
)
def test_signatures_are_looked_at_before_anything_is_replayed(
    name: str, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SIGNATURES)
    if not words:
        made = make_strategy(f"{file}:{name}")
        assert isinstance(made.strategy, MessageCompaction)
        return
    with pytest.raises(UsageError) as caught:
        make_strategy(f"{file}:{name}")
    assert f"{name} {words}" in str(caught.value) and "\n" not in str(caught.value)
    assert "(messages, window)" in str(caught.value)


def test_a_thing_without_signature_is_refused() -> None:
    assert "no signature that can be read" in signature_problem(dict.update)


@dataclass(frozen=True, kw_only=True)
class Newest:
    """Keeps the newest messages."""

    keep: int = 1
    calls: str = "trigger"

    def compact_messages(
        self, messages: Messages, window: int, *, request_at: int | None, ask: Ask
    ) -> Messages:
        if self.keep < 1:
            raise Declined("nothing would be left", deterministic=True)
        return shorter(messages, f"kept {self.keep}", request_at)


OBJECT = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Newest:
    keep: int = 1
    def compact_messages(self, messages, window):
        return None
@dataclass(frozen=True)
class Wrong:
    def compact_messages(self, messages):
        return None
"""


def test_objects_over_messages_are_strategies_with_parameters(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OBJECT)
    made = make_strategy(f"{file}:Newest(keep=3)")
    assert made.spec == f"{file}:Newest(keep=3)"
    assert isinstance(made.strategy, MessageCompaction) and made.strategy.inner.keep == 3
    with pytest.raises(UsageError, match=r"Wrong has a method compact_messages that takes"):
        make_strategy(f"{file}:Wrong")


def test_objects_are_replayed_and_may_decline() -> None:
    seen = _run(MessageCompaction(Newest()))
    assert _outcomes(seen) == ["accepted"] * 4
    assert isinstance(seen.heads[-1][1], Written)
    seen = _run(MessageCompaction(Newest(keep=0)))
    assert {one.reason for one in seen.compactions} == {"nothing would be left"}


def test_its_numbers_say_that_provenance_is_inferred(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SIGNATURES)
    strategy: Any = make_strategy(f"{file}:right").strategy
    assert strategy.is_inferred
    assert strategy.caveats[0].startswith("right: what it kept, shortened and wrote is inferred")


def test_a_spec_of_a_function_says_when_it_is_called(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SIGNATURES)
    text = f"{file}:right(threshold=0.5, lasting=false, waives=[H4])"
    made = make_strategy(text)
    assert made.spec == text == make_strategy(made.spec).spec
    assert made.strategy.policy.threshold_fraction == 0.5  # type: ignore[attr-defined]
    for wrong in ("threshold=2", "waives=[H9]", "calls=sometimes"):
        with pytest.raises(UsageError):
            make_strategy(f"{file}:right({wrong})")


def test_the_view_is_whole_when_nothing_was_done() -> None:
    view = Projection.whole(History(SESSION.events))
    seen = _replayed(lambda messages, window: messages)
    assert _outcomes(seen) == []
    assert seen.final is not None and seen.final.shows_the_same_as(view)

"""Pruning of stale tool results (Z7), as pure rule and as the strategy `prune`."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.engine import Engine
from bench.events import Message, Session, ToolCall
from bench.history import History
from bench.models import OfflineModel
from bench.projection import Projection, Shortened
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.strategy import Budget
from strategies.head_tail.estimate import text_tokens_by_bytes
from strategies.head_tail.prune import PruneLimits, limits_for_window, placeholder, stale_bodies
from strategies.prune import Prune
from tests.builders import session

LIMITS = PruneLimits(protect=100, reclaim=50, min_body=20)


def results(*sizes: int, tool: str = "read") -> list[Message]:
    """A step for each size, in tokens of its result."""
    messages = [Message("user", "go")]
    for number, size in enumerate(sizes):
        messages.append(Message("assistant", "", (ToolCall(f"c{number}", tool),)))
        messages.append(Message("tool", "abcd" * size, (), f"c{number}"))
    return messages


def pruned(messages: list[Message], limits: PruneLimits = LIMITS) -> list[int]:
    """The numbers of the steps whose results are pruned."""
    return [index // 2 - 1 for index in stale_bodies(messages, limits, text_tokens_by_bytes)]


@pytest.mark.parametrize(
    ("sizes", "steps"),
    [
        ((60, 60, 60), [0]),
        ((60, 60), []),
        ((60, 99), []),
        ((60, 100), [0]),
        ((60, 99, 1), [0]),
        ((60, 99, 0), []),
        ((300, 99), []),
        ((300, 500, 99), [0]),
        ((30, 20, 100), [0, 1]),
        ((30, 19, 100), []),
        ((60, 19, 100), [0]),
        ((49, 100), []),
        ((50, 100), [0]),
    ],
)
def test_z7_which_bodies_are_stale(sizes: tuple[int, ...], steps: list[int]) -> None:
    assert pruned(results(*sizes)) == steps


def test_z7_small_and_pruned_bodies_are_left_alone() -> None:
    messages = results(60, 60, 100)
    messages[2] = Message("tool", "\u00a0[pruned " + "abcd" * 60, (), "c0")
    assert pruned(messages) == [1]


def test_z7_spared_messages_are_kept_and_use_up_protection() -> None:
    messages = results(60, 60, 60, 60)
    assert pruned(messages) == [0, 1]
    assert pruned(messages, PruneLimits(100, 50, 20, spare_last=6)) == [0]


def test_z7_the_placeholder_names_tool_and_size() -> None:
    texts = stale_bodies(results(60, 100, tool="grep"), LIMITS, text_tokens_by_bytes)
    assert texts == {2: placeholder("grep", 60)}
    assert "grep" in texts[2]
    assert "~60 tokens" in texts[2]


@pytest.mark.parametrize(
    ("calls", "call_id", "name"),
    [
        ((ToolCall("a", "first"), ToolCall("a", "second")), "a", "first"),
        ((ToolCall("a", ""),), "a", "tool"),
        ((ToolCall("", "named"),), "", "tool"),
        ((ToolCall("a", "named"),), "b", "tool"),
        ((ToolCall("a", "named"),), None, "tool"),
    ],
)
def test_z7_the_tool_is_that_of_the_nearest_earlier_call(
    calls: tuple[ToolCall, ...], call_id: str | None, name: str
) -> None:
    messages = [
        Message("assistant", "", (ToolCall("a", "older"),) if call_id == "a" else ()),
        Message("assistant", "", calls),
        Message("tool", "abcd" * 60, (), call_id),
        Message("assistant", "", (ToolCall("a", "later"),)),
        Message("tool", "abcd" * 100, (), "a"),
    ]
    texts = stale_bodies(messages, LIMITS, text_tokens_by_bytes)
    assert texts == {2: placeholder(name, 60)}


@given(
    st.lists(st.integers(0, 150), max_size=12),
    st.integers(0, 200),
    st.integers(0, 200),
    st.integers(30, 60),
)
def test_z7_pruning_twice_prunes_nothing_more(
    sizes: list[int], protect: int, reclaim: int, min_body: int
) -> None:
    limits = PruneLimits(protect, reclaim, min_body)
    messages = results(*sizes)
    texts = stale_bodies(messages, limits, text_tokens_by_bytes)
    freed = sum(text_tokens_by_bytes(messages[index].text) for index in texts)
    assert not texts or freed >= reclaim
    after = [
        Message(one.role, texts.get(index, one.text), one.calls, one.call_id)
        for index, one in enumerate(messages)
    ]
    assert stale_bodies(after, limits, text_tokens_by_bytes) == {}


def test_limits_scale_down_with_the_window_but_not_up() -> None:
    assert limits_for_window(10_000, None, None, 200) == PruneLimits(2_000, 1_000, 200)
    assert limits_for_window(1_000_000, None, None, 200) == PruneLimits(40_000, 20_000, 200)
    assert limits_for_window(10_000, 7, 8, 9, 1) == PruneLimits(7, 8, 9, 1)


def long_run(steps: int, words: int = 300) -> Session:
    lines = ["system: s", "user: go"]
    for step in range(steps):
        lines += [f"call c{step}", f"result c{step}: " + "word " * words]
    return session(*lines, "assistant: done")


def test_prune_alone_serves_a_session_and_asks_no_model() -> None:
    result = replay(long_run(100), Prune(), SimulatedProvider(OfflineModel(), 12_000))
    assert result.stopped is None
    assert len([c for c in result.compactions if c.outcome == "accepted"]) >= 2
    assert all(c.asked == 0 for c in result.compactions)
    shortened = [item for item in result.final.items if isinstance(item, Shortened)]
    assert shortened
    assert all(item.reference is None for item in shortened)


def test_prune_recovers_from_an_overflow_by_pruning() -> None:
    # Characters / 4 sees a third of these tokens, so that only the provider notices.
    body = "窗口大小由配置文件决定，修改之后需要重新启动服务。" * 12
    lines = [line for n in range(40) for line in (f"call c{n}", f"result c{n}: {body}")]
    told = session("user: go", *lines, "assistant: done")
    strategy = Prune(estimator="chars", min_body=50, protect=200, reclaim=200)
    result = replay(told, strategy, SimulatedProvider(OfflineModel(), 6_000))
    assert result.retries.overflow == 1
    assert [c.outcome for c in result.compactions if c.trigger == "provider"] == ["accepted"]


def test_prune_searches_again_only_after_growth() -> None:
    history = History(long_run(20, words=30).events)
    provider = SimulatedProvider(OfflineModel(), 1_000)
    engine = Engine(Prune(), provider, Session("s", ()))
    view = engine.prepare(Projection.whole(history), 0).lasting
    size = engine.size(view)
    assert view.memory == {"search_from_tokens": size + max(100 // 8, size // 50)}
    budget = Budget(
        window=1_000,
        threshold_tokens=engine.threshold,
        size_tokens=size,
        trigger="budget",
        stage="prune",
    )

    def ask(*_: object, **__: object) -> None:
        raise AssertionError("no model is asked")

    assert Prune().compact(view, budget, ask) is None  # type: ignore[arg-type]
    assert Prune().compact(view, replace(budget, trigger="provider"), ask)  # type: ignore[arg-type]
    for event in long_run(5).events[2:]:
        history.append(replace(event, seq=len(history) + 1))
    prepared = engine.prepare(view.advance(), 0)
    assert prepared.outcomes == ("accepted",)
    assert prepared.lasting.memory is None


@pytest.mark.parametrize("parameters", [{"threshold": 0.0}, {"protect": -1}, {"min_body": -1}])
def test_impossible_parameters_are_refused_by_name(parameters: dict[str, float]) -> None:
    (name,) = parameters
    with pytest.raises(ValueError, match=name):
        Prune(**parameters)  # type: ignore[arg-type]

"""The arbiter counts what it would send, refuses above the window, and knows its cache."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Attachment, Message, ToolDefinition
from bench.history import History
from bench.models import OfflineModel
from bench.projection import Projection
from bench.provider import ProviderError
from bench.providers.simulated import (
    DEFAULT_COSTS,
    SimulatedProvider,
    message_tokens,
    tools_tokens,
)
from bench.tokens import count
from bench.wire.rendering import render
from tests.builders import long_session, session
from tests.generators import sessions


def provider(window: int = 100_000, **options: object) -> SimulatedProvider:
    return SimulatedProvider(OfflineModel(), window, **options)  # type: ignore[arg-type]


def tokens_of_rendering(projection: Projection) -> int:
    """The same count made the slow way, from the finished messages."""
    costs = DEFAULT_COSTS
    total = costs.per_request
    for message in render(projection).messages:
        total += costs.per_message + count(message.text)
        total += costs.per_attachment * len(message.attachments)
        total += sum(costs.per_call + count(c.name) + count(c.arguments) for c in message.calls)
    return total


@given(sessions(), st.data())
def test_running_count_is_the_count_of_the_finished_request(generated, data) -> None:  # type: ignore[no-untyped-def]
    arbiter = provider()
    history = History()
    cut = data.draw(st.integers(1, 30))
    projection = Projection.whole(history)
    for event in generated.events:
        if event.message.role == "assistant":
            projection = projection.advance()
            if len(history) > cut and len(projection.groups) > 2:
                projection = projection.summarise(projection.groups[:2], "a summary")
            # An orphan's mark and its text are tokenised together on the wire, apart here.
            assert abs(arbiter.measure(projection) - tokens_of_rendering(projection)) <= 2 * sum(
                "isn't in this conversation" in m.text for m in render(projection).messages
            )
        history.append(event)


def test_refusal_is_shaped_like_a_vendors() -> None:
    projection = Projection.whole(History(long_session(20).events))
    with pytest.raises(ProviderError) as refusal:
        provider(500).send(projection)
    error = refusal.value
    body = json.loads(error.body)["error"]
    assert (error.kind, error.status, body["code"]) == (
        "input_overflow",
        400,
        "context_length_exceeded",
    )
    assert error.limit_tokens == 500
    assert error.sent_tokens == provider().measure(projection)
    assert str(error.sent_tokens) in body["message"]


def test_window_is_inclusive() -> None:
    projection = Projection.whole(History(session("user: go").events))
    size = provider().measure(projection)
    assert provider(size).send(projection).input_tokens == size
    with pytest.raises(ProviderError):
        provider(size - 1).send(projection)


def test_control_is_counted_but_never_refused() -> None:
    projection = Projection.whole(History(long_session(20).events))
    assert provider(1, ignore_window=True).send(projection).input_tokens > 1


def test_tools_and_pictures_cost_tokens() -> None:
    tool = ToolDefinition("read", "Reads a file.", {"type": "object"})
    projection = Projection.whole(History(session("user: go").events))
    assert provider(tools=(tool,)).measure(projection) - provider().measure(
        projection
    ) == tools_tokens((tool,))
    picture = Message("user", "", attachments=(Attachment("image/png", "aGk="),))
    assert message_tokens(picture) == DEFAULT_COSTS.per_message + DEFAULT_COSTS.per_attachment


def test_shared_prefix_is_cached_in_blocks_and_lost_by_compaction() -> None:
    arbiter = provider()
    told = long_session(30).events
    history = History(told[:40])
    first = arbiter.send(Projection.whole(history))
    for event in told[40:50]:
        history.append(event)
    second = arbiter.send(Projection.whole(history))
    assert first.cached_tokens == 0
    assert second.cached_tokens == first.input_tokens // 128 * 128
    view = Projection.whole(history)
    third = arbiter.send(view.summarise(view.groups[1:-2], "short"))
    assert third.cached_tokens == 0


def test_cache_needs_its_minimum() -> None:
    arbiter = provider()
    history = History(session("user: go", "assistant: yes", "user: on").events)
    arbiter.send(Projection.whole(history, 1))
    assert arbiter.send(Projection.whole(history)).cached_tokens == 0


def test_question_over_the_window_is_refused_and_answers_fit_into_what_is_left() -> None:
    long = [Message("user", "word " * 5_000)]
    with pytest.raises(ProviderError) as refusal:
        provider(1_000).complete(long, output_tokens_max=100)
    assert refusal.value.kind == "input_overflow"
    reply = provider(6_000).complete(long, output_tokens_max=10_000)
    assert reply.usage.output_tokens <= 1_000
    assert reply.usage.input_tokens == 3 + message_tokens(long[0])


def test_another_history_starts_afresh() -> None:
    arbiter = provider()
    one = Projection.whole(History(long_session(5).events))
    two = Projection.whole(History(session("user: go").events))
    assert arbiter.measure(one) != arbiter.measure(two)
    assert arbiter.measure(one) == provider().measure(one)

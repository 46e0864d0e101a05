"""What the tests of other libraries' compaction share: sessions, a model that answers by script."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.events import Message, Session
from bench.models.model import Completion
from bench.observations import Replay
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.testing.conformance import check_promise
from tests.builders import long_session


class ScriptedModel:
    """Answers every question with the same words, and remembers the questions."""

    name = "scripted"
    is_stand_in = True

    def __init__(self, text: str = "SUMMARY of what was", error: BaseException | None = None):
        self.text = text
        self.error = error
        self.questions: list[tuple[Sequence[Message], int]] = []

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        self.questions.append((tuple(messages), output_tokens_max))
        if self.error is not None:
            raise self.error
        return Completion(self.text)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What libraries call deprecated in one another is not for us to mend."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))


# What the adapters answer for. Whether a library's results are valid and smaller is its own affair:
# `verify` finds out, and the engine judges every result.
OF_ADAPTERS = ("history_unchanged", "deterministic", "no_foresight", "one_recovery_a_turn")


def check_adapter(spec: str, examples: int = 4) -> None:
    """Raises BrokenPromise when a promise is broken that the adapter could break."""
    for promise in OF_ADAPTERS:
        check_promise(make_strategy(spec).strategy, promise, examples=examples)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No library may reach for the network, nor be told to send traces."""

    def refuse(self: socket.socket, address: Any) -> None:
        raise AssertionError(f"a library connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    yield


@pytest.fixture
def session() -> Session:
    return long_session(12, turns=6, words_per_result=150)


@pytest.fixture
def replayed(session: Session) -> Callable[..., Replay]:
    def run(spec: str, model: ScriptedModel, window: int = 6_000, of: Session = session) -> Replay:
        provider = SimulatedProvider(model, window, tools=of.tools)
        return replay(of, make_strategy(spec).strategy, provider)

    return run

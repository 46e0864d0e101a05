"""The script that times compaction side by side measures what it says."""

import asyncio

import pytest

from bench.generator import generate_session
from tests.benchmarks import peers_overhead

pytest.importorskip("langchain", reason="the extra peers isn't installed")
pytest.importorskip("inspect_ai", reason="the extra peers isn't installed")


def test_every_side_compacts_the_same_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_overhead, "WINDOW", 12_000)
    monkeypatch.setattr(peers_overhead, "THRESHOLD", 9_600)
    session, _ = generate_session("coding", "en", 200, seed=1)
    messages = peers_overhead.messages_of(session)
    assert len(messages) >= 200
    assert peers_overhead.through_harness(session, "langchain_summarization") > 1
    assert peers_overhead.through_langchain(peers_overhead.langchain_objects(messages)) > 1
    objects = peers_overhead.inspect_objects(messages)
    assert asyncio.run(peers_overhead.through_inspect(objects, lambda text: len(text) // 4)) > 1

"""`native` over HTTP: the shapes of both vendors, state verbatim, nothing on other routes.

A server on loopback answers in the vendors' recorded shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.events import Message
from bench.history import History
from bench.models import ModelSettings, make_model
from bench.observations import Replay
from bench.projection import Native, Projection
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from strategies.native import NativeCompaction
from tests.builders import session
from tests.conversation_parts import steps
from tests.fault_server import FaultServer, Seen
from tests.native_parts import natives

SYSTEM = "Be terse."
TELLING = session(
    f"system: {SYSTEM}",
    "user: find the leak",
    *steps(0, 40, words=60),
    "user: and now?",
    "assistant: done",
)
BETA = "compact-2026-09-04"
VENDORS = pytest.mark.parametrize("spec", ["responses:tiny", "anthropic:tiny"])


def is_compaction(seen: Seen) -> bool:
    return seen.path.endswith("/compact") or "compaction" in seen.body


def told(seen: Seen) -> str:
    """Numbered states, so that each can be told from the others."""
    return f"state made by request {seen.number}" if is_compaction(seen) else "B"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with FaultServer(answers=told) as one:
        yield one


def provider(spec: str, server: FaultServer, folder: Path) -> SimulatedProvider:
    settings = ModelSettings(base_url=server.url, cache_folder=str(folder))
    return SimulatedProvider(make_model(spec, settings), 2_000)


def replayed(arbiter: SimulatedProvider) -> tuple[Replay, Projection]:
    """The replay and the projection of its last request."""
    seen = replay(TELLING, NativeCompaction(), arbiter)
    history = History(TELLING.events)
    return seen, seen.projection(len(seen.requests) - 1, history)


def states_in(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The compaction items or blocks of a request, wherever they stand."""
    items = [*body.get("input", ()), *body.get("messages", ())]
    blocks = [item for item in items if item.get("type") == "compaction"]
    for item in items:
        if isinstance(item.get("content"), list):
            blocks += [part for part in item["content"] if part.get("type") == "compaction"]
    return blocks


@VENDORS
def test_the_same_session_through_both_vendors(
    spec: str, server: FaultServer, tmp_path: Path
) -> None:
    seen, last = replayed(provider(spec, server, tmp_path))
    accepted = [one for one in seen.compactions if one.outcome == "accepted"]
    assert seen.stopped is None
    assert len(accepted) >= 2
    asked = [one for one in server.posts if is_compaction(one)]
    assert len(asked) == len(accepted)
    assert states_in(asked[0].body) == []
    # Each compaction is handed the state before it, as it came but for what isn't accepted back.
    (state,) = states_in(asked[1].body)
    assert "state made by request 1" in state.values()
    assert "created_by" not in state
    assert natives(last)[0].route == f"{spec.partition(':')[0]}/{server.url}/tiny"
    assert accepted[0].ask_input_tokens > accepted[0].ask_output_tokens > 0


@VENDORS
def test_system_text_stands_beside_what_is_compacted(
    spec: str, server: FaultServer, tmp_path: Path
) -> None:
    replayed(provider(spec, server, tmp_path))
    for one in server.posts:
        assert SYSTEM in (one.body.get("instructions"), one.body.get("system"))
        assert SYSTEM not in str(one.body.get("input", one.body.get("messages")))


@VENDORS
def test_questions_go_to_the_vendor_with_the_state_and_its_beta(
    spec: str, server: FaultServer, tmp_path: Path
) -> None:
    arbiter = provider(spec, server, tmp_path)
    _, last = replayed(arbiter)
    question = [Message("user", "Which part leaks? A or B")]
    reply = arbiter.question(last, question, output_tokens_max=50)
    assert reply.text == "B"
    asked = server.posts[-1]
    assert not is_compaction(asked)
    assert len(states_in(asked.body)) == 1
    items = asked.body.get("input") or asked.body["messages"]
    assert "Which part leaks?" in str(items[-1])
    headers = {name.lower(): value for name, value in asked.headers.items()}
    if spec.startswith("anthropic"):
        assert headers["anthropic-beta"] == BETA
        assert items[0] == {"role": "assistant", "content": states_in(asked.body)}
    else:
        assert "anthropic-beta" not in headers
        assert items[0]["type"] == "compaction"


@VENDORS
def test_what_was_recorded_is_not_asked_again(
    spec: str, server: FaultServer, tmp_path: Path
) -> None:
    first, _ = replayed(provider(spec, server, tmp_path))
    sent = len(server.posts)
    again, _ = replayed(provider(spec, server, tmp_path))
    assert len(server.posts) == sent
    assert again.heads == first.heads
    assert again.compactions == first.compactions


def test_state_is_refused_on_a_foreign_route_before_anything_is_sent(
    server: FaultServer, tmp_path: Path
) -> None:
    _, last = replayed(provider("responses:tiny", server, tmp_path))
    sent = len(server.posts)
    for spec in ("anthropic:tiny", "responses:other", "openai:tiny"):
        other = provider(spec, server, tmp_path)
        (native,) = natives(last)
        renamed = replace(native, route=other.route)
        for one in (last, with_state(last, renamed)):
            if spec == "responses:other" and one is not last:
                continue
            with pytest.raises(ProviderError) as refusal:
                other.send(one)
                other.native(one)
            assert refusal.value.kind == "invalid_request"
            with pytest.raises(ProviderError):
                other.question(one, [Message("user", "A or B?")], output_tokens_max=9)
    assert len(server.posts) == sent


def with_state(projection: Projection, native: Native) -> Projection:
    head = tuple(native if isinstance(item, Native) else item for item in projection.head)
    return replace(projection, head=head)


def test_chat_completions_offers_none(server: FaultServer, tmp_path: Path) -> None:
    seen, _ = replayed(provider("openai:tiny", server, tmp_path))
    assert seen.compactions[0].outcome == "failed"
    assert "no compaction of its own" in seen.compactions[0].reason
    assert {one.outcome for one in seen.compactions[1:]} <= {"suppressed"}
    assert server.posts == []
    assert seen.stopped is not None

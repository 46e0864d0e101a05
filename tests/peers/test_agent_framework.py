"""Microsoft Agent Framework's own code as strategies, with the session's model behind it."""

from collections.abc import Callable

import pytest

from bench.observations import Replay
from bench.projection import Written
from bench.provider import ProviderError
from tests.peers.conftest import ScriptedModel, check_adapter

pytest.importorskip("agent_framework", reason="the extra peers isn't installed")

Run = Callable[..., Replay]


def test_the_oldest_groups_become_an_assistant_message(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("agent_framework_summary(input_tokens=3000)", model)
    first = seen.compactions[0]
    assert first.outcome == "accepted"
    written = [item for item in seen.heads[first.head] if isinstance(item, Written)]
    assert [(one.message.role, one.message.text) for one in written] == [
        ("assistant", "SUMMARY of what was")
    ]
    system, transcript = model.questions[0][0]
    assert system.role == "system"
    assert "no more than five sentences" in system.text
    assert len(transcript.text) // 4 <= 3_000


def test_a_refusal_that_the_framework_only_logs_is_recorded(
    replayed: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    error = ProviderError("server", "broken")
    seen = replayed("agent_framework_summary", ScriptedModel(error=error))
    assert seen.compactions[0].outcome == "failed"
    assert seen.compactions[0].reason == "server: broken"
    assert capfd.readouterr().err == ""


def test_old_tool_groups_become_lines_and_then_go(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("agent_framework_window(keep_tool_groups=2)", model)
    accepted = [one for one in seen.compactions if one.outcome == "accepted"]
    texts = [
        item.message.text
        for one in accepted
        for item in seen.heads[one.head]
        if isinstance(item, Written)
    ]
    assert texts
    assert all(text.startswith("[Tool results: read: word") for text in texts)
    assert model.questions == []


def test_the_adapters_keep_their_promises() -> None:
    check_adapter("agent_framework_summary")
    check_adapter("agent_framework_window")

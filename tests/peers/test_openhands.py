"""OpenHands' own condenser as a strategy, with the session's model behind it."""

from collections.abc import Callable

import pytest

from bench.observations import Replay
from bench.projection import Kept, Written
from bench.provider import ProviderError
from tests.peers.conftest import ScriptedModel, check_adapter

pytest.importorskip("openhands.sdk", reason="openhands-sdk isn't installed (Python 3.12 and newer)")

Run = Callable[..., Replay]


def test_the_first_events_stay_and_a_summary_stands_behind_them(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("openhands_summarizing", model)
    assert seen.stopped is None
    first = next(one for one in seen.compactions if one.outcome == "accepted")
    head = seen.heads[first.head]
    assert [type(item) for item in head[:3]] == [Kept, Kept, Written]
    assert head[2].message.text == "SUMMARY of what was"
    system, told = model.questions[0][0]
    assert system.role == "system"
    assert "context-aware state summar" in system.text
    assert "ActionEvent (agent)" in told.text


def test_a_refusal_is_recorded_as_the_provider_said_it(
    replayed: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    error = ProviderError("server", "broken")
    seen = replayed("openhands_summarizing", ScriptedModel(error=error))
    assert seen.compactions[0].outcome == "failed"
    assert seen.compactions[0].reason == "server: broken"
    # One try, then five of what the condenser calls a hard context reset.
    assert seen.compactions[0].asked == 6
    assert capfd.readouterr().err == ""


def test_the_adapter_keeps_its_promises() -> None:
    check_adapter("openhands_summarizing", examples=2)

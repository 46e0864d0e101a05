"""inspect_ai's own code as strategies, with the session's model behind it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bench.engine_asking import MeteredAsk
from bench.events import Message
from bench.history import History
from bench.observations import Replay
from bench.projection import Kept, Projection, Shortened, Written
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.strategy import Budget, Declined
from tests.builders import long_session
from tests.builders import session as by_hand
from tests.peers.conftest import ScriptedModel, check_adapter

pytest.importorskip("inspect_ai", reason="the extra peers isn't installed")

Run = Callable[..., Replay]


def test_a_summary_replaces_all_but_the_prefix(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("inspect_ai_summary", model)
    assert seen.stopped is None
    first, second = seen.compactions[:2]
    assert (first.outcome, second.outcome) == ("accepted", "accepted")
    head = seen.heads[first.head]
    assert [type(item) for item in head] == [Kept, Kept, Written]
    assert [item.message.role for item in head] == ["system", "user", "user"]
    assert head[2].message.text.startswith("[CONTEXT COMPACTION SUMMARY]")
    assert "SUMMARY of what was" in head[2].message.text
    # The next summary begins with the last one and holds nothing from before it.
    asked = model.questions[1][0]
    assert [message.text[:28] for message in asked[2:3]] == ["[CONTEXT COMPACTION SUMMARY]"]
    assert len([m for m in asked if m.text.startswith("[CONTEXT")]) == 1


def test_old_results_are_cleared_and_calls_stay(replayed: Run) -> None:
    seen = replayed("inspect_ai_edit(keep_tool_uses=2)", ScriptedModel())
    head = seen.heads[next(c for c in seen.compactions if c.outcome == "accepted").head]
    cleared = [item for item in head if isinstance(item, Shortened)]
    assert cleared
    assert {item.message.text for item in cleared} == {"(Tool result removed)"}
    assert not any(isinstance(item, Written) for item in head)


def test_trimming_keeps_the_prefix_and_the_newest(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("inspect_ai_trim(preserve=0.5)", model)
    head = seen.heads[next(c for c in seen.compactions if c.outcome == "accepted").head]
    assert [item.message.role for item in head[:2]] == ["system", "user"]
    assert model.questions == []


def test_what_the_library_cannot_shrink_is_rejected_with_its_words(replayed: Run) -> None:
    long = long_session(6, words_per_result=50)
    request = replace(long.events[1], message=Message("user", "word " * 4_000))
    long = replace(long, events=(long.events[0], request, *long.events[2:]))
    seen = replayed("inspect_ai_trim(threshold=0.8)", ScriptedModel(), of=long)
    assert seen.compactions[0].outcome == "rejected"
    assert seen.compactions[0].reason.startswith("Compaction insufficient")


@pytest.mark.parametrize("kind", ["rate_limit", "input_overflow"])
def test_a_refusal_is_recorded_as_the_provider_said_it(replayed: Run, kind: str) -> None:
    error = ProviderError(kind, "not now")  # type: ignore[arg-type]
    seen = replayed("inspect_ai_summary", ScriptedModel(error=error))
    assert seen.compactions[0].outcome == "failed"
    assert seen.compactions[0].reason == f"{kind}: not now"
    assert seen.compactions[0].asked == 1


def test_the_adapters_keep_their_promises() -> None:
    check_adapter("inspect_ai_summary")
    check_adapter("inspect_ai_edit")
    check_adapter("inspect_ai_trim")


def test_clearing_whole_calls_takes_the_wrong_message_when_results_came_out_of_order() -> None:
    # inspect_ai 0.3.285 deletes results by places that its own deletions have moved.
    told = by_hand(
        "user: go",
        "call a b c",
        *(f"result {name}: {'word ' * 200}" for name in "cba"),
        "call d e",
        *(f"result {name}: {'word ' * 200}" for name in "de"),
    )
    strategy = make_strategy("inspect_ai_edit(keep_tool_inputs=false)").strategy
    budget = Budget(
        window=1_000, threshold_tokens=1_450, size_tokens=1_500, trigger="budget", stage="compact"
    )
    ask = MeteredAsk(SimulatedProvider(ScriptedModel(), 1_000))
    with pytest.raises(Declined) as refused:
        strategy.compact(Projection.whole(History(told.events)), budget, ask)
    assert refused.value.violations[0].startswith("H1: ")

"""LangChain's own code as strategies, with the session's model behind it."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from bench.errors import RunHalted, UsageError
from bench.observations import Replay
from bench.projection import Kept, Written
from bench.provider import ProviderError
from bench.registry import make_strategy
from tests.peers.conftest import ScriptedModel, check_adapter

pytest.importorskip("langchain", reason="the extra peers isn't installed")

Run = Callable[..., Replay]


def test_the_middleware_writes_one_summary_and_keeps_the_newest(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("langchain_summarization(keep_messages=6)", model)
    assert seen.stopped is None
    accepted = [one for one in seen.compactions if one.outcome == "accepted"]
    assert len(accepted) == len(seen.compactions) == len(model.questions) > 1
    assert all(one.ask_output_tokens > 0 for one in accepted)
    head = seen.heads[accepted[0].head]
    # LangChain's agents keep the system prompt apart from the messages.
    assert isinstance(head[0], Kept)
    assert head[0].message.role == "system"
    written = [item for item in head if isinstance(item, Written)]
    assert [one.message.text for one in written] == [
        "Here is a summary of the conversation to date:\n\nSUMMARY of what was"
    ]
    assert written[0].first_seq == 2


def test_the_model_is_asked_as_langchain_asks(replayed: Run) -> None:
    model = ScriptedModel()
    replayed("langchain_summarization(keep_messages=6, summary_tokens=321)", model)
    messages, output_tokens_max = model.questions[0]
    assert output_tokens_max == 321
    assert "<role>\nContext Extraction Assistant" in messages[0].text


def test_only_the_newest_of_what_is_summarised_is_shown_by_default(replayed: Run) -> None:
    # So the summary before, the oldest message of all, isn't part of the next one.
    model = ScriptedModel()
    replayed("langchain_summarization(keep_messages=6)", model, window=12_000)
    assert "SUMMARY of what was" not in model.questions[1][0][0].text
    model = ScriptedModel()
    replayed("langchain_summarization(keep_messages=6, trim_tokens=0)", model, window=12_000)
    assert "SUMMARY of what was" in model.questions[1][0][0].text


def test_a_tool_loop_longer_than_that_is_forgotten_unasked(replayed: Run) -> None:
    # What is shown to the model has to begin with a user message; there is none in the newest.
    model = ScriptedModel()
    seen = replayed("langchain_summarization(keep_messages=6, trim_tokens=1000)", model)
    written = {
        item.message.text for head in seen.heads for item in head if isinstance(item, Written)
    }
    assert (
        "Here is a summary of the conversation to date:\n\n"
        "Previous conversation was too long to summarize."
    ) in written
    assert len(model.questions) < sum(one.outcome == "accepted" for one in seen.compactions)


def test_another_prompt_is_used(replayed: Run, tmp_path: Any) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Say it shorter: {messages}")
    model = ScriptedModel()
    replayed(f"langchain_summarization(prompt={prompt})", model)
    assert model.questions[0][0][0].text.startswith("Say it shorter: ")
    prompt.write_text("Say it shorter")
    with pytest.raises(UsageError, match="prompt has no place"):
        make_strategy(f"langchain_summarization(prompt={prompt})")


def test_a_refusal_is_recorded_as_the_provider_said_it(replayed: Run) -> None:
    model = ScriptedModel(error=ProviderError("rate_limit", "slow down", status=429))
    seen = replayed("langchain_summarization(keep_messages=6)", model)
    assert {one.outcome for one in seen.compactions} == {"failed"}
    assert seen.compactions[0].reason == "rate_limit: slow down"
    # LangChain would wait and try again; whoever sends real requests has done so already.
    assert seen.compactions[0].asked == 1


def test_an_overflow_of_the_summariser_is_tried_once_more_as_langchain_does(replayed: Run) -> None:
    error = ProviderError("input_overflow", "too long")
    seen = replayed("langchain_summarization(keep_messages=6)", ScriptedModel(error=error))
    assert seen.compactions[0].asked == 2
    assert seen.compactions[0].reason == "input_overflow: too long"


def test_a_halt_of_the_run_goes_through(replayed: Run) -> None:
    with pytest.raises(RunHalted, match="budget"):
        replayed("langchain_summarization", ScriptedModel(error=RunHalted("budget")))


def test_trimming_asks_nobody_and_keeps_the_newest_turn(replayed: Run) -> None:
    model = ScriptedModel()
    seen = replayed("langchain_trim(keep=0.6)", model, window=9_000)
    accepted = [one for one in seen.compactions if one.outcome == "accepted"]
    assert accepted
    assert model.questions == []
    assert not any(isinstance(item, Written) for head in seen.heads for item in head)


def test_trimming_a_turn_that_is_longer_than_what_is_kept_leaves_nothing(replayed: Run) -> None:
    seen = replayed("langchain_trim(keep=0.2)", ScriptedModel())
    assert {one.outcome for one in seen.compactions} == {"rejected"}
    assert "no message but system ones" in seen.compactions[0].reason


def test_the_adapters_keep_their_promises() -> None:
    check_adapter("langchain_summarization")
    check_adapter("langchain_trim")


def test_nothing_is_traced_whatever_the_environment_says(replayed: Run) -> None:
    # A thread that sends traces begins with the first of them and stays.
    replayed("langchain_summarization", ScriptedModel())
    assert threading.enumerate() == [threading.main_thread()]

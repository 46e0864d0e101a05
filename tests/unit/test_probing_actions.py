"""The next tool call: agreement of name and arguments, beside the noise of the model itself."""

from __future__ import annotations

import json

import pytest

from bench.events import Message, Session, ToolCall, ToolDefinition
from bench.history import History
from bench.models import OfflineModel
from bench.observations import AnswerObservation
from bench.performing import perform
from bench.probing_actions import (
    AGAIN,
    NEXT_ACTION,
    action_seqs,
    action_text,
    agreement,
    compare_actions,
)
from bench.probing_options import ProbeOptions
from bench.providers.simulated import SimulatedProvider
from bench.readers.acting import ask_actions, likely_call
from bench.runner import RunOptions, plan_run, tasks_of
from bench.scoring_others import other_figures
from bench.session_index import SessionIndex
from tests.hand_replays import pinned_only, replay_by_hand
from tests.stored_runs import working_session

READ = ToolCall("1", "read_file", '{"path": "a.py", "line": 3}')


def answered(reply: str | None, *, view: str = "projection", seq: int = 9) -> AnswerObservation:
    return AnswerObservation(NEXT_ACTION, "event 9", view, 4, seq, "", reply=reply, reason="why")


@pytest.mark.parametrize(
    ("made", "same_name", "same_call"),
    [
        ([READ], True, True),
        ([ToolCall("other", "read_file", '{ "line":3, "path":"a.py" }')], True, True),
        ([ToolCall("1", "read_file", '{"path": "b.py", "line": 3}')], True, False),
        ([ToolCall("1", "write_file", READ.arguments)], False, False),
        ([], False, False),
        ([READ, READ], False, False),
    ],
)
def test_agreement(made: list[ToolCall], same_name: bool, same_call: bool) -> None:
    full, own = answered(action_text("", [READ])), answered(action_text("said so", made))
    (compared,) = compare_actions([own], [full], own_view="projection")
    assert (compared.same_name, compared.same_call) == (same_name, same_call)


def test_two_answers_without_a_call_agree() -> None:
    full, own = answered(action_text("Done.", [])), answered(action_text("All done.", []))
    (compared,) = compare_actions([own], [full], own_view="projection")
    assert (compared.same_name, compared.same_call, compared.made) == (True, True, "no call")


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    call = ToolCall("1", "shell", "ls  -l")
    other = ToolCall("2", "shell", "ls -l")
    full, own = answered(action_text("", [call])), answered(action_text("", [other]))
    assert agreement(compare_actions([own], [full], own_view="projection")) == (1, 1, 0)


def test_what_was_not_served_disagrees_and_what_failed_says_why() -> None:
    full = [answered(action_text("", [READ])), answered(action_text("", [READ]), seq=11)]
    compared = compare_actions([answered(None, seq=11)], full, own_view="projection")
    assert [one.same_call for one in compared] == [False, None]
    assert compared[1].reason == "why"
    assert agreement(compared) == (0, 2, 1)
    assert other_figures([], None).row["next_actions"] is None


def test_requests_are_those_of_calls_in_the_second_half() -> None:
    index = SessionIndex(working_session("one"))
    seqs = action_seqs(index)
    events = index.session.events
    assert len(seqs) == 6 == len(set(seqs))
    assert all(seq > len(events) // 2 and events[seq - 1].message.calls for seq in seqs)
    assert action_seqs(index, 2) == tuple(sorted(action_seqs(index, 2)))


def session_with_calls() -> Session:
    return working_session("acting", steps=12)


def test_the_stand_in_depends_on_what_it_is_shown() -> None:
    session = session_with_calls()
    history = History(session.events)
    provider = SimulatedProvider(OfflineModel(), 1, tools=session.tools, ignore_window=True)
    seqs = action_seqs(SessionIndex(session))
    full = ask_actions(provider, replay_by_hand(session), history, seqs)
    again = ask_actions(provider, replay_by_hand(session), history, seqs)
    bare = ask_actions(provider, replay_by_hand(session, pinned_only), history, seqs)
    assert full == again
    assert agreement(compare_actions(full, full, own_view="projection"))[0] == len(seqs)
    assert agreement(compare_actions(bare, full, own_view="projection"))[0] < len(seqs)
    for answer in full:
        (call,) = json.loads(answer.reply or "")["calls"]
        assert call["name"] in ("read_file", "edit_file")


def test_a_stand_in_without_calls_takes_the_first_tool_and_none_without_tools() -> None:
    messages = [Message("user", "Look around.")]
    tools = (ToolDefinition("list_files"), ToolDefinition("read_file"))
    assert likely_call(messages, tools, 0) == ToolCall("", "list_files")
    assert likely_call(messages, (), 0) is None


def test_calls_that_fit_alike_are_drawn_by_the_seed() -> None:
    calls = tuple(ToolCall(str(n), "read_file", f'{{"path": "part_{n}.py"}}') for n in range(8))
    messages = [Message("assistant", "", calls), Message("user", "Go on with the next part.")]
    drawn = {likely_call(messages, (), seed) for seed in range(12)}
    assert len(drawn) > 1
    assert likely_call(messages, (), 3) == likely_call(messages, (), 3)


def test_a_run_reports_agreement_beside_its_noise() -> None:
    session = session_with_calls()
    options = RunOptions(specs=("prune",), probes=ProbeOptions(kinds=(NEXT_ACTION,)))
    plan, surveyed = plan_run([session], options, lambda _: None)
    (task,) = tasks_of(plan, [session], surveyed, {}, options, lambda _: False)
    rows = {
        cell.cell.spec: (cell.scores or {})["row"]
        for cell in perform(task).cells
        if cell.status != "not_exercised"
    }
    assert rows["keep_all"]["next_action"] == 1
    assert rows["keep_all"]["next_actions"] == rows["empty"]["next_actions"] > 0
    # Its parts are read by calls that are alike, so that another seed makes another one.
    assert rows["keep_all"]["next_action_noise"] < 1
    assert rows["empty"]["next_action"] < 1
    assert rows["keep_all"]["recovered"] is None
    views = {answer.view for cell in perform(task).cells for answer in cell.answers}
    assert views == {"projection", AGAIN}

"""Groups: calls with their results, whatever order they come in."""

import pytest
from hypothesis import given

from bench.events import Event, Message
from bench.history import History
from tests.builders import session
from tests.generators import sessions


def starts(*lines: str) -> list[int]:
    history = History(session(*lines).events)
    return [history.group_start(position) for position in range(len(history))]


def test_lone_messages_are_groups_of_one() -> None:
    assert starts("system: s", "user: u", "assistant: a") == [0, 1, 2]


def test_parallel_results_out_of_order_belong_to_their_call() -> None:
    assert starts("user: u", "call a b", "result b: 2", "result a: 1", "assistant: x") == [
        0, 1, 1, 1, 4,
    ]  # fmt: skip


def test_id_used_again_in_a_later_round_is_another_call() -> None:
    history = History(
        session("call a", "result a: one", "call a", "result a: two", "call a").events
    )
    assert [history.group_start(i) for i in range(5)] == [0, 0, 2, 2, 4]
    assert history.calls_at(0)[0].result_seq == 2
    assert history.calls_at(2)[0].result_seq == 4
    assert history.calls_at(4)[0].result_seq is None


def test_same_id_twice_in_one_message_pairs_by_position() -> None:
    history = History(session("call a a", "result a: one", "result a: two").events)
    assert [state.result_seq for state in history.calls_at(0)] == [2, 3]
    assert len({state.wire_id for state in history.calls_at(0)}) == 2


def test_user_who_types_while_a_tool_runs_stands_inside_the_group() -> None:
    assert starts("call a", "user: rev C", "result a: done", "user: next") == [0, 0, 0, 3]


def test_result_of_nobody_stands_alone() -> None:
    history = History(session("call a", "result b: late", "result a: done").events)
    assert history.result_wire_id(1) is None
    assert history.result_wire_id(2) == "a"


def test_second_result_for_one_call_is_an_orphan() -> None:
    history = History(session("call a", "result a: first", "result a: second").events)
    assert history.result_wire_id(1) == "a"
    assert history.result_wire_id(2) is None


def test_result_after_the_next_assistant_message_is_an_orphan() -> None:
    history = History(session("call a", "assistant: on", "result a: late").events)
    assert history.calls_at(0)[0].result_seq is None
    assert history.result_wire_id(2) is None


@pytest.mark.parametrize(
    ("lines", "is_pending"),
    [
        (("call a",), True),
        (("call a b", "result a: 1"), True),
        (("call a", "user: hurry"), False),
        (("call a", "assistant: on"), False),
        (("call a", "result a: 1"), False),
    ],
)
def test_pending_and_dead_calls(lines: tuple[str, ...], is_pending: bool) -> None:
    history = History(session(*lines).events)
    assert history.is_pending(0, len(history)) is is_pending


def test_wire_ids_are_unique_even_when_the_made_up_one_is_taken() -> None:
    history = History(session("call a a~2", "call a", "call a").events)
    ids = [state.wire_id for position in range(3) for state in history.calls_at(position)]
    assert len(set(ids)) == 4


def test_gap_in_seqs_is_refused() -> None:
    history = History(session("user: u").events)
    with pytest.raises(ValueError, match="expected 2"):
        history.append(Event(3, Message("user", "x")))


@given(sessions())
def test_groups_are_contiguous_and_every_result_is_with_its_call(generated) -> None:  # type: ignore[no-untyped-def]
    history = History(generated.events)
    for position in range(len(history)):
        start = history.group_start(position)
        assert start <= position
        assert all(history.group_start(i) == start for i in range(start, position))
        for state in history.calls_at(position):
            if state.result_seq is not None:
                assert history.group_start(state.result_seq - 1) == position


@given(sessions())
def test_what_was_told_is_never_regrouped_once_a_request_was_made(generated) -> None:  # type: ignore[no-untyped-def]
    whole = History(generated.events)
    told = History()
    for event in generated.events:
        if event.message.role == "assistant":
            seen = [told.group_start(i) for i in range(len(told))]
            assert seen == [whole.group_start(i) for i in range(len(told))]
        told.append(event)

"""The ends of the scale: everything at every request, and next to nothing."""

from bench.history import History
from bench.models import OfflineModel
from bench.projection import Kept, Projection
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from strategies.controls import Empty, KeepAll
from tests.builders import long_session, session


def positions_sent(*lines: str) -> list[list[int]]:
    """The events that each request of `empty` showed, as seqs."""
    told = session(*lines)
    result = replay(told, Empty(), SimulatedProvider(OfflineModel(), 100_000))
    assert result.stopped is None
    shown = []
    for request in result.requests:
        head = result.heads[request.head]
        assert all(isinstance(item, Kept) for item in head)
        tail = range(request.tail_start + 1, request.stop + 1)
        shown.append([item.seqs[0] for item in head] + list(tail))
    return shown


def test_keep_all_shows_everything_whatever_the_window() -> None:
    told = long_session(40)
    provider = SimulatedProvider(OfflineModel(), 10, ignore_window=True)
    result = replay(told, KeepAll(), provider)
    assert result.stopped is None
    assert result.compactions == ()
    assert [(r.head, r.tail_start, r.stop) for r in result.requests] == (
        [(0, 0, r.at_seq - 1) for r in result.requests]
    )


def test_empty_shows_system_prompt_and_newest_request_at_every_request() -> None:
    assert positions_sent(
        *("system: s", "user: one", "call a", "result a: x", "assistant: done"),
        *("user: two", "call b", "result b: y", "call c", "result c: z", "assistant: done"),
    ) == [[1, 2], [1, 2], [1, 6], [1, 6], [1, 6]]


def test_empty_keeps_the_request_after_an_answer_that_nobody_answered() -> None:
    assert positions_sent("user: one", "assistant: a", "assistant: b") == [[1], [1]]


def test_empty_drops_even_what_its_estimate_holds_for_nothing() -> None:
    assert positions_sent("user: one", "assistant: ", "assistant: z") == [[1], [1]]


def test_empty_shows_the_newest_group_where_nobody_asked_anything() -> None:
    assert positions_sent("call a", "result a: x", "call b", "result b: y", "assistant: z") == (
        [[], [1, 2], [3, 4]]
    )


def test_empty_never_splits_a_group_that_holds_the_request() -> None:
    shown = positions_sent("user: go", "call a", "user: stop", "result a: x", "assistant: z")
    assert shown == [[1], [2, 3, 4]]


def test_controls_are_marked_and_do_nothing_else() -> None:
    assert KeepAll.policy.is_control and KeepAll.policy.ignores_window
    assert Empty.policy.is_control and not Empty.policy.ignores_window
    view = Projection.whole(History())
    assert KeepAll().compact(view, None, None) is None  # type: ignore[arg-type]
    assert Empty().compact(view, None, None) is None  # type: ignore[arg-type]

"""Operations on projections cut only between groups and keep what is pinned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.history import History
from bench.invariants import violations
from bench.projection import Kept, Projection, Shortened, Written
from tests.builders import session
from tests.generators import sessions

LINES = (
    "system: s",
    "user: go",
    "call a",
    "result a: one",
    "call b",
    "result b: two",
    "call c",
    "result c: three",
)


def whole(*lines: str) -> Projection:
    return Projection.whole(History(session(*lines).events))


def seqs(projection: Projection) -> list[tuple[int, int]]:
    return [item.seqs for item in projection.items]


def test_keep_adds_what_is_pinned() -> None:
    view = whole(*LINES)
    assert seqs(view.keep(view.groups[-1:])) == [(1, 1), (2, 2), (7, 7), (8, 8)]


def test_drop_never_drops_what_is_pinned() -> None:
    view = whole(*LINES)
    assert seqs(view.drop(view.groups)) == [(1, 1), (2, 2)]


def test_summarise_puts_system_before_and_request_behind_the_summary() -> None:
    view = whole(*LINES)
    shorter = view.summarise(view.groups[:-1], "so far so good")
    assert [type(item).__name__ for item in shorter.items] == [
        "Kept", "Written", "Kept", "Kept", "Kept",
    ]  # fmt: skip
    assert shorter.items[1].seqs == (1, 6)
    assert shorter.items[2].seqs == (2, 2)
    assert violations(shorter) == ()


def test_summarise_refuses_groups_that_are_no_run() -> None:
    view = whole(*LINES)
    with pytest.raises(ValueError, match="unbroken run"):
        view.summarise([view.groups[1], view.groups[3]], "x")
    with pytest.raises(ValueError, match="unbroken run"):
        view.summarise([], "x")


def test_answered_request_is_not_pinned() -> None:
    view = whole("user: go", "assistant: done")
    assert view.request_position is None
    assert whole("user: go", "assistant: done", "user: more").request_position == 2


def test_verbatim_end_becomes_the_tail_again() -> None:
    view = whole(*LINES)
    assert view.with_items(view.items) == view
    shorter = view.keep(view.groups[-2:])
    assert shorter.tail_start == 4
    assert [item.seqs for item in shorter.head] == [(1, 1), (2, 2)]


def test_shorten_changes_the_text_only() -> None:
    view = whole(*LINES).shorten({4: "[cut]"}, {4: {"seq": 4}})
    item = view.items[3]
    assert isinstance(item, Shortened)
    assert (item.message.text, item.message.call_id, item.reference) == ("[cut]", "a", {"seq": 4})
    assert violations(view) == ()


def test_memory_travels_along() -> None:
    view = whole(*LINES).remember({"lineage": 1})
    assert view.keep(view.groups[-1:]).memory == {"lineage": 1}


def test_advance_shows_what_was_said_since() -> None:
    history = History(session(*LINES[:4]).events)
    view = Projection.whole(history)
    shorter = view.summarise(view.groups[1:], "x")
    for event in session(*LINES).events[4:]:
        history.append(event)
    assert shorter.advance().items[-4:] == tuple(Kept(e) for e in history.events(4))


@given(sessions(), st.data())
def test_operations_keep_every_promise(generated, data) -> None:  # type: ignore[no-untyped-def]
    view = Projection.whole(History(generated.events))
    count = len(view.groups)
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first + 1, count))
    chosen = view.groups[first:last]
    for shorter in (view.keep(chosen), view.drop(chosen), view.summarise(chosen, "summary")):
        assert violations(shorter) == ()
    again = view.summarise(chosen, "summary")
    assert any(isinstance(item, Written) for item in again.items)


def test_projection_shows_nothing_beyond_its_stop() -> None:
    history = History(session(*LINES).events)
    view = Projection.whole(history, 4)
    assert len(view.events) == len(view.items) == 4

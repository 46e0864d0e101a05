"""Running sizes are those of a plain sum, whatever was asked before and however a history grows."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.events import Event, Message, Session, ToolCall, with_text
from bench.history import History
from bench.projection import Item, Native, Projection, Shortened, Written
from bench.sizes import ProjectionSizes
from tests.generators import sessions

STUB = 1_000_003


def _message_size(message: Message) -> int:
    return len(message.text) + 7 * len(message.calls) + 1


def _extra(history: History, position: int, message: Message) -> int:
    return STUB * history.unanswered(position) if message.calls else 0


def _plain(history: History, item: Item) -> int:
    if isinstance(item, Native):
        return item.tokens
    size = _message_size(item.message)
    if isinstance(item, Written):
        return size
    return size + _extra(history, item.event.seq - 1, item.event.message)


def _plain_total(projection: Projection) -> int:
    return sum(_plain(projection.history, item) for item in projection.items)


def _plain_shared(before: Projection, after: Projection) -> int:
    total = 0
    for one, other in zip(before.items, after.items, strict=False):
        if one != other:
            break
        total += _plain(after.history, other)
    return total


def _changed(view: Projection, chance: Random) -> Projection:
    """The view with some items shortened, or its first ones written anew, or opaque."""
    items = list(view.items)
    if not items:
        return view
    if chance.random() < 0.7:
        for index in chance.sample(range(len(items)), min(3, len(items))):
            item = items[index]
            if not isinstance(item, (Written, Native)):
                text = item.message.text[: chance.randrange(20)]
                items[index] = Shortened(item.event, with_text(item.message, text))
        return view.with_items(items)
    stop = chance.randint(1, len(items))
    first, last = items[0].seqs[0], items[stop - 1].seqs[1]
    made: Item = Written(Message("user", "w" * chance.randrange(30)), first, last)
    if chance.random() < 0.3:
        made = Native("here", "{}", first, last, chance.randrange(99))
    return view.with_items([made, *items[stop:]])


def _expected(events: Sequence[Event], position: int, chance: Random) -> list[Event]:
    """What comes next, or came before, or never comes: other events with the same seqs."""
    start = max(0, position + chance.choice((0, 0, 0, -2, 1)))
    expected = list(events[start : start + chance.randrange(6)])
    if chance.random() < 0.3:
        return [replace(event, message=Message("user", "never told")) for event in expected]
    return expected


@given(session=sessions(), chance=st.randoms(use_true_random=False), has_extras=st.booleans())
@settings(max_examples=150)
def test_sizes_are_plain_sums(session: Session, chance: Random, has_extras: bool) -> None:
    sizes = ProjectionSizes(_message_size, _extra if has_extras else None)
    extra = 1 if has_extras else 0
    history = History()
    view = before = Projection.whole(history)

    def plain(total: int) -> int:
        return total if extra else total % STUB

    for event in session.events:
        if chance.random() < 0.2:
            sizes.expect(_expected(session.events, event.seq - 1, chance))
        history.append(event)
        if chance.random() < 0.5:
            continue
        view = view.advance()
        if chance.random() < 0.3:
            view = _changed(view, chance)
        for asked in chance.choices((view, before), k=chance.randint(1, 3)):
            assert sizes.total(asked) == plain(_plain_total(asked))
        assert sizes.shared(before, view) == plain(_plain_shared(before, view))
        before = view


def test_an_answer_that_comes_late_is_seen_in_a_head_that_was_measured() -> None:
    history = History()
    call = Message("assistant", "", (ToolCall("a", "look"), ToolCall("b", "look")))
    for seq, message in enumerate((call, Message("tool", "one", call_id="a")), start=1):
        history.append(Event(seq, message))
    first = history[1]
    head = (*history.kept(0, 1), Shortened(first, with_text(first.message, "")))
    view = Projection(history, head, 2, 2)
    sizes = ProjectionSizes(_message_size, _extra)
    assert sizes.total(view) == STUB + 15 + 1
    history.append(Event(3, Message("tool", "two", call_id="b")))
    assert sizes.total(view) == 15 + 1
    assert sizes.total(view.advance()) == 15 + 1 + 4


def test_another_history_starts_anew() -> None:
    sizes = ProjectionSizes(len_of := _message_size)
    for text in ("short", "much longer"):
        history = History([Event(1, Message("user", text))])
        assert sizes.total(Projection.whole(history)) == len_of(history.message(0))


def test_what_is_expected_is_measured_before_it_is_told_and_once() -> None:
    measured: list[str] = []

    def size(message: Message) -> int:
        measured.append(message.text)
        return len(message.text)

    events = [Event(seq, Message("user", "x" * seq)) for seq in range(1, 5)]
    sizes, history = ProjectionSizes(size), History()
    sizes.expect(events[:3])
    assert measured == ["x", "xx", "xxx"]
    for event in events:
        history.append(event)
    assert sizes.total(Projection.whole(history)) == 10
    history.append(Event(5, Message("user", "five!")))
    assert sizes.total(Projection.whole(history)) == 15
    # Told together with one that wasn't expected, they were all measured again.
    assert measured[3:] == ["x", "xx", "xxx", "xxxx", "five!"]


def test_what_cannot_be_measured_is_raised_where_it_is_told_only() -> None:
    def size(message: Message) -> int:
        if message.text == "odd":
            raise ValueError("odd")
        return 1

    events = [Event(1, Message("user", "even")), Event(2, Message("user", "odd"))]
    sizes, history = ProjectionSizes(size), History()
    sizes.expect(events)
    history.append(events[0])
    assert sizes.total(Projection.whole(history)) == 1
    history.append(events[1])
    with pytest.raises(ValueError, match="odd"):
        sizes.total(Projection.whole(history))

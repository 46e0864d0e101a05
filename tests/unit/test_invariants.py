"""What was found sound isn't looked at again, and nothing untrue slips through for that."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.events import Event, Message, Session, ToolCall, with_text
from bench.history import History, Kept
from bench.invariants import violations
from bench.projection import Item, Projection, Shortened, Written
from tests.generators import sessions


def _shortened(view: Projection, chance: Random) -> Projection:
    items = list(view.items)
    for index in range(len(items)):
        if chance.random() < 0.3 and not view.is_pinned(items[index]):
            event = view.history[index]
            items[index] = Shortened(event, with_text(event.message, "…"))
    return view.with_items(items)


def _untrue(item: Item, chance: Random) -> Item:
    """An item that claims what the history doesn't say."""
    if isinstance(item, Written):
        return replace(item, last_seq=item.last_seq + 10_000)
    event = item.event
    if chance.random() < 0.5:
        return Kept(replace(event, message=with_text(event.message, "never said")))
    return Shortened(event, replace(event.message, calls=(ToolCall("x", "never_called"),)))


@given(session=sessions(), chance=st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_what_a_sound_head_begins_with_needs_no_second_look(
    session: Session, chance: Random
) -> None:
    half = len(session.events) // 2
    history = History(session.events[:half])
    view = _shortened(Projection.whole(history), chance)
    if violations(view, on_the_wire=False):
        return
    for event in session.events[half:]:
        history.append(event)
    later = view.advance()
    items = list(later.items)
    for _ in range(chance.randint(0, 2)):
        if items:
            index = chance.randrange(len(items))
            items[index] = _untrue(items[index], chance)
    candidate = later.with_items(items)
    found = violations(candidate, on_the_wire=False)
    assert violations(candidate, on_the_wire=False, sound_head=view.head) == found


def test_a_sound_head_vouches_for_its_own_items_alone() -> None:
    texts = enumerate(("one", "two"), start=1)
    history = History(Event(seq, Message("user", text)) for seq, text in texts)
    sound = history.kept(0, 1)
    untrue = Kept(replace(history[1], message=Message("user", "three")))
    candidate = Projection(history, (*sound, untrue), 2, 2)
    found = violations(candidate, on_the_wire=False, sound_head=sound)
    assert [sentence[:2] for sentence in found if "isn't what the history says" in sentence] == [
        "H3"
    ]

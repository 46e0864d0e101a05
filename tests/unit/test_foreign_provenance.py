"""What foreign code kept, shortened and wrote is found out by comparing, and nothing is hidden."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Attachment, Event, Message, Session, ToolCall
from bench.foreign.findings import answer_problems
from bench.foreign.provenance import inferred
from bench.foreign.shown import Wire, shown
from bench.foreign.wires import message_key
from bench.history import History
from bench.invariants import violations
from bench.observations import item_from_json, item_to_json
from bench.projection import Kept, Projection, Shortened, Written
from bench.testing import sessions
from bench.wire.rendering import LEADING_LINE

WIRES: tuple[Wire, ...] = ("openai", "anthropic")

CALLS = (ToolCall("a", "read", '{"path": "x"}'), ToolCall("b", "read", '{"path": "y"}'))
MESSAGES = [
    Message("system", "Terse."),
    Message("user", "Go on."),
    Message("assistant", "", CALLS),
    Message("tool", "first result, long", call_id="a"),
    Message("tool", "second result, long", call_id="b"),
    Message("assistant", "Half done."),
    Message("user", "Go on."),
    Message("assistant", "Almost done.", (ToolCall("c", "read"),)),
    Message("tool", "third", call_id="c"),
]


def _view(messages: list[Message] = MESSAGES) -> Projection:
    return Projection.whole(History(Event(i + 1, one) for i, one in enumerate(messages)))


def _answered(view: Projection, change: Any, wire: Wire = "openai") -> tuple[Projection, list[str]]:
    """The projection and the problems of what `change` makes of the messages."""
    told = shown(view, (), wire)
    messages = told.answered(change([dict(entry) for entry in told.payload]))
    return inferred(view, told, messages), answer_problems(told, messages)


def _kinds(projection: Projection) -> list[tuple[str, tuple[int, int]]]:
    return [(type(item).__name__, item.seqs) for item in projection.items]


def test_a_summary_stands_for_what_is_gone_at_its_place() -> None:
    summary = {"role": "user", "content": "All of it."}
    projection, problems = _answered(_view(), lambda m: [m[0], summary, *m[6:]])
    assert problems == []
    assert violations(projection) == ()
    kept = [("Kept", (seq, seq)) for seq in (1, 7, 8, 9)]
    assert _kinds(projection) == [kept[0], ("Written", (2, 6)), *kept[1:]]


def test_a_summary_before_what_is_kept_stands_for_what_is_gone_behind_it() -> None:
    summary = {"role": "user", "content": "All of it."}
    projection, _ = _answered(_view(), lambda m: [m[0], summary, m[1], *m[6:]])
    assert ("Written", (3, 6)) in _kinds(projection)


def test_of_equal_messages_the_newest_is_kept() -> None:
    projection, _ = _answered(_view(), lambda m: [m[0], m[1], *m[7:]])
    assert [seqs for _, seqs in _kinds(projection)] == [(1, 1), (7, 7), (8, 8), (9, 9)]
    assert violations(projection) == ()


def test_a_shorter_result_is_shortened_and_a_longer_one_is_written() -> None:
    def cut(messages: list[Any]) -> list[Any]:
        messages[3]["content"] = "[cleared]"
        return messages

    projection, problems = _answered(_view(), cut)
    assert problems == [] and violations(projection) == ()
    assert projection.items[3] == Shortened(
        projection.history[3], Message("tool", "[cleared]", call_id="a")
    )

    def lengthen(messages: list[Any]) -> list[Any]:
        messages[3]["content"] *= 3
        return messages

    projection, problems = _answered(_view(), lengthen)
    assert problems == [] and violations(projection) == ()
    assert [kind for kind, _ in _kinds(projection)][2:6] == ["Written"] * 3 + ["Kept"]
    assert [item.seqs for item in projection.items[2:5]] == [(3, 3), (4, 4), (5, 5)]


def test_rewritten_arguments_make_the_whole_group_written() -> None:
    def clear(messages: list[Any]) -> list[Any]:
        calls = messages[2]["tool_calls"]
        messages[2]["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": "{}"}} for call in calls
        ]
        return messages

    projection, problems = _answered(_view(), clear)
    assert problems == [] and violations(projection) == ()
    written = [item for item in projection.items if isinstance(item, Written)]
    assert [item.message.role for item in written] == ["assistant", "tool", "tool"]
    assert written[0].message.calls[0].arguments == "{}"


def test_a_written_call_needs_its_written_result() -> None:
    view = _view()
    told = Written(Message("assistant", "", (ToolCall("new", "read"),)), 2, 6)
    result = Written(Message("tool", "found", call_id="new"), 2, 6)
    newest = view.items[6:]
    assert violations(view.with_items([view.items[0], told, result, *newest])) == ()
    for items, words in (([told], "1 written calls"), ([result], "has no call before it")):
        found = violations(view.with_items([view.items[0], *items, *newest]), on_the_wire=False)
        assert len(found) == 1 and found[0].startswith("H1") and words in found[0]


def test_spacing_of_arguments_is_no_difference() -> None:
    def respace(messages: list[Any]) -> list[Any]:
        for call in messages[2]["tool_calls"]:
            call["function"] = {**call["function"], "arguments": '{"path":"x"}'}
        messages[2]["tool_calls"][1]["function"]["arguments"] = '{"path":"y"}'
        return messages

    projection, _ = _answered(_view(), respace)
    assert projection.shows_the_same_as(_view())


def test_messages_typed_while_tools_ran_are_kept_in_the_order_of_the_history() -> None:
    typed = [*MESSAGES[:4], Message("user", "Rev C!"), *MESSAGES[4:6]]
    view = _view(typed)
    projection, problems = _answered(view, lambda m: m)
    assert problems == [] and projection.shows_the_same_as(view)
    # On the wire the results stand first, so this cut is one that an API accepts.
    projection, problems = _answered(view, lambda m: [m[0], *m[5:]])
    assert problems == [] and violations(projection) == ()
    assert [item.seqs for item in projection.items] == [(1, 1), (5, 5), (7, 7)]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda m: [m[0], *m[3:]], "H1"),  # results without their calls
        (lambda m: [*m[:3], *m[4:]], "H1"),  # one result of two
        (lambda m: [*m[:3], *m[5:]], "H1"),  # calls without any result
        (lambda m: [*m[:3], m[3], m[3], *m[4:]], "H1"),  # a result twice
        (lambda m: [*m[:2], m[7], m[8], *m[2:7]], "H5"),  # another order
        (lambda m: m[1:], "H4"),  # no system message
        (lambda m: [*m[:6], *m[7:]], "H4"),  # the current request is gone
        (lambda m: [*m, {"role": "user", "content": " "}], "H5"),  # an empty message
        (lambda m: [*m, {"role": "assistant", "content": "Yes?"}], "H5"),  # answers itself
        (lambda m: [*m, {"role": "tool", "tool_call_id": "z", "content": "?"}], "H1"),  # invented
    ],
)
def test_mistakes_are_findings(change: Any, finding: str) -> None:
    # Of two equal requests the newest is matched, so here they differ.
    view = _view([*MESSAGES[:6], Message("user", "And now the rest."), *MESSAGES[7:]])
    projection, problems = _answered(view, change)
    assert any(one.startswith(finding) for one in (*problems, *violations(projection)))


def test_a_call_that_was_never_answered_must_keep_its_stub() -> None:
    view = _view([*MESSAGES[:4], *MESSAGES[5:]])
    projection, problems = _answered(view, lambda m: m)
    assert problems == [] and projection.shows_the_same_as(view)
    _, problems = _answered(view, lambda m: [*m[:4], *m[5:]])
    assert problems and problems[0].startswith("H1")


@given(sessions(), st.sampled_from(WIRES))
def test_what_comes_back_unchanged_is_the_view(session: Session, wire: Wire) -> None:
    view = Projection.whole(History(session.events))
    projection, problems = _answered(view, lambda messages: messages, wire)
    assert problems == []
    assert projection.shows_the_same_as(view)


@given(sessions(), st.sampled_from(WIRES), st.data())
def test_a_projection_told_as_messages_is_found_again(
    session: Session, wire: Wire, data: st.DataObject
) -> None:
    """Whatever a strategy of this project makes, its messages alone tell the same."""
    view = Projection.whole(History(session.events))
    count = len(view.groups)
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first + 1, count))
    made = view.summarise(view.groups[first:last], "A summary that nobody said.")
    history = view.history
    # Results without a call are told in a user's name, where neighbours of one role are merged.
    results = [e.seq for e in session.events if history.result_wire_id(e.seq - 1) is not None]
    made = made.shorten(dict.fromkeys(data.draw(st.sets(st.sampled_from(results or [0]))), "-"))
    told, after = shown(view, (), wire), shown(made, (), wire)
    found = inferred(view, told, told.answered(after.payload, after.system))
    assert _texts(found, wire) == _texts(made, wire)
    if not violations(made):
        assert violations(found) == ()


@given(sessions(max_turns=3, max_steps=4), st.sampled_from(WIRES), st.data())
def test_nothing_is_put_right_unseen(session: Session, wire: Wire, data: st.DataObject) -> None:
    """An answer without findings is what the model is shown, message by message."""
    view = Projection.whole(History(session.events))
    told = shown(view, (), wire)
    messages = [one.message for one in told.messages]
    place = st.integers(0, len(messages))
    # Most cuts are made where a group ends, or hardly any answer would be free of findings.
    first, last = sorted((data.draw(place), data.draw(place)))
    if data.draw(st.sampled_from((True, True, True, False))):
        ends = [i for i, message in enumerate(messages) if message.role != "tool"]
        ends.append(len(messages))
        first, last = (min(ends, key=lambda end: abs(end - at)) for at in (first, last))
    written = [Message("user", "Written anew.")] * data.draw(st.integers(0, 2))
    answer = [*messages[:first], *written, *messages[last:]]
    for at in data.draw(st.sets(st.integers(0, max(0, len(answer) - 1)), max_size=3)):
        answer[at:at] = answer[at : at + 1] if data.draw(st.integers(0, 9)) == 0 else []
        if answer and answer[at].role in ("tool", "assistant"):
            answer[at] = replace(answer[at], text=answer[at].text[: len(answer[at].text) // 2])
    projection = inferred(view, told, answer)
    if answer_problems(told, answer) or violations(projection, on_the_wire=False):
        return
    # The marked line that opens a conversation stands only where one would begin otherwise.
    told_again = [one for one in _texts(projection, wire) if one[1] != LEADING_LINE]
    assert told_again == [message_key(one) for one in answer if one.text != LEADING_LINE]


def _texts(projection: Projection, wire: Wire) -> list[Any]:
    return [message_key(one.message) for one in shown(projection, (), wire).messages]


def test_items_of_the_view_are_the_same_objects() -> None:
    view = _view()
    projection, _ = _answered(view, lambda m: [m[0], *m[6:]])
    assert all(isinstance(item, Kept) for item in projection.items)
    assert projection.tail_start == 6


def test_a_view_of_system_messages_alone_may_stay_so() -> None:
    view = _view(MESSAGES[:1])
    projection, problems = _answered(view, lambda m: m)
    assert problems == [] and projection.shows_the_same_as(view)


def test_items_with_calls_results_and_attachments_are_stored_whole() -> None:
    view = _view()
    picture = (Attachment("image/png", "aGk="),)
    shortened = replace(MESSAGES[3], text="-", attachments=picture)
    items = [
        Written(Message("assistant", "Looking.", CALLS), 2, 5),
        Written(Message("tool", "found", call_id="a"), 2, 5),
        Written(Message("user", "See.", attachments=picture), 6, 6),
        Written(Message("user", "Only text."), 6, 6),
        Shortened(view.history[3], shortened),
        Shortened(view.history[4], replace(MESSAGES[4], text="-")),
    ]
    stored = [json.loads(json.dumps(item_to_json(item))) for item in items]
    assert [item_from_json(one, view.history) for one in stored] == items
    # What most items don't have isn't written down.
    assert set(stored[3]) == {"kind", "role", "text", "first_seq", "last_seq"}
    assert set(stored[5]) == {"kind", "seq", "text", "reference"}


def test_an_event_that_was_shortened_before_stays_so() -> None:
    view = _view().shorten({4: "[cleared]"})
    projection, problems = _answered(view, lambda m: m)
    assert problems == [] and projection.shows_the_same_as(view)


def test_thousands_of_equal_messages_take_no_time() -> None:
    events = [Event(seq, Message("user", "ok")) for seq in range(1, 4_001)]
    view = Projection.whole(History(events))
    projection, _ = _answered(view, lambda m: [*m[:1500], {"role": "user", "content": "?"}])
    assert [type(item) for item in projection.items] == [Kept] * 1_500 + [Written]
    assert [item.seqs[0] for item in projection.items[:-1]] == list(range(2_501, 4_001))

"""Requests that the APIs accept, and checks that tell when one wouldn't be."""

import pytest
from hypothesis import given

from bench.events import Attachment, Event, Message, Session, ToolCall, ToolDefinition
from bench.history import History
from bench.projection import Native, Projection
from bench.wire.checks import api_problems, check_anthropic, check_openai
from bench.wire.formats import FORMATS, Request, to_anthropic, to_gemini, to_openai, to_responses
from bench.wire.rendering import (
    CONTINUE_LINE,
    LEADING_LINE,
    ORPHAN_RESULT,
    STUB_RESULT,
    Rendered,
    render,
)
from tests.builders import session
from tests.generators import sessions


def rendered(*lines: str) -> Rendered:
    return render(Projection.whole(History(session(*lines).events)))


def roles(one: Rendered) -> str:
    return " ".join(message.role[0] for message in one.messages)


@given(sessions())
def test_every_prefix_before_an_assistant_message_is_acceptable(generated) -> None:  # type: ignore[no-untyped-def]
    history = History()
    for event in generated.events:
        if event.message.role == "assistant":
            assert api_problems(render(Projection.whole(history))) == []
        history.append(event)


def test_unanswered_call_gets_a_marked_stub() -> None:
    one = rendered("user: go", "call a b", "result a: 1", "user: on")
    assert roles(one) == "u a t t u"
    assert [message.text for message in one.messages if message.role == "tool"] == [
        "1",
        STUB_RESULT,
    ]
    assert one.repairs == 1


def test_user_who_typed_between_is_moved_behind_the_result() -> None:
    one = rendered("user: go", "call a", "user: rev C", "result a: built")
    assert [message.text for message in one.messages] == ["go", "", "built", "rev C"]
    assert one.repairs == 0


def test_orphan_result_becomes_a_marked_user_line() -> None:
    one = rendered("user: go", "result x: 42")
    assert one.messages[1].role == "user"
    assert one.messages[1].text == f"{ORPHAN_RESULT}\n42"
    assert one.repairs == 1


def test_leading_and_trailing_assistant_get_marked_lines() -> None:
    one = rendered("assistant: hello", "assistant: again")
    assert [message.text for message in one.messages] == [
        LEADING_LINE,
        "hello",
        "again",
        CONTINUE_LINE,
    ]
    assert one.repairs == 2


def test_empty_history_is_a_request_too() -> None:
    assert api_problems(render(Projection.whole(History()))) == []


def test_anthropic_merges_neighbours_and_lists_all_their_seqs() -> None:
    one = rendered("system: s", "user: go", "call a b", "result b: 2", "result a: 1", "user: on")
    request = to_anthropic(one, ())
    assert request.system == "s"
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    kinds = [block["type"] for block in request.messages[2]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]
    assert request.provenance[2] == {"kind": "kept", "seqs": [4, 5, 6]}


def test_anthropic_keeps_a_note_in_mid_session_in_its_place() -> None:
    request = to_anthropic(rendered("user: go", "assistant: ok", "system: metric", "user: on"), ())
    assert request.messages[2]["content"][0]["text"] == "[System note] metric"


def test_arguments_that_are_no_object_stay_readable() -> None:
    call = ToolCall("a", "write", '{"path":"log.txt","text":"day one')
    events = (Event(1, Message("user", "go")), Event(2, Message("assistant", "", (call,))))
    one = render(Projection.whole(History(events)))
    use = to_anthropic(one, ()).messages[1]["content"][0]
    assert use["input"] == {"_raw": call.arguments}
    assert to_openai(one, ()).messages[1]["tool_calls"][0]["function"]["arguments"] == (
        call.arguments
    )


def test_pictures_keep_their_data_where_the_api_takes_it() -> None:
    picture = Attachment("image/png", "aGk=")
    events = (Event(1, Message("user", "look", attachments=(picture,))),)
    one = render(Projection.whole(History(events)))
    assert to_openai(one, ()).messages[0]["content"][1]["image_url"]["url"] == (
        "data:image/png;base64,aGk="
    )
    assert to_anthropic(one, ()).messages[0]["content"][1]["source"]["data"] == "aGk="
    assert to_gemini(one, ()).messages[0]["parts"][1]["inlineData"]["data"] == "aGk="


def test_responses_items_and_their_provenance() -> None:
    request = to_responses(rendered("user: go", "call a: thinking", "result a: 1"), ())
    assert [item["type"] for item in request.messages] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert [entry["seqs"] for entry in request.provenance] == [[1], [2], [2], [3]]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_provenance_speaks_of_every_entry(name: str) -> None:
    tools = (ToolDefinition("read", "Reads.", {"type": "object"}),)
    shown = [rendered("user: go", "call a", "result a: 1")]
    if name in ("responses", "anthropic"):
        history = History(session("user: go", "call a", "result a: 1", "user: on").events)
        state = Native("simulated/x", '{"v":1}', 1, 3, 40)
        shown.append(render(Projection.of_items(history, (state,), 3).advance()))
    for one in shown:
        request = FORMATS[name](one, tools)
        assert len(request.messages) == len(request.provenance)
        assert request.tools


USER = {"role": "user", "content": "go"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
RESULT = {"role": "tool", "content": "1", "tool_call_id": "a"}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([USER, CALL], "no result"),
        ([USER, CALL, USER, RESULT], "have no result"),
        ([USER, RESULT], "without its call"),
        ([USER, CALL, RESULT, RESULT], "without its call"),
        ([USER, {"role": "user", "content": ""}], "without content"),
        ([USER, {"role": "developer", "content": "x"}], "doesn't exist"),
        ([USER, CALL, RESULT, CALL, RESULT], "used twice"),
        ([USER, {"role": "assistant", "content": "x"}], "trailing"),
        ([{"role": "system", "content": "s"}], "no message"),
    ],
)
def test_openai_check_bites(messages: list[dict[str, object]], words: str) -> None:
    assert words in "; ".join(check_openai(Request(None, messages, [], [])))


def _blocks(*blocks: dict[str, object], role: str = "user") -> dict[str, object]:
    return {"role": role, "content": list(blocks)}


TEXT = {"type": "text", "text": "go"}
USE = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
GOT = {"type": "tool_result", "tool_use_id": "a", "content": []}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "no message"),
        ([_blocks(TEXT, role="assistant")], "first message"),
        ([_blocks(TEXT), _blocks(TEXT)], "twice in a row"),
        ([_blocks(TEXT), _blocks(USE, role="assistant")], "no result"),
        ([_blocks(TEXT), _blocks(USE, role="assistant"), _blocks(TEXT)], "0 results"),
        ([_blocks(TEXT), _blocks(USE, role="assistant"), _blocks(TEXT, GOT)], "before other"),
        ([_blocks({"type": "text", "text": " "})], "blank text"),
        ([_blocks()], "empty content"),
        ([_blocks(TEXT), _blocks(TEXT, role="assistant")], "trailing"),
    ],
)
def test_anthropic_check_bites(messages: list[dict[str, object]], words: str) -> None:
    assert words in "; ".join(check_anthropic(Request(None, messages, [], [])))


def test_lone_surrogate_is_no_valid_request() -> None:
    bad = Session("bad", (Event(1, Message("user", "\ud800")),))
    assert any("JSON" in p for p in api_problems(render(Projection.whole(History(bad.events)))))

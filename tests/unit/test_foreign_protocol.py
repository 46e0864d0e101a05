"""The page, the schema and the code say the same about the protocol."""

import json
import re
from importlib import resources
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bench.events import Message, Session
from bench.foreign.protocol import read_answer, request_line, schema
from bench.foreign.requests import ForeignRequest
from bench.foreign.shown import Wire, shown
from bench.history import History
from bench.projection import Projection
from bench.strategy import Budget, Declined, Usage
from bench.testing import sessions

PAGE = resources.files("bench.foreign").joinpath("PROTOCOL.md").read_text("utf-8")
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def _validator(name: str) -> Draft202012Validator:
    whole = schema()
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator({**whole, "$ref": f"#/$defs/{name}"})


def test_the_examples_of_the_page_are_valid() -> None:
    request, *answers = EXAMPLES
    _validator("request").validate(request)
    assert len(answers) == 3
    for answer in answers:
        _validator("answer").validate(answer)


def test_the_examples_are_read_as_the_page_says() -> None:
    _, compacted, idle, failed = EXAMPLES
    answer = read_answer(json.dumps(compacted).encode())
    assert answer.messages == compacted["messages"]
    assert (answer.has_state, answer.state) == (True, {"compactions": 1})
    assert answer.usage == Usage(412, 18)
    answer = read_answer(json.dumps(idle).encode())
    assert (answer.messages, answer.state, answer.usage) == (None, {"seen": 12}, None)
    with pytest.raises(Declined, match="it says: the summariser is out of service"):
        read_answer(json.dumps(failed).encode())


def test_every_name_in_the_schema_is_on_the_page() -> None:
    for kind in ("request", "answer"):
        for name in schema()["$defs"][kind]["properties"]:
            assert f"`{name}" in PAGE or f'"{name}"' in PAGE, name


def _request(session: Session, wire: Wire, stop: int) -> ForeignRequest:
    view = Projection.whole(History(session.events[:stop]))
    told = shown(view, session.tools, wire)
    return ForeignRequest(
        messages=told.payload,
        tools=told.tools,
        system=told.system,
        request_at=told.request_at,
        window=8_000,
        reason="budget",
        state={"any": ["value", 1]},
        seed=3,
        budget=Budget(8_000, 6_400, 7_000, trigger="budget", stage="compact"),
    )


@settings(max_examples=25)
@given(sessions(), st.sampled_from(("openai", "anthropic")), st.data())
def test_what_is_sent_is_valid(session: Session, wire: Wire, data: st.DataObject) -> None:
    stop = data.draw(st.integers(1, len(session.events)))
    request = _request(session, wire, stop)
    line = request_line(request)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    sent = json.loads(line)
    _validator("request").validate(sent)
    view = Projection.whole(History(session.events[:stop]))
    if view.request_position is None:
        assert sent["request_at"] is None
    else:
        text = session.events[view.request_position].message.text
        told = sent["messages"][sent["request_at"]]
        assert told["role"] == "user" and (not text or text in _text_of(told))


def _text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def test_numbers_that_json_does_not_have_are_words() -> None:
    session = Session("s", (), ())
    request = _request(session, "openai", 0)
    object.__setattr__(request, "tools", [{"maximum": float("inf")}])
    assert json.loads(request_line(request))["tools"] == [{"maximum": "Infinity"}]


def test_the_way_to_a_model_is_told_only_where_there_is_one() -> None:
    request = _request(Session("s", (), ()), "openai", 0)
    assert "model" not in json.loads(request_line(request))
    assert json.loads(request_line(request, {"A": "b"}))["model"] == {"A": "b"}


ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["messages", "fired", "state", "usage", "system", "error", "protocol"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANSWERS)
def test_any_json_is_an_answer_or_refused_in_one_line(value: Any) -> None:
    written = json.dumps(value).encode()
    try:
        answer = read_answer(written)
    except Declined as declined:
        assert "\n" not in declined.reason and len(declined.reason) < 500
    else:
        assert answer.messages is None or isinstance(answer.messages, list)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_line(written: bytes) -> None:
    with pytest.raises(Declined) as caught:
        read_answer(written)
    assert "\n" not in caught.value.reason


def test_an_answer_without_state_leaves_it() -> None:
    assert not read_answer(b'{"fired": false}').has_state
    assert read_answer(b'{"fired": false, "state": null}').has_state


def test_the_message_words_are_those_of_the_schema() -> None:
    roles = schema()["$defs"]["message"]["properties"]["role"]["enum"]
    for role in roles:
        entry: dict[str, Any] = {"role": role, "content": "x"}
        if role == "tool":
            entry["tool_call_id"] = "a"
        view = Projection.whole(History(()))
        told = shown(view, (), "openai").answered([entry])
        assert told[0].role == ("system" if role == "developer" else role)
        assert told[0] == Message(told[0].role, "x", call_id=entry.get("tool_call_id"))

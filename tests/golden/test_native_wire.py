"""A vendor's state on the wire: recorded shapes, taken in and sent back to the letter.

The bodies in native_cases.json were written by hand from the vendors' published types and guides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.history import History
from bench.projection import Native, Projection
from bench.wire.checks import api_problems, check_anthropic, check_responses
from bench.wire.formats import Request, to_anthropic, to_gemini, to_openai, to_responses
from bench.wire.native_states import NativeRefused, checked_state, read_state
from bench.wire.rendering import CONTINUE_LINE, LEADING_LINE, render
from tests.builders import session

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "native_cases.json").read_text(encoding="utf-8")
)
ON_DEMAND_BETA = "compact-2026-09-04"
THRESHOLD_BETA = "compact-2026-01-12"
TELLING = (
    "system: Be terse.",
    "user: find the leak",
    "call a",
    "result a: wet",
    "call b: looking",
    "result b: dry",
    "user: and the hull?",
)


def items_of(form: str) -> list[dict[str, Any]]:
    answer = CASES[form]["answer"]
    items: list[dict[str, Any]] = answer.get("output") or answer["content"]
    if form == "responses_inline":
        return items[:1]
    return items


def native(form: str) -> Native:
    return Native("vendor/x", checked_state(form, items_of(form)).to_text(), 2, 4, 40)


def shown(form: str, *lines: str, covered: int = 4) -> Projection:
    """The system message, the state for what follows up to event `covered`, then the rest."""
    history = History(session(*(lines or TELLING)).events)
    system = Projection.whole(history).items[:1]
    return Projection(history, (*system, native(form)), covered, len(history))


@pytest.mark.parametrize("form", sorted(CASES))
def test_state_is_sent_back_verbatim_without_what_isnt_accepted(form: str) -> None:
    state = read_state(native(form).state)
    assert state is not None
    assert (state.form, list(state.items)) == (form, CASES[form]["sent_back"])


@pytest.mark.parametrize("form", ["responses_compact", "responses_inline"])
def test_responses_items_stand_between_system_and_what_follows(form: str) -> None:
    request = to_responses(render(shown(form)), ())
    expected = CASES[form]["sent_back"]
    assert request.messages[0]["role"] == "system"
    assert request.messages[1 : 1 + len(expected)] == expected
    assert [item["type"] for item in request.messages[1 + len(expected) :]] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert request.provenance[1] == {"kind": "native", "seqs": [2, 3, 4]}
    assert (request.betas, request.body) == ((), {})
    assert check_responses(request) == []


def test_a_block_on_demand_leads_alone_and_an_assistant_message_may_follow() -> None:
    request = to_anthropic(render(shown("anthropic_on_demand")), ())
    assert request.system == "Be terse."
    assert request.messages[0] == {
        "role": "assistant",
        "content": CASES["anthropic_on_demand"]["sent_back"],
    }
    assert [message["role"] for message in request.messages] == ["assistant", "assistant", "user"]
    assert [block["type"] for block in request.messages[2]["content"]] == ["tool_result", "text"]
    assert (request.betas, request.body) == ((ON_DEMAND_BETA,), {})
    assert check_anthropic(request) == []


def test_a_threshold_block_begins_an_answer_and_needs_beta_and_edit() -> None:
    request = to_anthropic(render(shown("anthropic_threshold")), ())
    assert request.messages[0]["content"][0]["text"] == LEADING_LINE
    answer = request.messages[1]
    assert answer["role"] == "assistant"
    assert answer["content"][:1] == CASES["anthropic_threshold"]["sent_back"]
    # What the assistant said next belongs to the same answer.
    assert [block["type"] for block in answer["content"]] == ["compaction", "text", "tool_use"]
    assert request.betas == (THRESHOLD_BETA,)
    (edit,) = request.body["context_management"]["edits"]
    assert edit["type"] == "compact_20260112"
    assert edit["trigger"]["type"] == "input_tokens"
    assert edit["trigger"]["value"] > 10_000_000
    assert check_anthropic(request) == []


@pytest.mark.parametrize("form", sorted(CASES))
def test_state_at_the_end_is_followed_by_a_user_line(form: str) -> None:
    history = History(session(*TELLING[:4]).events)
    projection = Projection(history, (native(form),), 4, 4)
    rendered = render(projection)
    assert rendered.messages[-1].text == CONTINUE_LINE
    assert api_problems(rendered) == []


@pytest.mark.parametrize("form", sorted(CASES))
def test_state_is_refused_on_a_foreign_route(form: str) -> None:
    rendered = render(shown(form))
    own = "responses" if form.startswith("responses") else "anthropic"
    formats = {"responses": to_responses, "anthropic": to_anthropic}
    formats |= {"openai": to_openai, "gemini": to_gemini}
    for name, write in formats.items():
        if name == own:
            write(rendered, ())
            continue
        with pytest.raises(NativeRefused, match=f"the format {name} can't carry"):
            write(rendered, ())
    assert api_problems(rendered) == []


@pytest.mark.parametrize(
    ("form", "items"),
    [
        ("anthropic_on_demand", [{"type": "compaction", "content": None}]),
        ("anthropic_on_demand", [{"type": "compaction", "content": ""}]),
        ("anthropic_on_demand", []),
        ("anthropic_threshold", [{"type": "text", "text": "no block"}]),
        ("responses_compact", [{"type": "message", "role": "user", "content": []}]),
        ("responses_compact", [{"type": "compaction", "encrypted_content": None}]),
        ("gemini_compact", [{"type": "compaction", "content": "x"}]),
    ],
)
def test_an_answer_that_compacted_nothing_is_no_state(
    form: str, items: list[dict[str, Any]]
) -> None:
    with pytest.raises(ValueError, match=r"compaction item|unknown form"):
        checked_state(form, items)


@given(st.text())
def test_a_block_is_kept_to_the_letter(text: str) -> None:
    block = {"type": "compaction", "content": text or "x", "signature": text}
    state = read_state(checked_state("anthropic_on_demand", [block]).to_text())
    assert state is not None
    assert state.items == (block,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"form": []}',
        '{"form": "anthropic_on_demand"}',
        '{"form": "x", "items": []}',
    ],
)
def test_other_json_is_no_vendors_state(text: str) -> None:
    assert read_state(text) is None


BLOCK = {"type": "compaction", "content": "x"}
ASKED = {"role": "user", "content": [{"type": "text", "text": "go"}]}


@pytest.mark.parametrize(
    ("messages", "betas", "words"),
    [
        ([{"role": "user", "content": [BLOCK]}], (), "must begin an answer"),
        ([ASKED, {"role": "assistant", "content": [BLOCK]}], (THRESHOLD_BETA,), "require a"),
        (
            [{"role": "assistant", "content": [{**BLOCK, "content": None}]}, ASKED],
            (),
            "an empty compaction block",
        ),
        (
            [{"role": "assistant", "content": [{**BLOCK, "signature": None}]}, ASKED],
            (),
            "holds nulls",
        ),
        ([{"role": "assistant", "content": [BLOCK]}], (), "trailing"),
        (
            [{"role": "assistant", "content": [{"type": "text", "text": "a"}]}, ASKED],
            (),
            "must be a user message",
        ),
    ],
)
def test_check_of_blocks_bites(
    messages: list[dict[str, Any]], betas: tuple[str, ...], words: str
) -> None:
    assert words in "; ".join(check_anthropic(Request(None, messages, [], [], betas)))


CALL = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "1"}
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([SAID, CALL], "1 calls have no output"),
        ([SAID, OUTPUT], "without its call"),
        ([SAID, CALL, OUTPUT, OUTPUT], "second output"),
        ([SAID, CALL, CALL, OUTPUT], "used twice"),
        ([SAID, {"type": "compaction"}], "without encrypted_content"),
        ([SAID, {**SAID, "created_by": "x"}], "isn't accepted"),
        ([SAID, {**SAID, "status": None}], "isn't accepted"),
        ([{**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}], "duplicate item id"),
        ([{**SAID, "content": []}], "without content"),
        ([{**SAID, "role": "system"}], "no item but system ones"),
    ],
)
def test_check_of_items_bites(items: list[dict[str, Any]], words: str) -> None:
    assert words in "; ".join(check_responses(Request(None, items, [], [])))

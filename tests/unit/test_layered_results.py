"""Large tool results: shortened with a reference, and read again through it (F10)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Message
from strategies.layered.bounding import bound, reference_to, references_in, sha256_of
from strategies.layered.encoding import text_tokens, trimmed, units
from strategies.layered.history_read import (
    ReadRefused,
    effective,
    read_tool_result,
    readable_seqs,
    tools_for,
)
from strategies.layered.source import SourceMessage
from strategies.layered.strategy import Layered
from tests.layered_parts import Scribe, budget, steps, view_of

LONG = "".join(f"line {number} of the log\n" for number in range(2_000))


def result(seq: int, text: str = LONG, call_id: str = "x") -> SourceMessage:
    return SourceMessage(seq, Message("tool", text, call_id=call_id))


class TestShortening:
    def test_f10_1_the_newest_result_is_kept_whole_at_first(self) -> None:
        told = [result(1), result(2), result(3, "short")]
        assert list(bound(told, 300, 1)) == [0, 1]
        assert list(bound(told, 300, 2)) == [0]
        assert list(bound(told, 300)) == [0, 1]

    def test_f10_2_beginning_end_and_reference_are_kept(self) -> None:
        cut = bound([result(7)], 300)[0]
        assert cut.text.startswith("line 0 of the log")
        assert "line 1999 of the log" in cut.text
        assert cut.tokens_after <= 300
        assert cut.reference == {
            "kind": "foya.tool_result_ref.v1",
            "event_seq": 7,
            "tool_call_id": "x",
            "sha256": sha256_of(LONG),
            "estimated_tokens": text_tokens(LONG),
            "read_tool": "history_read_tool_result",
        }
        assert references_in([cut.text]) == [cut.reference]

    def test_f10_2_head_and_tail_share_three_to_two(self) -> None:
        cut = bound([result(7)], 300)[0]
        assert units(cut.head) == cut.excerpt_tokens * 4 * 3 // 5
        assert units(cut.head) + units(cut.tail) == cut.excerpt_tokens * 4

    def test_f10_2_without_a_call_id_there_is_no_reference(self) -> None:
        assert reference_to(result(7, call_id=" ")) is None
        assert bound([result(7, call_id=" ")], 300)[0].reference is None

    def test_a_result_that_would_not_get_smaller_stays_whole(self) -> None:
        small = result(7, "y" * 200)
        assert bound([small], 10) == {}
        assert list(bound([small], 10, original=True)) == [0]

    @given(st.text(max_size=3_000), st.integers(1, 400))
    def test_a_shortened_result_is_made_of_its_own_text(self, text: str, tokens_max: int) -> None:
        for cut in bound([result(3, text)], tokens_max).values():
            assert text.startswith(cut.head)
            assert text.endswith(cut.tail)
            assert cut.text.startswith(trimmed(cut.head))
            assert cut.tokens_after < text_tokens(text)
            assert units(cut.head) + units(cut.tail) <= cut.excerpt_tokens * 4

    def test_f10_1_stages_serve_what_the_ladder_asks(self) -> None:
        view = view_of("user: go", *steps(3, words=2_000))
        older = Layered().compact(view, budget("bound_older"), Scribe())
        everything = Layered().compact(view, budget("bound_all"), Scribe())
        assert older is not None
        assert everything is not None
        whole = [message.text for message in view.messages]
        changed = [i for i, m in enumerate(older.messages) if m.text != whole[i]]
        assert changed == [2, 4]
        assert [i for i, m in enumerate(everything.messages) if m.text != whole[i]] == [2, 4, 6]
        again = Layered().compact(older, budget("bound_all"), Scribe())
        assert again is not None
        assert again.messages == everything.messages

    def test_f10_1_nothing_large_means_nothing_to_do(self) -> None:
        view = view_of("user: go", *steps(2, words=3))
        assert Layered().compact(view, budget("bound_all"), Scribe()) is None


VIEW = view_of("user: go", "call x", "result x: " + "Alpha beta\ngamma BETA\n" * 600)
HISTORY = effective(VIEW.events)
DIGEST = sha256_of(VIEW.messages[2].text)


def read(**arguments: object) -> dict[str, object]:
    asked = {"event_seq": 3, "tool_call_id": "x", **arguments}
    return read_tool_result(json.dumps(asked), HISTORY, "s")


def refusal(arguments: object, session: str = "s") -> str:
    with pytest.raises(ReadRefused) as refused:
        read_tool_result(json.dumps(arguments), HISTORY, session)
    return refused.value.kind


class TestReading:
    def test_f10_3_inspect_tells_length_and_digest(self) -> None:
        found = read(operation="inspect")
        assert (found["total_runes"], found["sha256"]) == (len(VIEW.messages[2].text), DIGEST)
        assert "content" not in found

    def test_f10_3_read_pages_by_rune_offset(self) -> None:
        text, offset, pages = "", 0, 0
        while True:
            page = read(offset=offset)
            text += str(page["content"])
            pages += 1
            offset = int(str(page.get("next_offset", 0)))
            if not offset:
                break
        assert text == VIEW.messages[2].text
        assert pages == 4

    def test_f10_3_search_finds_lines_without_case(self) -> None:
        found = read(operation="search", query=" BETA ")
        assert found["matches"][:2] == [  # type: ignore[index]
            {"line": 1, "text": "Alpha beta"},
            {"line": 2, "text": "gamma BETA"},
        ]
        assert len(found["matches"]) == 20  # type: ignore[arg-type]

    def test_f10_4_another_session_or_a_rewound_event_is_refused(self) -> None:
        good = {"event_seq": 3, "tool_call_id": "x"}
        assert refusal(good, " ") == "session"
        assert refusal({"event_seq": 4, "tool_call_id": "x"}) == "not_found"
        with pytest.raises(ReadRefused, match="not found"):
            read_tool_result(json.dumps(good), effective(VIEW.events[:2]), "s")

    def test_f10_4_another_call_or_changed_content_is_refused(self) -> None:
        assert refusal({"event_seq": 3, "tool_call_id": "y"}) == "mismatch"
        assert refusal({"event_seq": 2, "tool_call_id": "x"}) == "mismatch"
        changed = {"event_seq": 3, "tool_call_id": "x", "expected_sha256": "0" * 64}
        assert refusal(changed) == "changed"
        assert read(expected_sha256=DIGEST.upper())["sha256"] == DIGEST

    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"event_seq": 3},
            {"event_seq": 3, "tool_call_id": "x", "offset": -1},
            {"event_seq": 3, "tool_call_id": "x", "limit": 12_001},
            {"event_seq": 3, "tool_call_id": "x", "operation": "tail"},
            {"event_seq": 3, "tool_call_id": "x", "operation": "search"},
            {"event_seq": 3.0, "tool_call_id": "x"},
            {"event_seq": True, "tool_call_id": "x"},
            [],
        ],
    )
    def test_f10_3_bad_arguments_are_refused(self, arguments: object) -> None:
        assert refusal(arguments) in ("arguments", "missing")

    @given(st.text())
    def test_f10_4_any_arguments_are_answered_or_refused(self, arguments: str) -> None:
        with pytest.raises(ReadRefused):
            read_tool_result(arguments, {}, "s")

    def test_f13_2_the_tool_is_offered_only_when_a_reference_is_visible(self) -> None:
        assert tools_for(VIEW) == ()
        shortened = Layered().compact(VIEW, budget("bound_all"), Scribe())
        assert shortened is not None
        assert [tool.name for tool in tools_for(shortened)] == ["history_read_tool_result"]

    def test_recoverable_are_results_whose_reference_would_be_answered(self) -> None:
        shortened = Layered().compact(VIEW, budget("bound_all"), Scribe())
        assert shortened is not None
        assert readable_seqs(VIEW) == frozenset()
        assert readable_seqs(shortened) == {3}
        forged = shortened.messages[2].text.replace(DIGEST, "0" * 64)
        assert readable_seqs(shortened.shorten({3: forged})) == frozenset()

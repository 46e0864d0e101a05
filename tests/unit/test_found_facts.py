"""Uses: what the agent's next message needed, and how old, how precious and of what kind it was."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from bench.events import Message, RecordedCompaction, Session, ToolDefinition
from bench.found_facts import AGE_BANDS, age_band, find_uses, is_headline
from bench.session_index import SessionIndex
from tests.generators import sessions
from tests.hand_replays import call, session_of

FILLER = "plain words without any meaning " * 600


def working_session() -> Session:
    return session_of(
        Message("system", "Never edit base/root.py."),
        "Please keep retry_limit in mind.",
        call("list", '{"folder": "src"}', call_id="a"),
        Message("tool", "src/tide.py src/quay.py", call_id="a"),
        Message("assistant", FILLER),
        "Now fix src/quay.py.",
        call(
            "edit", '{"path": "src/tide.py", "new": "retry_limit in base/root.py"}', "src/quay.py"
        ),
    )


def test_uses_are_what_earlier_events_introduced() -> None:
    uses = {use.text: use for use in find_uses(SessionIndex(working_session()))}
    assert set(uses) == {"src/tide.py", "retry_limit"}, (
        "the system prompt, the newest request and what is new aren't counted"
    )
    tide = uses["src/tide.py"]
    assert (tide.kind, tide.first_seq, tide.last_seq, tide.at_seq) == ("path", 4, 4, 7)
    assert tide.request == 2
    assert tide.severity == "re_readable"
    assert uses["retry_limit"].severity == "said_once"
    assert uses["retry_limit"].first_seq == 2


def test_ages_are_counted_from_the_last_mention() -> None:
    uses = {use.text: use for use in find_uses(SessionIndex(working_session()))}
    assert 2_000 <= uses["src/tide.py"].age_tokens < uses["retry_limit"].age_tokens
    assert all(map(is_headline, uses.values()))


def test_uses_behind_a_recorded_compaction_are_marked() -> None:
    boundary = RecordedCompaction(after_seq=5, summary="files were listed")
    session = replace(working_session(), recorded_compactions=(boundary,))
    assert {use.after_recorded_compaction for use in find_uses(SessionIndex(session))} == {True}
    later = replace(session, recorded_compactions=(replace(boundary, after_seq=7),))
    assert {use.after_recorded_compaction for use in find_uses(SessionIndex(later))} == {False}


def test_what_tools_define_is_no_use() -> None:
    tool = ToolDefinition("edit", "Puts retry_limit into a file.")
    session = replace(working_session(), tools=(tool,))
    assert [use.text for use in find_uses(SessionIndex(session))] == ["src/tide.py"]


def test_names_of_tools_and_parameters_are_no_use() -> None:
    session = session_of(
        "go",
        call("read_file", '{"file_path": "x"}', call_id="a"),
        Message("tool", "read_file wants file_path", call_id="a"),
        Message("assistant", "I call read_file with file_path again."),
    )
    assert find_uses(SessionIndex(session)) == ()


def test_a_use_counts_once_a_message() -> None:
    session = session_of("Mind one_rule.", "yes", "go", "one_rule, one_rule, `one_rule`")
    assert len(find_uses(SessionIndex(session))) == 1


def test_chinese_sessions_have_uses() -> None:
    session = session_of(
        "请把超时改成4500毫秒，见src/潮汐.py和src/tide.py。",
        "好",
        "继续",
        "我把src/tide.py改成4500毫秒",
    )
    assert {use.key for use in find_uses(SessionIndex(session))} >= {"src/tide.py", "4500 ms"}


@pytest.mark.parametrize(
    ("tokens", "name"),
    [(0, "0-2k"), (1_999, "0-2k"), (2_000, "2-10k"), (39_999, "10-40k"), (40_000, "40k+")],
)
def test_age_bands(tokens: int, name: str) -> None:
    assert age_band(tokens) == name


def test_age_bands_leave_no_gap() -> None:
    for before, after in pairwise(AGE_BANDS):
        assert before.tokens_max == after.tokens_min
    with pytest.raises(ValueError, match="expected 0 or more"):
        age_band(-1)


@given(sessions())
def test_uses_are_in_order_and_told_before(session: Session) -> None:
    index = SessionIndex(session)
    uses = find_uses(index)
    assert [use.request for use in uses] == sorted(use.request for use in uses)
    for use in uses:
        assert index.request_seqs[use.request] == use.at_seq
        assert 1 <= use.first_seq <= use.last_seq < use.at_seq
        assert use.age_tokens >= 0

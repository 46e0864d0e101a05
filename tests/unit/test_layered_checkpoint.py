"""Checkpoint V3: record, id, lineage, digest, strict reading (F4), and the gate (F8)."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.events import Attachment, Message, Session, ToolCall
from bench.history import History
from bench.projection import Projection
from strategies.layered.acceptance import (
    NotAccepted,
    check_candidate,
    check_savings,
    current_checkpoint,
)
from strategies.layered.checkpoint import (
    Checkpoint,
    InvalidCheckpoint,
    Segment,
    computed_id,
    read_record,
    rendered,
    sealed,
    to_canonical_json,
    to_record,
    verify,
)
from strategies.layered.source import RunningDigest, SourceMessage, source_digest, sources
from tests.generators import sessions
from tests.layered_parts import summary, view_of

HISTORY = sources(
    view_of("user: a", "call x", "result x: r", "assistant: b", "user: c", "assistant: d").events
)
ESTIMATES = ("estimated_raw_tokens", "estimated_tokens_before", "estimated_tokens_after")


def text_checkpoint(through: int = 4, **changed: object) -> Checkpoint:
    segment = Segment(1, through, "x", summary())
    made = Checkpoint(
        session_id="s",
        phase="pre_turn",
        through_seq=through,
        source_digest=source_digest(HISTORY[:through]),
        level="segmented",
        segments=(segment,),
        summary=rendered((segment,)),
        model="m",
        created_at="2026-01-01T00:00:00Z",
    )
    return sealed(replace(made, **changed))  # type: ignore[arg-type]


def native_checkpoint(state: str = '{"v":1}', **changed: object) -> Checkpoint:
    fields_changed: dict[str, object] = {
        "projection_kind": "provider_native",
        "level": "",
        "segments": None,
        "summary": "",
        "provider_route": "here",
        "provider_state_kind": "opaque",
        "provider_state": state,
        **changed,
    }
    return text_checkpoint(**fields_changed)  # type: ignore[arg-type]


def failure(made: Checkpoint | object, **given_: object) -> str:
    with pytest.raises(InvalidCheckpoint) as invalid:
        verify(made, given_.pop("history", HISTORY), session_id="s", **given_)  # type: ignore[arg-type]
    return invalid.value.failure


def test_f4_1_the_record_carries_every_field_and_reads_back() -> None:
    made = text_checkpoint(
        4,
        previous_checkpoint_id="p",
        head_anchor_seq=1,
        phase="mid_turn",
        estimated_raw_tokens=3,
        estimated_tokens_before=2,
        estimated_tokens_after=1,
    )
    record = to_record(made)
    named = {"schema_version", "summary_format_version", "checkpoint_id", "previous_checkpoint_id"}
    named |= {"through_seq", "source_digest", "head_anchor_seq", "phase", "projection_kind"}
    named |= {"segments", "level", "model", "created_at", *ESTIMATES}
    assert named <= set(record)
    assert read_record(json.loads(to_canonical_json(made))) == made
    assert verify(record, HISTORY, session_id="s") == made


def test_f4_1_canonical_json_is_the_same_bytes_for_the_same_record() -> None:
    made = text_checkpoint()
    shuffled = dict(reversed(to_record(made).items()))
    assert to_canonical_json(read_record(shuffled)) == to_canonical_json(made)


@pytest.mark.parametrize("name", [field.name for field in fields(Checkpoint)])
def test_f4_2_every_key_field_changes_the_id(name: str) -> None:
    made = text_checkpoint()
    old = getattr(made, name)
    new = () if name == "segments" else old + 1 if isinstance(old, int) else f"{old}x"
    is_key = name not in ("checkpoint_id", "created_at", *ESTIMATES)
    assert (computed_id(replace(made, **{name: new})) != computed_id(made)) is is_key


def test_f4_2_a_tampered_record_is_refused_by_name() -> None:
    record = to_record(text_checkpoint())
    record["model"] = "another"
    assert failure(record) == "id_mismatch"


def test_f4_3_a_stale_result_overwrites_nothing() -> None:
    current = text_checkpoint(2)
    stale = text_checkpoint(4, previous_checkpoint_id="somebody else's")
    with pytest.raises(NotAccepted) as refused:
        check_candidate(stale, HISTORY, current, session_id="s")
    assert refused.value.code == "lineage_stale"
    fresh = text_checkpoint(4, previous_checkpoint_id=current.checkpoint_id)
    check_candidate(fresh, HISTORY, current, session_id="s")


def test_f4_3_of_two_results_for_one_parent_the_second_is_stale() -> None:
    parent = text_checkpoint(2)
    first = text_checkpoint(4, previous_checkpoint_id=parent.checkpoint_id)
    second = text_checkpoint(5, previous_checkpoint_id=parent.checkpoint_id)
    check_candidate(first, HISTORY, parent, session_id="s")
    with pytest.raises(NotAccepted, match="stale"):
        check_candidate(second, HISTORY, first, session_id="s")


@pytest.mark.parametrize(
    "changed",
    [
        Message("tool", "R", call_id="x"),
        Message("tool", "r", call_id="y"),
        Message("tool", "r", call_id="x", attachments=(Attachment("image/png"),)),
        Message("tool", "r", call_id="x", reasoning="hm"),
        Message("assistant", "r", (ToolCall("x", "read"),), call_id="x"),
    ],
)
def test_f4_4_any_change_of_a_covered_event_is_noticed(changed: Message) -> None:
    other = (*HISTORY[:2], SourceMessage(3, changed), *HISTORY[3:])
    assert failure(text_checkpoint(), history=other) == "digest_mismatch"


def test_f4_4_events_behind_the_coverage_may_change() -> None:
    verify(text_checkpoint(4), HISTORY[:4], session_id="s")


def test_f4_5_a_v2_record_is_refused_by_name_and_not_migrated() -> None:
    record = to_record(text_checkpoint())
    record["schema_version"] = 2
    assert failure(record) == "schema_version"


@pytest.mark.parametrize(
    ("absent", "name"),
    [
        ("schema_version", "schema_version"),
        ("summary_format_version", "summary_format_version"),
        ("prompt_version", "prompt_version"),
        ("checkpoint_id", "id_empty"),
        ("session_id", "session_empty"),
        ("phase", "phase"),
        ("through_seq", "through_seq"),
        ("source_digest", "source_digest_empty"),
        ("projection_kind", "projection_kind"),
        ("segments", "text_segments_empty"),
        ("summary", "text_summary_blank"),
        ("level", "text_level"),
        ("model", "model_empty"),
        ("created_at", "created_at_zero"),
    ],
)
def test_f4_5_a_record_without_a_required_field_is_invalid(absent: str, name: str) -> None:
    record = to_record(text_checkpoint())
    del record[absent]
    assert failure(record) == name


@pytest.mark.parametrize("record", [None, [], "x", 3, {"through_seq": "4"}, {"segments": [1]}])
def test_f4_5_a_record_of_another_shape_is_refused(record: object) -> None:
    assert failure(record) == "shape"


def test_f7_3_native_state_is_refused_on_another_route() -> None:
    verify(native_checkpoint(), HISTORY, session_id="s", route="here")
    assert failure(native_checkpoint(), route="elsewhere") == "native_route_foreign"


def test_f8_1_text_and_native_need_their_own_fields() -> None:
    assert failure(text_checkpoint(projection_kind="picture")) == "projection_kind"
    assert failure(native_checkpoint(provider_route="")) == "native_route_empty"
    segments = (Segment(1, 2, "x", "a"), Segment(2, 4, "x", "b"))
    overlapping = text_checkpoint(segments=segments, summary=rendered(segments))
    assert failure(overlapping) == "segment_overlap"
    assert failure(text_checkpoint(summary="other")) == "segments_summary_mismatch"


@pytest.mark.parametrize("state", ["{", "NaN", "", "{'a':1}", '{"a":1} x'])
def test_f8_3_a_native_state_must_be_json(state: str) -> None:
    assert failure(native_checkpoint(state)) in ("native_state_invalid", "native_state_empty")


def test_f8_4_a_candidate_for_another_history_is_refused() -> None:
    other = (SourceMessage(1, Message("user", "A")), *HISTORY[1:])
    with pytest.raises(NotAccepted) as refused:
        check_candidate(text_checkpoint(), other, None, session_id="s")
    assert refused.value.code == "does_not_match_source"


def test_f8_5_coverage_never_goes_back_and_deleted_sessions_take_nothing() -> None:
    current = text_checkpoint(4)
    with pytest.raises(NotAccepted) as backwards:
        check_candidate(text_checkpoint(2), HISTORY, current, session_id="s")
    assert backwards.value.code == "coverage_backwards"
    with pytest.raises(NotAccepted) as deleted:
        check_candidate(current, HISTORY, None, session_id="s", is_deleted=True)
    assert deleted.value.code == "session_deleted"


def test_f8_6_equal_size_is_no_saving() -> None:
    check_savings(10, 9)
    with pytest.raises(NotAccepted, match="before=10 after=10"):
        check_savings(10, 10)


def test_a_state_that_storing_would_change_is_refused_unless_as_the_original() -> None:
    spaced = native_checkpoint('{"v": 1}')
    with pytest.raises(NotAccepted) as refused:
        check_candidate(spaced, HISTORY, None, session_id="s")
    assert refused.value.code == "state_not_canonical"
    check_candidate(spaced, HISTORY, None, session_id="s", original=True)


def test_f12_3_the_newest_valid_completion_stands_in_for_a_damaged_row() -> None:
    older, newer = text_checkpoint(2), text_checkpoint(4)
    texts = [to_canonical_json(newer), to_canonical_json(older)]
    found = current_checkpoint("{broken", texts, HISTORY, session_id="s")
    assert found == newer
    changed = (*HISTORY[:3], SourceMessage(4, Message("assistant", "B")), *HISTORY[4:])
    assert current_checkpoint("[]", texts, changed, session_id="s") == older
    assert current_checkpoint("null", ["{}", "{"], HISTORY, session_id="s") is None


@given(sessions(), st.data())
def test_f4_4_a_running_digest_says_the_same(given_session: Session, data: st.DataObject) -> None:
    told = sources(Projection.whole(History(given_session.events)).events)
    cut = data.draw(st.integers(0, len(told)))
    running = RunningDigest()
    for source in told[:cut]:
        running.add(source)
    earlier = running.copy()
    for source in told[cut:]:
        running.add(source)
    assert earlier.hexdigest() == source_digest(told[:cut])
    assert running.hexdigest() == source_digest(told)

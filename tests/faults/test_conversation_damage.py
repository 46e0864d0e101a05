"""Bad input in a conversation's file: refused by name, the history used, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from bench.conversation_records import CompletionRecord, ConversationError, record_text, sealed
from strategies.layered import Layered
from strategies.layered.checkpoint import read_record, to_record
from strategies.layered.checkpoint import sealed as sealed_checkpoint
from tests.conversation_parts import (
    RoutedProvider,
    compacted,
    damage,
    opened,
    rows,
    shown,
    steps,
    tell,
)

Change = Callable[[dict[str, Any]], object]


def stored_record(path: Path) -> dict[str, Any]:
    ((_, _, _, text),) = rows(path, "projections")
    found: dict[str, Any] = json.loads(text)
    return found


def put(path: Path, text: str, *, only_row: bool = False) -> None:
    """Another text in place of the newest record, in the row and in its completion."""
    damage(path, "UPDATE projections SET data = ?", text)
    if not only_row:
        damage(
            path,
            "UPDATE log SET data = ? WHERE kind = 'compaction_completed' AND position = "
            "(SELECT max(position) FROM log WHERE kind = 'compaction_completed')",
            text,
        )


def resealed(data: dict[str, Any]) -> str:
    """A record whose id fits what it says now: only the strategy's own check can refuse it."""
    known = {each.name: data[each.name] for each in fields(CompletionRecord)}
    return record_text(sealed(CompletionRecord(**{**known, "head": tuple(known["head"])})))


def checkpoint(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["memory"]["checkpoint"]
    return found


def test_a_sound_file_is_refused_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        before = shown(conversation.projection)
    put(path, resealed(stored_record(path)))
    with opened(path) as again:
        assert (again.refusals, shown(again.projection)) == ([], before)


TAMPERED: dict[str, tuple[Change, str]] = {
    "summary": (lambda data: data["head"][1].update(text="other"), "id_mismatch"),
    "memory": (lambda data: checkpoint(data).update(model="x"), "id_mismatch"),
    "lineage": (lambda data: data.update(previous_id="abc"), "id_mismatch"),
    "id": (lambda data: data.update(id="abc"), "id_mismatch"),
    "route": (lambda data: data.update(route="other"), "id_mismatch"),
    "coverage": (lambda data: data.update(through_seq=3), "id_mismatch"),
    "record version": (lambda data: data.update(version=2), "version"),
    "no version": (lambda data: data.pop("version"), "version"),
    "missing field": (lambda data: data.pop("source_digest"), "shape"),
    "another type": (lambda data: data.update(through_seq="9"), "shape"),
    "truth as number": (lambda data: data.update(through_seq=True), "shape"),
    "more fields": (lambda data: data.update(extra=1), "shape"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_record_is_refused_by_name(tmp_path: Path, name: str) -> None:
    change, failure = TAMPERED[name]
    data, path = _tampered(tmp_path, change)
    put(path, json.dumps(data))
    _refused(path, failure)


RESEALED: dict[str, tuple[Change, str, str]] = {
    "a V2 record": (
        lambda data: checkpoint(data).update(schema_version=2),
        "verify",
        "schema_version: ",
    ),
    "no version": (
        lambda data: checkpoint(data).pop("schema_version"),
        "verify",
        "schema_version: ",
    ),
    "no id": (lambda data: checkpoint(data).update(checkpoint_id=""), "verify", "id_empty: "),
    "no model": (lambda data: checkpoint(data).pop("model"), "verify", "model_empty: "),
    "no time": (lambda data: checkpoint(data).pop("created_at"), "verify", "created_at_zero: "),
    "no segments": (
        lambda data: checkpoint(data).pop("segments"),
        "verify",
        "text_segments_empty: ",
    ),
    "segments reversed": (
        lambda data: checkpoint(data)["segments"][0].update(from_seq=99),
        "verify",
        "segment_reversed: ",
    ),
    "another kind": (
        lambda data: checkpoint(data).update(projection_kind="dream"),
        "verify",
        "projection_kind: ",
    ),
    "a tampered summary": (
        lambda data: checkpoint(data).update(summary="other"),
        "verify",
        "segments_summary_mismatch: ",
    ),
    "another anchor": (
        lambda data: _checkpoint_with(data, head_anchor_seq=3),
        "verify",
        "anchor_not_user: ",
    ),
    "another source": (
        lambda data: _checkpoint_with(data, source_digest="0" * 64),
        "verify",
        "digest_mismatch: ",
    ),
    "another session's": (
        lambda data: _checkpoint_with(data, session_id="another"),
        "verify",
        "session_mismatch: ",
    ),
    "a tampered id": (
        lambda data: checkpoint(data).update(previous_checkpoint_id="abc"),
        "verify",
        "id_mismatch: ",
    ),
    "another text is shown": (
        lambda data: data["head"][1].update(text="Obey me."),
        "verify",
        "head: ",
    ),
    "no checkpoint": (
        lambda data: data["memory"].pop("checkpoint"),
        "verify",
        "checkpoint_missing: ",
    ),
    "no memory": (lambda data: data.update(memory=None), "verify", "checkpoint_missing: "),
    "events by another name": (
        lambda data: data.update(source_digest="0" * 64),
        "digest_mismatch",
        "the covered events",
    ),
    "another session": (lambda data: data.update(session="x"), "session_mismatch", "another"),
    "beyond the history": (
        lambda data: data.update(through_seq=999),
        "through_seq",
        "events 1 to 999 of 26",
    ),
    "nothing covered": (lambda data: data.update(through_seq=0), "through_seq", "1 to 0"),
    "no system prompt": (lambda data: data["head"].pop(0), "verify", "head: "),
    "a torn group": (
        lambda data: data["head"].append({"kind": "kept", "seq": 3}),
        "broken_promise",
        "H1",
    ),
    "no such item": (lambda data: data["head"][1].update(kind="dream"), "head", "dream"),
    "an item of nothing": (lambda data: data["head"].append(7), "head", "can't be read"),
    "an event of nowhere": (
        lambda data: data["head"].append({"kind": "kept", "seq": 999}),
        "head",
        "can't be read",
    ),
    "an odd text": (lambda data: data["head"][1].update(text=7), "head", "can't be read"),
    "an odd role": (lambda data: data["head"][1].update(role="dream"), "head", "no role"),
    "an odd place": (
        lambda data: data["head"][1].update(first_seq="1"),
        "head",
        "can't be read",
    ),
}


def _checkpoint_with(data: dict[str, Any], **changed: object) -> None:
    """A checkpoint whose own id fits as well."""
    made = sealed_checkpoint(replace(read_record(checkpoint(data)), **changed))  # type: ignore[arg-type]
    data["memory"]["checkpoint"] = to_record(made)


@pytest.mark.parametrize("name", RESEALED)
def test_what_the_id_cannot_tell_is_refused_by_name(tmp_path: Path, name: str) -> None:
    change, failure, text = RESEALED[name]
    data, path = _tampered(tmp_path, change)
    put(path, resealed(data))
    _refused(path, failure, text)


TEXTS = ["", "{", "null", "[]", "7", '"x"', "{}", '{"version":1}', "[" * 20_000, "\ud83d"]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_damaged_text_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    put(path, text.encode("utf-8", "replace").decode())
    with opened(path) as again:
        (refusal,) = again.refusals
        assert refusal.failure in ("not_json", "shape", "version")
    _refused(path, None)


@pytest.mark.parametrize("value", [b"\xff\xfe", b"{}", 7, 2.5])
def test_a_value_of_another_type_is_refused_by_name(tmp_path: Path, value: object) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    damage(path, "UPDATE projections SET data = ?", value)
    with opened(path) as again:
        assert next(each.failure for each in again.refusals) in ("not_json", "shape")
        assert again.checkpoint_id


def _tampered(tmp_path: Path, change: Change) -> tuple[dict[str, Any], Path]:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    data = stored_record(path)
    change(data)
    return data, path


def _refused(path: Path, failure: str | None, text: str = "") -> None:
    """Refused by name, in the diagnostics; the history is used, and it goes on."""
    before = rows(path)
    with opened(path) as again:
        if failure is not None:
            (refusal,) = again.refusals
            assert refusal.failure == failure
            assert text in refusal.text
            kept = [each for each in again.diagnostics() if each["subject"] == "projection"]
            assert [each["failure"] for each in kept] == [failure]
        assert len(again.events) == 26
        assert again.projection.head == ()
        assert again.checkpoint_id == ""
        assert rows(path) == before
        # F12.3: the invalid projection is removed, its completion stays in the log.
        assert rows(path, "projections") == []
        assert again.request().refusal is None
        assert again.checkpoint_id
    with opened(path) as again:
        assert again.projection.head
        assert again.refusals == []


# Recovery (F12.3)


def twice_compacted(path: Path) -> tuple[Any, Any]:
    with compacted(path) as conversation:
        first = conversation.projection
        tell(conversation, *steps(12, 24))
        assert conversation.request().refusal is None
        second = conversation.projection
    assert first.head != second.head
    return first, second


BROKEN_ROWS: dict[str, tuple[str, str]] = {
    "missing": ("DELETE FROM projections", ""),
    "emptied": ("UPDATE projections SET data = ''", "not_json"),
    "another id": ("UPDATE projections SET id = 'x'", "id_mismatch"),
    "of another row": ("UPDATE projections SET position = 1", "not_newest"),
    "replaced by the older one": (
        "UPDATE projections SET data = (SELECT data FROM log WHERE kind = 'compaction_completed' "
        "ORDER BY position LIMIT 1)",
        "id_mismatch",
    ),
}


@pytest.mark.parametrize("name", BROKEN_ROWS)
def test_f12_3_a_damaged_row_is_made_again_from_the_newest_completion(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "c.sqlite"
    statement, failure = BROKEN_ROWS[name]
    _, second = twice_compacted(path)
    sound = rows(path, "projections")
    damage(path, statement)
    with opened(path) as again:
        assert [each.failure for each in again.refusals] == ([failure] if failure else [])
        assert shown(again.projection)[1:] == shown(second)[1:]
        assert rows(path, "projections") == sound
    with opened(path) as again:
        assert again.refusals == []


def test_f12_3_with_the_newest_completion_damaged_an_older_one_stands(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    first, _ = twice_compacted(path)
    put(path, "{}")
    with opened(path) as again:
        assert [each.failure for each in again.refusals] == ["version"]
        assert shown(again.projection)[1:] == shown(first)[1:]
        identity = again.checkpoint_id
    with opened(path) as again:
        # Put right once, not at every start.
        assert (again.refusals, again.checkpoint_id) == ([], identity)
        assert again.request().refusal is None
        assert again.checkpoint_id != identity
    newest = json.loads([row for row in rows(path) if row[2] == "compaction_completed"][-1][4])
    assert newest["previous_id"] == identity


def test_f12_4_a_row_from_before_the_rewind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        old = rows(path, "projections")
        conversation.rewind(26)
    for row in old:
        damage(path, "INSERT INTO projections VALUES (?, ?, ?, ?)", *row)
    with opened(path) as again:
        assert [each.failure for each in again.refusals] == ["not_newest"]
        assert again.projection.head == ()


def test_f7_3_native_state_said_to_be_of_this_route_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    native = Layered(compactor="native", result_tokens_max=120)
    with opened(path, RoutedProvider(native_tokens=40), strategy=native) as conversation:
        tell(conversation, "system: s", "user: u", *steps(0, 12))
        conversation.request()
    data = stored_record(path)
    data["route"] = data["head"][1]["route"] = "two/small"
    put(path, resealed(data))
    with opened(path, RoutedProvider("two/small"), strategy=native) as again:
        assert [each.failure for each in again.refusals] == ["verify"]
        assert "native_route_foreign: " in again.refusals[0].text
        assert again.projection.head == ()


# State and boundaries


STATES: dict[str, tuple[str, str]] = {
    "text": ("UPDATE states SET data = '{'", "digest_mismatch"),
    "digest": ("UPDATE states SET digest = 'x'", "digest_mismatch"),
    "bytes": ("UPDATE states SET data = x'ff'", "digest_mismatch"),
}


@pytest.mark.parametrize("name", STATES)
def test_a_damaged_state_is_refused_and_the_record_stands(tmp_path: Path, name: str) -> None:
    path = tmp_path / "c.sqlite"
    statement, failure = STATES[name]
    with compacted(path) as conversation:
        before = shown(conversation.projection)
    damage(path, statement)
    with opened(path) as again:
        assert [(each.subject, each.failure) for each in again.refusals] == [("state", failure)]
        assert shown(again.projection) == before


BOUNDARIES: dict[str, tuple[str, str]] = {
    "text": ("UPDATE boundaries SET seq = 'x'", "shape"),
    "negative": ("UPDATE boundaries SET payload_units = -1", "shape"),
    "fraction": ("UPDATE boundaries SET input_tokens = 2.5", "shape"),
    "beyond": ("UPDATE boundaries SET seq = 99", "beyond_history"),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_damaged_boundary_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "c.sqlite"
    statement, failure = BOUNDARIES[name]
    compacted(path).close()
    damage(path, statement)
    with opened(path) as again:
        assert [(each.subject, each.failure) for each in again.refusals] == [("boundary", failure)]
        assert again.engine.accepted is None
        assert again.request().refusal is None


# The history itself


HISTORIES: dict[str, tuple[str, str]] = {
    "gap": ("DELETE FROM log WHERE position = 5", "row 5 is missing"),
    "no json": ("UPDATE log SET data = '{' WHERE position = 5", "no JSON text"),
    "no event": ("UPDATE log SET data = '{}' WHERE position = 5", "it is no event"),
    "a list": ("UPDATE log SET data = '[]' WHERE position = 5", "it is no event"),
    "another place": ("UPDATE log SET seq = 9 WHERE position = 5", "expected 5"),
    "another kind": ("UPDATE log SET kind = 'dream' WHERE position = 5", "'dream' is no kind"),
    "rewind": ("UPDATE log SET kind = 'rewind', seq = 9 WHERE position = 5", "rewinds to 9 of 4"),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_damaged_history_is_named_and_never_papered_over(tmp_path: Path, name: str) -> None:
    path = tmp_path / "c.sqlite"
    statement, text = HISTORIES[name]
    compacted(path).close()
    damage(path, statement)
    with pytest.raises(ConversationError) as error:
        opened(path)
    assert str(error.value).startswith(f"{path}: session 'harbour': row 5 of the log is damaged: ")
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_f4_4_a_changed_event_refuses_what_was_made_from_it(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    damage(path, "UPDATE log SET data = replace(data, 'found0', 'FOUND0')")
    with opened(path) as again:
        assert [each.failure for each in again.refusals] == ["digest_mismatch"]
        assert "FOUND0" in again.events[3].message.text
        assert again.projection.head == ()


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("PRAGMA user_version = 9", "another version of compaction-bench (schema 9"),
        ("PRAGMA application_id = 9", "another program wrote it"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, statement: str, text: str) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    with suppress(AssertionError):
        damage(path, statement)
    with pytest.raises(ConversationError) as error:
        opened(path)
    assert text in str(error.value)


def test_any_byte_of_the_file_may_be_wrong(tmp_path: Path) -> None:
    """Whatever is damaged: an error of one line, or a conversation that keeps its promises."""
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    sound = path.read_bytes()
    outcomes = set()
    for place in range(0, len(sound), len(sound) // 150):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        try:
            with opened(path) as again:
                assert again.request() is not None
                outcomes.add(bool(again.refusals))
        except ConversationError as error:
            assert "\n" not in str(error)
            outcomes.add(str(error).split(":")[1][:20])
    assert len(outcomes) > 2

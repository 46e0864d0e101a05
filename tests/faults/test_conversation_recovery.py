"""Damaged rows of a conversation: what stands in for them, and what nothing can stand in for."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bench.conversation_records import ConversationError
from strategies.layered import Layered
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
from tests.faults.test_conversation_damage import Change, put, resealed, stored_record

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


def test_who_puts_a_row_right_too_late_leaves_the_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    twice_compacted(path)
    damage(path, "UPDATE projections SET data = ''")
    newer: list[Any] = []

    class Overtaken(sqlite3.Connection):
        """Somebody else reads, repairs and compacts before this one begins to write."""

        def execute(self, text: str, *rest: Any) -> sqlite3.Cursor:
            if text == "BEGIN IMMEDIATE" and not newer:
                with opened(path) as other:
                    tell(other, *steps(24, 36))
                    other.request()
                newer.extend(rows(path, "projections"))
            return super().execute(text, *rest)

    def connect(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None, factory=Overtaken)

    with opened(path, connect=connect) as late:
        assert newer
        assert rows(path, "projections") == newer
        assert late.checkpoint_id != newer[0][2]
        late.refresh()
        assert late.checkpoint_id == newer[0][2]


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda memory: memory["checkpoint"].update(schema_version=2), "schema_version: "),
        (lambda memory: memory.pop("checkpoint"), "checkpoint_missing: "),
        (lambda memory: memory["checkpoint"].update(summary="Obey me."), "segments_summary"),
    ],
    ids=["V2", "none", "another text"],
)
def test_a_state_with_a_memory_of_its_own_is_refused(
    tmp_path: Path, change: Change, text: str
) -> None:
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        before = shown(conversation.projection)
    ((_, _, stored, _),) = rows(path, "states")
    data = json.loads(stored)
    change(data["memory"])
    changed = json.dumps(data)
    digest = hashlib.sha256(changed.encode()).hexdigest()
    damage(path, "UPDATE states SET data = ?, digest = ?", changed, digest)
    with opened(path) as again:
        (refusal,) = again.refusals
        assert (refusal.subject, refusal.failure) == ("state", "verify")
        assert text in refusal.text
        assert shown(again.projection) == before


def test_a_state_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    compacted(path).close()
    for text in ("[]", "{}", '{"memory":1}'):
        digest = hashlib.sha256(text.encode()).hexdigest()
        damage(path, "UPDATE states SET data = ?, digest = ?", text, digest)
        with opened(path) as again:
            assert [(each.subject, each.failure) for each in again.refusals] == [("state", "shape")]
            assert again.checkpoint_id


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

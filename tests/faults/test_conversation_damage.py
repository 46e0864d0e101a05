"""Bad input in a conversation's file: refused by name, the history used, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from bench.conversation_records import CompletionRecord, PrefixDigests, record_text, sealed
from strategies.layered.checkpoint import read_record, to_record
from strategies.layered.checkpoint import sealed as sealed_checkpoint
from tests.conversation_parts import (
    compacted,
    damage,
    opened,
    rows,
    shown,
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


def test_a_record_that_covers_less_than_its_checkpoint_is_refused(tmp_path: Path) -> None:
    """The digest fits what the record says; the checkpoint says something else."""
    path = tmp_path / "c.sqlite"
    with compacted(path) as conversation:
        digests = PrefixDigests(conversation.events)
    data = stored_record(path)
    data.update(through_seq=data["through_seq"] - 2)
    data.update(source_digest=digests.at(data["through_seq"]))
    put(path, resealed(data))
    with opened(path) as again:
        (refusal,) = again.refusals
        assert (refusal.failure, refusal.text.split(":")[0]) in (
            ("verify", "through_seq"),
            ("broken_promise", "H3"),
        )
        assert again.projection.head == ()


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

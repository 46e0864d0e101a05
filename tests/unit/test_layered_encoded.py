"""Messages encoded in one go, and remembered: the same bytes and sizes as the definitions say."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.events import Attachment, Event, Message, Session, ToolCall
from bench.history import History
from strategies.layered import checkpoint, encoded, encoding, told
from strategies.layered.checkpoint import (
    Checkpoint,
    InvalidCheckpoint,
    Segment,
    read_record,
    rendered,
    sealed,
    to_record,
    verify,
)
from strategies.layered.encoding import (
    compact_json,
    plain_json,
    quickly_compact,
    to_json,
    units,
    utf8,
    utf8_units,
    well_formed,
    with_extra_escapes,
)
from strategies.layered.message_json import is_dropped, message_json, visible_json
from strategies.layered.source import SourceMessage, source_digest, sources, until_seq
from tests.generators import sessions

ODD = '<>&"\\/ \n\t\x00\x1f\x7f\u2028\u2029\ud800é漢😀'
TEXTS = st.text(st.sampled_from(ODD + "ab") | st.characters(exclude_categories=()), max_size=30)
NUMBERS = st.sampled_from(["0", "-0", "1.50", "1e5", "1E+2", "12345678901234567890123", "0.1"])
STRINGS = st.one_of(
    st.text(max_size=8).map(json.dumps),
    st.text(st.sampled_from('<>&" \\é\u2028'), max_size=8).map(
        lambda text: json.dumps(text, ensure_ascii=False)
    ),
    st.sampled_from([r'"\u0020"', r'"\/"', r'" \u003c "', r'"\ud800"', r'"\u001F"', '"a: , b"']),
)
SPACES = st.sampled_from(["", " ", "  ", "\n\t"])


def _objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(SPACES, STRINGS, SPACES, SPACES, inner, SPACES)
    return st.lists(member.map(lambda m: f"{m[0]}{m[1]}{m[2]}:{m[3]}{m[4]}{m[5]}"), max_size=3).map(
        lambda members: "{" + ",".join(members) + "}"
    )


def _arrays(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(SPACES, inner, SPACES).map("".join)
    return st.lists(member, max_size=3).map(lambda members: f"[{','.join(members)}]")


# JSON as anybody might spell it: white space, duplicate keys, escapes that needn't be, odd numbers.
RAW_JSON = st.recursive(
    st.one_of(NUMBERS, STRINGS, st.sampled_from(["null", "true"])),
    lambda inner: _objects(inner) | _arrays(inner),
    max_leaves=6,
)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, RAW_JSON | TEXTS)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    TEXTS,
    st.lists(CALLS, max_size=2).map(tuple),
    st.none() | TEXTS,
    st.lists(st.builds(Attachment, TEXTS, TEXTS), max_size=1).map(tuple),
    st.just("") | TEXTS,
)


def _check(message: Message) -> None:
    (made,) = encoded.taken([message])
    assert made[1] == utf8(message_json(message))
    shown = units(visible_json(message)) + 1
    assert made[2] == encoded.visible_units(message) == (0 if is_dropped(message) else shown)
    assert encoded.json_bytes([message]) == [made[1]]


@given(MESSAGES)
@example(Message("assistant", " \u3000"))
@example(Message("tool", "a\u2028<b>&\x01", call_id="x y"))
def test_a_message_has_the_bytes_and_the_size_that_are_defined(message: Message) -> None:
    _check(message)


@given(message=MESSAGES)
def test_without_orjson_too(message: Message) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(encoded, "QUICK", None)
        patched.setattr(encoding, "QUICK", None)
        _check(message)


@given(RAW_JSON | TEXTS)
@example('{"a": 1, "a": 1}')
@example(r'{"a": "\u0020", "b": " "}')
@example("[" * 150 + "]" * 150)
def test_what_is_compact_quickly_is_the_compact_form(text: str) -> None:
    quick = quickly_compact(text)
    if quick is not None:
        compact = compact_json(text)
        assert compact is not None
        assert with_extra_escapes(quick) == utf8(compact)


@pytest.mark.skipif(encoding.QUICK is None, reason="orjson is an extra")
def test_plain_arguments_are_compact_quickly() -> None:
    for spaced in ('{"path": "a b/c.py", "lines": [1, 2]}', '{\n\t"path" : "<é>"\r\n}'):
        assert quickly_compact(spaced) == json.dumps(
            json.loads(spaced), ensure_ascii=False, separators=(",", ":")
        ).encode("utf-8")
    assert quickly_compact('{"a": 1, "a": 1}') is None


@given(st.dictionaries(TEXTS, TEXTS | st.integers(), max_size=3))
def test_plain_json_is_json(value: dict[str, object]) -> None:
    assert plain_json(value) == to_json(value)


@given(TEXTS)
def test_units_by_bytes_are_the_units(text: str) -> None:
    assert utf8_units(utf8(text)) == units(well_formed(text)) == units(text)


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = encoded._MEMORY
    monkeypatch.setattr(encoded, "MESSAGES_REMEMBERED", 10)
    monkeypatch.setattr(encoded, "BYTES_REMEMBERED", 2_000)
    said = [Message("user", "x" * (300 if number % 7 else 3)) for number in range(200)]
    memory.clear()
    for message in said:
        encoded.visible_units(message)
        assert len(memory.by_id) <= 10
        assert memory.bytes_held <= 2_400
        assert memory.bytes_held == sum(len(made[1]) for made in memory.by_id.values())
    encoded.taken(said)
    assert memory.by_id == {}
    assert memory.bytes_held == 0


@pytest.mark.parametrize("bytes_max", [0, 300, 1_000_000])
@given(given_session=sessions(), data=st.data())
def test_f4_4_digests_of_what_was_told(
    bytes_max: int, given_session: Session, data: st.DataObject
) -> None:
    said = sources(given_session.events)
    history, known = History(), told.Told()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(told, "_JSON_BYTES_MAX", bytes_max)
        for event in given_session.events:
            history.append(event)
            if data.draw(st.booleans()):
                stop = data.draw(st.integers(0, len(history)))
                start = data.draw(st.integers(0, stop))
                assert list(known.sources(history, len(history))) == list(said[: len(history)])
                assert known.digest(stop) == source_digest(said[:stop])
                assert known.part_digest(start, stop) == source_digest(said[start:stop])
                assert known.units(start, stop) == sum(
                    encoded.visible_units(each.message) for each in said[start:stop]
                )


def test_a_history_that_tells_no_more_than_is_known() -> None:
    history, known = History([Event(1, Message("user", "one"))]), told.Told()
    assert [list(known.sources(history, 1)) for _ in range(2)] == [
        list(sources(history.events()))
    ] * 2
    assert known.units(0, 1) == encoded.visible_units(history.message(0))


def test_json_that_nobody_digests_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "_JSON_BYTES_MAX", 1_000)
    history, known = History(), told.Told()
    for seq in range(1, 101):
        history.append(Event(seq, Message("user", "x" * 90)))
        known.sources(history, seq)
        assert sum(map(len, known._encoded._json)) == known._encoded._bytes <= 1_000


@given(st.lists(st.integers(1, 12), max_size=8).map(sorted), st.integers(-1, 14))
def test_messages_until_a_seq(seqs: list[int], seq: int) -> None:
    said = [SourceMessage(each, Message("user")) for each in seqs]
    assert until_seq(said, seq) == sum(each <= seq for each in seqs)


def _written(word: str) -> tuple[Checkpoint, dict[str, Any]]:
    segment = Segment(1, 2, "d", word)
    made = sealed(
        Checkpoint(
            session_id="s",
            phase="pre_turn",
            through_seq=2,
            source_digest=source_digest(TWO),
            level="segmented",
            segments=(segment,),
            summary=rendered((segment,)),
            model="m",
            created_at="2026-01-01T00:00:00Z",
        )
    )
    return made, to_record(made)


TWO = (SourceMessage(1, Message("user", "a")), SourceMessage(2, Message("assistant", "b")))


def test_a_record_that_was_just_written_is_known_again() -> None:
    made, record = _written("known")
    assert read_record(record) is made
    assert read_record(dict(record)) is made
    from_file = read_record(json.loads(json.dumps(record)))
    assert from_file == made
    assert from_file is not made
    others = [to_record(replace(made, checkpoint_id=str(number))) for number in range(99)]
    assert read_record(record) == made
    assert len(checkpoint._NEWEST._written) < len(others)


@pytest.mark.parametrize(
    ("name", "value"),
    [("through_seq", 2.0), ("schema_version", True), ("segments", [7]), ("segments", {})],
)
def test_a_record_of_another_type_is_read_with_suspicion(name: str, value: object) -> None:
    _, record = _written("typed")
    record[name] = value
    with pytest.raises(InvalidCheckpoint):
        read_record(record)


def test_a_record_that_was_touched_is_read_anew() -> None:
    made, record = _written("touched")
    assert verify(record, TWO, session_id="s") is made
    with pytest.raises(InvalidCheckpoint, match="another session"):
        verify(record, TWO, session_id="t")
    with pytest.raises(InvalidCheckpoint, match="aren't the ones"):
        verify(record, TWO[:1], session_id="s")
    record["segments"][0]["summary"] = "forged"
    assert read_record(record).segments != made.segments
    with pytest.raises(InvalidCheckpoint, match="isn't what its segments render"):
        verify(record, TWO, session_id="s")
    record["segments"][0]["through_seq"] = 2.0
    with pytest.raises(InvalidCheckpoint, match="must be int"):
        read_record(record)


def test_an_orjson_that_is_too_old_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orjson", SimpleNamespace(dumps=str, loads=str))
    assert encoding._quickly() is None

"""JSON from bytes: lists in pieces give what the whole gives."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.formats.decoding import DamagedJson, RepairLog, decode_json
from bench.formats.source import Source
from bench.formats.streaming import ListItems, whole_object
from tests.written_files import write_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ITEMS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(
    items=st.lists(ITEMS, max_size=6),
    chunk_bytes=st.integers(1, 20),
    indent=st.none() | st.integers(0, 2),
    ascii_only=st.booleans(),
)
def test_a_list_in_pieces(
    items: list[Any], chunk_bytes: int, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(items, indent=indent, ensure_ascii=ascii_only).encode()
    log = RepairLog()
    read = ListItems(io.BytesIO(data), log, chunk_bytes)
    assert list(read) == items
    assert read.problem is None
    assert log.take() == ()


@given(
    items=st.lists(st.dictionaries(TEXTS, TEXTS, min_size=1), min_size=1, max_size=4),
    data=st.data(),
)
def test_a_list_that_breaks_off_gives_its_complete_items(
    items: list[Any], data: st.DataObject
) -> None:
    whole = json.dumps(items).encode()
    cut = data.draw(st.integers(0, len(whole) - 1))
    read = ListItems(io.BytesIO(whole[:cut]), RepairLog(), 7)
    found = list(read)
    assert found == items[: len(found)]
    assert read.problem


def test_a_list_with_bad_bytes_and_lone_surrogates() -> None:
    log = RepairLog()
    data = b'["12 gulls\xff", "\\ud83d", NaN, "\\ud83d\\ude00"]'
    assert list(ListItems(io.BytesIO(data), log, 3)) == [
        "12 gulls\ufffd",
        "\ufffd",
        None,
        "\U0001f600",
    ]
    assert [row.kind for row in log.take()] == ["invalid_utf8", "lone_surrogate", "not_a_number"]


@given(ITEMS)
def test_one_value(value: Any) -> None:
    log = RepairLog()
    assert decode_json(json.dumps(value).encode(), log, "") == value
    assert log.take() == ()


@pytest.mark.parametrize("data", [b"", b"{", b"{} {}", b"\0\0", b"[" * 100_000, b"01"])
def test_no_value(data: bytes) -> None:
    with pytest.raises(DamagedJson):
        decode_json(data, RepairLog(), "")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('{"a": 1}', "object"),
        ('{\n "a": 1\n}', "object"),
        ('{"a": [\n{"b": 1}\n]}', "object"),
        ('{"a": 1}\n{"a": 2}\n', "lines"),
        ('[{"a": 1}]', "list"),
        ('[\n{"a": 1},\n{"a": 2}\n]\n', "list"),
        ('[[{"role": "user"}],\n[{"role": "user"}]]', "list"),
        ('[{"role": "user"}]\n[{"role": "user"}]\n', "lines"),
        ('{"a"\n{"a": 1}\n{"a": 2}\n', "lines"),
        ("", "lines"),
    ],
)
def test_the_shape_of_a_file(tmp_path: Path, text: str, shape: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert Source(path).sample.shape == shape


def test_a_film_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"\x00\x01film" * 200_000)
    source = Source(path)
    assert (source.sample.records, source.sample.is_empty) == ((), False)


def test_a_large_list_is_read_in_pieces(tmp_path: Path) -> None:
    path = write_json(tmp_path / "x.json", [{"role": "user", "content": "ab " * 300_000}] * 3)
    source = Source(path)
    assert source.sample.shape == "list"
    assert [number for number, _ in source.records()] == [1, 2, 3]


@given(
    value=st.dictionaries(TEXTS, ITEMS, max_size=5),
    chunk_bytes=st.integers(1, 40),
    indent=st.none() | st.integers(0, 2),
    ascii_only=st.booleans(),
)
def test_an_object_in_pieces(
    value: dict[str, Any], chunk_bytes: int, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    log = RepairLog()
    for written in (data, b"\xef\xbb\xbf" + data + b"\n"):
        assert whole_object(io.BytesIO(written), log, chunk_bytes) == value
    assert log.take() == ()


@given(
    value=st.dictionaries(TEXTS, ITEMS, min_size=1, max_size=4),
    data=st.data(),
    more=st.sampled_from((b"", b"x", b"{}", b"]", b"\0")),
)
def test_a_damaged_object_is_none_and_leaves_no_repairs(
    value: dict[str, Any], data: st.DataObject, more: bytes
) -> None:
    whole = json.dumps(value).encode()
    kept = len(whole) if more else data.draw(st.integers(0, len(whole) - 1))
    log = RepairLog()
    assert whole_object(io.BytesIO(whole[:kept] + more), log, 7) is None
    assert log.take() == ()


@pytest.mark.parametrize(
    "written", ["[1]", "3", '{"a" 1}', '{"a": 1,}', "{,}", '{"a": [1,]}', "{1: 2}"]
)
def test_what_is_no_object(written: str) -> None:
    assert whole_object(io.BytesIO(written.encode()), RepairLog()) is None


def test_repairs_of_an_object_in_pieces() -> None:
    log = RepairLog()
    data = b'{"a": ["12 gulls\xff", "\\ud83d"], "b": {"c": NaN}}'
    expected = {"a": ["12 gulls\ufffd", "\ufffd"], "b": {"c": None}}
    assert whole_object(io.BytesIO(data), log, 3) == expected
    assert [row.kind for row in log.take()] == ["invalid_utf8", "lone_surrogate", "not_a_number"]

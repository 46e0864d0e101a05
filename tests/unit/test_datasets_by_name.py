"""Data sets of trajectories: columns found by what they hold, and folders read by the library."""

import json
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench.corpus import rows_of_dataset, sessions_of_dataset
from bench.errors import UsageError
from bench.events import Session
from bench.formats.dataset_rows import sessions_of_row
from bench.loading import Rejected
from tests.written_files import told, write_lines

CALL = {"id": "a", "type": "function", "function": {"name": "count", "arguments": '{"of": 1}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Count.", "tool_calls": None},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "12", "tool_call_id": "a", "tool_calls": None},
    {"role": "assistant", "content": "Twelve.", "tool_calls": None},
]
TOLD = ["user: Count.", 'assistant: +count(a) {"of": 1}', "tool: [a] 12", "assistant: Twelve."]
KEYS = ("role", "content", "tool_calls", "tool_call_id")
SPOKEN = [{"from": "human", "value": "Count."}, {"from": "gpt", "value": "Twelve."}]


@pytest.mark.parametrize(
    "row",
    [
        {"messages": MESSAGES},
        {"trajectory": json.dumps(MESSAGES), "score": 1.0},
        {"traj": {"messages": MESSAGES}},
        {"anything": MESSAGES, "other": ["a"]},
        {"messages": {key: [row.get(key) for row in MESSAGES] for key in KEYS}},
        {"history": [json.dumps(message) for message in MESSAGES]},
        {"id": 3, "messages": MESSAGES, "prompt": "Count.", "tools": None},
    ],
)
def test_a_conversation_in_any_column(row: dict[str, Any]) -> None:
    (session,) = sessions_of_row(row, "hf:o/n", 7)
    assert told(session) == TOLD
    assert session.id == ("3" if "id" in row else "n-7")
    assert session.path == "hf:o/n"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"conversations": SPOKEN}, ["user: Count.", "assistant: Twelve."]),
        (
            {"system": "Be exact.", "conversations": SPOKEN},
            ["system: Be exact.", "user: Count.", "assistant: Twelve."],
        ),
        (
            {"prompt": MESSAGES[:1], "completion": [{"role": "assistant", "content": "12"}]},
            ["user: Count.", "assistant: 12"],
        ),
        (
            {
                "trajectory": [
                    {"role": "system", "system_prompt": "Be exact.", "text": None},
                    {"role": "user", "text": "Count."},
                    {"role": "ai", "text": "Twelve."},
                ]
            },
            ["system: Be exact.", "user: Count.", "assistant: Twelve."],
        ),
        (
            {
                "instance_id": "i",
                "history": [
                    {"source": "user", "action": "message", "args": {"content": "Count."}},
                    {"source": "agent", "action": "message", "args": {"content": "Twelve."}},
                ],
            },
            ["user: Count.", "assistant: Twelve."],
        ),
    ],
)
def test_other_shapes(row: dict[str, Any], expected: list[str]) -> None:
    (session,) = sessions_of_row(row, "hf:o/n", 1)
    assert told(session) == expected
    assert session.cluster == row.get("instance_id")


@pytest.mark.parametrize(
    "row",
    [{}, {"text": "Count."}, {"messages": []}, {"messages": [1, 2]}, {"messages": [{"role": "x"}]}],
)
def test_rows_without_a_conversation(row: dict[str, Any]) -> None:
    assert list(sessions_of_row(row, "hf:o/n", 1)) == []


def _has_library() -> bool:
    # The folder of corpora beside the package is found under the same name, without a file.
    spec = find_spec("datasets")
    return spec is not None and spec.origin is not None


needs_library = pytest.mark.skipif(not _has_library(), reason="the package datasets isn't there")


@pytest.mark.skipif(_has_library(), reason="the package datasets is there")
def test_a_missing_library_is_named_with_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"pip install 'compaction-bench\[hf\]'") as caught:
        list(sessions_of_dataset("hf:o/n"))
    assert "\n" not in str(caught.value)


def rows(count: int) -> list[dict[str, Any]]:
    return [{"instance_id": f"i{number // 2}", "messages": MESSAGES} for number in range(count)]


@needs_library
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "file"])
def test_a_folder(tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pytest.importorskip("pyarrow").Table.from_pylist(rows(5))
        parquet.write_table(table, tmp_path / "train.parquet")
    else:
        write_lines(tmp_path / "train.jsonl", *rows(5))
    place = tmp_path / "train.jsonl" if kind == "file" else tmp_path
    found = list(sessions_of_dataset(f"hf:{place}", limit=4))
    assert [row.id for row in found] == ["i0", "i0~2", "i1", "i1~2"]
    assert [told(row) for row in found] == [TOLD] * 4
    assert found[0].cluster == "i0"


@needs_library
def test_splits(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.jsonl", *rows(1))
    write_lines(tmp_path / "test.jsonl", *rows(3))
    assert len(list(sessions_of_dataset(f"hf:{tmp_path}"))) == 1
    assert len(list(sessions_of_dataset(f"hf:{tmp_path}@test"))) == 3
    with pytest.raises(UsageError, match="no split dev; there is: train, test"):
        list(sessions_of_dataset(f"hf:{tmp_path}@dev"))


@needs_library
def test_rows_that_hold_none_are_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.jsonl", *rows(1), {"instance_id": "empty", "messages": []})
    session, rejected = rows_of_dataset(f"hf:{tmp_path}")
    assert isinstance(session, Session)
    assert rejected == Rejected(f"hf:{tmp_path}, row 2", "no column holds a list of messages")


@needs_library
def test_a_data_set_without_conversations(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.jsonl", *[{"text": "a", "label": 1}] * 30)
    with pytest.raises(UsageError, match="20 rows; columns: text, label"):
        list(islice(sessions_of_dataset(f"hf:{tmp_path}"), 1))


@needs_library
def test_damage_behind_good_rows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    write_lines(path, *rows(2), '{"broken')
    with pytest.raises(UsageError, match="can't be read") as caught:
        list(sessions_of_dataset(f"hf:{path}"))
    assert "\n" not in str(caught.value)

"""Recorded calls: found again by what was asked, whole or not at all, whoever writes."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.models.settings import ModelSettings
from bench.providers.cassettes import Cassettes, Recording, call_key, cassettes_of

URL = "https://api.example.com/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "é \ud800"}]}
KEY = call_key("POST", URL, BODY, model="openai:m", seed=0, draw=0)
ANSWER = Recording(status=200, payload={"choices": []}, refusals=("rate_limit",))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    kept = Cassettes(tmp_path)
    assert kept.answer(KEY) is None
    kept.keep_answer(KEY, ANSWER, {"model": "m"})
    assert kept.answer(KEY) == ANSWER
    assert kept.refusal(KEY) is None
    assert Cassettes(tmp_path).answer(KEY) == ANSWER
    assert not list(tmp_path.rglob("*.unfinished"))


def test_a_refusal_is_no_answer_and_gives_way_to_one(tmp_path: Path) -> None:
    kept = Cassettes(tmp_path)
    refusal = Recording(status=400, payload={"error": "too long"})
    kept.keep_refusal(KEY, refusal, {})
    assert kept.answer(KEY) is None
    assert kept.refusal(KEY) == refusal
    kept.keep_answer(KEY, ANSWER, {})
    assert kept.refusal(KEY) is None


DIFFERENCES: list[dict[str, Any]] = [
    {"method": "GET"},
    {"url": "https://api.example.com/v1/responses"},
    {"url": "https://other.example.com/v1/chat/completions"},
    {"body": {**BODY, "max_tokens": 5}},
    {"model": "responses:m"},
    {"seed": 1},
    {"draw": 1},
]


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: next(iter(d)))
def test_everything_that_an_answer_rests_on_is_in_its_address(difference: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "method": "POST",
        "url": URL,
        "body": BODY,
        "model": "openai:m",
        "seed": 0,
        "draw": 0,
        **difference,
    }
    method, url, body = asked.pop("method"), asked.pop("url"), asked.pop("body")
    assert call_key(method, url, body, **asked) != KEY


def test_what_makes_no_difference_is_not() -> None:
    turned = dict(reversed(BODY.items()))
    assert call_key("POST", URL, turned, model="openai:m", seed=0, draw=0) == KEY
    here = [
        call_key("POST", f"http://{host}/v1/x", BODY, model="m", seed=0, draw=0)
        for host in ("127.0.0.1:1", "127.0.0.1:65535", "localhost:7")
    ]
    assert len(set(here)) == 1


@given(data=st.data())
def test_a_damaged_file_is_dropped_and_never_believed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    kept = Cassettes(folder)
    kept.keep_answer(KEY, ANSWER, {"model": "m"})
    (path,) = folder.rglob("*.json")
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    how = data.draw(st.sampled_from(["cut", "changed", "emptied"]))
    if how == "cut":
        path.write_bytes(whole[:place])
    elif how == "changed":
        changed = bytearray(whole)
        changed[place] ^= 1 + data.draw(st.integers(0, 254))
        path.write_bytes(bytes(changed))
    else:
        path.write_bytes(b"\0" * place)
    found = kept.answer(KEY)
    if found is None:
        assert kept.dropped == 1 and not path.exists()
        kept.keep_answer(KEY, ANSWER, {})
        assert kept.answer(KEY) == ANSWER
    else:
        # A blank more or less between two values of JSON changes nothing.
        assert found == ANSWER


def test_an_answer_under_another_name_is_not_believed(tmp_path: Path) -> None:
    kept = Cassettes(tmp_path)
    kept.keep_answer(KEY, ANSWER, {})
    (path,) = tmp_path.rglob("*.json")
    other = call_key("POST", URL, BODY, model="openai:m", seed=9, draw=0)
    path.parent.with_name(other[:2]).mkdir(exist_ok=True)
    path.rename(path.parent.with_name(other[:2]) / f"{other}.json")
    assert kept.answer(other) is None


def write_many(folder: str, number: int) -> None:
    kept = Cassettes(Path(folder))
    for _ in range(20):
        kept.keep_answer(KEY, Recording(status=200, payload=[number] * 2_000), {})


def test_any_number_of_processes_may_write(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(str(tmp_path), n)) for n in range(3)]
    for writer in writers:
        writer.start()
    kept = Cassettes(tmp_path)
    while any(writer.is_alive() for writer in writers):
        found = kept.answer(KEY)
        assert found is None or len(set(found.payload)) == 1
    for writer in writers:
        writer.join()
    assert kept.dropped == 0
    assert kept.answer(KEY) is not None


def test_a_folder_that_takes_nothing_fails_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    kept = Cassettes(tmp_path / "file")
    kept.keep_answer(KEY, ANSWER, {})
    assert kept.answer(KEY) is None


def test_the_folder_is_the_named_one_or_the_common_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPACTION_BENCH_CACHE", str(tmp_path / "common"))
    cassettes_of(ModelSettings()).keep_answer(KEY, ANSWER, {})
    assert cassettes_of(ModelSettings(cache_folder=str(tmp_path / "named"))).answer(KEY) is None
    assert cassettes_of(ModelSettings(cache_folder=str(tmp_path / "common"))).answer(KEY) == ANSWER

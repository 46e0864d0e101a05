"""Counts of stretches: recalled as they were kept, or counted again; never wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import count_cache, counted_stretches, tokens
from bench.cache_folder import CACHE_VARIABLE
from bench.counted_stretches import EVENTS_TOGETHER, told_with_counts
from bench.events import Event, Message, ToolCall

COUNTED = "bench.tokens._count_anew"


def _events(count: int, word: str = "harbour") -> list[Event]:
    return [
        Event(
            seq,
            Message("assistant", f"{word} {seq}", (ToolCall(f"c{seq}", "sail", f'{{"n":{seq}}}'),)),
        )
        for seq in range(1, count + 1)
    ]


def _texts(event: Event) -> list[str]:
    call = event.message.calls[0]
    return [event.message.text, call.name, call.arguments]


def _told(events: list[Event]) -> list[list[int]]:
    """A replay's way through the events: each is counted once it was told."""
    return [list(map(tokens.count, _texts(event))) for event in told_with_counts(events)]


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that are tokenised, while the machine has nothing in its caches."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv("COMPACTION_BENCH_COUNT_CACHE", raising=False)
    seen: list[str] = []
    plain = tokens._count_anew

    def noted(text: str) -> int:
        seen.append(text)
        return plain(text)

    monkeypatch.setattr(COUNTED, noted)
    _new_process()
    yield seen
    monkeypatch.undo()
    _new_process()


def _new_process() -> None:
    tokens.forget()
    counted_stretches.forget()


def test_a_later_process_recalls_what_an_earlier_one_counted(counted: list[str]) -> None:
    events = _events(2 * EVENTS_TOGETHER + 100)
    first = _told(events)
    assert len(counted) == len(set(counted)) == 2 * len(events) + 1
    counted.clear()
    _new_process()
    assert _told(events) == first
    assert not counted


def test_each_stretch_stands_alone(counted: list[str]) -> None:
    _told(_events(EVENTS_TOGETHER))
    counted.clear()
    _new_process()
    longer = _events(EVENTS_TOGETHER + 100)
    _told(longer)
    # The name of the tool is known from the first stretch.
    assert sorted(counted) == sorted(
        text for event in longer[EVENTS_TOGETHER:] for text in _texts(event) if text != "sail"
    )


def test_texts_that_only_run_together_alike_are_other_texts() -> None:
    assert counted_stretches._key(["ab", "c"]) != counted_stretches._key(["a", "bc"])
    assert counted_stretches._key(["ab", ""]) != counted_stretches._key(["", "ab"])


def test_damaged_counts_are_counted_again(counted: list[str], tmp_path: Path) -> None:
    events = _events(200)
    first = _told(events)
    [path] = (tmp_path / "counts" / "stretches").glob("*/*")
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    for table in (tmp_path / "counts").glob("*.table"):
        table.unlink()
    counted.clear()
    _new_process()
    assert _told(events) == first
    assert len(counted) == 2 * len(events) + 1


def test_nothing_is_kept_where_nobody_counts(counted: list[str], tmp_path: Path) -> None:
    assert len(list(told_with_counts(_events(200)))) == 200
    assert not counted
    assert not (tmp_path / "counts" / "stretches").exists()


def test_empty_texts_keep_nothing_from_being_recalled(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Event(1, Message("assistant", "", (ToolCall("c1", "sail", "{}"),)))
    events = [silent, *_events(200)[1:]]
    _told(events)
    counted.clear()
    hashed: list[int] = []
    plain = counted_stretches._key

    def noted(texts: list[str]) -> str:
        hashed.append(len(texts))
        return plain(texts)

    monkeypatch.setattr(counted_stretches, "_key", noted)
    # All is known in this process: there is nothing to look up.
    _told(events)
    assert not hashed
    _new_process()
    _told(events)
    assert hashed
    assert not counted


def test_what_was_left_early_is_not_kept(counted: list[str], tmp_path: Path) -> None:
    for event in told_with_counts(_events(200)):
        tokens.count(event.message.text)
        if event.seq == 100:
            break
    assert not (tmp_path / "counts" / "stretches").exists()


def test_switched_off_is_off(
    counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPACTION_BENCH_COUNT_CACHE", "off")
    _new_process()
    _told(_events(200))
    assert counted
    assert not (tmp_path / "counts").exists()


def test_whoever_expects_events_is_handed_each_stretch_before_it_is_told() -> None:
    events = _events(EVENTS_TOGETHER + 5)
    expected: list[int] = []
    told = told_with_counts(events, lambda stretch: expected.append(len(stretch)))
    for seq, event in enumerate(told, start=1):
        assert sum(expected) >= seq
        assert event.seq == seq
    assert expected == [EVENTS_TOGETHER, 5]


def test_counts_of_a_replay_that_ends_early_are_written_down(counted: list[str]) -> None:
    events = _events(20, "a harbour with a name that is long enough to be shared with others")
    for event in told_with_counts(events):
        tokens.count(event.message.text)
        if event.seq == 10:
            break
    count_cache._SHARED.clear()
    tokens._COUNTS.by_text.clear()
    counted.clear()
    for event in events:
        tokens.count(event.message.text)
    assert counted == [event.message.text for event in events[10:]]


def test_many_texts_are_counted_as_each_alone(counted: list[str]) -> None:
    texts = [text for event in _events(90) for text in _texts(event)] * 2
    texts += ["A sentence that is longer than what nobody shares with others. " * n for n in (1, 9)]
    alone = {text: tokens.encoding().encode_ordinary(text) for text in texts}
    tokens.count_all(texts)
    assert sorted(counted) == sorted(alone)
    assert all(tokens.known_count(text) == len(alone[text]) for text in texts)
    _new_process()
    counted.clear()
    tokens.count_all(texts)
    assert sorted(counted) == sorted(text for text in alone if len(text) < 64)
    assert all(tokens.known_count(text) == len(alone[text]) for text in texts)

"""Shared counts: right or unknown, whatever happens to the files and whoever writes beside."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.count_cache import CountCache

TEXTS = [f"text {number} " * (number % 7 + 1) for number in range(300)]
SMALL = (2, 4)


def _count(text: str) -> int:
    return len(text) * 3 % 1_001


def _filled(folder: Path, texts: list[str], pages: tuple[int, ...] = SMALL) -> CountCache:
    cache = CountCache(folder, "counter", pages)
    for text in texts:
        cache.add(cache.key(text), _count(text))
    cache.flush()
    return cache


def _known(cache: CountCache, texts: list[str]) -> dict[str, int]:
    found = {text: cache.find(cache.key(text)) for text in texts}
    return {text: count for text, count in found.items() if count is not None}


def test_counts_are_found_again_by_the_same_counter_only(tmp_path: Path) -> None:
    _filled(tmp_path, TEXTS[:50]).close()
    assert _known(CountCache(tmp_path, "counter", SMALL), TEXTS) == {
        text: _count(text) for text in TEXTS[:50]
    }
    assert not _known(CountCache(tmp_path, "another version", SMALL), TEXTS)


def test_files_stay_small_and_what_they_know_is_right(tmp_path: Path) -> None:
    cache = _filled(tmp_path, TEXTS)
    known = _known(cache, TEXTS)
    # Six pages of 42 slots: not everything fits, and most of what fits is there.
    assert 150 < len(known) <= 252
    assert all(count == _count(text) for text, count in known.items())
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 6 * 1_024


@given(st.randoms(use_true_random=False), st.integers(1, 60))
@settings(max_examples=20)
def test_damage_is_no_count(chance: random.Random, strikes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _filled(Path(folder), TEXTS).close()
        for path in Path(folder).iterdir():
            data = bytearray(path.read_bytes())
            for _ in range(strikes):
                start = chance.randrange(len(data))
                data[start : start + chance.randint(1, 40)] = chance.randbytes(chance.randint(1, 9))
            path.write_bytes(data[: path.stat().st_size].ljust(path.stat().st_size, b"\7"))
        cache = CountCache(Path(folder), "counter", SMALL)
        assert all(count == _count(text) for text, count in _known(cache, TEXTS).items())
        for text in TEXTS:
            cache.add(cache.key(text), _count(text))
        cache.flush()
        assert len(_known(cache, TEXTS)) > 150


def test_swapped_counts_are_no_counts(tmp_path: Path) -> None:
    _filled(tmp_path, TEXTS[:2], (1,)).close()
    [path] = tmp_path.iterdir()
    data = path.read_bytes()
    swapped = data[:16] + data[40:44] + data[20:40] + data[16:20] + data[44:]
    path.write_bytes(swapped)
    assert not _known(CountCache(tmp_path, "counter", (1,)), TEXTS)


def test_file_of_another_size_is_dropped(tmp_path: Path) -> None:
    _filled(tmp_path, TEXTS[:50]).close()
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert not _known(CountCache(tmp_path, "counter", SMALL), TEXTS)
    assert len(_known(_filled(tmp_path, TEXTS[:50]), TEXTS)) == 50


def test_file_cut_while_it_is_open_is_forgotten(tmp_path: Path) -> None:
    cache = _filled(tmp_path, TEXTS[:50])
    for path in tmp_path.iterdir():
        os.truncate(path, 100)
    known = _known(cache, TEXTS)
    assert all(count == _count(text) for text, count in known.items())
    cache.add(cache.key("new"), 3)
    cache.flush()


def test_what_was_added_is_known_at_once_and_to_others_after_a_flush(tmp_path: Path) -> None:
    cache = CountCache(tmp_path, "counter", SMALL)
    for text in TEXTS[:50]:
        cache.add(cache.key(text), _count(text))
    expected = {text: _count(text) for text in TEXTS[:50]}
    assert _known(cache, TEXTS) == expected
    assert not _known(CountCache(tmp_path, "counter", SMALL), TEXTS)
    cache.flush()
    assert _known(CountCache(tmp_path, "counter", SMALL), TEXTS) == expected
    assert _known(cache, TEXTS) == expected


def test_closing_writes_and_so_do_many_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.count_cache._WAITING_MAX", 20)
    cache = CountCache(tmp_path, "counter", SMALL)
    for text in TEXTS[:50]:
        cache.add(cache.key(text), _count(text))
    assert len(_known(CountCache(tmp_path, "counter", SMALL), TEXTS)) == 40
    cache.close()
    assert len(_known(CountCache(tmp_path, "counter", SMALL), TEXTS)) == 50


def test_one_write_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(tmp_path, TEXTS[:1])
    writes: list[int] = []
    pwrite = os.pwrite

    def counted(file: int, data: bytes, offset: int) -> int:
        writes.append(offset)
        return pwrite(file, data, offset)

    monkeypatch.setattr(os, "pwrite", counted)
    _filled(tmp_path, TEXTS[1:60])
    assert len(writes) == len(set(writes)) <= sum(SMALL)


def _slots(folder: Path) -> int:
    data = b"".join(path.read_bytes() for path in sorted(folder.glob("*.table")))
    pages = [data[start : start + 1_008] for start in range(0, len(data), 1_024)]
    slots = [page[start : start + 24] for page in pages for start in range(0, 1_008, 24)]
    return sum(slot != bytes(24) for slot in slots)


def test_what_several_counted_is_written_once(tmp_path: Path) -> None:
    caches = [CountCache(tmp_path, "counter", SMALL) for _ in range(4)]
    for cache in caches:
        for text in TEXTS[:40]:
            cache.add(cache.key(text), _count(text))
    for cache in caches:
        cache.flush()
    assert _slots(tmp_path) == 40


def test_what_another_wrote_meanwhile_mostly_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(tmp_path, TEXTS[:20], (1,))
    other = CountCache(tmp_path, "counter", (1,))
    for text in TEXTS[20:30]:
        other.add(other.key(text), _count(text))
    pread = os.pread
    is_read = False

    def interrupted(file: int, size: int, offset: int) -> bytes:
        nonlocal is_read
        page = pread(file, size, offset)
        if not is_read:
            is_read = True
            other.flush()
        return page

    monkeypatch.setattr(os, "pread", interrupted)
    _filled(tmp_path, TEXTS[30:31], (1,))
    monkeypatch.undo()
    known = _known(CountCache(tmp_path, "counter", (1,)), TEXTS)
    # One slot was free to both.
    assert len(known) == 30
    assert all(count == _count(text) for text, count in known.items())


def test_a_forked_process_leaves_what_waits_to_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from bench import count_cache\n"
        "cache = count_cache.shared('counter')\n"
        "cache.add(cache.key('text'), 5)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(int(cache.find(cache.key('text')) is not None))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), cache.find(cache.key('text')))\n"
    )
    caches = {"COMPACTION_BENCH_CACHE": str(tmp_path), "COMPACTION_BENCH_COUNT_CACHE": "on"}
    environment = {**os.environ, **caches}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "5"]


@pytest.mark.parametrize("call", ["pread", "pwrite"])
@pytest.mark.parametrize("failing", range(1, 8))
def test_any_failing_call_costs_no_more_than_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, failing: int
) -> None:
    calls = 0
    works = getattr(os, call)

    def once(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(28, "No space left on device")
        return works(*arguments)

    monkeypatch.setattr(os, call, once)
    _filled(tmp_path, TEXTS[:200]).close()
    monkeypatch.undo()
    cache = _filled(tmp_path, TEXTS[:200])
    known = _known(cache, TEXTS)
    assert all(count == _count(text) for text, count in known.items())
    assert len(known) > 150


def test_folder_that_cannot_be_made_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = _filled(tmp_path / "file" / "counts", TEXTS)
    assert not _known(cache, TEXTS)


def test_full_disk_costs_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from bench.count_cache import CountCache\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "cache = CountCache(Path(sys.argv[1]), 'counter', (2, 4))\n"
        "cache.add(cache.key('text'), 5)\n"
        "cache.flush()\n"
        "print(cache.find(cache.key('text')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "None"
    assert not list(tmp_path.iterdir())


_WRITER = (
    "import sys\n"
    "from pathlib import Path\n"
    "from bench.count_cache import CountCache\n"
    "from tests.unit.test_count_cache import TEXTS, _count\n"
    "cache = CountCache(Path(sys.argv[1]), 'counter', (2, 4))\n"
    "print('ready', flush=True)\n"
    "for round in range(int(sys.argv[2])):\n"
    "    for text in TEXTS[round % 3::3]:\n"
    "        count = cache.find(cache.key(text))\n"
    "        assert count in (None, _count(text)), (text, count)\n"
    "        cache.add(cache.key(text), _count(text))\n"
    "    cache.flush()\n"
)


def _writer(folder: Path, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(folder), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_parallel_writers_see_right_counts_only(tmp_path: Path) -> None:
    writers = [_writer(tmp_path, 40) for _ in range(3)]
    for writer in writers:
        _, problem = writer.communicate(timeout=60)
        assert writer.returncode == 0, problem
    known = _known(CountCache(tmp_path, "counter", SMALL), TEXTS)
    assert len(known) > 150
    assert all(count == _count(text) for text, count in known.items())


def test_killed_writer_leaves_right_counts_only(tmp_path: Path) -> None:
    for delay in (0.0, 0.01, 0.03):
        writer = _writer(tmp_path, 1_000_000)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=30)
        known = _known(CountCache(tmp_path, "counter", SMALL), TEXTS)
        assert all(count == _count(text) for text, count in known.items())


_COUNTING = (
    "import sys\n"
    "from bench import tokens\n"
    "anew = tokens._count_anew\n"
    "counted = []\n"
    "tokens._count_anew = lambda text: counted.append(text) or anew(text)\n"
    "total = sum(map(tokens.count, ['A sentence of its own. ' * n for n in range(5, 25)]))\n"
    "print(total, len(counted))\n"
)


@pytest.mark.parametrize(("switch", "counted_again"), [("on", "0"), ("off", "20")])
def test_a_text_is_counted_once_by_a_machine(
    tmp_path: Path, switch: str, counted_again: str
) -> None:
    environment = {
        **os.environ,
        "COMPACTION_BENCH_CACHE": str(tmp_path),
        "COMPACTION_BENCH_COUNT_CACHE": switch,
    }
    told = [
        subprocess.run(
            [sys.executable, "-c", _COUNTING],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert told[0][1] == "20"
    assert told[1] == [told[0][0], counted_again]
    assert (tmp_path / "counts").exists() == (switch == "on")

"""Judgement: token counts that every process of this machine shares.

A text is known by a digest of its characters and of the tokenizer that counted it. Counts stand in
up to three files of fixed size, each a table of pages; a digest belongs to one page of each file,
so looking up is one small read a file, and a new count goes to the first file with room. When the
last is full, an old count gives way: the files never hold more than 73 MB together, some three
million texts. The smaller files are read as a whole at the first question (9 MB at most), since
most answers stand there; what isn't in these copies may have been written since and is looked up.

What is added waits in memory until a replay or the process ends, or until it is many: then most
pages get several counts, each page by one write. Two that write the same page at the same moment
may lose some of their counts, never gain a wrong one.

No process waits for another, and nothing is to be repaired. A slot carries its own checksum: what
a killed or a simultaneous writer left half done, or a disk damaged, is no count but an empty slot,
and its text is counted again. Files are read and written by system calls rather than mapped, since
a mapped file that is cut, or whose disk is full, would kill the process instead of failing a call.
"""

from __future__ import annotations

import atexit
import os
import tempfile
import zlib
from collections import defaultdict
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from bench.cache_folder import cache_root

SWITCH_VARIABLE = "COMPACTION_BENCH_COUNT_CACHE"

# Small pages, since each look-up searches one from end to end.
_PAGE_BYTES = 1_024
_PAGES_BY_LEVEL = (1_024, 8_192, 65_536)
_DIGEST_BYTES = 16
_KEY_BYTES = _DIGEST_BYTES + 4
_SLOT_BYTES = _KEY_BYTES + 4
_SLOTS_BYTES = _PAGE_BYTES // _SLOT_BYTES * _SLOT_BYTES
_EMPTY = bytes(_SLOT_BYTES)
# Tables of up to so many pages are held in memory too.
_PAGES_HELD_MAX = 8_192
_COUNT_MAX = 2**32 - 1
# So many counts are written at once; a process that is killed loses them.
_WAITING_MAX = 16_384
# A longer text is rather hashed in two steps than copied.
_COPIED_BYTES_MAX = 4_096

# A key, and the slot that is to be written for it.
_Waiting: TypeAlias = tuple[bytes, bytes]


class CountCache:
    """Counts by key in the files of one folder. No failure of a file is ever raised."""

    def __init__(self, folder: Path, counter: str, pages: tuple[int, ...] = _PAGES_BY_LEVEL):
        self._folder = folder
        self._counter = sha256(counter.encode()).digest()[:8]
        self._pages = pages
        # Files that are open; None stands for one that can't be had.
        self._files: list[int | None] = []
        # What stood in the smaller files at the first question; None before it.
        self._held: list[bytes] | None = None
        self._is_writable = True
        # What was added since the last flush, and whether one is under way.
        self._waiting: dict[bytes, int] = {}
        self._flushing = Lock()
        for level in range(len(pages)):
            file = self._opened(level)
            if file is None:
                break
            self._files.append(file)

    def key(self, text: str) -> bytes:
        """What `text` is known by; texts that differ in one character have other keys."""
        data = text.encode("utf-8", "surrogatepass")
        if len(data) < _COPIED_BYTES_MAX:
            return sha256(data + self._counter).digest()
        digest = sha256(data)
        digest.update(self._counter)
        return digest.digest()

    def find(self, key: bytes) -> int | None:
        """The count of the text with this key, None when it isn't known."""
        waiting = self._waiting.get(key)
        if waiting is not None:
            return waiting
        held = self._held
        if held is None:
            held = self._held = self._read_small_files()
        if not self._files:
            return None
        digest = key[:_DIGEST_BYTES]
        number = int.from_bytes(key[_DIGEST_BYTES:_KEY_BYTES], "little")
        for table, pages in zip(held, self._pages, strict=False):
            count = _count_in(table, digest, number % pages * _PAGE_BYTES)
            if count is not None:
                return count
        for file, pages in zip(self._files, self._pages, strict=False):
            if file is None:
                continue
            try:
                page = os.pread(file, _SLOTS_BYTES, number % pages * _PAGE_BYTES)
            except OSError:
                continue
            count = _count_in(page, digest, 0)
            if count is not None:
                return count
        return None

    def _read_small_files(self) -> list[bytes]:
        tables: list[bytes] = []
        for file, pages in zip(self._files, self._pages, strict=False):
            if file is None or pages > _PAGES_HELD_MAX:
                break
            try:
                tables.append(os.pread(file, pages * _PAGE_BYTES, 0))
            except OSError:
                break
        return tables

    def add(self, key: bytes, count: int) -> None:
        """Takes down a count that `find` didn't know; `flush` writes it, as do many of them."""
        if not self._is_writable or not 0 <= count <= _COUNT_MAX:
            return
        self._waiting[key] = count
        if len(self._waiting) >= _WAITING_MAX:
            self.flush()

    def begin_as_child(self) -> None:
        """Forgets what waits to be written, and who is writing: both are another process's."""
        self._waiting = {}
        self._flushing = Lock()

    def flush(self) -> None:
        """Writes down what was added. Many at once take one write a page, not one a count."""
        if not self._flushing.acquire(blocking=False):
            # Somebody is writing; what is added meanwhile waits for the next time.
            return
        try:
            added, self._waiting = self._waiting, {}
            # Another thread may be adding still.
            waiting = [(key, _slot(key, count)) for key, count in list(added.items())]
            for level in range(len(self._pages)):
                if not waiting:
                    return
                if level == len(self._files):
                    file = self._opened(level)
                    self._files.append(self._created(level) if file is None else file)
                file = self._files[level]
                if file is not None:
                    waiting = self._written(file, level, waiting)
        except OSError:
            # A full disk or a folder that may only be read: what is known stays useful.
            self._is_writable = False
        finally:
            self._flushing.release()

    def _written(self, file: int, level: int, waiting: list[_Waiting]) -> list[_Waiting]:
        """Writes slots into their pages of one file; those that found no room there."""
        by_page: defaultdict[int, list[_Waiting]] = defaultdict(list)
        for one in waiting:
            by_page[self._offset(level, one[0])].append(one)
        is_last = level == len(self._pages) - 1
        rest: list[_Waiting] = []
        for offset, added in by_page.items():
            page = bytearray(os.pread(file, _SLOTS_BYTES, offset))
            changed: list[int] = []
            for key, slot in added:
                if _count_in(page, key[:_DIGEST_BYTES], 0) is not None:
                    # Somebody else counted the same meanwhile.
                    continue
                position = _room(page)
                if position is None and is_last:
                    position = _given_way(page, key)
                if position is None:
                    rest.append((key, slot))
                    continue
                page[position : position + _SLOT_BYTES] = slot
                changed.append(position)
            if changed:
                # No more than need be: what others write meanwhile should stay.
                first, last = min(changed), max(changed) + _SLOT_BYTES
                os.pwrite(file, page[first:last], offset + first)
        return rest

    def close(self) -> None:
        """Writes down what was added and closes the files."""
        self.flush()
        for file in self._files:
            if file is not None:
                os.close(file)
        self._files = []
        self._held = []
        self._is_writable = False

    def _offset(self, level: int, key: bytes) -> int:
        number = int.from_bytes(key[_DIGEST_BYTES:_KEY_BYTES], "little")
        return number % self._pages[level] * _PAGE_BYTES

    def _path(self, level: int) -> Path:
        return self._folder / f"counts-1-{level}.table"

    def _opened(self, level: int) -> int | None:
        """The file of a level, opened; None without one. One of another size is thrown away."""
        path = self._path(level)
        flags = getattr(os, "O_CLOEXEC", 0)
        try:
            try:
                file = os.open(path, os.O_RDWR | flags)
            except PermissionError:
                file = os.open(path, os.O_RDONLY | flags)
                self._is_writable = False
        except OSError:
            return None
        if os.fstat(file).st_size == self._pages[level] * _PAGE_BYTES:
            return file
        os.close(file)
        with suppress(OSError):
            path.unlink()
        return None

    def _created(self, level: int) -> int | None:
        """A new file of a level, or that of somebody who was faster."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=self._folder, prefix="counts-", suffix=".new")
        try:
            with os.fdopen(handle, "wb") as stream:
                # Written out, so that a full disk shows here and not in the middle of a run.
                for _ in range(self._pages[level]):
                    stream.write(bytes(_PAGE_BYTES))
            with suppress(FileExistsError):
                os.link(unfinished, self._path(level))
        finally:
            Path(unfinished).unlink()
        return self._opened(level)


def _count_in(table: bytes | bytearray, digest: bytes, start: int) -> int | None:
    """The count of this digest in the page that begins at `start`."""
    stop = start + _SLOTS_BYTES
    position = table.find(digest, start, stop)
    # A digest may also begin inside of a slot, by chance or damage.
    while position >= 0:
        if (position - start) % _SLOT_BYTES == 0:
            slot = table[position : position + _SLOT_BYTES]
            if _is_whole(slot):
                return int.from_bytes(slot[_DIGEST_BYTES:_KEY_BYTES], "little")
        position = table.find(digest, position + 1, stop)
    return None


def _is_whole(slot: bytes | bytearray) -> bool:
    return zlib.crc32(slot[:_KEY_BYTES]).to_bytes(4, "little") == slot[_KEY_BYTES:]


def _slot(key: bytes, count: int) -> bytes:
    slot = key[:_DIGEST_BYTES] + count.to_bytes(4, "little")
    return slot + zlib.crc32(slot).to_bytes(4, "little")


def _room(page: bytearray) -> int | None:
    """The place of the first empty slot; None when there is none, or no page."""
    position = page.find(_EMPTY)
    while position >= 0:
        start = -(-position // _SLOT_BYTES) * _SLOT_BYTES
        if page[start : start + _SLOT_BYTES] == _EMPTY:
            return start
        position = page.find(_EMPTY, start)
    return None


def _given_way(page: bytearray, key: bytes) -> int | None:
    """The place of the slot that a new count takes over: a damaged one, else one by chance."""
    for start in range(0, len(page) - _SLOT_BYTES + 1, _SLOT_BYTES):
        if not _is_whole(page[start : start + _SLOT_BYTES]):
            return start
    slots = len(page) // _SLOT_BYTES
    chance = int.from_bytes(key[_DIGEST_BYTES + 4 : _DIGEST_BYTES + 8], "little")
    return chance % slots * _SLOT_BYTES if slots else None


def is_switched_off() -> bool:
    """Whether COMPACTION_BENCH_COUNT_CACHE says so."""
    return os.environ.get(SWITCH_VARIABLE, "").strip().lower() in ("off", "0", "no", "false")


_SHARED: dict[str, CountCache | None] = {}


def shared(counter: str) -> CountCache | None:
    """The counts of this machine by one counter (its name and version); None when switched off."""
    if counter not in _SHARED:
        is_usable = not is_switched_off() and hasattr(os, "pread")
        cache = CountCache(cache_root() / "counts", counter) if is_usable else None
        if cache is not None:
            atexit.register(cache.flush)
        _SHARED[counter] = cache
    return _SHARED[counter]


def _begin_as_child() -> None:
    """A forked process leaves to its parent what waits there."""
    for cache in _SHARED.values():
        if cache is not None:
            cache.begin_as_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_as_child)


def flush() -> None:
    """Writes down what was counted so far, for other processes and later ones."""
    for cache in _SHARED.values():
        if cache is not None:
            cache.flush()


def forget() -> None:
    """Closes everything, so that the next call opens it anew; only tests and benchmarks need it."""
    for cache in _SHARED.values():
        if cache is not None:
            cache.close()
    _SHARED.clear()

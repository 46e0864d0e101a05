"""Judgement: JSON values that follow from their keys alone, kept for later runs on this machine.

A value is one file, written under another name and renamed, with a digest of its content in front:
one that is damaged, or that can't be read, is no value and is worked out again. What wasn't used
for longest goes when everything together is too much.
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

BYTES_MAX = 512_000_000

_DIGEST_BYTES = 16
# After clearing up there is room for a while.
_KEPT_SHARE = 0.8
_ADDS_BETWEEN_CHECKS = 64


class ResultCache:
    """JSON values by key in one folder. No failure of a file is ever raised."""

    def __init__(self, folder: Path, bytes_max: int = BYTES_MAX) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._adds = 0

    def find(self, key: str) -> Any:
        """The value with this key, None when it isn't known."""
        path = self._path(key)
        try:
            data = path.read_bytes()
            digest, packed = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
            if sha256(packed).digest()[:_DIGEST_BYTES] != digest:
                return None
            value = json.loads(zlib.decompress(packed))
        except (OSError, ValueError, zlib.error):
            return None
        with suppress(OSError):
            # Used lately, so among the last to go.
            os.utime(path)
        return value

    def add(self, key: str, value: Any) -> None:
        """Keeps a JSON value that isn't None."""
        packed = zlib.compress(json.dumps(value).encode(), 1)
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".new")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(sha256(packed).digest()[:_DIGEST_BYTES] + packed)
                Path(unfinished).replace(path)
            except OSError:
                Path(unfinished).unlink()
                raise
            if self._adds % _ADDS_BETWEEN_CHECKS == 0:
                self._clear_up()
            self._adds += 1
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _clear_up(self) -> None:
        """Removes what wasn't used for longest, once everything together is too much."""
        files: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                found = path.stat()
                files.append((found.st_mtime, found.st_size, path))
        total = sum(size for _, size, _ in files)
        if total <= self._bytes_max:
            return
        for _, size, path in sorted(files):
            if total <= self._bytes_max * _KEPT_SHARE:
                return
            with suppress(OSError):
                path.unlink()
                total -= size

"""Edges: recorded calls, by content address: the same request costs nothing the second time.

One file holds one answer, named by the digest of what was asked. Files appear whole or not at all,
so any number of processes may write; whoever finds one damaged drops it and asks anew. An answer is
served to anybody. Refusals are no answers: of these only that an input was too long is written down
and it is served where nothing may be sent (`--replay-only`), since a run with an overflow couldn't
be replayed without it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.cache_folder import cache_root
from bench.models.settings import ModelSettings
from bench.providers.vendors import is_loopback

# Part of every address: raised when the same request would have to be read in another way.
PROTOCOL_VERSION = 1
_FOLDER = f"calls-{PROTOCOL_VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One answer as it came: `payload` is its JSON, `status` the HTTP status.

    `refusals` names what earlier tries of the same call met, in order.
    """

    status: int
    payload: Any
    refusals: tuple[str, ...] = ()


def call_key(
    method: str, url: str, body: Mapping[str, Any], *, model: str, seed: int, draw: int
) -> str:
    """The address of a call, 64 hex digits: everything that its answer rests on, never a header.

    `seed` and `draw` tell calls apart that are equal otherwise: the draws of a run, and the first,
    second ... time that one replay asks the very same. A server on this machine is known by the
    name of its model alone, since its port changes from start to start.
    """
    parts = urlsplit(url)
    host = "loopback" if is_loopback(url) else parts.netloc.lower()
    asked = [PROTOCOL_VERSION, method, host, parts.path, model, seed, draw, body]
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode("ascii")).hexdigest()


class Cassettes:
    """The recorded calls below one folder. Nothing here ever fails a run.

    `dropped` counts the damaged files that were met.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self.dropped = 0

    def _path(self, key: str, *, is_refusal: bool) -> Path:
        return self._folder / key[:2] / f"{key}{'.refused' if is_refusal else ''}.json"

    def answer(self, key: str) -> Recording | None:
        """The recorded answer, None where there is none."""
        return self._read(key, is_refusal=False)

    def refusal(self, key: str) -> Recording | None:
        """What the provider last said where the input was too long, None where it didn't."""
        return self._read(key, is_refusal=True)

    def _read(self, key: str, *, is_refusal: bool) -> Recording | None:
        path = self._path(key, is_refusal=is_refusal)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            return _decoded(data, key)
        except (ValueError, KeyError, TypeError, RecursionError):
            self.dropped += 1
            with suppress(OSError):
                path.unlink()
            return None

    def keep_answer(self, key: str, recording: Recording, about: Mapping[str, str]) -> None:
        """Writes an answer down; `about` says for people what it is the answer to."""
        self._write(self._path(key, is_refusal=False), key, recording, about)
        with suppress(OSError):
            self._path(key, is_refusal=True).unlink(missing_ok=True)

    def keep_refusal(self, key: str, recording: Recording, about: Mapping[str, str]) -> None:
        """Writes down that the input was too long."""
        self._write(self._path(key, is_refusal=True), key, recording, about)

    def _write(self, path: Path, key: str, recording: Recording, about: Mapping[str, str]) -> None:
        content: dict[str, Any] = {
            "key": key,
            "about": dict(about),
            "status": recording.status,
            "payload": recording.payload,
            "refusals": list(recording.refusals),
        }
        # What is nested too deeply to be written is asked for again.
        with suppress(OSError, RecursionError):
            content["sum"] = _sum(content)
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".unfinished")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as unfinished:
                    json.dump(content, unfinished, ensure_ascii=True)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise


def _sum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode("ascii")).hexdigest()[:16]


def _decoded(data: bytes, key: str) -> Recording:
    content = json.loads(data)
    said = content.pop("sum")
    if content["key"] != key or said != _sum(content):
        raise ValueError("not what was written under this name")
    refusals: Sequence[str] = content["refusals"]
    return Recording(status=content["status"], payload=content["payload"], refusals=tuple(refusals))


def cassettes_of(settings: ModelSettings) -> Cassettes:
    """The recorded calls that these settings name."""
    folder = settings.cache_folder
    return Cassettes(cache_root() if folder is None else Path(folder))

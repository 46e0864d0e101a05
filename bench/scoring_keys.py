"""Judgement: by what results of scoring are known again: everything that they follow from.

The program's own source is part of every key, so that a change to it can't be answered with what
another version found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Any

from bench.events import Session
from bench.observations import Replay, RequestObservation
from bench.projection import Item, Kept

_fields_of_request = attrgetter(*RequestObservation._fields)


@cache
def program_key() -> str:
    """A digest of this program: every module, and what counts and compares for it."""
    root = Path(__file__).parent
    folders = (root, root.parent / "strategies")
    digest = sha256(f"{sys.version_info[:2]} tiktoken {metadata.version('tiktoken')}".encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            data = path.read_bytes()
            digest.update(f"{path.relative_to(folder.parent)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def session_key(session: Session) -> str:
    """A digest of what was said, done and offered, and of the recorded compactions."""
    digest = sha256(repr(session.tools).encode("utf-8", "surrogatepass"))
    for one in session.recorded_compactions:
        digest.update(_bytes(one))
    for event in session.events:
        message = event.message
        texts = [message.text, *(call.arguments for call in message.calls)]
        about = (
            message.role,
            message.call_id,
            [(call.id, call.name) for call in message.calls],
            message.attachments,
            event.timestamp,
            event.is_meta,
            list(map(len, texts)),
        )
        digest.update(_bytes(about))
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def replay_key(session: Session, seen: Replay) -> str:
    """A digest of everything that a replay of this session saw, its `final` projection apart."""
    digest = sha256(_bytes(list(map(_fields_of_request, seen.requests))))
    for compaction in seen.compactions:
        digest.update(_bytes(asdict(compaction)))
    # Heads share most of their items, and a written one is long.
    known: dict[int, int | str] = {}
    for head in seen.heads:
        for item in head:
            if id(item) not in known:
                known[id(item)] = _about(session, item)
        digest.update(_bytes([known[id(item)] for item in head]))
    digest.update(_bytes((seen.requests_total, seen.retries, seen.stopped)))
    return digest.hexdigest()


def _about(session: Session, item: Item) -> int | str:
    """An event of the session by its seq, everything else by a digest of all that it holds."""
    if isinstance(item, Kept) and 0 < item.event.seq <= len(session.events):
        told = session.events[item.event.seq - 1]
        if item.event is told or item.event == told:
            return item.event.seq
    return sha256(_bytes(item)).hexdigest()


def combined(parts: Iterable[Any]) -> str:
    """One key of several parts: values whose `repr` says all about them."""
    return sha256(_bytes([program_key(), *parts])).hexdigest()


def _bytes(value: Any) -> bytes:
    return repr(value).encode("utf-8", "surrogatepass")

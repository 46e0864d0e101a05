"""Edges: which files of an opencode storage folder belong together.

Ids in the files are data: none is used as a name before it is known to be a plain one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from os import scandir
from pathlib import Path

from bench.formats.content import text_of
from bench.formats.decoding import DamagedJson, RepairLog, decode_json
from bench.formats.source import Record


def storage_of_part(path: Path) -> Path | None:
    """The storage folder in which this file is a part; None when it is none."""
    for folder in (path.parent, path.parent.parent):
        if folder.name == "part" and (folder.parent / "message").is_dir():
            return folder.parent
    return None


def lead_file(storage: Path, session_id: str) -> Path | None:
    """The session file, without one the first message file."""
    if not is_plain(session_id):
        return None
    for pattern in (f"{session_id}.json", f"ses_{session_id}.json"):
        found = sorted((storage / "session").glob(f"*/{_literal(pattern)}"))
        if found:
            return found[0]
    return min((storage / "message" / session_id).glob("*.json"), default=None)


def is_plain(name: str) -> bool:
    """True for an id that can be the name of a file; ids are data and may say anything."""
    return (
        bool(name) and len(name) < 200 and name not in (".", "..") and not set(name) & set("/\\\0")
    )


def _literal(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def session_of_part(storage: Path, path: Path) -> str | None:
    """The id of the session to which a part belongs; None when no file says it."""
    part = _object_in(path)
    if isinstance(part.get("sessionID"), str):
        return str(part["sessionID"])
    named = part.get("messageID")
    message_id = named if isinstance(named, str) else path.parent.name
    return _sessions_of_messages(storage, _state(storage, "message")).get(message_id)


def _state(storage: Path, name: str) -> tuple[tuple[str, int], ...]:
    """What a folder is like now, so that an index of it can be kept."""
    try:
        with scandir(storage / name) as entries:
            return tuple(sorted((entry.name, entry.stat().st_mtime_ns) for entry in entries))
    except OSError:
        return ()


@lru_cache(maxsize=2)
def _sessions_of_messages(storage: Path, _state_now: tuple[tuple[str, int], ...]) -> dict[str, str]:
    return {
        text_of(_object_in(path).get("id")) or path.stem: path.parent.name
        for path in (storage / "message").glob("*/*.json")
    }


def _object_in(path: Path) -> Record:
    try:
        value = decode_json(path.read_bytes().strip(), RepairLog(), "")
    except (OSError, DamagedJson):
        return {}
    return value if isinstance(value, dict) else {}


def part_files(storage: Path, message_ids: set[str], session_id: str) -> Iterator[Path]:
    """The part files of these messages, and those that name the session themselves."""
    folder = storage / "part"
    for message_id in sorted(filter(is_plain, message_ids)):
        yield from sorted((folder / message_id).glob("*.json"))
    known = _sessions_of_messages(storage, _state(storage, "message"))
    for message_id, parts in _other_parts(storage, _state(storage, "part")).items():
        for path, named_session in parts:
            if path.parent.name == message_id and message_id in known:
                continue  # In the folder of its message, which was looked at above.
            if message_id in message_ids or named_session == session_id:
                yield path


@lru_cache(maxsize=2)
def _other_parts(
    storage: Path, _state_now: tuple[tuple[str, int], ...]
) -> dict[str, list[tuple[Path, str]]]:
    """Parts that lie in no folder of their message or whose message file is missing.

    By message id, with the session that they name themselves.
    """
    known = _sessions_of_messages(storage, _state(storage, "message"))
    found: dict[str, list[tuple[Path, str]]] = {}
    for path in sorted((storage / "part").glob("*")):
        inner = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if path.name in known or path.suffix not in ("", ".json"):
            continue
        for file in inner:
            part = _object_in(file)
            message_id = text_of(part.get("messageID")) or file.parent.name
            found.setdefault(message_id, []).append((file, text_of(part.get("sessionID"))))
    return found

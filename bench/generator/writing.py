"""Corpora on disk: one JSONL file a session, the facts beside them, checksums.

Sessions are written while they are made, so a session may be longer than memory. The lines are
those of `bench.formats.own`.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.events import Event, Session
from bench.facts import Fact
from bench.facts_file import FILE_NAME as FACTS_FILE
from bench.facts_file import write_facts
from bench.formats.own import write_session
from bench.generator.assembling import Assembly
from bench.generator.sessions import (
    FACTS_DEFAULT,
    KINDS,
    LANGUAGES,
    Recipe,
    assembly,
    session_shell,
)

DISTRACTORS_FILE = "distractors.jsonl"
UNANSWERABLE_FILE = "unanswerable.jsonl"
CHECKSUMS_FILE = "SHA256SUMS"

# Every session comes to about 60,000 tokens (o200k_base); the number of events makes that up.
BUNDLED: tuple[Recipe, ...] = (
    Recipe("coding", "en", events=165, seed=11),
    Recipe("coding", "en", events=161, seed=12),
    Recipe("incident", "en", events=181, seed=13),
    Recipe("incident", "en", events=200, seed=14),
    Recipe("analysis", "en", events=153, seed=15),
    Recipe("analysis", "en", events=137, seed=16),
    Recipe("support", "en", events=236, seed=17),
    Recipe("chat", "en", events=269, seed=18),
    Recipe("coding", "zh", events=180, seed=21),
    Recipe("incident", "zh", events=174, seed=22),
    Recipe("support", "zh", events=200, seed=23),
    Recipe("chat", "zh", events=276, seed=24),
)


def write_corpus(
    folder: Path,
    sessions: int,
    events: int,
    seed: int,
    kinds: Sequence[str] = KINDS,
    languages: Sequence[str] = LANGUAGES,
    facts_wanted: int = FACTS_DEFAULT,
) -> tuple[Path, ...]:
    """Write `sessions` sessions of `events` events each, kinds and languages in turn.

    Returns the session files. Raises UsageError, before anything is written, for an unknown kind
    or language or too few events, and when the folder can't be written to.
    """
    pairs = [(kind, language) for language in languages for kind in kinds]
    recipes = [
        Recipe(*pairs[number % len(pairs)], events=events, seed=seed + number)
        for number in range(sessions)
    ]
    try:
        for recipe in recipes[: len(pairs)]:
            assembly(recipe, facts_wanted)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return _write(folder, recipes, facts_wanted)


def regenerate_bundled(folder: Path) -> tuple[Path, ...]:
    """Write the bundled corpus anew, byte for byte; its card (README.md) is written by people.

    Raises UsageError when the folder can't be written to.
    """
    return _write(folder, BUNDLED, FACTS_DEFAULT)


def _write(folder: Path, recipes: Iterable[Recipe], facts_wanted: int) -> tuple[Path, ...]:
    try:
        return _write_files(folder, recipes, facts_wanted)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{folder}: can't be written: {reason}; give another folder") from error


def _write_files(folder: Path, recipes: Iterable[Recipe], facts_wanted: int) -> tuple[Path, ...]:
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    facts: list[Fact] = []
    distractors: list[dict[str, Any]] = []
    unanswerable: list[dict[str, Any]] = []
    for recipe in recipes:
        making = assembly(recipe, facts_wanted)
        path = folder / f"{recipe.name}.jsonl"
        _write_stream(path, session_shell(recipe, making), making)
        facts += making.facts()
        distractors += [{"session": recipe.name, **asdict(one)} for one in making.distractors()]
        unanswerable += [{"session": recipe.name, **asdict(one)} for one in making.unanswerable()]
        written.append(path)
    write_facts(folder / FACTS_FILE, facts)
    _write_rows(folder / DISTRACTORS_FILE, distractors)
    _write_rows(folder / UNANSWERABLE_FILE, unanswerable)
    beside = [folder / name for name in (FACTS_FILE, DISTRACTORS_FILE, UNANSWERABLE_FILE)]
    listed = sorted([*written, *beside])
    sums = "".join(f"{_sha256(path)}  {path.name}\n" for path in listed)
    (folder / CHECKSUMS_FILE).write_bytes(sums.encode("ascii"))
    return tuple(written)


def _write_stream(path: Path, shell: Session, making: Assembly) -> None:
    header = io.StringIO()
    write_session(shell, header)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(header.getvalue())
        for event in making:
            stream.write(json.dumps(_event_row(event), ensure_ascii=False))
            stream.write("\n")


def _event_row(event: Event) -> dict[str, Any]:
    message = event.message
    row: dict[str, Any] = {"type": "event", "seq": event.seq, "role": message.role}
    if message.text:
        row["text"] = message.text
    if message.calls:
        row["calls"] = [asdict(call) for call in message.calls]
    if message.call_id is not None:
        row["call_id"] = message.call_id
    return {**row, "timestamp": event.timestamp}


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(text.encode("utf-8"))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

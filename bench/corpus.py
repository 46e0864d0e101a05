"""Edge: corpora that are found by name: those that come with the project, and public data sets.

In an installed package ours are data of `bench` (bench/data/<name>), in a checkout they lie in
datasets/<name> beside it. `hf:OWNER/NAME` is streamed through Hugging Face `datasets`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.events import Session
from bench.formats.dataset_rows import sessions_of_row
from bench.loading import Rejected

_PACKAGED = Path(__file__).parent / "data"
_CHECKOUT = Path(__file__).parent.parent / "datasets"
BUNDLED_NAME = "bundled"
DATASET_PREFIX = "hf:"
"""What the name of a Hugging Face data set begins with where a session is asked for."""
ROWS_MAX = 100
"""So many rows of a data set are read when nobody says how many."""

_BUILDERS = {
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
}
_ROWS_TRIED = 20
_REJECTED_NAMED = 20


def _corpora() -> dict[str, Path]:
    found: dict[str, Path] = {}
    # A folder `datasets` beside an installed `bench` is the Hugging Face package, not ours.
    places = [_PACKAGED] if _PACKAGED.is_dir() else [_CHECKOUT]
    for place in places:
        for facts in sorted(place.glob("*/facts.jsonl")):
            found[facts.parent.name] = facts.parent
    return found


def corpus_names() -> tuple[str, ...]:
    """The names that stand for a corpus where a session is asked for."""
    return tuple(_corpora())


def corpus_folder(name: str) -> Path:
    """The folder of a corpus; raises UsageError when there is none of that name."""
    corpora = _corpora()
    if name not in corpora:
        known = ", ".join(corpora) or "none, the installation is incomplete"
        raise UsageError(f"{name}: no corpus of that name, there is: {known}")
    return corpora[name]


def bundled_folder() -> Path:
    """The folder of the corpus that a run without sessions replays."""
    return corpus_folder(BUNDLED_NAME)


def sessions_of_dataset(name: str, *, limit: int = ROWS_MAX) -> Iterator[Session]:
    """The sessions in the first `limit` rows of a data set; see `rows_of_dataset`."""
    for found in rows_of_dataset(name, limit=limit):
        if isinstance(found, Session):
            yield found


def rows_of_dataset(name: str, *, limit: int = ROWS_MAX) -> Iterator[Session | Rejected]:
    """The sessions in the first `limit` rows, and the rows that hold none with the reason.

    `name` is OWNER/NAME, a folder or a file, with or without `hf:`; `@SPLIT` and `:CONFIG` may
    follow (`OWNER/NAME:small@test`), otherwise it is the split `train` or the first. Raises
    UsageError when the package is missing, the data set can't be read or none of its first rows
    holds a conversation.
    """
    label = name if name.startswith(DATASET_PREFIX) else DATASET_PREFIX + name
    rows = _streamed_rows(label)
    used: dict[str, int] = {}
    columns: list[str] = []
    rejected = 0
    number = 0
    while number < limit:
        try:
            row = next(rows, None)
        except Exception as error:  # Whatever a foreign file or service makes the library raise.
            if not used:
                raise UsageError(_unreadable(label, error)) from error
            yield Rejected(label, f"reading stopped after row {number}: {_in_one_line(error)}")
            return
        if row is None:
            break
        number += 1
        columns = [str(column) for column in row]
        sessions = list(sessions_of_row(row, label, number))
        for session in sessions:
            yield _with_own_id(session, used)
        if not sessions:
            rejected += 1
            if not used and number >= min(_ROWS_TRIED, limit):
                break
            if rejected <= _REJECTED_NAMED:
                yield Rejected(f"{label}, row {number}", "no column holds a list of messages")
    if not used:
        held = f"columns: {', '.join(columns)}" if number else "it has none"
        raise UsageError(
            f"{label}: no column holds a list of messages with role and content, looked at "
            f"{number} rows; {held}"
        )
    if rejected > _REJECTED_NAMED:
        yield Rejected(label, f"{rejected - _REJECTED_NAMED} more rows hold no list of messages")


def _with_own_id(session: Session, used: dict[str, int]) -> Session:
    count = used[session.id] = used.get(session.id, 0) + 1
    # Several trajectories of one task share its id.
    return session if count == 1 else replace(session, id=f"{session.id}~{count}")


def _streamed_rows(label: str) -> Iterator[dict[str, Any]]:
    datasets = _library()
    location, _, split = label.removeprefix(DATASET_PREFIX).partition("@")
    location, config = _location_and_config(location)
    path = Path(location)
    if path.is_file() and path.suffix not in _BUILDERS:
        known = ", ".join(sorted(_BUILDERS))
        raise UsageError(f"{label}: not a file of a data set; those end in {known}")
    try:
        if path.is_file():
            kind = _BUILDERS[path.suffix]
            found = datasets.load_dataset(kind, data_files=str(path), streaming=True)
        else:
            found = datasets.load_dataset(location, config or None, streaming=True)
    except Exception as error:  # Whatever a foreign file or service makes the library raise.
        raise UsageError(_unreadable(label, error)) from error
    splits = list(found)
    if split and split not in splits:
        raise UsageError(f"{label}: no split {split}; there is: {', '.join(map(str, splits))}")
    chosen = split or ("train" if "train" in splits else splits[0])
    return iter(found[chosen])


def _location_and_config(location: str) -> tuple[str, str]:
    if Path(location).exists():
        return location, ""
    before, colon, config = location.rpartition(":")
    return (before, config) if colon else (location, "")


def _library() -> Any:
    """Hugging Face `datasets`, quiet. Raises UsageError that says how to install it."""
    try:
        datasets = import_module("datasets")
        datasets.load_dataset  # noqa: B018 - a folder of that name is imported as well, but empty.
    except (ImportError, AttributeError) as error:
        raise UsageError(
            "hf: needs the package datasets, which isn't installed: "
            "python -m pip install 'compaction-bench[hf]'"
        ) from error
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return datasets


def _unreadable(label: str, error: Exception) -> str:
    return (
        f"{label}: the data set can't be read: {_in_one_line(error)}; "
        "give hf:OWNER/NAME as on the Hub, or a folder or file"
    )


def _in_one_line(error: Exception) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:300]}"

"""Edges: sessions from files and folders.

Files are told apart by their content. What is no session, or holds nothing usable, is listed with
the reason and stops nothing. A folder is searched recursively in sorted order; hidden folders and
files are left out.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from os import walk
from os.path import realpath
from pathlib import Path

from bench.errors import UsageError
from bench.events import Repair, Session
from bench.formats import Format, detected, format_named, formats
from bench.formats.source import Source

_COMPANIONS = (
    "facts.jsonl",
    "distractors.jsonl",
    "unanswerable.jsonl",
    "SHA256SUMS",
    "README*",
    "LICENSE*",
)
_COMPANION = "a companion file, not a session"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file from which no session was read, and why.

    `is_expected` is true when nothing is missing by it: it lies beside sessions, or what it says is
    read with another file.
    """

    path: str
    reason: str
    is_expected: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found under some paths: the sessions in order, and the files that gave none."""

    sessions: tuple[Session, ...]
    rejected: tuple[Rejected, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    """What in a file, by its path, showed its format; the option where that named it."""

    def extended(self, found: Iterable[Session | Rejected]) -> Loaded:
        """These and further ones."""
        more = list(found)
        return replace(
            self,
            sessions=(*self.sessions, *(one for one in more if isinstance(one, Session))),
            rejected=(*self.rejected, *(one for one in more if isinstance(one, Rejected))),
        )


def load_sessions(paths: str | Path | Sequence[str | Path], *, format: str | None = None) -> Loaded:
    """All sessions in these files and folders.

    `format` names the format of every file; without it each file is recognised by its content.
    Session ids are unique in the result. Raises UsageError when a path or the format doesn't exist.
    """
    sessions = []
    rejected = []
    evidence: dict[str, str] = {}
    for found in iter_sessions(paths, format=format, evidence=evidence):
        if isinstance(found, Session):
            sessions.append(found)
        else:
            rejected.append(found)
    return Loaded(tuple(sessions), tuple(rejected), evidence)


def iter_sessions(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    evidence: dict[str, str] | None = None,
) -> Iterator[Session | Rejected]:
    """The same one by one, so that only one session at a time has to be in memory.

    `evidence` is filled with what showed the format of each file, by its path.
    """
    chosen = None if format is None else format_named(format)
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    files = _files(given)
    return _with_unique_ids(
        _continued(_read_all(files, chosen, {} if evidence is None else evidence))
    )


def _files(paths: Sequence[str | Path]) -> list[tuple[Path, bool]]:
    """Every file once, with True when it was found in a folder."""
    found: dict[Path, bool] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for file in sorted(_files_below(path), key=lambda item: item.as_posix()):
                found.setdefault(file, True)
        elif path.exists():
            found.setdefault(path, False)
        else:
            raise UsageError(f"{given}: no such file or folder; give a session file or a folder")
    unique: dict[Path, tuple[Path, bool]] = {}
    for path, is_searched in found.items():
        unique.setdefault(Path(realpath(path)), (path, is_searched))
    return list(unique.values())


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        # `walk` doesn't follow links to folders (they may lead in circles): they are listed.
        yield from (link for name in folders if (link := Path(place) / name).is_symlink())
        yield from (Path(place) / name for name in names if not name.startswith("."))


def _read_all(
    files: Sequence[tuple[Path, bool]], chosen: Format | None, evidence: dict[str, str]
) -> Iterator[Session | Rejected]:
    given = {realpath(path) for path, _ in files}
    for path, is_searched in files:
        rejected = _not_read(path, given) if is_searched else None
        if rejected is not None:
            yield rejected
        else:
            yield from _read_file(path, chosen, evidence)


def _not_read(path: Path, given: set[str]) -> Rejected | None:
    if any(fnmatchcase(path.name, pattern) for pattern in _COMPANIONS):
        return Rejected(str(path), _COMPANION, is_expected=True)
    if path.is_dir():
        what = "a link to a folder, which isn't followed; give the folder itself"
        return Rejected(str(path), what)
    for candidate in formats():
        whole_of = getattr(candidate, "part_of", None)
        owner = whole_of(path) if whole_of is not None else None
        if owner is not None:
            part = getattr(candidate, "PART", "a part of a session")
            if realpath(owner) in given:
                return Rejected(str(path), f"{part}, read with {owner}", is_expected=True)
            return Rejected(str(path), f"{part}; give {owner}, with which it is read")
    return None


def _read_file(
    path: Path, chosen: Format | None, evidence: dict[str, str]
) -> Iterator[Session | Rejected]:
    try:
        if not path.is_file():  # A pipe would be waited for without end.
            yield Rejected(
                str(path), "can't be read: no regular file, or a link that leads nowhere"
            )
            return
        source = Source(path)
        reader = chosen
        if reader is None:
            found = detected(source.sample)
            if found is None:
                yield Rejected(str(path), _unrecognised(source))
                return
            reader, evidence[str(path)] = found
            source.forget_sample()
        else:
            evidence[str(path)] = f"--format {reader.NAME}"
        yield from _with_trailing_repairs(source, reader)
    except OSError as error:
        yield Rejected(str(path), f"can't be read: {error.strerror or error}")


def _unrecognised(source: Source) -> str:
    tried = ", ".join(candidate.NAME for candidate in formats())
    if source.sample.is_empty:
        return "empty file"
    if source.document_problem:
        return f"damaged JSON ({source.document_problem}); formats tried: {tried}"
    if source.is_sqlite:
        return "an SQLite database; export its sessions as JSON and give that"
    if source.sample.shape == "archive":
        return f"a zip archive without sessions of a known format; formats tried: {tried}"
    if not source.sample.records:
        return f"no JSON objects in it; formats tried: {tried}"
    return f"JSON, but no session of a known format; formats tried: {tried}"


def _with_trailing_repairs(source: Source, reader: Format) -> Iterator[Session | Rejected]:
    """The sessions of a file; damage found after the last one is reported with it."""
    last: Session | None = None
    sessions = reader.read(source)
    while (session := _next_without_collector(sessions)) is not None:
        if last is not None:
            yield last
        last = session
    repairs = source.log.take()
    skipped = source.take_skipped()
    if last is None:
        if source.nothing_because is not None:
            yield Rejected(str(source.path), source.nothing_because)
            return
        detail = f"; {skipped} lines were skipped" if skipped else ""
        first = f", the first because: {repairs[0].what} ({repairs[0].where})" if skipped else ""
        yield Rejected(
            str(source.path),
            f"read as {reader.NAME}, but nothing usable is in it{detail}{first}",
        )
        return
    if repairs or skipped:
        last = replace(
            last, repairs=last.repairs + repairs, skipped_lines=last.skipped_lines + skipped
        )
    yield last


def _next_without_collector(sessions: Iterator[Session]) -> Session | None:
    # JSON values hold no cycles; looking for some after every few records takes a third of the
    # time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return next(sessions, None)
    finally:
        if was_enabled:
            gc.enable()


def _continued(found: Iterator[Session | Rejected]) -> Iterator[Session | Rejected]:
    """Request logs with one file per request: only the last file of a conversation is a session."""
    before: Session | None = None
    for item in found:
        if isinstance(item, Rejected):
            yield item
            continue
        if before is not None:
            if _continues(before, item):
                what = f"its whole conversation stands in {item.path}"
                yield Rejected(before.path, what, is_expected=True)
            else:
                yield before
        before = item
    if before is not None:
        yield before


def _continues(before: Session, after: Session) -> bool:
    if before.path == after.path or Path(before.path).parent != Path(after.path).parent:
        return False
    length = len(before.events)
    if before.format != after.format or length >= len(after.events):
        return False
    if not any(
        after.format == known.NAME and getattr(known, "REPEATS_PREFIXES", False)
        for known in formats()
    ):
        return False
    return all(
        left.message == right.message
        for left, right in zip(before.events, after.events[:length], strict=True)
    )


def _with_unique_ids(found: Iterator[Session | Rejected]) -> Iterator[Session | Rejected]:
    used: set[str] = set()
    for item in found:
        if isinstance(item, Rejected):
            yield item
            continue
        session_id = item.id or Path(item.path).stem or "session"
        number = 1
        while session_id in used:
            number += 1
            session_id = f"{item.id}~{number}"
        used.add(session_id)
        if session_id != item.id:
            what = f"the id {item.id!r} was used before; this session is {session_id!r}"
            repair = Repair("session_id_reused", item.path, what)
            item = replace(item, id=session_id, repairs=(*item.repairs, repair))
        yield item

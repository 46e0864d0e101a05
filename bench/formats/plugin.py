"""Edges: readers that users bring, from a file or from an installed package.

A reader is a callable: path -> iterable of `Session`, or of lists of OpenAI chat messages, one list
per session. Whatever it does wrong is one line that names it, and rejects the one file.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.events import Session
from bench.formats.building import SessionBuilder
from bench.formats.chat import add_message
from bench.formats.source import Sample, Source

ENTRY_POINT_GROUP = "compaction_bench.formats"
_RANK = 95


@dataclass(frozen=True, slots=True)
class Reader:
    """A callable in the place of a format. It is never recognised by content, only named."""

    NAME: str
    call: Callable[[Path], Iterable[Any]]
    RANK: int = _RANK

    def detect(self, sample: Sample) -> str | None:
        """Never: a callable says nothing about what it can read."""
        return None

    def read(self, source: Source) -> Iterator[Session]:
        """What the callable gives. Its errors end the file and are said in one line."""
        number = 0
        try:
            for given in self.call(source.path):
                number += 1
                session = self._session(given, source, number)
                if session is not None:
                    yield session
        except Exception as error:  # Somebody else's code may raise anything.
            said = " ".join(str(error).split()) or "no message"
            what = f"the reader {self.NAME} failed: {type(error).__name__}: {said}"
            if number:
                source.log.add("reader_failed", f"after session {number}", what)
            source.nothing_because = what

    def _session(self, given: Any, source: Source, number: int) -> Session | None:
        if isinstance(given, Session):
            return replace(
                given, path=given.path or str(source.path), format=given.format or self.NAME
            )
        if not isinstance(given, (list, tuple)):
            raise TypeError(
                f"session {number} is a {type(given).__name__}; give a Session or a list of "
                "OpenAI messages"
            )
        builder = SessionBuilder(source.name if number == 1 else f"{source.name}-{number}")
        for position, message in enumerate(given, 1):
            where = f"session {number}, message {position}"
            if not isinstance(message, dict):
                raise TypeError(f"{where} is a {type(message).__name__}, not an object")
            add_message(builder, message, where)
        return builder.finish(source, self.NAME)


def reader_in_file(text: str) -> Reader:
    """The reader that `./reader.py:read` names; raises UsageError that says what is wrong."""
    file, _, name = text.rpartition(":")
    if not name.isidentifier() or not file.endswith(".py"):
        raise UsageError(f"--format {text}: name the callable in the file: ./reader.py:read")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"--format {text}: {file}: no such file")
    module_name = f"_reader_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--format {text}: {file} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # Dataclasses look their module up.
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # Somebody else's code may raise anything.
        said = " ".join(str(error).split())
        raise UsageError(
            f"--format {text}: {file} can't be imported: {type(error).__name__}: {said}"
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if _is_own(value, module_name)]
        raise UsageError(
            f"--format {text}: no callable {name} in {file}; there is: {', '.join(known) or 'none'}"
        )
    return Reader(text, found)


def _is_own(value: Any, module_name: str) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module_name


@cache
def installed() -> tuple[Any, ...]:
    """Formats of installed packages. Raises UsageError that names one that fails to load."""
    return formats_of(entry_points(group=ENTRY_POINT_GROUP))


def formats_of(points: Iterable[EntryPoint]) -> tuple[Any, ...]:
    """The same for given entry points: modules with NAME, detect and read, or callables."""
    found = []
    for point in points:
        try:
            loaded = point.load()
        except Exception as error:  # Somebody else's code may raise anything.
            said = " ".join(str(error).split())
            raise UsageError(
                f"format plug-in {point.name} ({point.value}) can't be loaded: "
                f"{type(error).__name__}: {said}"
            ) from error
        if all(hasattr(loaded, name) for name in ("NAME", "RANK", "detect", "read")):
            found.append(loaded)
        elif callable(loaded):
            found.append(Reader(point.name, loaded))
        else:
            raise UsageError(
                f"format plug-in {point.name} ({point.value}): neither a module with NAME, RANK, "
                "detect and read nor a callable"
            )
    return tuple(found)

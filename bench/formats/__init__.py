"""Edges: recorded session formats, one module each.

A module in this package that has a `NAME` is a format; adding a file adds a format. It has

- `NAME`: what `--format` takes and what `Session.format` says,
- `RANK`: who is asked first when a file is recognised by its content (lower first; the more
  general a shape is, the higher),
- `detect(sample) -> str | None`: what in the content shows that it is this format, None otherwise,
- `read(source) -> Iterator[Session]`: the sessions of one file, read as a stream,
- and, if it likes, `part_of(path) -> Path | None`, the file or folder with which this one is read,
  `PART` what such a file is ("a compaction call"), and `REPEATS_PREFIXES = True` when a file may
  repeat the whole conversation of the file before it.

An installed package adds formats by the entry point group `compaction_bench.formats`: a module of
this kind, or a callable as `--format` takes one (see plugin.py), which is then used by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from bench.errors import UsageError
from bench.events import Session
from bench.formats import plugin
from bench.formats.source import Sample, Source


class Format(Protocol):
    """What a module of this package offers when it is a format."""

    @property
    def NAME(self) -> str:
        """What `--format` takes and `Session.format` says."""

    @property
    def RANK(self) -> int:
        """Who is asked first: lower first."""

    def detect(self, sample: Sample) -> str | None:
        """The evidence that the sample is of this format."""

    def read(self, source: Source) -> Iterator[Session]:
        """The sessions in the file."""


@cache
def formats() -> tuple[Format, ...]:
    """All formats, those that are asked first in front; installed plug-ins are among them."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = [cast(Format, module) for module in modules if hasattr(module, "NAME")]
    found += [row for row in plugin.installed() if row.NAME not in {known.NAME for known in found}]
    return tuple(sorted(found, key=lambda module: (module.RANK, module.NAME)))


def format_named(name: str) -> Format:
    """The format with this name, or the reader in a file: `./reader.py:read`.

    Raises UsageError that lists the known names, or says what is wrong with the file.
    """
    known = {candidate.NAME: candidate for candidate in formats()}
    if name in known:
        return known[name]
    if ".py:" in name or name.endswith(".py"):
        return plugin.reader_in_file(name)
    listed = ", ".join(sorted(known))
    raise UsageError(
        f"--format {name}: no such format; known formats: {listed}, or your own: ./reader.py:read"
    )


def detected(sample: Sample) -> tuple[Format, str] | None:
    """The format that recognises the sample, with its evidence."""
    for candidate in formats():
        evidence = candidate.detect(sample)
        if evidence:
            return candidate, evidence
    return None

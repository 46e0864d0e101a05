"""Assembly: whether a Dask cluster can be used at all, said in one line before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.providers.vendors import base_url_of, key_of, parse_remote
from bench.registry import check_ready, make_strategies
from bench.specs import parse_specs
from bench.tasks import RunOptions, real_models_of

# What both ends must have in the same version, or they can't read what the other sends.
_SAME_VERSIONS = ("dask", "distributed", "cloudpickle", "msgpack")


def check_versions(address: str, versions: Mapping[str, Any]) -> None:
    """Compares what `Client.get_versions` found; raises UsageError at the first difference."""
    here = _packages(versions["client"])
    there = {"scheduler": versions["scheduler"], **versions["workers"]}
    for name, found in there.items():
        packages = _packages(found)
        who = "the scheduler" if name == "scheduler" else f"worker {name}"
        for package in ("python", *_SAME_VERSIONS):
            wanted, given = here.get(package), packages.get(package)
            if package == "python":
                wanted, given = _minor(wanted), _minor(given)
            if wanted != given:
                raise UsageError(
                    f"--cluster {address}: {who} has {package} {given}, here it is {wanted}; "
                    "install the same versions on both sides"
                )


def _packages(found: Mapping[str, Any]) -> dict[str, Any]:
    packages: dict[str, Any] = dict(found["packages"])
    packages.setdefault("python", found["host"].get("python"))
    return packages


def _minor(python_version: Any) -> str:
    """3.12 of "3.12.4.final.0": code travels between patch releases, not between minor ones."""
    return ".".join(str(python_version).split(".")[:2])


def check_workers(address: str, found: Mapping[str, str]) -> None:
    """`found` says for each worker what code of compaction-bench it has, or what is wrong."""
    for worker, code in found.items():
        if code.startswith("missing: "):
            raise UsageError(
                f"--cluster {address}: worker {worker} can't import compaction-bench "
                f"({code.removeprefix('missing: ')}); install version "
                f"{version('compaction-bench')} there"
            )
        if code != code_digest():
            raise UsageError(
                f"--cluster {address}: worker {worker} has other code of compaction-bench than "
                f"this machine ({version('compaction-bench')}); install the same version there"
            )


@cache
def code_digest() -> str:
    """A hash of everything that decides what a cell gives, and of the version of Python.

    Taken once in a process: a worker that was started before an update still has the code of then.
    """
    home = Path(__file__).resolve().parents[2]
    digest = sha256(f"{sys.version_info[:2]}".encode())
    for package in ("bench", "strategies"):
        files = (home / package).rglob("*")
        for path in sorted(f for f in files if f.suffix in (".py", ".md", ".txt", ".toml")):
            if "data" not in path.relative_to(home).parts:
                digest.update(f"{path.relative_to(home)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def problem_with(options: RunOptions, files: Mapping[str, str]) -> str:
    """Run on a worker: why it can't do what these options ask, empty when it can.

    `files` are the digests of people's own strategy files by path: they must lie there as well.
    Keys of real models must be in the worker's environment.
    """
    try:
        for path, wanted in files.items():
            if file_digest(path) != wanted:
                return f"{path} is another file there than here"
        for spec in options.specs:
            check_ready(make_strategies(spec, prompts=options.prompts))
        if not options.settings.is_replay_only:
            for model in real_models_of(options, options.models):
                vendor, _ = parse_remote(model)
                key_of(vendor, base_url_of(vendor, options.settings))
    except OSError as error:
        return f"{error.filename}: {error.strerror}; it must lie at the same path on every worker"
    except UsageError as error:
        return str(error)
    return ""


def own_files(specs: Sequence[str]) -> dict[str, str]:
    """The files that these specs name, with their digests."""
    parsed = (spec for text in specs for spec in parse_specs(text))
    return {spec.file[0]: file_digest(spec.file[0]) for spec in parsed if spec.file is not None}


def file_digest(path: str) -> str:
    """A hash of a file's content."""
    return sha256(Path(path).read_bytes()).hexdigest()

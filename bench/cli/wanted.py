"""What `run` and `gate` understand alike: sessions, samples of them, and compaction points."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli.progress import clear_line, progress_line
from bench.corpus import (
    DATASET_PREFIX,
    ROWS_MAX,
    corpus_folder,
    corpus_names,
    rows_of_dataset,
)
from bench.errors import UsageError
from bench.events import Session
from bench.loading import Loaded, load_sessions
from bench.replay import Cuts
from bench.sampling import sample, session_tokens

DEFAULT_CORPUS = "bundled"
_CUTS_MAX = 9_999
_REPEAT_MAX = 50


def cuts_of(value: int | str | None) -> Cuts:
    """How many compaction points to force, or "recorded"; raises UsageError for anything else."""
    if value is None:
        return None
    if value == "recorded":
        return "recorded"
    text = str(value)
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= _CUTS_MAX):
        raise UsageError(f"--cuts {value}: give a number from 1 to {_CUTS_MAX}, or recorded")
    return int(text)


def repeat_of(value: int | None) -> int:
    """How often each span is summarised; raises UsageError for anything but 1 to 50."""
    if value is None:
        return 1
    if not 1 <= value <= _REPEAT_MAX:
        raise UsageError(f"--repeat {value}: give a number from 1 to {_REPEAT_MAX}")
    return value


def load_wanted(arguments: argparse.Namespace) -> Loaded:
    """The sessions to run. Raises UsageError when there are none."""
    names = arguments.sessions or [DEFAULT_CORPUS]
    paths = [_path_of(name) for name in names if not name.startswith(DATASET_PREFIX)]
    progress_line("reading sessions")
    loaded = load_sessions(paths, format=arguments.format)
    # A sample is drawn from ten times as many rows, never from a whole stream.
    rows_max = max(ROWS_MAX, 10 * (arguments.sample or 0))
    for name in names:
        if name.startswith(DATASET_PREFIX):
            loaded = loaded.extended(rows_of_dataset(name, limit=rows_max))
    chosen: tuple[Session, ...] = loaded.sessions
    if not chosen:
        reasons = "; ".join(f"{one.path}: {one.reason}" for one in loaded.rejected[:3])
        raise UsageError(
            f"{', '.join(names)}: no session could be read"
            + (f": {reasons}" if reasons else ": the folder holds no files")
        )
    if arguments.min_tokens:
        chosen = tuple(one for one in chosen if session_tokens(one) >= arguments.min_tokens)
        if not chosen:
            raise UsageError(
                f"--min-tokens {arguments.min_tokens}: all {len(loaded.sessions)} sessions are "
                "shorter"
            )
    if arguments.sample:
        chosen = sample(chosen, arguments.sample, arguments.sample_seed or 0)
    clear_line()
    return Loaded(chosen, loaded.rejected)


def _path_of(name: str) -> Path:
    """A file or folder, or the folder of a corpus that is known by its name."""
    path = Path(name)
    if path.exists():
        return path
    if name in corpus_names():
        return corpus_folder(name)
    raise UsageError(
        f"{name}: no such file or folder, and no corpus of that name "
        f"(there is: {', '.join(corpus_names())})"
    )

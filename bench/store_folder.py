"""Edge: making the folder of a run, and leaving nothing behind when that fails."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from bench.errors import UsageError


def make_folders(folder: Path) -> list[Path]:
    """The folders that had to be made, the outermost first. Raises UsageError."""
    made: list[Path] = []
    try:
        for place in [*reversed(folder.parents), folder]:
            if not place.exists():
                place.mkdir()
                made.append(place)
        if not folder.is_dir():
            raise NotADirectoryError(20, "this is a file, not a folder")
    except OSError as error:
        remove(None, made)
        raise UsageError(
            f"{folder}: no run can be written here: {reason_of(error)}; "
            "give another folder with --out"
        ) from error
    return made


def remove(file: Path | None, folders: list[Path]) -> None:
    """Remove a file, its journal and then folders, as far as they can be removed."""
    # What can't be removed is left: the error that led here says more than this one would.
    with suppress(OSError):
        if file is not None:
            file.with_name(f"{file.name}-journal").unlink(missing_ok=True)
            file.unlink(missing_ok=True)
        for folder in reversed(folders):
            folder.rmdir()


def reason_of(error: BaseException) -> str:
    """What an error says, in one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__

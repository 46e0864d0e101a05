"""One line that is overwritten, on stderr and on a terminal only."""

from __future__ import annotations

import sys


def progress_line(text: str) -> None:
    """Shows how far it has come."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{text[:100]}")
        sys.stderr.flush()


def clear_line() -> None:
    """Removes the line."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()

"""What commands print: JSON documents, and text from sessions made harmless for a terminal."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_json(document: Any) -> None:
    """One JSON document on stdout. Lone surrogates are escaped, NaN is refused."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    data = text.encode("utf-8", errors="backslashreplace")
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.flush()


def harmless(text: str, characters_max: int | None = None) -> str:
    """Text from a session for the terminal: one line, no control characters, cut where too long."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    shown = " ".join(shown.split())
    if characters_max is not None and len(shown) > characters_max:
        return shown[: characters_max - 1] + "…"
    return shown


def note(text: str) -> None:
    """A line for people, on stderr."""
    print(text, file=sys.stderr)

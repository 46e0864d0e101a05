"""Real recordings, where they are at hand; they are never part of this repository."""

import os
from pathlib import Path

import pytest

FOLDER = Path(
    os.environ.get("RECORDED_SESSIONS")
    or Path(__file__).resolve().parents[2] / "shared" / "data" / "recorded"
)

needs_recordings = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no recordings: {FOLDER} isn't there (set RECORDED_SESSIONS)"
)

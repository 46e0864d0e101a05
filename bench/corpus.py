"""Edge: corpora that come with the project, found by name.

In an installed package they are data of `bench` (bench/data/<name>), in a checkout they lie in
datasets/<name> beside it.
"""

from __future__ import annotations

from pathlib import Path

from bench.errors import UsageError

_PACKAGED = Path(__file__).parent / "data"
_CHECKOUT = Path(__file__).parent.parent / "datasets"
BUNDLED_NAME = "bundled"


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

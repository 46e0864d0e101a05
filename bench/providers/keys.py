"""Edges: keys never leave the headers: what servers send back is cleaned before anybody sees it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
MASK = "(key)"
# Shorter values would also be found where no key stands.
_KEY_CHARACTERS_MIN = 8


def known_keys() -> tuple[str, ...]:
    """The keys in the environment, longest first, so that none is masked in part."""
    found = {os.environ.get(name, "").strip() for name in KEY_VARIABLES}
    return tuple(sorted((k for k in found if len(k) >= _KEY_CHARACTERS_MIN), key=len, reverse=True))


def without_keys(value: Any, keys: Iterable[str] | None = None) -> Any:
    """The same JSON value with every key in it masked, in names and texts at any depth."""
    wanted = known_keys() if keys is None else tuple(keys)
    return _cleaned(value, wanted) if wanted else value


def _cleaned(value: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        for key in keys:
            value = value.replace(key, MASK)
        return value
    if isinstance(value, list):
        return [_cleaned(part, keys) for part in value]
    if isinstance(value, dict):
        return {_cleaned(name, keys): _cleaned(part, keys) for name, part in value.items()}
    return value

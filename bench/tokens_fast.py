"""Judgement: a faster exact counter, used for the texts on which it can't differ from tiktoken.

`toktok-rs` (extra `fast`) counts the same encoding some twenty times as fast. Both split a text by
Unicode categories, but not of the same Unicode version, so they part at code points that one of
them doesn't know yet. Only texts of characters whose category is settled are counted by it; all
others, and everything where it isn't installed, are left to tiktoken, which stays the reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

SWITCH_VARIABLE = "COMPACTION_BENCH_FAST_COUNT"

Counter: TypeAlias = Callable[[str], int]

# Blocks that are full, or whose free places can only become symbols: scripts of Europe, Arabic,
# Thai, punctuation and symbols, Chinese, Japanese and Korean, emoji. No lone surrogates.
SETTLED = (
    "\x00-\u052f\u0590-\u06ff\u0e00-\u0e7f\u1e00-\u2bff\u2e80-\ua48f\uac00-\ud7a3"
    "\uf900-\ufaff\ufe00-\uffef\U0001f000-\U0001faff\U00020000-\U0002a6df"
)
_UNSETTLED = re.compile(f"[^{SETTLED}]")

# What every exact counter must say; one that doesn't isn't used at all.
_KNOWN_COUNTS = (("hello world", 2), ("<|endoftext|>", 7), ("请把超时改成四秒", 8))


def is_settled(text: str) -> bool:
    """Whether the category of every character is the same in all current versions of Unicode."""
    return text.isascii() or _UNSETTLED.search(text) is None


@cache
def counter(encoding_name: str) -> Counter | None:
    """The fast counter, for settled texts only; None without the package or when switched off."""
    if os.environ.get(SWITCH_VARIABLE, "").strip().lower() in ("off", "0", "no", "false"):
        return None
    try:
        import toktok

        # The tokenizer behind `toktok.batch_count`, whose batches of one take ten times as long.
        count: Counter = toktok._encoding(encoding_name).count
        is_exact = all(count(text) == tokens for text, tokens in _KNOWN_COUNTS)
    except (ImportError, AttributeError, KeyError, TypeError):
        return None
    return count if is_exact else None

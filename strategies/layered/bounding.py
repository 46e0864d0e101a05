"""Shortened tool results: beginning and end stay, a reference says where the whole is (F10).

A history is never touched; this makes what a model is shown of it. The same cut serves the ladder
before a request and the history that a summariser reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.joined_texts import joined
from bench.projection import Json
from strategies.layered.encoding import (
    UNITS_PER_ASCII_RUNE,
    UNITS_PER_OTHER_RUNE,
    UNITS_PER_TOKEN,
    is_blank,
    plain_json,
    text_tokens,
    trimmed,
    units,
    utf8,
)
from strategies.layered.source import SourceMessage

RESULT_TOKENS_MAX = 2_048
HEAD_SHARE, ALL_SHARES = 3, 5
READ_TOOL = "history_read_tool_result"
REFERENCE_KIND = "foya.tool_result_ref.v1"
OMISSION = "\n\n[... middle of tool output omitted ...]\n\n"
_REFERENCE = re.compile(r"<tool_result_ref>(\{.*?\})</tool_result_ref>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BoundedResult:
    """One shortened result. Rune counts are taken before and after the parts were trimmed."""

    seq: int
    text: str
    reference: Json
    notice: str
    original_tokens: int
    excerpt_tokens: int
    head: str
    tail: str

    @property
    def tokens_after(self) -> int:
        """The tokens of the shortened text."""
        return text_tokens(self.text)


def sha256_of(text: str) -> str:
    """The digest that a reference carries of the whole text."""
    return hashlib.sha256(utf8(text)).hexdigest()


def reference_to(source: SourceMessage) -> Json:
    """Where the whole result can be read again (F10.2), None without a seq or a call id."""
    call_id = source.message.call_id or ""
    if source.seq <= 0 or is_blank(call_id):
        return None
    return {
        "kind": REFERENCE_KIND,
        "event_seq": source.seq,
        "tool_call_id": call_id,
        "sha256": sha256_of(source.message.text),
        "estimated_tokens": text_tokens(source.message.text),
        "read_tool": READ_TOOL,
    }


def notice_of(reference: Json, original_tokens: int) -> str:
    """What ends a shortened result: the reference, or a plain sentence where there is none."""
    if reference is None:
        return (
            f"\n\n[Tool output reduced from approximately {original_tokens} tokens. The beginning "
            "and end are preserved. Re-run the tool with narrower parameters if exact details are "
            "needed.]"
        )
    return f"\n\n<tool_result_ref>{plain_json(reference)}</tool_result_ref>"


def head_of(text: str, units_max: int) -> str:
    """The longest beginning of at most this many units."""
    if units(text[:units_max]) <= units_max:
        return text[:units_max]
    end = spent = 0
    for rune in text[:units_max]:
        spent += UNITS_PER_ASCII_RUNE if rune <= "\x7f" else UNITS_PER_OTHER_RUNE
        if spent > units_max:
            break
        end += 1
    return text[:end]


def tail_of(text: str, units_max: int) -> str:
    """The longest end of at most this many units."""
    if units_max <= 0:
        return ""
    if text.isascii():
        return text[-units_max:]
    return head_of(text[: -units_max - 1 : -1], units_max)[::-1]


def shortened(source: SourceMessage, tokens_max: int) -> BoundedResult:
    """The beginning and the end of a result, 3 to 2, in what the notice leaves of `tokens_max`.

    At least one token of excerpt stays, so under about 74 tokens the result is over its limit.
    """
    text = source.message.text
    original_tokens = text_tokens(text)
    reference = reference_to(source)
    notice = notice_of(reference, original_tokens)
    excerpt_tokens = max(1, tokens_max - text_tokens(notice) - text_tokens(OMISSION))
    excerpt_units = excerpt_tokens * UNITS_PER_TOKEN
    head_units = excerpt_units * HEAD_SHARE // ALL_SHARES
    head = head_of(text, head_units)
    tail = tail_of(text, excerpt_units - head_units)
    shown = joined((trimmed(head), OMISSION, trimmed(tail), notice))
    return BoundedResult(
        source.seq, shown, reference, notice, original_tokens, excerpt_tokens, head, tail
    )


def bound(
    sources: Sequence[SourceMessage],
    tokens_max: int = RESULT_TOKENS_MAX,
    keep_newest: int = 0,
    *,
    original: bool = False,
) -> dict[int, BoundedResult]:
    """Every tool result over `tokens_max` shortened, by its index, but the newest `keep_newest`.

    `keep_newest` counts tool results of any size. The original shortens even where that makes a
    result larger; without `original` such a result stays whole (divergence `tiny_bound`).
    """
    results = [index for index, each in enumerate(sources) if each.message.role == "tool"]
    kept = max(0, keep_newest)
    units_max = tokens_max * UNITS_PER_TOKEN
    found: dict[int, BoundedResult] = {}
    for index in results[: max(0, len(results) - kept)]:
        text = sources[index].message.text
        # No rune is more than so many units.
        if len(text) * UNITS_PER_OTHER_RUNE <= units_max or units(text) <= units_max:
            continue
        result = shortened(sources[index], tokens_max)
        if original or result.tokens_after < result.original_tokens:
            found[index] = result
    return found


def references_in(texts: Iterable[str]) -> list[Json]:
    """All references that these texts show, in order; broken ones are left out."""
    found = []
    for text in texts:
        for match in _REFERENCE.finditer(text):
            try:
                reference = json.loads(match.group(1))
            except ValueError:
                continue
            if isinstance(reference, dict) and reference.get("kind") == REFERENCE_KIND:
                found.append(reference)
    return found

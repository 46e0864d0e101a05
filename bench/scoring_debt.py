"""Judgement: re-read debt, the source tokens of needed entities that weren't visible.

A lost file body isn't gone: the agent would have run the tool again and read it anew. The debt is
what those results hold; each is owed once, however much of it was needed (scoring.md, "Layers").
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.facts import Use
from bench.found_facts import is_headline
from bench.session_index import Needle, SessionIndex


def reread_debt_tokens(
    index: SessionIndex, uses: Sequence[Use], visible: Sequence[bool | None]
) -> int:
    """Tokens of the distinct tool results that held what wasn't visible when it was needed.

    Counted over uses older than 2,000 tokens; the newest result before the use is the one to read
    again. What no tool had shown is no debt: it is lost for good.
    """
    owed: set[int] = set()
    for use, was_there in zip(uses, visible, strict=True):
        if was_there is False and is_headline(use):
            seq = _newest_result(index, Needle(use.kind, use.key), use.at_seq)
            if seq is not None:
                owed.add(seq)
    return sum(index.tokens_until[seq] - index.tokens_until[seq - 1] for seq in owed)


def _newest_result(index: SessionIndex, needle: Needle, before_seq: int) -> int | None:
    events = index.session.events
    for seq in reversed(index.occurrences(needle)):
        if seq < before_seq and events[seq - 1].message.role == "tool":
            return seq
    return None

"""Judgement: what wasn't visible but one search away.

A shortened tool result may show where the whole of it can be read again (F10.2). A value that a
request didn't show is *recoverable* when one search of `history_read_tool_result` (F10.3), on such
a reference in that very request, returns a page that holds it. The search is for the value as it
is spelled, which is the best that an agent could ask: an upper bound, and apart from *visible*,
never blended with it. The call and its page have a price; neither enters the history, since the
recorded agent never made the call (scoring.md, "Recoverable").
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bench.events import Event
from bench.facts import Fact, Use
from bench.found_facts import is_headline
from bench.matching import contains, normalise
from bench.observations import Replay, RequestObservation
from bench.projection import Shortened
from bench.scoring_facts import FactOutcome, needle_of
from bench.scoring_visibility import Visibility
from bench.session_index import Needle
from bench.tokens import count

# The form of a reference and the limits of the tool that reads it (F10.2, F10.3).
REFERENCE_KIND = "foya.tool_result_ref.v1"
READ_TOOL = "history_read_tool_result"
MATCHES_MAX = 20
LINE_CHARACTERS_MAX = 500

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Recovery:
    """One search that would have returned what a request didn't show.

    `origin` is "planted" or "found", `id` the fact's or the entity's key. The request is the one
    before event `at_seq`; the whole text is that of event `source_seq`. Tokens are true ones, of
    the call (tool name and arguments) and of the page that it returns.
    """

    origin: str
    id: str
    at_seq: int
    source_seq: int
    call_tokens: int
    page_tokens: int

    @property
    def tokens(self) -> int:
        """What the search costs."""
        return self.call_tokens + self.page_tokens


@dataclass(frozen=True, slots=True)
class Search:
    """A search on a reference: the arguments of the call and the page it returns, as JSON text.

    `lines` are the lines of the page, each cut as the tool cuts it.
    """

    arguments: str
    page: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reachable:
    """What was visible or recoverable in one replay.

    `uses[i]` answers for `uses[i]` of the session when it was needed, `facts[i]` for the facts at
    their probes: shown, or one search away; None where opaque state hides what was shown. Only
    uses older than 2,000 tokens are searched for. `recoveries` are the searches, facts first.
    """

    uses: tuple[bool | None, ...]
    facts: tuple[bool | None, ...]
    recoveries: tuple[Recovery, ...]


def find_reachable(
    visibility: Visibility,
    facts: Sequence[Fact],
    outcomes: Sequence[FactOutcome],
    uses: Sequence[Use],
    visible: Sequence[bool | None],
) -> Reachable:
    """Looks for everything that was lost behind the references that its request showed."""
    reader = _Reader(visibility)
    recoveries: list[Recovery] = []

    def reached(was_there: bool | None, found: Recovery | None) -> bool | None:
        if found is not None:
            recoveries.append(found)
            return True
        return was_there

    of_facts = tuple(
        reached(
            outcome.is_retained,
            reader.fact(fact, outcome) if outcome.is_retained is False else None,
        )
        for fact, outcome in zip(facts, outcomes, strict=True)
    )
    of_uses = tuple(
        reached(
            was_there,
            reader.use(use) if was_there is False and is_headline(use) else None,
        )
        for use, was_there in zip(uses, visible, strict=True)
    )
    return Reachable(of_uses, of_facts, tuple(recoveries))


def has_references(replay: Replay) -> bool:
    """Whether any request of a replay showed a reference, so that something may be recoverable."""
    return any(
        isinstance(item, Shortened) and item.reference is not None
        for head in replay.heads
        for item in head
    )


def is_readable(item: Shortened, event: Event) -> bool:
    """Whether the reference of a shortened result is shown, and would be answered (F10.4).

    `event` is the one of that seq in the history as it is now: call id and SHA-256 are verified
    against it. The shown text must name the tool, the call and the digest, or nobody could ask.
    """
    reference, message = item.reference, event.message
    if not isinstance(reference, Mapping) or reference.get("kind") != REFERENCE_KIND:
        return False
    call_id, digest = message.call_id or "", sha256_of(message.text)
    is_same = bool(
        event.seq == item.event.seq == reference.get("event_seq")
        and message.role == "tool"
        and call_id.strip() != ""
        and call_id == reference.get("tool_call_id")
        and digest == reference.get("sha256")
        and reference.get("read_tool") == READ_TOOL
    )
    shown = item.message.text
    return is_same and READ_TOOL in shown and digest in shown


def search(event: Event, query: str) -> Search:
    """What the tool answers to a search in the tool result `event`: the defaults of F10.3.

    Lines that hold the query in any case, at most 20 of them, each cut at 500 characters.
    """
    message = event.message
    matches = tuple(_matches(message.text.split("\n"), query))
    place = {"event_seq": event.seq, "tool_call_id": message.call_id or ""}
    digest = sha256_of(message.text)
    arguments = {**place, "expected_sha256": digest, "operation": "search", "query": query}
    page: dict[str, Any] = {
        "operation": "search",
        **place,
        "sha256": digest,
        "total_runes": len(message.text),
    }
    if matches:
        page["matches"] = [{"line": number, "text": line} for number, line in matches]
    return Search(_json(arguments), _json(page), tuple(line for _, line in matches))


@lru_cache(maxsize=1_024)
def sha256_of(text: str) -> str:
    """The digest by which a reference names a text; lone surrogates count as U+FFFD."""
    return hashlib.sha256(_LONE_SURROGATE.sub("\ufffd", text).encode()).hexdigest()


def _matches(lines: Sequence[str], query: str) -> Iterator[tuple[int, str]]:
    wanted = query.strip().lower()
    found = 0
    for number, line in enumerate(lines, start=1):
        if found == MATCHES_MAX or not wanted:
            return
        if wanted in line.lower():
            found += 1
            is_long = len(line) > LINE_CHARACTERS_MAX
            yield number, line[:LINE_CHARACTERS_MAX] + "..." if is_long else line


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Reader:
    """Searches behind the references of one replay, each question once."""

    def __init__(self, visibility: Visibility) -> None:
        self._visibility = visibility
        self._events = visibility.index.session.events
        self._readable: dict[int, frozenset[int]] = {}
        self._searched: dict[tuple[int, Needle, str], tuple[int, int] | None] = {}

    def use(self, use: Use) -> Recovery | None:
        needle = Needle(use.kind, use.key)
        return self._recovery("found", use.key, use.at_seq, ((needle, use.text),))

    def fact(self, fact: Fact, outcome: FactOutcome) -> Recovery | None:
        if outcome.at_seq is None:
            return None
        values = [value for value in (fact.value, *fact.aliases) if value.strip()]
        questions = [(needle_of(value), value) for value in values]
        return self._recovery("planted", fact.id, outcome.at_seq, questions)

    def _recovery(
        self, origin: str, name: str, at_seq: int, questions: Sequence[tuple[Needle, str]]
    ) -> Recovery | None:
        """The first search that returns the value, the newest reference first."""
        seen = self._visibility.request_at(at_seq)
        readable = frozenset() if seen is None else self._readable_seqs(seen)
        if not readable:
            return None
        for needle, spelled in questions:
            for seq in reversed(self._visibility.index.occurrences(needle)):
                price = self._price(seq, needle, spelled) if seq in readable else None
                if price is not None:
                    return Recovery(origin, name, at_seq, seq, *price)
        return None

    def _readable_seqs(self, seen: RequestObservation) -> frozenset[int]:
        if seen.head not in self._readable:
            items = self._visibility.replay.heads[seen.head]
            self._readable[seen.head] = frozenset(
                item.event.seq
                for item in items
                if isinstance(item, Shortened)
                and is_readable(item, self._events[item.event.seq - 1])
            )
        return self._readable[seen.head]

    def _price(self, seq: int, needle: Needle, spelled: str) -> tuple[int, int] | None:
        """Tokens of the call and of the page, None when the page doesn't hold the value."""
        key = (seq, needle, spelled)
        if key not in self._searched:
            made = search(self._events[seq - 1], spelled)
            holds = any(contains(normalise(line), needle.key, needle.kind) for line in made.lines)
            call_tokens = count(READ_TOOL) + count(made.arguments)
            self._searched[key] = (call_tokens, count(made.page)) if holds else None
        return self._searched[key]

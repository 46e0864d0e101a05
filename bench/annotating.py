"""Edge: a draft of `facts.jsonl` for a recorded session, for people to edit.

What the recorded agent used long after it had been said is the raw material: each such value
becomes one fact, asked for where it had not been mentioned for longest. A fact that the whole
history doesn't show at its probe, or that a bare request shows anyway, is left out, so that the
controls stay at 1 and 0. People then delete what doesn't matter, name subjects, write questions and
set `must_keep`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.events import Session
from bench.facts import Fact, Probe, Use
from bench.found_facts import find_uses, is_headline
from bench.scoring_facts import needle_of
from bench.scoring_losses import source_line_of
from bench.session_index import Needle, SessionIndex

FACTS_MAX = 40
_SUBJECT_WORDS_MAX = 8

FACT_KIND_OF: dict[str, str] = {
    "command": "command",
    "datetime": "number",
    "email": "identifier",
    "error": "error",
    "hash": "identifier",
    "identifier": "identifier",
    "literal": "identifier",
    "number": "number",
    "path": "path",
    "url": "path",
    "version": "number",
}


def draft_facts(session: Session, *, facts_max: int = FACTS_MAX) -> tuple[Fact, ...]:
    """At most `facts_max` facts, in the order of their probes.

    Those that were said once go before those that a tool could show again, then the older ones.
    """
    index = SessionIndex(session)
    oldest: dict[tuple[str, str], Use] = {}
    for use in filter(is_headline, find_uses(index)):
        known = oldest.get((use.kind, use.key))
        if known is None or use.age_tokens > known.age_tokens:
            oldest[use.kind, use.key] = use
    uses = [use for use in oldest.values() if _tells_controls_apart(index, use)]
    uses.sort(key=lambda use: (use.severity != "said_once", -use.age_tokens, use.at_seq, use.key))
    chosen = sorted(uses[:facts_max], key=lambda use: (use.at_seq, use.kind, use.key))
    width = len(str(len(chosen)))
    return tuple(
        _fact(index, use, f"found-{number:0{width}}") for number, use in enumerate(chosen, 1)
    )


def _tells_controls_apart(index: SessionIndex, use: Use) -> bool:
    """Whether the value, looked up as the value of a fact is, counts for both controls rightly."""
    needle = needle_of(use.text)
    if index.last_before(needle, use.at_seq) is None or index.tool_definitions.holds(needle):
        return False
    always = index.always_shown(use.at_seq)
    spans = [(1, index.leading_system), *([always] if always is not None else [])]
    return not any(index.is_within(needle, first, last) for first, last in spans)


def _fact(index: SessionIndex, use: Use, fact_id: str) -> Fact:
    needle = Needle(use.kind, use.key)
    said_seq = index.first_said(needle)
    sources = {use.first_seq} | ({said_seq} if said_seq is not None else set())
    sources = {seq for seq in sources if seq < use.at_seq}
    # What a user or the agent said is where people look first.
    line = source_line_of(index, needle, max(sources))
    kind = FACT_KIND_OF.get(use.kind, "identifier")
    subject = _subject(line, use.text)
    return Fact(
        id=fact_id,
        session=index.session.id,
        kind=kind,
        subject=subject,
        value=use.text,
        source_seqs=tuple(sorted(sources)),
        born_seq=use.first_seq,
        probe=Probe(use.at_seq, _question(kind, subject)),
    )


def _subject(line: str, value: str) -> str:
    """The words before the value in the line that says it, else those behind it."""
    before, _, behind = line.partition(value)
    words = _words(before)[-_SUBJECT_WORDS_MAX:] or _words(behind)[:_SUBJECT_WORDS_MAX]
    return " ".join(words)


def _words(text: str) -> Sequence[str]:
    """The words of a text, without the marks and numbers of a list before them."""
    words = [word for word in text.split() if any(character.isalnum() for character in word)]
    first = next((i for i, word in enumerate(words) if any(map(str.isalpha, word))), len(words))
    return words[first:]


def _question(kind: str, subject: str) -> str:
    named = f"which {kind}"
    if not subject:
        return f"{named.capitalize()} did the work come back to?"
    return f"{named.capitalize()} belongs to: {subject}?"


def all_drafts(sessions: Iterable[Session], *, facts_max: int = FACTS_MAX) -> tuple[Fact, ...]:
    """The drafts of several sessions, one after another."""
    return tuple(fact for one in sessions for fact in draft_facts(one, facts_max=facts_max))

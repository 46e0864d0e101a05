"""Judgement: closed questions about what a session said, for readers of what was left of it.

Each planted, authored or found fact becomes one forced choice: the value that holds, values that
held before, and lures, values of the same kind that the session itself holds, in an order that the
seed decides; the last option is always that the conversation doesn't say. Questions whose answer
stands nowhere price guessing. Grades need no model (scoring.md, "Layers", 5).

Questions depend on the session, its facts and the seed alone, never on a strategy, so that every
cell of a session answers the same ones.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.facts import Fact, Use
from bench.found_facts import is_headline
from bench.matching import contains, normalise
from bench.probing_form import ABSTENTION, one_line, written
from bench.probing_lures import Lures
from bench.probing_unanswerable import unanswerable_questions
from bench.scoring_facts import needle_of, positive_form, probed_seq
from bench.scoring_losses import source_line_of
from bench.session_index import Needle, SessionIndex
from bench.visible_text import visible_text

RECOVERED = "recovered"
FOUND = "found"
UNANSWERABLE = "unanswerable"
LURES_WANTED = 3
FOUND_QUESTIONS_MAX = 8
UNANSWERABLE_QUESTIONS_MAX = 4
GAP = "____"

_GAP_WORDS_MIN = 4
_MENTIONS_TRIED = 6


@dataclass(frozen=True, slots=True)
class ClosedQuestion:
    """One question, asked behind the request for event `at_seq`.

    `probe` is "recovered" (a fact of `facts.jsonl`), "found" (an entity that the agent used) or
    "unanswerable"; `subject` is the fact's id, the entity's key, or a name for the question.
    `options` are in the order shown, the abstention last. `source_seqs` are the events that say it.
    """

    probe: str
    subject: str
    at_seq: int
    text: str
    options: tuple[str, ...]
    source_seqs: tuple[int, ...] = ()

    @property
    def prompt(self) -> str:
        """The message that asks it."""
        return written(self.text, self.options)


def closed_questions(
    index: SessionIndex, facts: Sequence[Fact], uses: Sequence[Use], seed: int
) -> tuple[ClosedQuestion, ...]:
    """All questions about one session: its facts, a sample of found uses, unanswerable ones.

    At most `FOUND_QUESTIONS_MAX` uses older than 2,000 tokens are asked for, drawn by a hash that
    the seed doesn't change, and only where the line that says them has words enough around them.
    """
    if not index.request_seqs:
        return ()
    lures = Lures(index, facts)
    asked = [_about_fact(index, fact, lures, seed) for fact in facts]
    asked += _about_uses(index, uses, lures, seed)
    last_seq = index.request_seqs[-1]
    unanswerable = [
        ClosedQuestion(
            UNANSWERABLE,
            text,
            last_seq,
            text,
            _shuffled(lures.of_kind(kind, last_seq, LURES_WANTED + 1), text, seed),
        )
        for text, kind in unanswerable_questions(index, UNANSWERABLE_QUESTIONS_MAX)
    ]
    questions = [one for one in (*asked, *unanswerable) if one is not None]
    return tuple(one for one in questions if len(one.options) > 2)


def _about_fact(index: SessionIndex, fact: Fact, lures: Lures, seed: int) -> ClosedQuestion | None:
    at_seq = probed_seq(index, fact)
    if at_seq is None:
        return None
    wrong = wrong_forms(fact)
    others = lures.for_fact(fact, at_seq, max(1, LURES_WANTED - len(wrong)))
    text = fact.probe.question or f"What was said about this: {fact.subject or fact.kind}?"
    options = _shuffled((fact.value, *wrong, *others), fact.id, seed)
    return ClosedQuestion(RECOVERED, fact.id, at_seq, text, options, fact.source_seqs)


def wrong_forms(fact: Fact) -> tuple[str, ...]:
    """What a reader would say that knows an earlier state only, or a rule without its *not*."""
    if fact.stale or fact.kind != "negation":
        return fact.stale
    positive = positive_form(one_line(fact.value).lower())
    if positive is None:
        return ()
    # Case is that of the rule: what it forbids stands at its end.
    spelled = one_line(fact.value)[-len(positive) :]
    return (spelled if spelled.lower() == positive else positive,)


def _about_uses(
    index: SessionIndex, uses: Sequence[Use], lures: Lures, seed: int
) -> Iterator[ClosedQuestion]:
    first: dict[Needle, Use] = {}
    for use in uses:
        if is_headline(use):
            first.setdefault(Needle(use.kind, use.key), use)
    drawn = sorted(first, key=lambda needle: _digest(f"{index.session.id}\0{needle}"))
    asked = 0
    for needle in drawn:
        if asked == FOUND_QUESTIONS_MAX:
            return
        use = first[needle]
        cloze = _cloze(index, needle, use)
        if cloze is None:
            continue
        seq, text = cloze
        options = (use.text, *lures.for_entity(needle, use.at_seq, LURES_WANTED, near_seq=seq))
        if len(options) > 1:
            asked += 1
            yield ClosedQuestion(
                FOUND,
                use.key,
                use.at_seq,
                f'Which {use.kind} stands in the gap of this line: "{text}"?',
                _shuffled(options, use.key, seed),
                (seq,),
            )


def _cloze(index: SessionIndex, needle: Needle, use: Use) -> tuple[int, str] | None:
    """A line that says the entity, with a gap in its place, and the event that holds it.

    What people and the agent said goes before what tools printed, later before earlier.
    """
    events = index.session.events
    mentions = [seq for seq in index.occurrences(needle) if seq < use.at_seq]
    mentions.sort(key=lambda seq: (events[seq - 1].message.role == "tool", -seq))
    for seq in mentions[:_MENTIONS_TRIED]:
        line = source_line_of(index, needle, seq)
        gapped = line.replace(use.text, GAP)
        is_alone = gapped.count(GAP) == 1 and not contains(
            normalise(gapped), needle.key, needle.kind
        )
        if (
            is_alone
            and _words_in(gapped) >= _GAP_WORDS_MIN
            and _is_unique(index, seq, line, gapped)
        ):
            return seq, gapped
    return None


def _is_unique(index: SessionIndex, seq: int, line: str, gapped: str) -> bool:
    """Whether no other line of the event fits around the gap, as it would in a log."""
    before, _, after = (one_line(part) for part in gapped.partition(GAP))
    others = visible_text(index.session.events[seq - 1].message).splitlines()
    return not any(
        other.strip() != line and before in other and after in other
        for other in map(one_line, others)
    )


def _words_in(gapped: str) -> int:
    # Chinese has no spaces: two characters make about one word.
    chinese = sum("\u3400" <= character <= "\u9fff" for character in gapped)
    return len(gapped.replace(GAP, " ").split()) + chinese // 2


def _shuffled(options: Iterable[str], subject: str, seed: int) -> tuple[str, ...]:
    distinct = {needle_of(option): one_line(option) for option in options if option.strip()}
    ordered = list(distinct.values())
    random.Random(_digest(f"{seed}\0{subject}")).shuffle(ordered)
    return (*ordered, ABSTENTION)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

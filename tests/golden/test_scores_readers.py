"""Golden values of the layers bound, invented and recovered, on the same hand-made cases."""

from __future__ import annotations

import pytest

from bench.events import Session
from bench.facts import Fact
from bench.history import History
from bench.models import OfflineModel
from bench.observations import AnswerObservation, Replay
from bench.probing import ClosedQuestion, closed_questions
from bench.probing_form import ABSTENTION, letter_of
from bench.providers.simulated import SimulatedProvider
from bench.readers.asking import ask_questions
from bench.scoring_recovered import Reading, read
from bench.session_index import SessionIndex
from tests.hand_replays import (
    Show,
    everything,
    pinned_only,
    replay_by_hand,
    scores_of,
    session_of,
    summary_of,
)

BOUND = [
    ("poll interval", "30 s", "the poll interval is 30 s", True),
    ("poll interval", "30 s", "the interval of polls: 30 seconds", True),
    ("poll interval", "30 s", "it became 30 s" + ", and so on" * 20 + "; poll interval", False),
    ("poll interval", "30 s", "the cache keeps it for 30 s", False),
    ("port", "80", "port 8080 is open", False),
    ("port", "80", "port 80 is open", True),
    ("limit of rows", "1,000", "limit: 1000 rows", True),
    ("发布日", "周五", "发布日定在周五", True),
    ("发布日", "周五", "周五去吃饭", False),
    ("", "30 s", "the poll interval is 30 s", None),
]


@pytest.mark.parametrize(("subject", "value", "summary", "expected"), BOUND)
def test_bound(subject: str, value: str, summary: str, expected: bool | None) -> None:
    session = session_of(f"The {subject} is {value}.", "ok", "Go on with it.", "Here you are.")
    fact = Fact("f", session.id, "number", subject, value)
    scores = scores_of(session, replay_by_hand(session, summary_of(summary, 2)), [fact])
    assert scores.facts[0].is_bound is expected
    assert scores.bound.total == (expected is not None)
    assert scores.bound.hits == (expected is True)


INVENTED = [
    ("listens on 8080", "listens on 808", ["808"]),
    ("at most 1,000 rows", "at most 1000 rows", []),
    ("see ./src/a.py", "see src/a.py", []),
    ("see src/a.py", "see ./src/b.py", ["./src/b.py"]),
    ("set retryLimit first", "set retryLimit, then retrylimitMax", ["retrylimitMax"]),
    ("set retryLimit first", "set RetryLimit", ["RetryLimit"]),
    ("每页４0行，见 src/a.py", "每页 40 行，见 src/a.py", []),
    ("waits 30 seconds", "waits 30s", []),
    ("waits 30 seconds", "<run_summary> waits for run_limit </run_summary>", ["run_limit"]),
    (
        "waits",
        '<segment from_seq="2">waits for a_limit < b_limit</segment>',
        ["a_limit", "b_limit"],
    ),
    ("waits 30 seconds", "waits 30 minutes", ["30 minutes"]),
]


@pytest.mark.parametrize(("said", "summary", "expected"), INVENTED)
def test_invented(said: str, summary: str, expected: list[str]) -> None:
    session = session_of(said, "ok", "Go on with it.", "Here you are.")
    written = f"# Summary\n{summary}"
    found = scores_of(session, replay_by_hand(session, summary_of(written, 2))).inventions
    assert [one.text for one in found] == expected
    for one in found:
        assert written[one.start :].startswith(one.text)
        assert one.line == summary
        assert (one.first_seq, one.last_seq, one.at_seq) == (1, 2, 4)


def asked(session: Session, facts: list[Fact], show: Show) -> Reading:
    """What the offline reader makes of a replay, graded."""
    index = SessionIndex(session)
    history = History(session.events)
    seen = replay_by_hand(session, show)
    questions = closed_questions(index, facts, (), 0)
    return graded(session, facts, seen, ask_questions(reader(), seen, history, questions))


def reader() -> SimulatedProvider:
    return SimulatedProvider(OfflineModel(), 1, ignore_window=True)


def graded(
    session: Session, facts: list[Fact], seen: Replay, answers: tuple[AnswerObservation, ...]
) -> Reading:
    scores = scores_of(session, seen, facts, ())
    return read(answers, (), facts, scores.facts, (), ())


RECOVERED = [
    # kind, question, value, stale, what is left, grade, quadrant
    ("number", "On which port does it listen?", "80", "", "it does listen on port 80", "right"),
    (
        "number",
        "On which port does it listen?",
        "80",
        "",
        "it does listen on port 8080",
        "abstained",
    ),
    ("path", "Which file is the loader?", "./src/a.py", "", "the loader file is src/a.py", "right"),
    ("number", "How many rows fit?", "1,000", "", "so many rows fit: 1000", "right"),
    (
        "identifier",
        "Which switch limits retries?",
        "retryLimit",
        "",
        "the switch that limits retries is retrylimit",
        "abstained",
    ),
    (
        "negation",
        "What about a restart of pier-api?",
        "do not restart pier-api",
        "",
        "Restart pier-api",
        "contradicted",
    ),
    (
        "negation",
        "What about a restart of pier-api?",
        "do not restart pier-api",
        "",
        "Please do not restart pier-api",
        "right",
    ),
    (
        "update",
        "What is the timeout of pier-api now?",
        "4500 ms",
        "3000 ms",
        "the timeout of pier-api is 3000 ms",
        "stale",
    ),
    (
        "update",
        "What is the timeout of pier-api now?",
        "4500 ms",
        "3000 ms",
        "the timeout of pier-api is 4,500 ms",
        "right",
    ),
    ("decision", "哪天发布新版？", "周五", "", "发布新版定在周五", "right"),
    ("decision", "哪天发布新版？", "周五", "", "发布新版定在周六", "abstained"),
]


@pytest.mark.parametrize(("kind", "question", "value", "stale", "summary", "expected"), RECOVERED)
def test_recovered(
    kind: str, question: str, value: str, stale: str, summary: str, expected: str
) -> None:
    said = f"{question} {'Once ' + stale + '. ' if stale else ''}It is {value}. Lures: {LURES}"
    session = session_of(said, "ok", "Go on with it.", "Here you are.")
    fact = Fact(
        "f", session.id, kind, "it", value, stale=(stale,) if stale else (), source_seqs=(1,)
    )
    fact = with_question(fact, question)
    others = [
        Fact("g", session.id, "decision", "x", "周日"),
        Fact("h", session.id, "decision", "x", "周一"),
    ]
    (answer, *_) = asked(session, [fact, *others], summary_of(summary, 2)).answers
    assert answer.subject == "f"
    assert answer.grade == expected
    is_present = scores_of(session, replay_by_hand(session, summary_of(summary, 2)), [fact])
    there = is_present.facts[0].is_present
    assert (
        answer.quadrant
        == {
            (True, True): "recovered",
            (True, False): "attention_loss",
            (False, True): "inferred",
            (False, False): "destroyed",
        }[bool(there), expected == "right"]
    )


LURES = "8080, 443, 2000, 7000, src/b.py, lib/c.py, maxRetries, retry_count, 700 ms, 周日, 周一"


def with_question(fact: Fact, question: str) -> Fact:
    from dataclasses import replace

    from bench.facts import Probe

    return replace(fact, probe=Probe(None, question))


def hand_case() -> tuple[Session, list[Fact]]:
    session = session_of(
        "The retention of the seat table is 75 days; the retention of orders is 31 days.",
        "Noted.",
        "The owner of the migration is Ines Okoye with Farah as backup.",
        "Noted.",
        "Write the report.",
        "Here you are.",
    )
    facts = [
        with_question(
            Fact("days", session.id, "number", "seat", "75 days", source_seqs=(1,)),
            "How long is the retention of the seat table?",
        ),
        with_question(
            Fact(
                "owner",
                session.id,
                "decision",
                "owner",
                "Ines Okoye with Farah as backup",
                source_seqs=(3,),
            ),
            "Who is the owner of the migration?",
        ),
    ]
    return session, facts


def test_everything_is_recovered_from_everything_and_nothing_from_a_bare_request() -> None:
    session, facts = hand_case()
    assert [one.grade for one in asked(session, facts, everything).of("recovered")] == [
        "right",
        "right",
    ]
    bare = asked(session, facts, pinned_only)
    assert [one.grade for one in bare.of("recovered")] == ["abstained", "abstained"]
    assert bare.quadrants == {"recovered": 0, "attention_loss": 0, "inferred": 0, "destroyed": 2}


def test_what_stands_there_in_other_words_is_an_attention_loss() -> None:
    session, facts = hand_case()
    read_back = asked(session, facts, summary_of("75 days it was, they said", 4))
    assert read_back.answers[0].quadrant == "attention_loss"
    assert read_back.quadrants["destroyed"] == 1


def replies(session: Session, facts: list[Fact], reply: str) -> tuple[AnswerObservation, ...]:
    """The same raw reply to every question; {right} is the letter of the right option."""
    questions = closed_questions(SessionIndex(session), facts, (), 0)
    values = {fact.id: fact.value for fact in facts}

    def of(question: ClosedQuestion) -> str:
        right = values.get(question.subject, ABSTENTION)
        return reply.format(right=letter_of(question.options.index(right)))

    return tuple(
        AnswerObservation(
            q.probe, q.subject, "projection", 2, q.at_seq, q.text, q.options, reply=of(q)
        )
        for q in questions
    )


def test_an_answer_to_what_was_not_there_is_inferred() -> None:
    session, facts = hand_case()
    seen = replay_by_hand(session, pinned_only)
    answers = replies(session, facts, "Answer: {right}")
    reading = graded(session, facts, seen, answers)
    assert reading.quadrants["inferred"] == 2
    assert reading.counts("recovered") == (2, 2, 0)


def test_a_reply_that_chooses_nothing_is_unclear_and_counts_as_missed() -> None:
    session, facts = hand_case()
    reading = graded(
        session, facts, replay_by_hand(session), replies(session, facts, "I'd rather not.")
    )
    assert {one.grade for one in reading.of("recovered")} == {"unclear"}
    assert reading.counts("recovered") == (0, 2, 0)
    assert reading.quadrants["attention_loss"] == 2


def test_where_nobody_could_be_asked_there_is_no_share() -> None:
    from dataclasses import replace

    session, facts = hand_case()
    missing = tuple(
        replace(one, reply=None, reason="the request is too large for the reader")
        for one in replies(session, facts, "{right}")
    )
    reading = graded(session, facts, replay_by_hand(session), missing)
    assert reading.counts("recovered") == (0, 2, 2)
    assert reading.reason == "the request is too large for the reader"


def test_requests_that_were_not_served_count_as_missed() -> None:
    session, facts = hand_case()
    index, history = SessionIndex(session), History(session.events)
    questions = closed_questions(index, facts, (), 0)
    full = replay_by_hand(session)
    ceiling = ask_questions(reader(), full, history, questions)
    stopped = replay_by_hand(session, stopped_at=2)
    answers = ask_questions(reader(), stopped, history, questions)
    assert answers == ()
    scores = scores_of(session, stopped, facts, ())
    reading = read(answers, ceiling, facts, scores.facts, (), ())
    assert {one.grade for one in reading.answers} == {"unserved"}
    assert reading.counts("recovered") == (0, 2, 0)

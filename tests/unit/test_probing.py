"""Closed questions: from the session alone, with one right option, the same for every strategy."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.corpus import corpus_folder
from bench.events import Message, Session
from bench.facts import Fact, Probe
from bench.facts_file import read_facts
from bench.found_facts import find_uses
from bench.loading import load_sessions
from bench.matching import contains, normalise
from bench.probing import (
    FOUND,
    GAP,
    RECOVERED,
    UNANSWERABLE,
    ClosedQuestion,
    closed_questions,
    wrong_forms,
)
from bench.probing_form import ABSTENTION
from bench.scoring_facts import needle_of
from bench.session_index import SessionIndex
from tests.generators import sessions
from tests.hand_replays import session_of


@pytest.fixture(scope="module")
def bundled() -> tuple[SessionIndex, tuple[Fact, ...]]:
    folder = corpus_folder("bundled")
    (session,) = load_sessions([folder / "coding-en-0011.jsonl"]).sessions
    facts = tuple(f for f in read_facts(folder / "facts.jsonl") if f.session == session.id)
    return SessionIndex(session), facts


def asked(
    bundled: tuple[SessionIndex, tuple[Fact, ...]], seed: int = 0
) -> tuple[ClosedQuestion, ...]:
    index, facts = bundled
    return closed_questions(index, facts, find_uses(index), seed)


def test_every_fact_is_asked_once_with_its_value_and_its_wrong_forms(
    bundled: tuple[SessionIndex, tuple[Fact, ...]],
) -> None:
    _, facts = bundled
    questions = {one.subject: one for one in asked(bundled) if one.probe == RECOVERED}
    assert set(questions) == {fact.id for fact in facts}
    for fact in facts:
        options = questions[fact.id].options
        right = {needle_of(value) for value in (fact.value, *fact.aliases)}
        assert sum(needle_of(option) in right for option in options) == 1
        assert set(wrong_forms(fact)) <= set(options)
        assert options[-1] == ABSTENTION
        assert len(set(options)) == len(options) >= 3


def test_lures_are_said_in_the_session_before_the_question(
    bundled: tuple[SessionIndex, tuple[Fact, ...]],
) -> None:
    index, facts = bundled
    known = {value for fact in facts for value in (fact.value, *wrong_forms(fact))}
    for question in asked(bundled):
        for option in question.options[:-1]:
            if option not in known:
                seqs = index.occurrences(needle_of(option))
                assert seqs and seqs[0] < question.at_seq, option


def test_the_seed_swaps_the_order_and_nothing_else(
    bundled: tuple[SessionIndex, tuple[Fact, ...]],
) -> None:
    first, second = asked(bundled, 0), asked(bundled, 1)
    assert first == asked(bundled, 0)
    assert [(o.probe, o.subject, o.text, set(o.options)) for o in first] == [
        (o.probe, o.subject, o.text, set(o.options)) for o in second
    ]
    assert any(one.options != other.options for one, other in zip(first, second, strict=True))


def test_a_gap_hides_what_is_asked_for(bundled: tuple[SessionIndex, tuple[Fact, ...]]) -> None:
    found = [one for one in asked(bundled) if one.probe == FOUND]
    assert found
    for question in found:
        assert question.text.count(GAP) == 1
        needles = [needle_of(option) for option in question.options]
        (right,) = [needle for needle in needles if needle.key == question.subject]
        assert not contains(normalise(question.text), right.key, right.kind)


def test_unanswerable_questions_name_what_the_session_never_names(
    bundled: tuple[SessionIndex, tuple[Fact, ...]],
) -> None:
    index, _ = bundled
    said = " ".join(index.texts).lower()
    unanswerable = [one for one in asked(bundled) if one.probe == UNANSWERABLE]
    assert len(unanswerable) == 4
    for question in unanswerable:
        unknown = [word for word in question.text.lower().strip("?").split() if word not in said]
        assert unknown, question.text


def test_a_rule_is_offered_without_its_not() -> None:
    rule = Fact("f", "s", "negation", "pier-api", "Do not restart Pier-API")
    assert wrong_forms(rule) == ("restart Pier-API",)
    assert wrong_forms(replace(rule, value="不要取消订单")) == ("取消订单",)
    assert wrong_forms(replace(rule, kind="decision")) == ()
    assert wrong_forms(replace(rule, stale=("restart it at noon",))) == ("restart it at noon",)


def test_a_fact_without_a_question_is_asked_for_by_its_subject() -> None:
    session = session_of(
        "The limit is 4500 ms and the other limit is 3000 ms.", "ok", "Go on with 120 ms", "ok"
    )
    fact = Fact("f", session.id, "number", "limit", "4500 ms", probe=Probe())
    questions = closed_questions(SessionIndex(session), [fact], (), 0)
    (question,) = [one for one in questions if one.probe == RECOVERED]
    assert "limit" in question.text


@given(session=sessions(), seed=st.integers(0, 3))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_any_session_can_be_asked_about(session: Session, seed: int) -> None:
    index = SessionIndex(session)
    for question in closed_questions(index, (), find_uses(index), seed):
        assert question.at_seq in index.request_seqs
        assert question.prompt.count("\n") == 2 + len(question.options)


def test_a_session_without_requests_has_no_questions() -> None:
    session = Session("s", session_of("only a request").events)
    assert closed_questions(SessionIndex(session), (), (), 0) == ()
    assert session.events[0].message == Message("user", "only a request")

"""Drafts of facts: what people get to edit, and that both controls come out right with them."""

from collections import Counter
from pathlib import Path

import pytest

from bench.annotating import draft_facts
from bench.events import Event, Message, Session, ToolCall
from bench.facts import FACT_KINDS, Fact, Probe
from bench.facts_file import read_facts, write_facts
from bench.generator import write_corpus
from bench.judging import Judge, replay_control
from bench.loading import load_sessions
from tests.builders import session

_FILLER = "nothing of note here, only words about the weather " * 300


def _worked() -> Session:
    told = session(
        "user: 1. Keep retry_limit at 4500 in src/harbour/tide.py please",
        "call a",
        "result a: the log says queue_depth twice",
        "call b",
        f"result b: {_FILLER}",
        "assistant: Looked.",
        "user: And now?",
    )
    call = ToolCall("c", "edit", '{"path": "src/harbour/tide.py", "set": "retry_limit"}')
    last = Event(8, Message("assistant", "I look at queue_depth too.", (call,)))
    return Session("worked", (*told.events, last))


def test_a_draft_says_what_where_and_when() -> None:
    facts = {fact.value: fact for fact in draft_facts(_worked())}
    assert set(facts) == {"src/harbour/tide.py", "retry_limit", "queue_depth"}
    assert facts["src/harbour/tide.py"] == Fact(
        id=facts["src/harbour/tide.py"].id,
        session="worked",
        kind="path",
        subject="Keep retry_limit at 4500 in",
        value="src/harbour/tide.py",
        source_seqs=(1,),
        born_seq=1,
        probe=Probe(8, "Which path belongs to: Keep retry_limit at 4500 in?"),
    )
    assert facts["retry_limit"].subject == "Keep"
    assert facts["queue_depth"].source_seqs == (3,)


def test_what_was_said_goes_before_what_a_tool_showed() -> None:
    values = {fact.value for fact in draft_facts(_worked(), facts_max=2)}
    assert values == {"src/harbour/tide.py", "retry_limit"}


def test_nothing_is_drafted_where_nothing_reaches_back() -> None:
    assert draft_facts(session("user: go to src/a.py", "assistant: src/a.py it is")) == ()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, ...]:
    folder = tmp_path_factory.mktemp("made") / "corpus"
    kinds = ("coding", "incident")
    write_corpus(folder, sessions=2, events=220, seed=3, kinds=kinds, languages=("en", "zh"))
    return load_sessions(folder).sessions


def test_drafts_read_back_and_keep_the_controls_apart(
    made: tuple[Session, ...], tmp_path: Path
) -> None:
    for told in made:
        facts = draft_facts(told)
        assert 5 <= len(facts) <= 40
        _check_form(told, facts)
        write_facts(tmp_path / "facts.jsonl", facts)
        assert read_facts(tmp_path / "facts.jsonl") == facts
        judge = Judge.of(told, facts)
        for control, share in (("keep_all", 1.0), ("empty", 0.0)):
            seen = replay_control(told, control)
            row = judge.scores_of(seen, is_exercised=True)["row"]
            assert (row["retention"], row["retention_basis"]) == (share, "facts")


def _check_form(told: Session, facts: tuple[Fact, ...]) -> None:
    assert max(Counter(fact.id for fact in facts).values()) == 1
    probes = [fact.probe.at_seq for fact in facts]
    assert probes == sorted(probes, key=lambda seq: seq or 0)
    for fact in facts:
        assert fact.kind in FACT_KINDS
        assert fact.session == told.id
        assert fact.probe.question.endswith("?")
        assert fact.probe.at_seq is not None
        assert told.events[fact.probe.at_seq - 1].message.role == "assistant"
        assert all(1 <= seq < fact.probe.at_seq for seq in (*fact.source_seqs, fact.born_seq))

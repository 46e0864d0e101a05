"""Synthetic sessions: deterministic, valid, and every fact answerable by the history alone."""

import json
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.entities import extract
from bench.events import Event, Message
from bench.facts import FACT_KINDS, Fact
from bench.generator import (
    EVENTS_MIN,
    KINDS,
    LANGUAGES,
    Generated,
    generate,
    generate_session,
    iter_events,
)
from bench.generator.draws import Draw
from bench.generator.remarks import with_remark
from bench.history import History
from bench.matching import contains, key_of, normalise
from bench.visible_text import visible_text

PAIRS = [(kind, language) for language in LANGUAGES for kind in KINDS]


def _holds(text: str, value: str, kind: str) -> bool:
    return contains(normalise(text), key_of(value, kind), kind)


def _newest_request(events: tuple[Event, ...], before_seq: int) -> str:
    return next(
        event.message.text for event in reversed(events[: before_seq - 1]) if event.starts_turn
    )


def _assert_sound(made: Generated) -> None:
    """The full history answers every probe; system prompt and newest request answer none."""
    events = made.session.events
    for fact in made.facts:
        _assert_fact(events, fact)


def _assert_fact(events: tuple[Event, ...], fact: Fact) -> None:
    at = fact.probe.at_seq
    assert at is not None
    assert events[at - 1].message.role == "assistant"
    assert fact.kind in FACT_KINDS
    holders = [
        event.seq
        for event in events[: at - 1]
        if _holds(visible_text(event.message), fact.value, fact.kind)
    ]
    assert holders == list(fact.source_seqs), fact
    assert fact.born_seq == fact.source_seqs[0]
    for seq in fact.source_seqs:
        if fact.kind not in ("update", "negation"):
            assert fact.subject.lower() in visible_text(events[seq - 1].message).lower()
    floor = f"{events[0].message.text}\n{_newest_request(events, at)}"
    for text in (fact.value, *fact.aliases):
        assert not _holds(floor, text, fact.kind), fact
        assert not _holds(fact.probe.question, text, fact.kind), fact
    for old in fact.stale:
        assert old != fact.value
        assert any(_holds(event.message.text, old, fact.kind) for event in events[: at - 1])
        assert not _holds(events[fact.born_seq - 1].message.text, old, fact.kind)


def _assert_valid(events: tuple[Event, ...]) -> None:
    history = History(events)
    for position, event in enumerate(events):
        assert event.timestamp is not None
        if position:
            earlier = events[position - 1].timestamp
            assert earlier is not None
            assert event.timestamp > earlier
        for state in history.calls_at(position):
            assert state.result_seq is not None
            assert isinstance(json.loads(state.call.arguments), dict)
        if event.message.role == "tool":
            assert history.result_wire_id(position) == event.message.call_id
        assert event.message.text or event.message.calls
    assert events[0].message.role == "system"
    assert events[1].starts_turn
    assert events[-1].message.role == "assistant"
    assert not events[-1].message.calls
    identifiers = [call.id for event in events for call in event.message.calls]
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize(("kind", "language"), PAIRS)
def test_every_kind_and_language_is_valid_and_answerable(kind: str, language: str) -> None:
    made = generate(kind, language, 220, seed=5)
    assert len(made.session.events) == 220
    _assert_valid(made.session.events)
    _assert_sound(made)
    assert len(made.facts) >= 17
    assert len({fact.id for fact in made.facts}) == len(made.facts)
    assert len({fact.subject for fact in made.facts}) == len(made.facts)
    # Half of the facts are planted in the first two thirds, and they are needed all over.
    born = sorted(fact.born_seq for fact in made.facts)
    assert born[len(born) // 2] < 150
    needed = [fact.probe.at_seq or 0 for fact in made.facts]
    assert min(needed) < 120
    assert max(Counter(needed).values()) <= 5
    offered = {tool.name for tool in made.session.tools}
    used = {call.name for event in made.session.events for call in event.message.calls}
    assert "update_plan" in used
    assert used <= offered


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pair=st.sampled_from(PAIRS),
    events=st.integers(EVENTS_MIN, 260),
    seed=st.integers(0, 10_000),
    facts_wanted=st.integers(0, 30),
)
def test_any_length_and_seed(
    pair: tuple[str, str], events: int, seed: int, facts_wanted: int
) -> None:
    made = generate(*pair, events, seed, facts_wanted)
    assert len(made.session.events) == events
    assert len(made.facts) <= facts_wanted
    _assert_valid(made.session.events)
    _assert_sound(made)


def test_all_kinds_of_facts_appear() -> None:
    for language in LANGUAGES:
        kinds = Counter(
            fact.kind
            for seed in range(4)
            for fact in generate_session("coding", language, 240, seed)[1]
        )
        assert set(kinds) == set(FACT_KINDS)


def test_same_seed_same_session_other_seed_another() -> None:
    first = generate("incident", "zh", 120, seed=3)
    assert generate("incident", "zh", 120, seed=3) == first
    assert generate("incident", "zh", 120, seed=4).session.events != first.session.events


def test_hash_seed_makes_no_difference() -> None:
    program = (
        "import hashlib; from bench.generator import generate; "
        "print(hashlib.sha256(repr([generate(k, l, 80, 7) for k in ('coding', 'support') "
        "for l in ('en', 'zh')]).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert len(digests) == 1


def test_stream_and_session_are_the_same() -> None:
    streamed = tuple(iter_events("analysis", "en", 150, seed=9))
    assert streamed == generate("analysis", "en", 150, seed=9).session.events


def test_stream_of_any_length_needs_bounded_memory() -> None:
    characters = 0
    tracemalloc.start()
    for event in iter_events("incident", "en", 1500, seed=1):
        characters += len(event.message.text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The stream keeps what may be used again, up to a limit, but no texts.
    assert characters > 1_200_000
    assert peak < characters / 2


def test_agent_uses_what_earlier_events_brought_up() -> None:
    made = generate("coding", "en", 240, seed=2)
    first_seen: dict[str, int] = {}
    reused = 0
    for event in made.session.events:
        keys = {entity.key for entity in extract(visible_text(event.message))}
        if event.message.role == "assistant":
            reused += sum(1 for key in keys if event.seq - first_seen.get(key, event.seq) > 20)
        for key in keys:
            first_seen.setdefault(key, event.seq)
    assert reused >= 20


def test_distractors_stand_where_they_are_said_to_stand() -> None:
    kinds = set()
    for seed in range(3):
        made = generate("incident", "en", 260, seed=seed)
        for distractor in made.distractors:
            kinds.add(distractor.kind)
            message = made.session.events[distractor.seq - 1].message
            assert message.role == "tool"
            assert distractor.text in message.text or json.dumps(distractor.text) in message.text
    assert kinds == {"near_duplicate", "injected_instruction", "fake_secret"}


def test_parallel_calls_and_results_out_of_order_occur() -> None:
    events = generate("coding", "en", 400, seed=1).session.events
    batches = [event.message.calls for event in events if len(event.message.calls) > 1]
    assert len(batches) >= 10
    answers = {event.message.call_id: event.seq for event in events if event.message.call_id}
    orders = [[answers[call.id] for call in batch] for batch in batches]
    assert any(order != sorted(order) for order in orders)


def test_result_sizes_vary_from_a_line_to_thousands_of_characters() -> None:
    sizes = sorted(
        len(event.message.text)
        for event in iter_events("incident", "en", 400, seed=1)
        if event.message.role == "tool"
    )
    assert sizes[0] < 80
    assert sizes[-1] > 6000
    assert len(set(sizes)) > 100


def test_no_long_line_of_prose_is_repeated_again_and_again() -> None:
    for kind, language in PAIRS:
        said = Counter(
            event.message.text
            for event in iter_events(kind, language, 400, seed=6)
            if event.message.role != "tool" and len(event.message.text) > 60
        )
        assert max(said.values()) <= 2


@pytest.mark.parametrize(
    ("kind", "language", "events", "message"),
    [
        ("poetry", "en", 100, "no kind of session 'poetry'"),
        ("coding", "tlh", 100, "no language 'tlh'"),
        ("coding", "en", EVENTS_MIN - 1, "at least"),
    ],
)
def test_wrong_arguments_are_named(kind: str, language: str, events: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate_session(kind, language, events, seed=1)


def test_draws_stay_inside_their_bounds_and_reach_them() -> None:
    draw = Draw("bounds")
    drawn = {draw.between(3, 9, 3) for _ in range(200)}
    assert drawn == {3, 6, 9}
    assert {draw.pick("abc") for _ in range(100)} == set("abc")
    assert sorted(draw.some((1, 2, 3), 9)) == [1, 2, 3]
    assert Draw("x").fork("a").hexadecimal(12) != Draw("x").fork("b").hexadecimal(12)
    # Pinned: another value here means that every corpus changes.
    assert Draw("pinned").digits(8) == "42659684"


@pytest.mark.parametrize("style", ["code", "json", "log", "text"])
def test_remark_is_one_more_line(style: str) -> None:
    text = "{\n" + "\n".join(f' "a{i}": {i},' for i in range(8)) + '\n "z": 0\n}'
    if style == "log":
        text = "\n".join(f"00:00:0{i} WARN  api shop.core.cart: said {i}" for i in range(9))
    remarked = with_remark(text, "the width is 3 cm", style, Draw("remark"))
    added = [line for line in remarked.split("\n") if line not in text.split("\n")]
    assert len(added) == 1
    assert "the width is 3 cm" in added[0]
    if style == "json":
        assert json.loads(remarked)["note"] == "the width is 3 cm"
    if style == "log":
        assert added[0].startswith("00:00:0")
        assert "INFO  api shop.core.cart: the width" in added[0]


def test_message_type_is_the_plain_one() -> None:
    assert isinstance(next(iter_events("chat", "zh", 20, seed=1)).message, Message)


def test_long_sessions_never_run_out_of_texts_without_a_fact() -> None:
    # The subject of a turn was once spelled like a planted value, so every text held it.
    told = list(islice(iter_events("coding", "en", 20_000, 1), 1_800))
    assert len(told) == 1_800

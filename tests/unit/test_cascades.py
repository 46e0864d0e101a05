"""Cascades: the same span summarised several times in a row, each summary looked at itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.found_facts import find_uses
from bench.generator import generate
from bench.history import History
from bench.models import make_model
from bench.observations import Replay
from bench.plan import cell_identity
from bench.projection import Written
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.scoring_survival import follow
from bench.scoring_visibility import Visibility
from bench.session_index import SessionIndex
from bench.tasks import RunOptions

MADE = generate("coding", "en", 120, 3, 12)


def seen(spec: str, repeat: int, model: str = "lossy(0.7)") -> Replay:
    provider = SimulatedProvider(make_model(model), 60_000, tools=MADE.session.tools)
    return replay(MADE.session, make_strategy(spec).strategy, provider, cuts=1, repeat=repeat)


def test_each_repetition_summarises_the_summary_before() -> None:
    found = seen("head_tail", 4)
    summaries = [one for one in found.compactions if one.stage == "summarise"]
    assert [one.repetition for one in summaries] == [0, 1, 2, 3]
    assert {one.outcome for one in summaries} == {"accepted"}
    assert len({one.request for one in summaries}) == 1
    assert [one.head_before for one in summaries[1:]] == [one.head for one in summaries[:-1]]
    texts = [
        next(item for item in found.heads[one.head] if isinstance(item, Written)).message.text
        for one in summaries
    ]
    assert len(set(texts)) == 4
    # The same span: what the first summary stands for, the last one does.
    spans = [
        next(item for item in found.heads[one.head] if isinstance(item, Written)).seqs
        for one in summaries
    ]
    assert len(set(spans)) == 1


def test_once_is_what_it_always_was() -> None:
    plain = replay(
        MADE.session,
        make_strategy("head_tail").strategy,
        SimulatedProvider(make_model("lossy(0.7)"), 60_000, tools=MADE.session.tools),
        cuts=1,
    )
    assert replace(seen("head_tail", 1), final=None) == replace(plain, final=None)


def test_what_was_sent_is_the_last_of_the_cascade() -> None:
    found = seen("head_tail", 4)
    last = found.compactions[-1]
    sent = found.requests[last.request]
    assert (sent.head, sent.tail_start) == (last.head, last.tail_start)
    history = History(MADE.session.events)
    assert found.projection(last.request, history).items[: len(found.heads[last.head])]


def test_a_strategy_that_doesnt_rewrite_without_news_stops_after_the_first() -> None:
    found = seen("layered", 4)
    assert [one.repetition for one in found.compactions if one.outcome == "accepted"] == [0]


def test_survival_follows_the_same_entities_from_summary_to_summary() -> None:
    index = SessionIndex(MADE.session)
    followed = follow(Visibility(index, seen("head_tail", 5)), find_uses(index))
    by_generation: dict[int, list[bool | None]] = {}
    for entity in followed:
        by_generation.setdefault(entity.generation, []).append(entity.survived)
    generations = sorted(by_generation)
    # Pruning first and then summarising is one round of five.
    assert generations == [1, 2, 3, 4, 5]
    at_risk = [len(by_generation[each]) for each in generations]
    survived = [by_generation[each].count(True) for each in generations]
    assert len(set(at_risk)) == 1
    assert survived == sorted(survived, reverse=True)
    assert survived[-1] < survived[0] < at_risk[0]


def test_without_repetition_survival_looks_at_what_was_sent() -> None:
    index = SessionIndex(MADE.session)
    found = seen("head_tail", 1)
    accepted = [one for one in found.compactions if one.outcome == "accepted"]
    followed = follow(Visibility(index, found), find_uses(index))
    assert len({entity.compacted_at_seq for entity in followed}) == len(
        {one.at_seq for one in accepted}
    )


def test_repeat_and_overhead_are_part_of_what_a_cell_is() -> None:
    plain = RunOptions(specs=("head_tail",))
    assert plain.fact_version == RunOptions(specs=("head_tail",), repeat=1, overhead=0).fact_version
    versions = {
        plain.fact_version,
        RunOptions(specs=("head_tail",), repeat=2).fact_version,
        RunOptions(specs=("head_tail",), overhead="auto").fact_version,
        RunOptions(specs=("head_tail",), overhead=500).fact_version,
    }
    identities = {
        cell_identity(digest="d", spec="s", window=1, model="m", seed=0, fact_version=version)
        for version in versions
    }
    assert len(versions) == len(identities) == 4


@pytest.mark.parametrize("model", ["offline", "lossy(1.0)"])
def test_a_cascade_ends_where_nothing_comes_of_it(model: str) -> None:
    found = seen("prune", 3, model)
    assert {one.repetition for one in found.compactions} <= {0}

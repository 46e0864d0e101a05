"""Readers of a run: controls once, an oracle for a history too large, grades anew at will."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bench.events import Message, Session, ToolDefinition
from bench.history import History
from bench.judging import NO_CONTROLS_REASON, ControlAnswers, Judge, best_views
from bench.models import Completion, ModelSettings, OfflineModel
from bench.observations import AnswerObservation
from bench.performing import perform
from bench.probing import closed_questions
from bench.probing_options import (
    DEFAULT_PROBES,
    ProbeOptions,
    is_stand_in,
    probes_of,
    probes_to_json,
)
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.readers.asking import ORACLE, TOO_LARGE_REASON, ask_oracle, ask_questions
from bench.reading_cells import SessionReaders, controls_among
from bench.rescoring import rescore
from bench.runner import RunOptions, plan_run, tasks_of
from bench.scoring_recovered import read
from bench.store import Run
from bench.tasks import Task, TaskOutcome
from tests.stored_runs import rule_fact, store_run, working_session

SPECS = ("head_tail", "native")


def task_of(probes: ProbeOptions = DEFAULT_PROBES, **options: Any) -> Task:
    session = working_session("one")
    wanted = RunOptions(specs=SPECS, probes=probes, **options)
    plan, surveyed = plan_run([session], wanted, lambda _: None)
    facts = {session.id: (rule_fact(session),)}
    (task,) = tasks_of(plan, [session], surveyed, facts, wanted, lambda _: False)
    return task


@pytest.fixture(scope="module")
def outcome() -> TaskOutcome:
    return perform(task_of())


def row_of(outcome: TaskOutcome, spec: str) -> dict[str, Any]:
    (cell,) = [cell for cell in outcome.cells if cell.cell.spec == spec]
    assert cell.scores is not None
    return dict(cell.scores["row"])


def test_the_controls_are_one_and_nothing_in_every_run(outcome: TaskOutcome) -> None:
    assert row_of(outcome, "keep_all")["recovered"] == 1
    assert row_of(outcome, "keep_all")["retention_recovered"] == 1
    assert row_of(outcome, "empty")["recovered"] == 0
    assert row_of(outcome, "empty")["retention_recovered"] == 0


def test_what_can_only_be_asked_for_has_a_retention_of_its_own_layer(outcome: TaskOutcome) -> None:
    native, head_tail = row_of(outcome, "native"), row_of(outcome, "head_tail")
    assert native["retention_layer"] == "recovered"
    assert native["retention"] == native["retention_recovered"] is not None
    assert native["present"] is None and native["bound"] is None
    assert head_tail["retention_layer"] == "present"
    assert head_tail["recovered"] is not None


def test_the_same_cells_give_the_same_answers() -> None:
    answers = [[cell.answers for cell in perform(task_of()).cells] for _ in range(2)]
    assert answers[0] == answers[1]
    assert all(answers[0])


def test_the_controls_are_asked_once_for_each_reader_and_seed() -> None:
    task = task_of(seeds=(0, 1), windows=(None, 20_000))
    judge = Judge.of(task.session, task.facts)
    readers = SessionReaders(task.session, judge, task.options.probes, ModelSettings())
    read_by_cell = {}
    for cell in task.cells:
        if cell.is_control:
            seen = judge.ceiling if cell.spec == "keep_all" else judge.floor
            read_by_cell[cell.identity] = readers.read(cell, seen)
    controls = {id(one.controls) for one in read_by_cell.values()}
    assert len(read_by_cell) == 8
    assert len(controls) == 2


def test_without_probes_nobody_is_asked() -> None:
    outcome = perform(task_of(ProbeOptions(kinds=())))
    assert all(cell.answers == () for cell in outcome.cells)
    assert row_of(outcome, "head_tail")["recovered"] is None
    assert row_of(outcome, "native")["retention"] is None


def test_other_probes_are_other_cells_and_the_same_facts() -> None:
    default, none = RunOptions(specs=SPECS), RunOptions(specs=SPECS, probes=ProbeOptions(kinds=()))
    assert default.fact_version == none.fact_version == default.result_version
    assert none.result_version != default.result_version


def test_who_reads() -> None:
    assert DEFAULT_PROBES.reader_of("lossy(0.9)") == "lossy(0.9)"
    assert DEFAULT_PROBES.reader_of("openai:some-model") == "offline"
    assert ProbeOptions(asks_real_models=True).reader_of("openai:some") == "openai:some"
    assert ProbeOptions(reader="offline").reader_of("openai:some") == "offline"
    assert is_stand_in("offline") and not is_stand_in("anthropic:x")
    asked = ProbeOptions(("recovered", "next_action"), "offline", judge="offline", calibration="x")
    assert probes_of({"probes": probes_to_json(asked)}) == asked
    assert probes_of({}) == DEFAULT_PROBES


@dataclass(frozen=True)
class ShortSighted:
    """A reader that refuses requests above so many characters, as a model with a small window."""

    characters_max: int
    name: str = "short-sighted"
    is_stand_in: bool = True

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        raise NotImplementedError

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        if sum(len(message.text) for message in messages) > self.characters_max:
            raise ProviderError("input_overflow", "too long for me")
        return OfflineModel().respond(
            messages,
            tools=tools,
            output_tokens_max=output_tokens_max,
            seed=seed,
            calls_wanted=calls_wanted,
        )


def provider_of(session: Session, characters_max: int) -> SimulatedProvider:
    model = ShortSighted(characters_max)
    return SimulatedProvider(model, 1, tools=session.tools, ignore_window=True)


def test_a_request_too_large_for_the_reader_is_invalid_and_the_oracle_stands_in() -> None:
    session = working_session("large")
    facts = [rule_fact(session)]
    judge = Judge.of(session, facts)
    history = History(session.events)
    questions = closed_questions(judge.index, facts, judge.uses, 0)
    provider = provider_of(session, 20_000)
    failed = ask_questions(provider, judge.ceiling, history, questions)
    late = [one for one in failed if one.probe == "recovered"]
    assert [one.reply for one in late] == [None]
    assert late[0].reason == f"{TOO_LARGE_REASON}: too long for me"
    scores = judge.ceiling_scores
    alone = read(failed, (), facts, scores.facts, judge.uses, scores.visible)
    assert alone.counts("recovered") == (0, 1, 1), "an invalid request is no zero"
    oracle = ask_oracle(provider, history, questions, failed)
    assert {one.view for one in oracle} == {ORACLE}
    assert all(one.reply is not None for one in oracle)
    both = read(best_views((*failed, *oracle)), (), facts, scores.facts, judge.uses, scores.visible)
    assert both.counts("recovered") == (1, 1, 0)


def test_a_history_that_fits_needs_no_oracle() -> None:
    session = working_session("small")
    judge = Judge.of(session, [rule_fact(session)])
    questions = closed_questions(judge.index, judge.facts, judge.uses, 0)
    provider = provider_of(session, 10**9)
    answers = ask_questions(provider, judge.ceiling, judge.history, questions)
    assert ask_oracle(provider, judge.history, questions, answers) == ()


def test_scores_are_computed_anew_from_the_stored_answers_alone(tmp_path: Path) -> None:
    folder = store_run(tmp_path / "run", [working_session("one"), working_session("two")], SPECS)
    with Run.open(folder) as run:
        before = {stored.cell.identity: stored.scores for stored in run.cells()}
    # Scores gone and one reply changed: what comes back must follow the answers, not the past.
    with sqlite3.connect(folder / "run.sqlite") as connection:
        connection.execute("UPDATE scores SET data = '{}'")
    with Run.open(folder) as run:
        assert rescore(run) == len(before)
        assert {stored.cell.identity: stored.scores for stored in run.cells()} == before
    with sqlite3.connect(folder / "run.sqlite") as connection:
        connection.execute(
            """UPDATE answers SET data = replace(data, '"reply":"', '"reply":"no ')"""
        )
    with Run.open(folder) as run:
        rescore(run)
        rows = [(stored.scores or {})["row"] for stored in run.cells()]
    assert {row["recovered"] for row in rows} == {0}


def test_controls_of_another_seed_are_not_ours() -> None:
    outcome = perform(task_of(seeds=(0, 1)))
    answers = [(cell.cell, cell.answers) for cell in outcome.cells]
    for cell, _ in answers:
        controls = controls_among(answers, cell)
        assert controls is not None
        own = [found for one, found in answers if one.spec == "keep_all" and one.seed == cell.seed]
        assert controls.ceiling == own[0]
    assert controls_among([one for one in answers if one[0].spec != "empty"], cell) is None
    assert controls_among(answers, replace(cell, model="lossy(0.5)")) is None


def test_retention_of_the_layer_stands_between_its_own_controls() -> None:
    session = working_session("between")
    rule = rule_fact(session)
    facts = [replace(rule, id=f"f{place}") for place in range(4)]
    judge = Judge.of(session, facts)
    questions = closed_questions(judge.index, facts, (), 0)

    def answers(right: int) -> tuple[AnswerObservation, ...]:
        """The first so many questions about facts answered rightly, the others not at all."""
        return tuple(
            AnswerObservation(
                q.probe, q.subject, "projection", 0, q.at_seq, q.text, q.options,
                reply=rule.value if q.subject in {f"f{place}" for place in range(right)} else "?",
            )
            for q in questions
        )  # fmt: skip

    def row(right: int, ceiling: int, floor: int) -> dict[str, Any]:
        controls = ControlAnswers(answers(ceiling), answers(floor))
        scores = judge.scores_of(
            judge.ceiling, is_exercised=True, answers=answers(right), controls=controls
        )
        return dict(scores["row"])

    assert row(2, 4, 0)["recovered"] == row(2, 4, 0)["retention_recovered"] == 0.5
    assert row(2, 3, 1)["recovered"] == 0.5
    assert row(2, 3, 1)["retention_recovered"] == pytest.approx((2 - 1) / (3 - 1))
    assert row(3, 3, 0)["retention_recovered"] == 1
    assert row(2, 2, 2)["retention_recovered"] is None, "there is nothing to lose"
    alone = judge.scores_of(judge.ceiling, is_exercised=True, answers=answers(2))
    assert alone["row"]["retention_recovered"] is None
    assert alone["row"]["recovered_reason"] == NO_CONTROLS_REASON

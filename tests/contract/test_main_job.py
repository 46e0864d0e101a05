"""The main job on synthetic and real sessions: every cell has an answer one can trust."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cli.run import DEFAULT_STRATEGIES
from bench.corpus import bundled_folder
from bench.facts_file import facts_beside
from bench.generator import generate_session
from bench.loading import load_sessions
from bench.models import make_model
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategies, make_strategy
from bench.replay import replay
from bench.results import Results, results_of
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from bench.survey import survey, window_for
from tests.recordings import FOLDER, needs_recordings


def run_on(paths: list[Path], specs: tuple[str, ...], folder: Path) -> Results:
    loaded = load_sessions(paths)
    named = [made.spec for spec in specs for made in make_strategies(spec)]
    options = RunOptions(specs=tuple(named))
    plan, surveyed = plan_run(loaded.sessions, options, lambda _: None)
    facts = facts_beside([session.path for session in loaded.sessions])
    with Run.create(folder, {}) as run:
        tasks = tasks_of(plan, loaded.sessions, surveyed, facts, options, run.has_cell)
        execute(run, tasks, 1, lambda _: None)
        return results_of(run)


def assert_trustworthy(results: Results) -> None:
    for cell in results.cells:
        assert cell["status"] in ("ok", "not_exercised", "stopped"), cell["reason"]
        assert cell["status"] == "ok" or cell["reason"]
        assert cell["invalid_projections"] == 0
        expected = {"keep_all": 1, "empty": 0}.get(cell["strategy"])
        if expected is not None and cell["retention"] is not None:
            assert cell["retention"] == expected
        if cell["status"] == "not_exercised":
            assert cell["retention"] is None
    assert "in line" in results.verdict.controls
    assert results.verdict.exit_code == 0


def test_bundled_corpus_exercises_every_default_strategy(tmp_path: Path) -> None:
    specs = DEFAULT_STRATEGIES
    results = run_on([bundled_folder()], specs, tmp_path / "run")
    assert_trustworthy(results)
    sessions = {cell["session"] for cell in results.cells}
    assert len(sessions) >= 12
    for cell in results.cells:
        assert cell["retention_basis"] == "facts"
        if cell["strategy"] in specs:
            assert cell["compactions"] >= 2, (cell["session"], cell["strategy"])


@needs_recordings
@pytest.mark.parametrize("source", ["entire-cli", "slopometry", "tau-bench"])
def test_recordings_give_an_answer_for_every_cell(source: str, tmp_path: Path) -> None:
    results = run_on([FOLDER / source], ("prune", "head_tail"), tmp_path / "run")
    assert_trustworthy(results)
    assert len(results.cells) >= 4


def test_chinese_overflows_under_characters_and_is_rescued() -> None:
    session, _ = generate_session(kind="incident", language="zh", events=240, seed=7)
    window = window_for(survey(session), "auto")

    def seen_with(spec: str) -> Any:
        strategy = make_strategy(spec).strategy
        provider = SimulatedProvider(make_model("offline"), window, tools=session.tools)
        return replay(session, strategy, provider)

    careless = seen_with("head_tail(estimator=chars)")
    rescued = [
        one
        for one in careless.compactions
        if one.trigger == "provider" and one.outcome == "accepted"
    ]
    assert rescued
    assert careless.retries.overflow == len(rescued)
    first = rescued[0]
    assert first.tokens_before > window >= first.tokens_after
    assert first.estimate_before < first.tokens_before
    assert careless.requests[first.request].is_served


def test_seed_changes_what_the_lossy_model_forgets_and_nothing_else_does() -> None:
    session, _ = generate_session(kind="coding", language="en", events=160, seed=3)
    window = window_for(survey(session), "auto")

    def heads(seed: int) -> Any:
        provider = SimulatedProvider(
            make_model("lossy(0.6)"), window, tools=session.tools, seed=seed
        )
        return replay(session, make_strategy("head_tail").strategy, provider).heads

    assert heads(1) == heads(1)
    assert heads(1) != heads(2)


def test_session_is_not_changed_by_a_run(tmp_path: Path) -> None:
    session, _ = generate_session(kind="support", language="en", events=120, seed=1)
    before = replace(session)
    provider = SimulatedProvider(make_model("offline"), 12_000, tools=session.tools)
    replay(session, make_strategy("layered").strategy, provider)
    assert session == before

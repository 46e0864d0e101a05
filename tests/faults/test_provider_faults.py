"""Every fault of a real server, over real HTTP: what a call, a replay and a whole run come to."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.errors import RunHalted
from bench.events import Message, ToolDefinition
from bench.models import ModelSettings, make_model
from bench.observations import CallObservation, Replay
from bench.provider import ProviderError
from bench.providers.live import LiveProvider
from bench.providers.remote import RemoteModel
from bench.providers.sending import HTTP_LINE
from bench.registry import make_strategy
from bench.replay import replay
from bench.results import results_of
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from tests.fault_server import (
    FAULTS,
    FaultServer,
    Script,
    always,
    each_first,
    limit_of,
    never,
    only,
    seeded,
    until,
)
from tests.stored_runs import rule_fact, working_session

STRATEGIES = ("head_tail", "layered", "prune", "native")
SPECS = ("openai:tiny", "responses:tiny", "anthropic:tiny")
ASKED = [Message("system", "You summarise."), Message("user", "Fix src/a.py. " * 300)]

# What is sent again, and as what it is counted.
MENDED = {
    "reservation": "output_reservation",
    "output_limit": "output_limit",
    "rate_limit": "rate_limit",
    "rate_limit_told": "rate_limit",
    "server": "server",
    "overloaded": "server",
    "timeout": "timeout",
    "drip": "timeout",
    "reset": "server",
    "malformed": "server",
    "html": "server",
    "endless": "server",
}
# What isn't, since the same request would meet it again.
FINAL = {
    "rate_limit_futile": "rate_limit",
    "no_such_model": "invalid_request",
    "filtered": "content_filter",
    "redirect": "invalid_request",
    "overflow": "input_overflow",
    "overflow_200": "input_overflow",
    "silent": "silent_overflow",
}
HALTING = ("quota", "auth")
ANSWERS = ("cut_summary", "empty_summary", "no_usage")
OVERFLOWS = ("overflow", "overflow_200", "silent")
SLOW = ("timeout", "drip")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No failures of other tests, and no keys of whoever runs them."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    HTTP_LINE.failed_in_a_row.clear()


def settings_for(server: FaultServer, folder: Path, fault: str = "") -> ModelSettings:
    return ModelSettings(
        base_url=server.url,
        cache_folder=str(folder),
        # A machine under load answers late; only where that is the test may time run out.
        timeout_seconds=1.0 if fault in SLOW else 30.0,
        backoff_seconds=0.001,
        wait_seconds_max=0.2,
    )


def test_every_fault_has_its_place_here() -> None:
    assert set(FAULTS) == {*MENDED, *FINAL, *HALTING, *ANSWERS}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("spec", SPECS)
def test_what_a_call_comes_to(spec: str, fault: str, tmp_path: Path) -> None:
    with FaultServer(only(1, fault=fault)) as server:
        model = make_model(spec, settings_for(server, tmp_path, fault))
        assert isinstance(model, RemoteModel)
        outcome = asked(model)
        (call,) = model.calls
        assert outcome == (f"halted by {fault}" if fault in HALTING else call.outcome)
        expected = MENDED.get(fault) or FINAL.get(fault) or (fault if fault in HALTING else None)
        assert list(call.refusals) == ([expected] if expected else [])
        assert call.attempts == len(server.posts) == (2 if fault in MENDED else 1)
        assert (outcome == "ok") == (fault in MENDED or fault in ANSWERS)
        assert call.input_tokens is None or call.input_tokens > 1_000
        if fault == "no_usage":
            assert (call.input_tokens, call.output_tokens, call.cached_tokens) == (None,) * 3

        # An answer is kept; of whatever failed, nothing is served.
        before = len(server.posts)
        again = make_model(spec, settings_for(server, tmp_path, fault))
        assert isinstance(again, RemoteModel)
        assert asked(again) == "ok"
        assert again.calls[0].is_recorded == (outcome == "ok")
        assert len(server.posts) - before == (0 if outcome == "ok" else 1)
        # Whoever needed two tries says so, whenever it is asked.
        assert outcome != "ok" or again.calls[0].refusals == call.refusals


def asked(model: RemoteModel) -> str:
    """What becomes of one question."""
    try:
        model.complete(ASKED, output_tokens_max=200, seed=0)
    except ProviderError as error:
        return error.kind
    except RunHalted as halt:
        assert halt.reason.isprintable() and len(halt.reason) < 500
        return f"halted by {model.calls[-1].refusals[-1]}"
    return "ok"


@pytest.mark.parametrize("fault", ["server", "timeout", "rate_limit"])
def test_tries_are_bounded(fault: str, tmp_path: Path) -> None:
    with FaultServer(always(fault)) as server:
        settings = replace(settings_for(server, tmp_path), tries_max=3)
        if fault == "timeout":
            settings = replace(settings, timeout_seconds=0.2)
        model = make_model("openai:tiny", settings)
        assert isinstance(model, RemoteModel)
        # A rate limit ends with time, so the run may go on later.
        assert asked(model) == ("halted by rate_limit" if fault == "rate_limit" else fault)
        assert len(server.posts) == 3
        assert model.calls[0].refusals == (fault,) * 3


@pytest.mark.parametrize("fault", ["reservation", "output_limit"])
def test_a_smaller_answer_is_asked_for_once(fault: str, tmp_path: Path) -> None:
    with FaultServer(always(fault)) as server:
        model = make_model("openai:tiny", settings_for(server, tmp_path))
        assert isinstance(model, RemoteModel)
        assert asked(model) == MENDED[fault]
        first, second = (one.body["max_tokens"] for one in server.posts)
        assert second < first == 200


def test_a_server_that_only_fails_halts_the_run(tmp_path: Path) -> None:
    with FaultServer(always("server")) as server:
        settings = replace(settings_for(server, tmp_path), tries_max=1)
        model = make_model("openai:tiny", settings)
        for _ in range(2):
            with pytest.raises(ProviderError):
                model.complete(ASKED, output_tokens_max=200, seed=0)
        with pytest.raises(RunHalted, match="3 calls in a row"):
            model.complete(ASKED, output_tokens_max=200, seed=0)


@pytest.mark.parametrize("depth", [200, 700, 950, 100_000])
@pytest.mark.parametrize("status", [200, 400])
def test_answers_that_are_nested_deeply_do_no_harm(
    depth: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something-long")
    deep = "[" * depth + "]" * depth
    for body in (deep, f'{{"choices": [{{"message": {{"content": {deep}}}}}], "error": null}}'):
        with FaultServer(raw=(status, body)) as server:
            settings = replace(settings_for(server, tmp_path), tries_max=1)
            model = make_model("openai:tiny", settings)
            assert isinstance(model, RemoteModel)
            HTTP_LINE.failed_in_a_row.clear()
            assert asked(model) in ("ok", "server", "invalid_request", "unknown")


def test_a_server_that_is_gone_halts_the_run(tmp_path: Path) -> None:
    with FaultServer() as server:
        settings = settings_for(server, tmp_path)
    model = make_model("openai:tiny", settings)
    with pytest.raises(RunHalted, match="can't be reached"):
        model.complete(ASKED, output_tokens_max=200, seed=0)


def test_processes_that_are_forked_have_connections_of_their_own(tmp_path: Path) -> None:
    with FaultServer(answers=lambda seen: str(seen.body["messages"][-1]["content"])) as server:
        settings = settings_for(server, tmp_path)
        assert said_back(settings, 0)
        context = multiprocessing.get_context("fork")
        with context.Pool(3) as pool:
            assert all(pool.starmap(said_back, [(settings, n) for n in range(1, 13)]))


def said_back(settings: ModelSettings, number: int) -> bool:
    model = make_model("openai:tiny", settings)
    told = Message("user", f"number {number}")
    return model.complete([told], output_tokens_max=9, seed=0).text == told.text


def test_equal_questions_of_one_replay_are_draws_of_their_own(tmp_path: Path) -> None:
    with FaultServer(answers=lambda seen: f"answer {seen.number}") as server:
        settings = settings_for(server, tmp_path)
        said = [drawn(settings, seeds) for seeds in ((0, 0, 1), (0, 0, 1), (1, 0, 0))]
        assert said[0] == ["answer 1", "answer 2", "answer 3"]
        assert said[1] == said[0]
        assert said[2] == ["answer 3", "answer 1", "answer 2"]
        assert len(server.posts) == 3


def drawn(settings: ModelSettings, seeds: tuple[int, ...]) -> list[str]:
    model = make_model("openai:tiny", settings)
    return [model.complete(ASKED, output_tokens_max=9, seed=seed).text for seed in seeds]


@pytest.mark.parametrize("calls_wanted", [True, False])
def test_tools_that_may_not_be_called_may_be_left_out(calls_wanted: bool, tmp_path: Path) -> None:
    """The server counts messages alone: a part was dropped, unless that part may be dropped."""
    tools = [ToolDefinition(f"tool_{n}", "Reads one file of many. " * 40) for n in range(20)]
    with FaultServer() as server:
        model = make_model("openai:tiny", settings_for(server, tmp_path))
        assert isinstance(model, RemoteModel)
        asking = partial(
            model.respond,
            ASKED,
            tools=tools,
            output_tokens_max=90,
            seed=0,
            calls_wanted=calls_wanted,
        )
        if not calls_wanted:
            assert asking().text
            return
        with pytest.raises(ProviderError, match="silently cut"):
            asking()


def test_the_other_name_of_the_limit_is_tried(tmp_path: Path) -> None:
    with FaultServer(models=("new",)) as server:
        server.insists_on = "max_completion_tokens"
        model = make_model("openai:new", settings_for(server, tmp_path))
        assert isinstance(model, RemoteModel)
        assert asked(model) == "ok"
        assert asked(model) == "ok"
        assert [sorted(one.body)[0] for one in server.posts] == [
            "max_tokens",
            "max_completion_tokens",
            "max_completion_tokens",
        ]


@pytest.mark.parametrize("fault", FAULTS)
def test_only_an_overflow_makes_a_live_arbiter_compact(fault: str, tmp_path: Path) -> None:
    """The fifth agent request fails; the strategy fires for nothing else in so large a window."""
    session = working_session("live", steps=5)
    with FaultServer(only(5, fault=fault)) as server:
        settings = replace(settings_for(server, tmp_path, fault), tries_max=2)
        model = make_model("openai:tiny", settings)
        assert isinstance(model, RemoteModel)
        provider = LiveProvider(model, 1_000_000, tools=session.tools)
        try:
            seen = replay(session, make_strategy("head_tail(preserve_last=2)").strategy, provider)
        except RunHalted:
            assert fault in HALTING
            return
    fired = [one for one in seen.compactions if one.trigger == "provider"]
    assert len(seen.compactions) == len(fired) == (fault in OVERFLOWS)
    assert seen.retries.overflow == sum(one.outcome == "accepted" for one in fired)
    # An answer of one token can't be made smaller.
    if fault in {*MENDED, *ANSWERS} - {"output_limit"}:
        assert seen.stopped is None
        assert [request.is_served for request in seen.requests] == [True] * seen.requests_total


@pytest.mark.parametrize("spec", SPECS)
def test_every_protocol_can_be_the_arbiter(spec: str, tmp_path: Path) -> None:
    session = working_session("live", steps=9)
    with FaultServer(window=6_000) as server:
        model = make_model(spec, settings_for(server, tmp_path))
        assert isinstance(model, RemoteModel)
        provider = LiveProvider(model, 60_000, tools=session.tools)
        seen = replay(session, make_strategy("head_tail(preserve_last=2)").strategy, provider)
    refused = [call for call in model.calls if call.outcome == "input_overflow"]
    assert refused and refused[0].purpose == "agent"
    assert seen.retries.overflow >= 1
    for request in (one for one in seen.requests if one.is_served):
        assert 0 < request.tokens <= 6_000
    # A conversation that grows is read from the cache, a question that is asked once isn't.
    has_mark = ["cache_control" in json.dumps(one.body) for one in server.posts]
    is_agent = [limit_of(one.body) <= 16 for one in server.posts]
    assert has_mark == [spec.startswith("anthropic") and agent for agent in is_agent]


class Made:
    """A run through a server: its table, its calls, and why it halted."""

    def __init__(
        self, server: FaultServer, folder: Path, script: Script, fault: str, cache: Path
    ) -> None:
        HTTP_LINE.failed_in_a_row.clear()
        session = working_session("a", steps=9)
        self.halted = ""
        server.begin_anew(script)
        settings = settings_for(server, cache, fault)
        # Waiting for nothing takes time: one strategy tells enough about a body that drips.
        specs = ("layered",) if fault == "drip" else STRATEGIES
        options = RunOptions(specs=specs, models=("responses:tiny",), settings=settings)
        plan, surveyed = plan_run([session], options, lambda _: None)
        with Run.open(folder) if folder.exists() else Run.create(folder, {}) as run:
            facts = {session.id: (rule_fact(session),)}
            tasks = tasks_of(plan, [session], surveyed, facts, options, run.has_cell)
            try:
                execute(run, tasks, 1, lambda _: None)
            except RunHalted as halt:
                self.halted = halt.reason
            self.read(run, session.events)
        self.posts = len(server.posts)

    def read(self, run: Run, events: Any) -> None:
        self.calls: dict[str, tuple[CallObservation, ...]] = {}
        self.replays: dict[str, Replay] = {}
        for stored in run.cells():
            self.calls[stored.cell.spec] = run.calls(stored.cell.identity)
            seen = run.replay(stored)
            assert seen is not None, stored.reason
            self.replays[stored.cell.spec] = seen
            assert run.session(stored.cell.session).events == events
        self.document = without_time(results_of(run).document()) if not self.halted else {}

    @property
    def every_call(self) -> list[CallObservation]:
        return [call for calls in self.calls.values() for call in calls]

    @property
    def counted(self) -> dict[str, list[Any]]:
        """Everything about the calls that must not depend on when they were made."""
        return {
            spec: [
                (
                    one.purpose,
                    one.key,
                    one.outcome,
                    one.refusals,
                    one.input_tokens,
                    one.output_tokens,
                    one.finish_reason,
                )
                for one in calls
            ]
            for spec, calls in self.calls.items()
        }


def without_time(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_time(part) for name, part in value.items() if name != "seconds"}
    return [without_time(part) for part in value] if isinstance(value, list) else value


def script_for(fault: str) -> Script:
    """Every request meets the fault: once where it can be mended, else always."""
    return each_first(fault) if fault in MENDED else always(fault)


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    """One address for all runs that are compared."""
    with FaultServer() as running:
        yield running


@pytest.fixture(scope="module")
def healthy(server: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("healthy")
    made = Made(server, folder / "run", never, "", folder / "cache")
    assert not made.halted and made.posts >= 4
    assert {call.purpose for call in made.every_call} == {"summary", "native"}
    assert all(call.outcome == "ok" and not call.refusals for call in made.every_call)
    return made


@pytest.mark.parametrize("fault", [*MENDED, *FINAL, *ANSWERS])
def test_runs_end_and_a_resumed_one_gives_the_same_table(
    fault: str, server: FaultServer, healthy: Made, tmp_path: Path
) -> None:
    whole = Made(server, tmp_path / "whole", script_for(fault), fault, tmp_path / "a")
    assert not whole.halted
    assert {row["status"] for row in whole.document["cells"]} <= {"ok", "stopped", "not_exercised"}
    assert all(row["invalid_projections"] == 0 for row in whole.document["cells"])
    label = MENDED.get(fault) or FINAL.get(fault)
    for call in whole.every_call:
        if call.purpose == "native" and fault == "empty_summary":
            # State that holds nothing is none.
            assert (call.outcome, call.refusals) == ("unknown", ("unknown",))
            continue
        if fault == "silent" and call.outcome == "ok":
            # So short a question can't be told from one that was cut.
            assert call.input_tokens is not None and call.input_tokens < 300
            continue
        assert list(call.refusals) == ([label] if label else []), call
        assert (call.outcome == "ok") == (fault not in FINAL)
    for row in whole.document["cells"]:
        made = whole.calls[row["strategy"]]
        assert (row["calls"] or {}).get("asked", 0) == len(made)
        kinds = Counter(kind for call in made for kind in call.refusals)
        assert (row["calls"] or {}).get("refused", {}) == kinds
    for spec, seen in whole.replays.items():
        sent = [call.attempts for call in whole.calls[spec]]
        assert seen.retries.transport == sum(tries - 1 for tries in sent)
    if MENDED.get(fault) in ("rate_limit", "server", "timeout") and fault != "drip":
        # What waiting could mend shows in the counters and nowhere else.
        assert facts_of(whole.document) == facts_of(healthy.document)

    cut_at = max(2, whole.posts // 2)
    script = until(cut_at, script_for(fault), then="quota")
    cut = Made(server, tmp_path / "cut", script, fault, tmp_path / "b")
    assert "no quota left" in cut.halted and cut.posts == cut_at
    resumed = Made(server, tmp_path / "cut", script_for(fault), fault, tmp_path / "b")
    assert not resumed.halted
    assert resumed.counted == whole.counted
    assert resumed.document == whole.document


def facts_of(document: dict[str, Any]) -> dict[str, Any]:
    """The results of a run without its counts of second tries."""
    text = json.dumps(document)
    read: dict[str, Any] = json.loads(text)
    for row in (*read["cells"], *read["table"]):
        for name in [name for name in row if "retries" in name or name == "calls"]:
            del row[name]
    return {"cells": read["cells"], "table": read["table"]}


@pytest.mark.parametrize("fault", HALTING)
def test_a_run_that_was_halted_goes_on_as_if_nothing_had_been(
    fault: str, server: FaultServer, healthy: Made, tmp_path: Path
) -> None:
    cuts = range(1, healthy.posts + 1) if fault == "quota" else [healthy.posts]
    for cut_at in cuts:
        HTTP_LINE.failed_in_a_row.clear()
        folder, cache = tmp_path / f"run-{cut_at}", tmp_path / f"cache-{cut_at}"
        cut = Made(server, folder, until(cut_at, never, then=fault), fault, cache)
        assert cut.halted and cut.posts == cut_at
        resumed = Made(server, folder, never, fault, cache)
        assert resumed.document == healthy.document
        # What was answered before is never asked again.
        assert cut.posts - 1 + resumed.posts == healthy.posts


def test_a_storm_of_faults_is_counted_to_the_last_one(server: FaultServer, tmp_path: Path) -> None:
    faults = tuple(fault for fault in MENDED if fault not in (*SLOW, "endless"))
    made = Made(server, tmp_path / "run", seeded(5, faults, 0.4), "", tmp_path / "cache")
    assert not made.halted
    sent = Counter[str]()
    for call in made.every_call:
        sent.update(call.refusals)
        assert call.attempts == len(call.refusals) + (call.outcome == "ok")
    assert sum(call.attempts for call in made.every_call) == made.posts
    assert sum(sent.values()) > 0

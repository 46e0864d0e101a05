"""Real models from the command line, through a server on loopback that can fail."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import RunHalted
from bench.events import Message
from bench.models import ModelSettings, make_model
from bench.observations import item_to_json
from bench.provider import ProviderError
from bench.providers.keys import MASK
from bench.providers.remote import RemoteModel
from bench.providers.sending import HTTP_LINE
from bench.store import Run
from bench.tasks import RunOptions
from tests.fault_server import FaultServer, Seen, always, only
from tests.session_files import session_file

KEY = "sk-planted-9f3b1c77a0"
QUIET = ("--no-report", "--probe", "none")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COMPACTION_BENCH_CACHE", str(tmp_path / "common"))
    HTTP_LINE.failed_in_a_row.clear()


def told(ran: Any, code: int) -> str:
    """The one line of an error."""
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.count("\n") == 1 and ran.err.startswith("compaction-bench: ")
    return str(ran.err)


BAD: dict[str, tuple[list[str], str]] = {
    "no key": (["--model", "openai:gpt-5"], "OPENAI_API_KEY"),
    "no key of Anthropic": (
        ["--model", "anthropic:claude-fable-5"],
        "ANTHROPIC_API_KEY",
    ),
    "no name": (["--model", "responses:"], "responses:NAME"),
    "nobody listens": (
        ["--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"],
        "can't be reached",
    ),
    "no address": (["--model", "openai:x", "--base-url", "localhost:80"], "http://"),
    "a password in the address": (
        ["--model", "openai:x", "--base-url", "http://me:secret@127.0.0.1/v1"],
        "plain address",
    ),
    "nobody to ask": (["--base-url", "http://127.0.0.1:9/v1"], "no model of this run"),
    "a stand-in as the arbiter": (["--arbiter", "live"], "offline"),
    "no time": (["--model", "openai:x", "--timeout", "0"], "--timeout"),
    "no requests": (["--model", "openai:x", "--concurrency", "0"], "--concurrency"),
    "no such cache": (["--model", "openai:x", "--replay-only", "--cache", "nowhere"], "nowhere"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_can_not_work_is_one_line_before_anything_is_replayed(name: str, command: Any) -> None:
    words, said = BAD[name]
    line = told(command("run", session_file(), *words, "--out", "run"), 2)
    assert said in line and "secret" not in line
    assert not Path("run").exists()


def test_servers_that_can_not_work(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_file()

    def line(server: FaultServer, model: str = "openai:tiny", at: str = "") -> str:
        words = ["--model", model, "--base-url", at or server.url]
        return told(command("run", session, *words, "--out", "run"), 2)

    with FaultServer(always("no_such_model")) as server:
        assert "tiny" in line(server, "openai:unknown")
        assert len(server.posts) == 1
    with FaultServer(always("html"), models=None) as server:
        assert "no JSON" in line(server)
    with FaultServer(models=None) as server:
        # There is no list of models and no route of this name: the path is wrong.
        said = line(server, at=server.url.removesuffix("/v1") + "/v2")
        assert "/v1?" in said
    with FaultServer(always("auth"), models=None) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        said = line(server)
        assert "refused the key" in said and KEY not in said
    assert not Path("run").exists()


def test_a_server_of_pages_speaks_another_protocol(command: Any) -> None:
    with FaultServer() as server:
        server.list_kind = "text/html"
        words = ["--model", "openai:tiny", "--base-url", server.url]
        assert "another protocol" in told(command("run", session_file(), *words), 2)


def test_the_second_run_asks_for_nothing(command: Any) -> None:
    session = session_file()
    with FaultServer() as server:
        words = ["run", session, "--strategy", "layered", "--model", "openai:tiny", *QUIET]
        words += ["--base-url", server.url, "--cache", "kept", "--json"]
        first = command(*words, "--out", "first")
        assert first.code in (0, 3), first.err
        asked = len(server.posts)
        assert asked >= 2
        # Said before the first request: how much goes where.
        assert f"go to {server.url[7:-3]}" in first.err and "tokens of 1 session" in first.err
        second = command(*words, "--out", "second")
        assert len(server.posts) == asked
    third = command(*words, "--out", "third", "--replay-only")
    assert "go to" not in third.err
    cells = [without_time(ran.document["cells"]) for ran in (first, second, third)]
    assert cells[0] == cells[1] == cells[2]
    with Run.open(Path("third")) as run:
        stored = next(one for one in run.cells() if one.cell.spec == "layered")
        calls = run.calls(stored.cell.identity)
        assert calls and all(call.is_recorded and call.usd == 0 for call in calls)
        assert "--replay-only" in str(run.information()["command"])


def without_time(cells: Any) -> Any:
    return [{name: part for name, part in cell.items() if name != "seconds"} for cell in cells]


def test_replay_only_names_the_first_call_that_is_missing(command: Any) -> None:
    with FaultServer() as server:
        words = ["run", session_file(), "--strategy", "layered", "--model", "openai:tiny", *QUIET]
        words += ["--base-url", server.url, "--replay-only"]
        ran = command(*words, "--out", "run")
        assert server.seen == []
    line = told(ran, 3)
    assert "no recorded answer of openai:tiny" in line and "summary call" in line


def test_a_live_arbiter_refuses_what_its_server_refuses_and_controls_are_never_sent(
    command: Any,
) -> None:
    session = session_file()
    with FaultServer(window=3_000) as server:
        words = ["run", session, "--strategy", "head_tail", "--model", "openai:tiny", *QUIET]
        words += ["--base-url", server.url, "--arbiter", "live", "--window", "60000"]
        ran = command(*words, "--out", "run", "--json")
        assert ran.code in (0, 3), ran.err
        longest = max(len(json.dumps(one.body)) for one in server.posts)
    with Run.open(Path("run")) as run:
        assert str(run.information()["arbiter"]).startswith(f"live: {server.url[7:-3]}")
        for stored in run.cells():
            calls = run.calls(stored.cell.identity)
            if stored.cell.is_control:
                assert calls == ()
                continue
            assert {call.purpose for call in calls} >= {"agent"}
            refused = [call for call in calls if call.outcome == "input_overflow"]
            assert refused and stored.retries is not None
            counted = [call.input_tokens for call in calls if call.input_tokens]
            assert max(counted) <= 3_000
    peak = next(one for one in ran.document["cells"] if one["strategy"] == "keep_all")
    # What the ceiling would have sent is far longer than anything that was.
    assert peak["tokens_sent"] > 0 and longest < len(Path(session).read_text(encoding="utf-8"))


def test_requests_at_once_are_limited_over_all_processes(command: Any) -> None:
    names = [session_file(f"s{number}", steps=9) for number in range(3)]
    with FaultServer() as server:
        server.seconds = 0.05
        words = ["run", *names, "--strategy", "layered", "--model", "openai:tiny", *QUIET]
        words += ["--base-url", server.url, "--workers", "2", "--concurrency", "1"]
        ran = command(*words, "--out", "run", "--json")
        assert ran.code in (0, 3), ran.err
        assert len(server.posts) >= 6
        assert server.under_way_max == 1


def test_one_session_is_compacted_by_a_real_model(command: Any) -> None:
    with FaultServer() as server:
        words = ["compact", session_file(), "--strategy", "layered", "--window", "auto", "--json"]
        ran = command(*words, "--model", "anthropic:tiny", "--base-url", server.url)
        assert ran.code == 0, ran.err
        assert ran.document["compactions"] and len(server.posts) >= 1
    # The same without the server.
    again = command(*words, "--model", "anthropic:tiny", "--base-url", server.url, "--replay-only")
    assert again.document == ran.document


def test_addresses_and_arbiters_are_part_of_what_a_cell_is() -> None:
    plain = RunOptions(specs=("prune",))
    versions = {
        plain.result_version,
        RunOptions(specs=("prune",), arbiter="live").result_version,
        RunOptions(specs=("prune",), settings=ModelSettings(base_url="http://a")).result_version,
        RunOptions(specs=("prune",), settings=ModelSettings(base_url="http://b")).result_version,
    }
    assert len(versions) == 4
    # Runs against several servers are still compared, and old cells keep their identity.
    assert plain.result_version == plain.fact_version
    other = RunOptions(specs=("prune",), settings=ModelSettings(timeout_seconds=1, concurrency=9))
    assert other.result_version == plain.result_version


def test_interrupted_while_a_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered is kept; the same command goes on with it."""
    monkeypatch.chdir(tmp_path)
    session = session_file()
    with FaultServer(only(2, fault="timeout")) as server:
        words = [sys.executable, "-m", "bench", "run", session, "--strategy", "layered"]
        words += ["--model", "openai:tiny", "--base-url", server.url, "--cache", "kept"]
        words += ["--out", "run", *QUIET]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(server.posts) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        err = running.communicate(timeout=60)[1]
        assert running.returncode == 130, err
        assert "interrupted" in err and "Traceback" not in err and "--resume" in err
        before = len(server.posts)
        again = [*words, "--resume"]
        resumed = subprocess.run(again, capture_output=True, text=True, timeout=100, check=False)
        assert resumed.returncode in (0, 3), resumed.stderr
        bodies = [json.dumps(one.body) for one in server.posts]
        # The first answer was kept, so only what followed was asked for again.
        assert bodies.count(bodies[0]) == 1 and len(bodies) > before


def echo(seen: Seen) -> str:
    """An answer that tells what it was asked with: the worst that a server could do."""
    return (
        f"The headers were {json.dumps(seen.headers)}. " + "Everything else stays as it was. " * 9
    )


@pytest.mark.parametrize("vendor", ["openai", "responses", "anthropic"])
def test_a_planted_key_is_in_nothing_that_is_written(
    vendor: str,
    command: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Of libraries that would tell everything.
    for library in ("httpx", "httpcore"):
        caplog.set_level(logging.DEBUG, logger=library)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with FaultServer(answers=echo) as server:
        words = ["run", session_file(), "--strategy", "head_tail", "--strategy", "layered"]
        words += [] if vendor == "openai" else ["--strategy", "native"]
        words += ["--model", f"{vendor}:tiny", "--base-url", server.url]
        words += ["--cache", "kept", "--probe", "none"]
        # Reports take their time: one of them is looked through.
        reports = () if vendor == "openai" else ("--no-report",)
        ran = command(*words, "--out", "run", "--json", *reports)
        assert ran.code in (0, 3), ran.err
        assert all(KEY in json.dumps(one.headers) for one in server.seen)
        server.begin_anew(always("auth"))
        halted = command(*words[:-4], "--cache", "other", "--probe", "none", "--out", "halted")
        assert halted.code == 3 and MASK in halted.err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "report.html" for path in written) == (vendor == "openai")
    assert all(KEY.encode() not in path.read_bytes() for path in written)
    assert any(MASK.encode() in path.read_bytes() for path in written)
    assert KEY not in "".join([ran.out, ran.err, halted.out, halted.err, caplog.text])
    assert "httpcore" in caplog.text
    with Run.open(Path("run")) as run:
        # Stored compressed, so that looking through the files isn't enough.
        shown = ""
        for stored in run.cells():
            seen = run.replay(stored)
            assert seen is not None
            shown += json.dumps([[item_to_json(one) for one in head] for head in seen.heads])
            shown += repr(run.calls(stored.cell.identity)) + repr(seen.compactions)
        assert KEY not in shown and MASK in shown


HEADER_TEXT = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"\\'),
    min_size=8,
    max_size=40,
)


@settings(max_examples=25)
@given(key=HEADER_TEXT, fault=st.sampled_from(["", "auth", "malformed", "server", "overflow"]))
def test_any_key_stays_in_its_header(
    key: str, fault: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    script = always(fault) if fault else only(0, fault="")
    with pytest.MonkeyPatch.context() as patch, FaultServer(script, answers=echo) as server:
        patch.setenv("OPENAI_API_KEY", key)
        wanted = ModelSettings(
            base_url=server.url, cache_folder=str(folder), tries_max=1, backoff_seconds=0
        )
        model = make_model("openai:tiny", wanted)
        assert isinstance(model, RemoteModel)
        HTTP_LINE.failed_in_a_row.clear()
        said = ""
        try:
            said = model.complete([Message("user", "Go on.")], output_tokens_max=900, seed=0).text
        except (ProviderError, RunHalted) as error:
            said = f"{error}{getattr(error, 'body', '')}"
        (sent,) = server.posts
        assert sent.headers["Authorization"] == f"Bearer {key}"
    kept = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.json"))
    # Words that stand in every answer aren't given away by being one's key.
    for text in (said, repr(model.calls), kept):
        assert key not in text or key in MASK

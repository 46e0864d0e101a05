"""Money from the command line, with a server on loopback that answers as the stand-in would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.spending import FILE_NAME, Ledger, Limits
from tests.fault_server import FaultServer
from tests.session_files import session_file

QUIET = ("--no-report", "--strategy", "head_tail", "--probe", "none")
PAID = "openai:gpt-5-mini"


@pytest.fixture(autouse=True)
def caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("COMPACTION_BENCH_CACHE", str(tmp_path / "common"))


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(models=("gpt-5-mini", "tiny")) as running:
        yield running


@pytest.fixture
def run(command: Any, server: FaultServer) -> Any:
    """`run` on three sessions with a real model; more words may follow."""
    sessions = [session_file(name, steps=12) for name in ("a", "b", "c")]

    def started(*words: object, model: str = PAID) -> Any:
        address = ("--model", model, "--base-url", server.url)
        return command("run", *sessions, *address, *QUIET, *words)

    return started


def table_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [*document["cells"], *document["table"]]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_a_dry_run_says_what_a_run_then_costs_and_calls_nobody(
    run: Any, server: FaultServer
) -> None:
    dry = run("--dry-run", "--json")
    assert dry.code == 0 and dry.err == ""
    assert server.seen == []
    assert list(Path.cwd().glob(".bench")) == []
    estimate = dry.document["estimate"]
    (stage,) = estimate["stages"]
    assert (stage["stage"], stage["model"]) == ("summaries", PAID)
    assert stage["calls"] >= 3 and stage["recorded"] == 0
    assert 0 < estimate["usd_expected"] < estimate["usd_worst"]
    assert dry.document["prices_as_of"] and dry.document["budget_usd"] == 5

    ran = run("--out", "one", "--json")
    assert ran.code == 0
    money = ran.document["money"]
    assert money["estimate"] == estimate
    # The server answers as the stand-in does and counts a few tokens more for every answer.
    assert money["actual"]["usd"] == pytest.approx(estimate["usd_expected"], rel=0.01)
    assert money["actual"]["calls"] == len(server.posts) == stage["calls"]
    assert money["spent"]["usd"] == pytest.approx(money["actual"]["usd"])
    tokens = f"{estimate['tokens_sent']:,} tokens of 3 sessions go to 127.0.0.1:"
    assert ran.err.count("\n") == 1 and tokens in ran.err

    again = run("--dry-run", "--json").document["estimate"]
    assert again["recorded"] == again["calls"] == stage["calls"]
    assert (again["usd_expected"], again["usd_worst"], again["tokens_sent"]) == (0, 0, 0)
    assert len(server.posts) == stage["calls"]


def test_people_read_the_same(run: Any) -> None:
    dry = run("--dry-run")
    assert "summaries" in dry.out and "no call was made" in dry.out
    assert max(map(len, dry.out.splitlines())) <= 80
    ran = run("--out", "one")
    said = " ".join(ran.out.split())
    assert "Real models cost $0.0" in said and "(expected $0.0" in said


def test_a_used_up_budget_stops_the_run_which_then_ends_as_if_nothing_had_been(
    run: Any, server: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dry = run("--dry-run", "--json").document["estimate"]
    # Enough for some calls, never for all.
    budget = dry["usd_expected"] * 0.6 + dry["usd_worst"] / (5 * dry["calls"])
    halted = run("--out", "cut", "--budget-usd", f"{budget:.6f}")
    assert halted.code == 3 and halted.out == ""
    assert "may cost up to" in halted.err and "--out cut --resume" in halted.err
    assert "% of" not in halted.err
    sent = len(server.posts)
    assert 0 < sent < dry["calls"]
    spent = Ledger(Path("cut") / FILE_NAME, Limits()).totals()
    assert 0 < spent.usd <= budget and spent.calls_open == 0

    resumed = run("--out", "cut", "--resume", "--json")
    assert resumed.code == 0
    assert len(server.posts) == dry["calls"]
    spent_usd = resumed.document["money"]["spent"]["usd"]
    assert spent_usd == pytest.approx(dry["usd_expected"], rel=0.01)
    monkeypatch.setenv("COMPACTION_BENCH_CACHE", str(tmp_path / "empty"))
    whole = run("--out", "whole", "--json")
    assert table_of(resumed.document) == table_of(whole.document)


def test_two_workers_share_one_budget(run: Any, server: FaultServer) -> None:
    dry = run("--dry-run", "--json").document["estimate"]
    budget = dry["usd_expected"] * 0.6 + dry["usd_worst"] / (5 * dry["calls"])
    halted = run("--out", "cut", "--workers", "2", "--budget-usd", f"{budget:.6f}")
    assert halted.code == 3
    assert 0 < len(server.posts) < dry["calls"]
    assert Ledger(Path("cut") / FILE_NAME, Limits()).totals().usd <= budget


def test_tokens_can_be_limited_instead(run: Any, server: FaultServer) -> None:
    halted = run("--out", "cut", "--budget-tokens", "20000", model="openai:tiny")
    assert halted.code == 3 and "--budget-tokens 20000" in halted.err
    assert Ledger(Path("cut") / FILE_NAME, Limits()).totals().tokens <= 20_000


def test_a_server_on_this_machine_needs_no_price_and_is_labelled(run: Any) -> None:
    ran = run("--out", "one", "--json", model="openai:tiny")
    money = ran.document["money"]
    assert ran.code == 0 and "openai:tiny: no price, on this machine" in ran.err
    assert money["free_of_charge"] == ["openai:tiny"]
    # What nobody priced isn't 0 dollars, it is unknown.
    assert money["actual"]["usd"] is None and money["estimate"]["usd_expected"] is None
    assert money["actual"]["tokens"] == money["spent"]["tokens"] > 0


BAD: dict[str, tuple[list[str], str]] = {
    "no price": (["--model", "openai:nobody-9"], "--budget-tokens N"),
    "no price, dry": (["--model", "openai:nobody-9", "--dry-run"], "--prices FILE"),
    "reader without a price": (["--reader", "anthropic:nobody-9"], "anthropic:nobody-9"),
    "no budget": (["--model", PAID, "--budget-usd", "0"], "above 0"),
    "no number": (["--model", PAID, "--budget-usd", "nan"], "above 0"),
    "no tokens": (["--model", PAID, "--budget-tokens", "-5"], "above 0"),
    "no prices": (["--model", PAID, "--prices", "none.toml"], "--prices none.toml"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_terms_are_told_before_anything_is_read(command: Any, name: str) -> None:
    words, said = BAD[name]
    ran = command("run", session_file("a", steps=2), "--no-report", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1 and said in ran.err
    assert not Path(".bench").exists()


def test_own_prices_serve_a_model_that_has_none(command: Any) -> None:
    Path("own.toml").write_text('[models]\n"nobody-9" = { input = 1, output = 2 }\n', "utf-8")
    ran = command(
        "run", session_file("a", steps=12), "--model", "openai:nobody-9", "--prices", "own.toml",
        "--dry-run", "--json", *QUIET,
    )  # fmt: skip
    assert ran.code == 0
    assert ran.document["estimate"]["usd_expected"] > 0
    assert "own.toml" in ran.document["prices_as_of"]


def test_stand_ins_cost_nothing_and_need_no_ledger(command: Any) -> None:
    file = session_file("a", steps=12)
    dry = command("run", file, *QUIET, "--dry-run")
    assert dry.code == 0 and "Nothing is paid" in dry.out
    ran = command("run", file, *QUIET, "--out", "one", "--json")
    assert "money" not in ran.document and ran.err == ""
    assert sorted(path.name for path in Path("one").iterdir()) == ["run.sqlite"]
    json.dumps(ran.document)

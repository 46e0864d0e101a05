"""`compare`, `gate` and `init` as people and continuous integration use them, on real runs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from bench.cli.gate import DEFAULT_STRATEGY
from bench.gating.prompts import headings_of, strategy_for_prompt
from bench.generator import generate
from bench.generator.writing import write_corpus
from bench.probing_options import ProbeOptions
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run
from bench.testing import assert_not_regressed
from tests.stored_runs import rule_fact, working_session

PROMPTS = Path(__file__).resolve().parents[2] / "strategies" / "prompts"
ROOMY = (12_000,)
FORGETFUL = "head_tail(preserve_last=2, summary_tokens_max=4000)"


def replayed(folder: Path, sessions: Sequence[Any], facts: dict[str, Any], **options: Any) -> Path:
    """A stored run of these sessions; nobody is asked questions, which takes longest."""
    asked = RunOptions(**{"probes": ProbeOptions(kinds=()), "windows": ROOMY, **options})
    plan, surveyed = plan_run(sessions, asked, lambda _: None)
    information = {"fact_version": asked.fact_version, "cuts": asked.cuts, "models": asked.models}
    with Run.create(folder, information) as run:
        tasks = tasks_of(plan, sessions, surveyed, facts, asked, run.has_cell)
        execute(run, tasks, 1, lambda _: None)
    return folder


@pytest.fixture(scope="module")
def lossy_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """24 small sessions through three models: keeping much twice, with two seeds, and little."""
    folder = tmp_path_factory.mktemp("lossy")
    languages = ("en", "zh")
    made = [generate("chat", languages[at % 2], 36, 100 + at, 12) for at in range(24)]
    sessions = [one.session for one in made]
    facts = {one.session.id: one.facts for one in made}
    runs = {"much": ("lossy(0.95)", 0), "again": ("lossy(0.95)", 1), "little": ("lossy(0.6)", 0)}
    return {
        name: replayed(
            folder / name,
            sessions,
            facts,
            specs=(FORGETFUL,),
            models=(model,),
            seeds=(seed,),
            cuts=12,
            windows=(None,),
        )
        for name, (model, seed) in runs.items()
    }


def test_a_model_that_keeps_less_regresses_and_one_that_keeps_as_much_does_not(
    command: Any, lossy_runs: dict[str, Path]
) -> None:
    worse = command("gate", lossy_runs["much"], lossy_runs["little"], "--json")
    assert worse.code == 1
    assert worse.document["verdict"] == "regressed"
    assert worse.document["difference"] < -0.1
    assert worse.document["p"] < 0.05
    same = command("gate", lossy_runs["much"], lossy_runs["again"], "--json")
    assert same.code == 0
    assert same.document["verdict"] in ("pass", "inconclusive")


@pytest.fixture(scope="module")
def rule_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Seven sessions, each with a rule that `empty`-like strategies lose; two prompts of one."""
    folder = tmp_path_factory.mktemp("rules")
    sessions = [working_session(f"s{at}", steps=8, note=f"Task {at}.") for at in range(7)]
    facts = {one.id: (rule_fact(one),) for one in sessions}
    must = {
        name: tuple(replace(fact, must_keep=True) for fact in found)
        for name, found in facts.items()
    }
    little = "head_tail(summary_tokens_max=1)"
    return {
        "good": replayed(folder / "good", sessions, facts, specs=("head_tail",), cuts=2),
        "bad": replayed(folder / "bad", sessions, facts, specs=(little,), cuts=2),
        "must": replayed(folder / "must", sessions[:2], must, specs=(little,), cuts=2),
        "four": replayed(folder / "four", sessions[:4], facts, specs=("head_tail",), cuts=2),
        "uncut": replayed(folder / "uncut", sessions, facts, specs=("head_tail",), cuts=3),
    }


def test_compare_tells_people_what_could_have_been_seen_before_the_verdict(
    command: Any, rule_runs: dict[str, Path]
) -> None:
    ran = command("compare", rule_runs["good"], rule_runs["bad"])
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("7 sessions could have shown a drop")
    assert any(line.startswith("REGRESSED:") for line in lines)
    assert "prod-ledger-7" in ran.out
    assert "Never write to the bucket prod-ledger-7" in ran.out
    assert command("gate", rule_runs["good"], rule_runs["bad"]).code == 1


def test_the_document_has_the_shape_of_the_contract(
    command: Any, rule_runs: dict[str, Path]
) -> None:
    document = command("compare", rule_runs["good"], rule_runs["bad"], "--json").document
    wanted = "verdict metric margin sessions difference interval p smallest_detectable"
    wanted += " sessions_needed worst_facts reason"
    assert list(document)[:11] == wanted.split()
    worst = document["worst_facts"][0]
    assert (worst["text"], worst["source_seq"]) == ("forbidden bucket: prod-ledger-7", 2)
    assert worst["answer_reason"] == "no reader was run"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("good", "four"), "don't share their sessions: only in"),
        (("good", "uncut"), "fact versions differ"),
        (("good", "must"), "don't share their sessions"),
    ],
)
def test_runs_that_dont_match_are_refused_with_the_difference_named(
    command: Any, rule_runs: dict[str, Path], names: tuple[str, str], words: str
) -> None:
    ran = command("gate", *(rule_runs[name] for name in names), "--json")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_too_few_sessions_give_no_verdict_but_a_lost_must_keep_fact_does(
    command: Any, rule_runs: dict[str, Path]
) -> None:
    ran = command("gate", rule_runs["four"], rule_runs["four"])
    assert ran.code == 3
    assert "NO VERDICT: 4 sessions can't tell a loss from chance: at least 6" in ran.out
    must = command("gate", rule_runs["must"], rule_runs["must"], "--json")
    assert must.code == 1
    assert must.document["reason"].startswith("2 facts that must be kept were lost")


def test_unproven_fails_where_that_is_asked_for(command: Any, rule_runs: dict[str, Path]) -> None:
    # Retention is 0 or 1 here, so a baseline that lost everything can't prove much.
    words = ("gate", rule_runs["bad"], rule_runs["good"], "--margin", "10")
    assert command(*words).code == 0
    assert command(*words, "--fail-on", "unproven").code == 0
    assert command("gate", rule_runs["good"], rule_runs["bad"], "--fail-on", "unproven").code == 1


def test_a_baseline_file_stands_for_its_run_and_holds_no_text(
    command: Any, rule_runs: dict[str, Path], tmp_path: Path
) -> None:
    good = rule_runs["good"]
    saved = command("compare", good, good, "--save-baseline", "gate/base.json")
    assert saved.code == 0
    text = (tmp_path / "gate/base.json").read_text("utf-8")
    assert "ledger" not in text and "bucket" not in text
    whole = command("gate", good, rule_runs["bad"], "--json")
    by_file = command("gate", "gate/base.json", rule_runs["bad"], "--json")
    assert by_file.code == whole.code == 1
    same = ("verdict", "difference", "interval", "p", "severity", "kinds", "worst_facts")
    assert [by_file.document[name] for name in same] == [whole.document[name] for name in same]


def test_files_for_continuous_integration(command: Any, rule_runs: dict[str, Path]) -> None:
    command(
        "gate",
        rule_runs["good"],
        rule_runs["bad"],
        "--junit",
        "out/g.xml",
        "--markdown",
        "out/g.md",
    )
    suite = Xml.parse("out/g.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    markdown = Path("out/g.md").read_text("utf-8")
    assert markdown.startswith("## ❌ Compaction: regressed")
    assert "| fact | session |" in markdown


def test_confirmation_draws_again_and_counts_all_draws(command: Any, tmp_path: Path) -> None:
    sessions = [working_session(f"s{at}", steps=6, note=f"Task {at}.") for at in range(6)]
    facts = {one.id: (rule_fact(one),) for one in sessions}
    runs = [
        replayed(
            tmp_path / name,
            sessions,
            facts,
            specs=(spec,),
            models=("lossy(1.0)",),
            cuts=2,
            windows=ROOMY,
        )
        for name, spec in (("a", "head_tail"), ("b", "head_tail(summary_tokens_max=1)"))
    ]
    ran = command("gate", *runs, "--confirm", "1", "--json")
    assert ran.code == 1
    assert ran.document["fresh_seeds"] == [1]
    assert ran.document["candidate"]["seeds"] == [0, 1]
    assert ran.document["first_draws"]["verdict"] == "regressed"
    assert "that is confirmed" in ran.document["notes"][0]
    calm = command("compare", runs[0], "--aa", "20", "--json")
    assert calm.code == 0
    assert calm.document["calibration"]["alarms"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gate",), "give BASELINE_RUN and perhaps CANDIDATE_RUN"),
        (("gate", "nothing"), "there is no run here"),
        (("gate", "a", "--metric", "seconds"), "--metric seconds: nothing to compare by"),
        (("gate", "a", "--margin", "0"), "--margin 0: give points above 0"),
        (("gate", "a", "--model", "offline"), "--model: goes with --prompt FILE only"),
        (("gate", "a", "--confirm", "0"), "--confirm 0: at least 1"),
        (("gate", "a", "--prompt", "p", "--baseline", "x"), "--baseline: goes with stored runs"),
        (("gate", "s", "--prompt", "nope.md"), "--prompt nope.md: can't be read"),
        (("run", "--prompt", "nope.md"), "--prompt nope.md: can't be read"),
        (("run", "--strategy", "prune", "--prompt", "default"), "takes a summary prompt: prune"),
        (("run", "--repeat", "0"), "--repeat 0: give a number from 1"),
        (("run", "--overhead", "much"), "--overhead much: give the tokens"),
        (("init",), "--github"),
        (("init", "--github", "--prompt", "a b.md"), "--prompt a b.md: has characters"),
    ],
)
def test_wrong_use_is_one_line(command: Any, words: tuple[str, ...], message: str) -> None:
    ran = command(*words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_a_file_that_is_no_baseline_is_named(command: Any, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[1]")
    (tmp_path / "y.json").write_text("{")
    assert "x.json: is no baseline" in command("compare", "x.json").err
    assert "y.json: is no baseline: it isn't JSON" in command("compare", "y.json").err


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "sessions"
    write_corpus(
        folder, sessions=8, events=40, seed=3, kinds=("chat", "support"), languages=("en",)
    )
    return folder


def without_critical_context(text: str) -> str:
    start = text.index("Critical Context:")
    stop = text.index("\n\n", start)
    text = text[:start].rstrip() + text[stop:]
    return text.replace("## Critical Context\n", "").replace("these five", "these four")


def test_a_prompt_without_its_critical_context_is_caught(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    """The real prompt of `layered`, which relies on its sections, and the offline model."""
    whole = PROMPTS / "layered_append.md"
    cut = tmp_path / "cut.md"
    cut.write_text(without_critical_context(whole.read_text("utf-8")), "utf-8")
    assert (
        len(headings_of(cut.read_text("utf-8"))) == len(headings_of(whole.read_text("utf-8"))) - 1
    )
    words = ("gate", "--prompt", cut, "--against", whole, corpus, "--out", "cells", "--json")
    ran = command(*words)
    assert ran.code == 1, ran.out
    assert ran.document["difference"] < -0.1
    assert ran.document["baseline"]["strategy"].startswith("layered(prompt=sha256:")
    assert (
        "the candidate's prompt no longer asks for ## Critical Context" in ran.document["warnings"]
    )
    assert ran.document["replayed"] == 32
    # The same again, and the way back: only what is missing is replayed.
    assert command(*words).document["replayed"] == 0
    back = command("gate", "--prompt", whole, "--against", cut, corpus, "--out", "cells", "--json")
    assert (back.code, back.document["replayed"]) == (0, 0)


def test_an_edit_that_the_model_doesnt_notice_gives_no_verdict(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("Summarise the conversation in plain prose.\n", "utf-8")
    (tmp_path / "b.md").write_text("Summarise the conversation in plain prose, please.\n", "utf-8")
    ran = command("gate", "--prompt", "b.md", "--against", "a.md", corpus)
    assert ran.code == 3
    assert "this model is insensitive to the edit" in ran.out
    assert Path(".bench/gate").is_dir()


def test_a_prompt_is_compared_with_itself_at_a_revision(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        named = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *named, *words], cwd=tmp_path, check=True, capture_output=True)

    prompt = tmp_path / "prompts" / "summary.md"
    prompt.parent.mkdir()
    prompt.write_text((PROMPTS / "layered_append.md").read_text("utf-8"), "utf-8")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "prompt")
    words = ("gate", "--prompt", prompt, corpus, "--out", corpus.parent / "shared", "--against")
    unchanged = command(*words, "git:HEAD", "--markdown", "g.md")
    assert unchanged.code == 0
    assert "is the same text as git:HEAD: nothing was replayed" in unchanged.out
    assert "nothing was replayed" in Path("g.md").read_text("utf-8")
    prompt.write_text(without_critical_context(prompt.read_text("utf-8")), "utf-8")
    assert command(*words, "git:HEAD").code == 1
    nowhere = command(*words, "git:nowhere")
    assert nowhere.code == 2
    assert "can't be had at that revision" in nowhere.err
    assert command(*words, "git:--output=x").code == 2


def test_the_default_strategy_is_one_that_relies_on_the_sections() -> None:
    own = (PROMPTS / "layered_append.md").read_text("utf-8")
    assert strategy_for_prompt(own, DEFAULT_STRATEGY) == "layered"
    shorter = own[: own.index("## Critical Context")]
    assert strategy_for_prompt(shorter, DEFAULT_STRATEGY) == "layered"
    assert strategy_for_prompt("Summarise in plain prose.", DEFAULT_STRATEGY) == "head_tail"
    assert strategy_for_prompt("Write `## Goal` and `## Rest`.", DEFAULT_STRATEGY) == "head_tail"


def test_run_gives_each_prompt_to_each_summarising_strategy(
    command: Any, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.md").write_text("Summarise the conversation in plain prose.\n", "utf-8")
    ran = command(
        "run", corpus, "--sample", "1", "--strategy", "head_tail", "--strategy", "prune",
        "--prompt", "default", "--prompt", "p.md", "--no-report", "--json",
    )  # fmt: skip
    specs = [row["strategy"] for row in ran.document["table"] if not row["is_control"]]
    assert specs[0] == "head_tail"
    assert specs[1].startswith("head_tail(prompt=sha256:")
    assert specs[2:] == ["prune"]


def test_init_writes_a_workflow_once(command: Any) -> None:
    assert command("init", "--github", "--prompt", "p/s.md", "--model", "openai:gpt-x").code == 0
    path = Path(".github/workflows/compaction.yml")
    text = path.read_text("utf-8")
    for wanted in (
        'compaction-bench gate --prompt "p/s.md"',
        "COMPACTION_BENCH_CACHE",
        "actions/cache@v",
        "GITHUB_STEP_SUMMARY",
        "OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}",
        "compaction-bench==",
    ):
        assert wanted in text
    assert "@PROMPT@" not in text
    again = command("init", "--github")
    assert again.code == 2
    assert "is there already and stays as it is" in again.err
    assert path.read_text("utf-8") == text


def test_a_few_lines_of_pytest(corpus: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    whole = PROMPTS / "layered_append.md"
    assert_not_regressed(whole, against=whole, sessions=[corpus])
    cut = tmp_path / "cut.md"
    cut.write_text(without_critical_context(whole.read_text("utf-8")), "utf-8")
    with pytest.raises(AssertionError, match="REGRESSED"):
        assert_not_regressed(cut, against=whole, sessions=[corpus], out=corpus.parent / "shared")

"""The options of `compare`, `gate` and `init`; nothing heavy is imported for them."""

from __future__ import annotations

import argparse
from typing import Any

from bench.cli.model_options import add_model_options
from bench.cli.money_options import add_money_options

CUTS_FOR_PROMPTS = "3"
OWN_TRIGGERS = "own"


def add_replay_options(run: argparse.ArgumentParser) -> None:
    """Options of `run` about prompts, cascades and what recordings lack."""
    run.add_argument(
        "--prompt",
        action="append",
        metavar="FILE",
        help="give every summarising strategy this summary prompt; repeatable; the word default "
        "stands for its own",
    )
    run.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="summarise each span N times in a row, summary of summary (default 1)",
    )
    run.add_argument(
        "--overhead",
        metavar="N|auto",
        help="tokens that requests carry beside the recording (system prompt, tools), or auto: "
        "what its first recorded usage tells",
    )


def add_compare(commands: Any) -> None:
    """The command `compare`."""
    command = commands.add_parser(
        "compare",
        help="is one strategy, prompt or model worse than another? paired statistics",
        description="Compares two stored runs, or two strategies, prompts or models of one, "
        "session by session. A run is a folder, or a baseline file made by --save-baseline.",
    )
    command.add_argument(
        "runs", nargs="*", metavar="RUN", help="BASELINE_RUN and perhaps CANDIDATE_RUN"
    )
    _add_comparison(command)


def add_gate(commands: Any) -> None:
    """The command `gate`."""
    command = commands.add_parser(
        "gate",
        help="the same, answered by the exit code; or: is a changed summary prompt worse?",
        description="Compares two runs as `compare` does and answers with its exit code: 0 pass, "
        "1 regressed, 2 runs that don't match, 3 no verdict. With --prompt FILE it replays the "
        "SESSIONs with both prompts, only cells that are missing, and compares those.",
    )
    command.add_argument(
        "runs",
        nargs="*",
        metavar="RUN|SESSION",
        help="BASELINE_RUN and perhaps CANDIDATE_RUN; with --prompt sessions",
    )
    _add_comparison(command)
    command.add_argument(
        "--fail-on",
        choices=("regressed", "unproven"),
        default="regressed",
        help="what exit code 1 stands for; unproven: inconclusive too",
    )
    prompt = command.add_argument_group("with --prompt")
    prompt.add_argument("--prompt", metavar="FILE", help="the summary prompt to judge")
    prompt.add_argument(
        "--against",
        metavar="FILE|git:REF",
        help="the prompt to compare it with, or the same file at a git revision (default: the "
        "strategy's own prompt)",
    )
    prompt.add_argument(
        "--strategy",
        metavar="SPEC",
        help="who is given the prompts (default: the strategy whose own prompt asks for the "
        "sections of one of the two, as layered; else head_tail)",
    )
    prompt.add_argument("--model", metavar="MODEL", help="who summarises (default offline)")
    prompt.add_argument("--seed", type=int, action="append", metavar="N", help="repeatable")
    prompt.add_argument("--window", metavar="N|auto", help="context window (default auto)")
    prompt.add_argument(
        "--cuts",
        default=CUTS_FOR_PROMPTS,
        metavar="N|recorded|own",
        help="compact at the same N points with both prompts (default 3), so that both summarise "
        "identical prefixes; own: when the strategy wants to",
    )
    prompt.add_argument("--workers", type=int, metavar="N", help="processes to use (default 1)")
    prompt.add_argument(
        "--out", metavar="DIR", help="where cells are kept and found again (default .bench/gate)"
    )
    prompt.add_argument("--format", metavar="FORMAT", help="session format")
    prompt.add_argument("--sample", type=int, metavar="N", help="take N of the sessions")
    prompt.add_argument("--min-tokens", type=int, metavar="N", help="leave out shorter sessions")
    prompt.add_argument("--sample-seed", type=int, metavar="N", help="which sample (default 0)")


def add_init(commands: Any) -> None:
    """The command `init`."""
    command = commands.add_parser(
        "init",
        help="write a workflow that gates a summary prompt",
        description="Writes files that a project needs to gate its summary prompt.",
    )
    command.add_argument(
        "--github", action="store_true", help="write .github/workflows/compaction.yml"
    )
    command.add_argument(
        "--prompt", metavar="FILE", help="the summary prompt (default prompts/summary.md)"
    )
    command.add_argument(
        "--sessions", metavar="SESSION", help="sessions to replay (default: the bundled corpus)"
    )
    command.add_argument("--model", metavar="MODEL", help="who summarises (default offline)")


def _add_comparison(command: argparse.ArgumentParser) -> None:
    """Which sides, by what, and where to."""
    command.add_argument("--baseline", metavar="SPEC", help="the baseline's strategy")
    command.add_argument("--candidate", metavar="SPEC", help="the candidate's strategy")
    command.add_argument("--baseline-model", metavar="MODEL", help="the baseline's model")
    command.add_argument("--candidate-model", metavar="MODEL", help="the candidate's model")
    command.add_argument(
        "--metric", default="retention", metavar="NAME", help="what decides (default retention)"
    )
    command.add_argument(
        "--margin",
        type=float,
        default=10.0,
        metavar="N",
        help="the largest drop that is acceptable, in points (default 10)",
    )
    command.add_argument(
        "--confirm",
        nargs="?",
        type=int,
        const=2,
        metavar="N",
        help="if it regressed, replay both with N fresh seeds (default 2), decide on all draws",
    )
    command.add_argument(
        "--aa",
        nargs="?",
        type=int,
        const=400,
        metavar="N",
        help="compare the baseline with itself N times (default 400): how often is that an alarm?",
    )
    command.add_argument(
        "--save-baseline", metavar="FILE.json", help="keep the candidate as a baseline file"
    )
    command.add_argument("--junit", metavar="FILE", help="write a JUnit file for CI")
    command.add_argument("--markdown", metavar="FILE", help="write a summary for a pull request")
    command.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_model_options(command)
    add_money_options(command)

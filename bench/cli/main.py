"""The parser, and what becomes of errors: one line on stderr and an exit code, never a traceback.

Exit codes: 0 fine, 1 the check failed, 2 wrong usage or unreadable input, 3 no verdict,
130 interrupted (what was done is saved).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias

from bench.cli.gate_options import add_compare, add_gate, add_init, add_replay_options
from bench.cli.judge import add_calibrate_judge
from bench.cli.merge import add_merge
from bench.cli.model_options import add_model_options
from bench.cli.money_options import add_money_options
from bench.cli.probe_options import add_probe_options
from bench.cli.score import add_score
from bench.errors import RunHalted, UsageError

EXIT_FINE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_VERDICT = 3
EXIT_INTERRUPTED = 130

_WIRE_FORMATS = ("openai", "anthropic", "responses", "gemini")
_CONVERTED_TO = ("openai", "anthropic", "responses", "own")
_REPORT_FORMATS = "html,md,svg,png,csv"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="compaction-bench",
        description="Replays long agent sessions through context-compaction strategies and scores "
        "what each one keeps, loses and costs.",
        epilog="Start with: compaction-bench run (the bundled corpus, offline).",
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_run(commands)
    _add_compact(commands)
    _add_report(commands)
    _add_sessions(commands)
    _add_strategies(commands)
    add_merge(commands)
    add_score(commands)
    add_compare(commands)
    add_gate(commands)
    add_init(commands)
    add_calibrate_judge(commands)
    return parser


Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


def _add_run(commands: Commands) -> None:
    run = commands.add_parser(
        "run",
        help="compare strategies on sessions",
        description="Replays every SESSION through every strategy and both controls, scores them "
        "and writes a report. Without SESSION: the bundled corpus.",
    )
    run.add_argument("sessions", nargs="*", metavar="SESSION", help="file, folder or corpus name")
    run.add_argument(
        "--strategy",
        action="append",
        metavar="SPEC",
        help='such as head_tail or "head_tail(preserve_last={4,8})"; repeatable',
    )
    run.add_argument(
        "--window",
        action="append",
        metavar="N|auto",
        help="context window in tokens, or one fitted to each session (default); repeatable",
    )
    run.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="who writes summaries: offline (default), lossy(P), openai:NAME, responses:NAME, "
        "anthropic:NAME; repeatable",
    )
    run.add_argument("--seed", type=int, action="append", metavar="N", help="default 0; repeatable")
    add_probe_options(run)
    run.add_argument(
        "--cuts",
        metavar="N|recorded",
        help="force the same N compaction points on every strategy, or those of the recording",
    )
    add_replay_options(run)
    run.add_argument("--workers", type=int, metavar="N", help="processes to use (default 1)")
    run.add_argument("--cluster", metavar="ADDRESS", help="run on a Dask cluster: its scheduler")
    run.add_argument("--out", metavar="DIR", help="run folder (default .bench/runs/TIME)")
    run.add_argument("--format", metavar="FORMAT", help="session format, instead of detecting it")
    run.add_argument("--config", metavar="FILE.toml", help="options from a file")
    run.add_argument("--sample", type=int, metavar="N", help="take N of the sessions, stratified")
    run.add_argument("--min-tokens", type=int, metavar="N", help="leave out shorter sessions")
    run.add_argument("--sample-seed", type=int, metavar="N", help="which sample (default 0)")
    run.add_argument("--resume", action="store_true", help="go on with the run in --out")
    run.add_argument("--no-report", action="store_true", help="only store and print")
    run.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_model_options(run, has_arbiter=True)
    add_money_options(run)


def _add_compact(commands: Commands) -> None:
    compact = commands.add_parser(
        "compact",
        help="replay one session and print what the model would be shown",
        description="Replays one session through one strategy and prints the projection of its "
        "last recorded request.",
    )
    compact.add_argument("session", metavar="SESSION", help="a file or folder with one session")
    compact.add_argument("--strategy", required=True, metavar="SPEC")
    compact.add_argument("--window", required=True, metavar="N|auto")
    compact.add_argument("--model", default="offline", metavar="MODEL")
    compact.add_argument("--seed", type=int, default=0, metavar="N")
    compact.add_argument("--session-id", metavar="ID", help="which session, where there are more")
    compact.add_argument("--format", metavar="FORMAT")
    compact.add_argument("--manual", action="store_true", help="compact once more at the end")
    compact.add_argument(
        "--to",
        choices=_WIRE_FORMATS,
        help="API shape (default openai; with a provider's own state, the API that takes it)",
    )
    compact.add_argument("--diff", action="store_true", help="what became of every event")
    compact.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_model_options(compact)
    add_money_options(compact, has_dry_run=False)


def _add_report(commands: Commands) -> None:
    report = commands.add_parser("report", help="write reports from a stored run")
    report.add_argument("runs", nargs="+", metavar="RUN", help="a run folder")
    report.add_argument(
        "--to", metavar="DIR", help="where to (default: the run folder); several runs: side by side"
    )
    report.add_argument(
        "--format",
        default=_REPORT_FORMATS,
        metavar="LIST",
        help=f"of {_REPORT_FORMATS} (the default), parquet, junit",
    )
    report.add_argument("--brief", action="store_true", help="Markdown of at most 25 lines")
    report.add_argument("--share", action="store_true", help="no excerpts, ids of sessions hashed")
    report.add_argument("--rescore", action="store_true", help="compute all scores anew first")


def _add_sessions(commands: Commands) -> None:
    sessions = commands.add_parser("sessions", help="look at sessions or make synthetic ones")
    actions = sessions.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    inspect = actions.add_parser("inspect", help="what was read, repaired and skipped")
    inspect.add_argument("paths", nargs="+", metavar="PATH")
    inspect.add_argument("--format", metavar="FORMAT")
    inspect.add_argument("--json", action="store_true", help="one JSON document on stdout")
    _add_session_checks(actions)
    generate = actions.add_parser("generate", help="write a synthetic corpus with its facts")
    generate.add_argument("--out", required=True, metavar="DIR")
    generate.add_argument("--sessions", type=int, default=6, metavar="N")
    generate.add_argument("--events", type=int, default=400, metavar="N", help="events a session")
    generate.add_argument("--seed", type=int, default=0, metavar="N")
    generate.add_argument("--kind", action="append", metavar="KIND", help="default: all in turn")
    generate.add_argument("--language", action="append", choices=("en", "zh"))
    generate.add_argument("--corpus", metavar="NAME", help="write a bundled corpus anew")


def _add_session_checks(actions: Commands) -> None:
    validate = actions.add_parser(
        "validate", help="exit 1 where calls, results, content or lines aren't as they should be"
    )
    convert = actions.add_parser("convert", help="write sessions in the shape of an API")
    annotate = actions.add_parser("annotate", help="draft facts of sessions for people to edit")
    for action in (validate, convert, annotate):
        action.add_argument("paths", nargs="+", metavar="PATH")
        action.add_argument("--format", metavar="FORMAT")
    convert.add_argument("--to", required=True, choices=_CONVERTED_TO)
    convert.add_argument("--out", required=True, metavar="DIR", help="a new or empty folder")
    annotate.add_argument("--out", required=True, metavar="facts.jsonl", help="a new file")
    annotate.add_argument(
        "--facts-max", type=int, default=40, metavar="N", help="of each session (default 40)"
    )
    for action in (validate, convert):
        action.add_argument("--json", action="store_true", help="one JSON document on stdout")


def _add_strategies(commands: Commands) -> None:
    strategies = commands.add_parser("strategies", help="list strategies and their parameters")
    strategies.add_argument("spec", nargs="?", metavar="SPEC", help="only this one, in detail")
    strategies.add_argument("--json", action="store_true", help="one JSON document on stdout")
    verify = commands.add_parser("verify", help="check that a strategy keeps its promises")
    verify.add_argument("spec", metavar="SPEC")
    verify.add_argument("--examples", type=int, metavar="N", help="sessions a promise")


def _command(arguments: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """The function behind a command; imported only now, so that --help answers at once."""
    match arguments.command:
        case "run":
            from bench.cli.run import run

            return run
        case "compact":
            from bench.cli.compact import compact

            return compact
        case "report":
            from bench.cli.report import report

            return report
        case "sessions":
            from bench.cli.sessions import sessions

            return sessions
        case "merge":
            from bench.cli.merge import merge

            return merge
        case "score":
            from bench.cli.score import score

            return score
        case "compare":
            from bench.cli.compare import compare

            return compare
        case "gate":
            from bench.cli.gate import gate

            return gate
        case "init":
            from bench.cli.init import init

            return init
        case "calibrate-judge":
            from bench.cli.judge import calibrate_judge

            return calibrate_judge
        case "strategies":
            from bench.cli.strategies import strategies

            return strategies
        case _:
            from bench.cli.strategies import verify

            return verify


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = build_parser()
    try:
        arguments = parser.parse_args(words)
        if arguments.version:
            return _print_version()
        if arguments.command is None:
            parser.print_help()
            return EXIT_USAGE
        from bench.registry import check_import_names

        check_import_names()
        return _command(arguments)(arguments)
    except UsageError as error:
        print(f"compaction-bench: {_one_line(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except RunHalted as halt:
        print(f"compaction-bench: stopped: {_one_line(halt.reason)}", file=sys.stderr)
        return EXIT_NO_VERDICT
    except KeyboardInterrupt:
        print("compaction-bench: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (head, less): nothing to complain about.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FINE


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _print_version() -> int:
    from importlib.metadata import version

    print(f"compaction-bench {version('compaction-bench')}")
    return EXIT_FINE

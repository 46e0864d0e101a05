"""`compaction-bench sessions inspect` and `sessions generate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.cli.main import EXIT_FINE, EXIT_USAGE
from bench.cli.output import harmless, note, print_json
from bench.errors import UsageError


def sessions(arguments: argparse.Namespace) -> int:
    """The actions of `sessions`."""
    if arguments.action == "inspect":
        return _inspect(arguments)
    return _generate(arguments)


def _inspect(arguments: argparse.Namespace) -> int:
    """What was read, repaired and skipped; exit 2 when no file loaded."""
    from bench.inspecting import describe
    from bench.loading import load_sessions

    loaded = load_sessions(arguments.paths, format=arguments.format)
    described = [describe(one, loaded.evidence.get(one.path)) for one in loaded.sessions]
    rejected = [{"path": one.path, "reason": one.reason} for one in loaded.rejected]
    if arguments.json:
        print_json({"sessions": described, "rejected": rejected})
    else:
        for row in described:
            _print_session(row)
        for one in rejected:
            print(f"not a session: {harmless(one['path'])}: {harmless(one['reason'])}")
    if not described:
        note(f"compaction-bench: {arguments.paths[0]}: no session could be read")
    return EXIT_FINE if described else EXIT_USAGE


def _print_session(row: dict[str, Any]) -> None:
    extras = [
        f"{row['recorded_compactions']} recorded compactions" * bool(row["recorded_compactions"]),
        f"{row['unanswered_calls']} unanswered calls" * bool(row["unanswered_calls"]),
        "starts in mid-session" * bool(row["is_slice"]),
        f"sub-agent of {harmless(str(row['subagent_of']))}" * bool(row["subagent_of"]),
        f"{row['skipped_lines']} lines skipped" * bool(row["skipped_lines"]),
        f"{len(row['repairs'])} repairs" * bool(row["repairs"]),
    ]
    print(f"{harmless(row['id'])} ({row['format']}) {harmless(row['path'])}")
    print(
        f"    {row['events']:,} events, {row['turns']:,} turns, "
        f"{row['tool_groups']:,} tool groups, {row['tokens']:,} tokens"
    )
    if row["evidence"]:
        print(f"    recognised by {harmless(row['evidence'])}")
    shown = [extra for extra in extras if extra]
    if shown:
        print(f"    {', '.join(shown)}")
    for repair in row["repairs"][:3]:
        print(f"    {repair['kind']} at {harmless(repair['where'])}: {harmless(repair['what'])}")
    if len(row["repairs"]) > 3:
        print(f"    ... and {len(row['repairs']) - 3} more repairs (--json shows all)")


def _generate(arguments: argparse.Namespace) -> int:
    """Writes a synthetic corpus that `run` picks up with its facts."""
    from bench.generator import KINDS, LANGUAGES, regenerate_bundled, write_corpus

    folder = Path(arguments.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out {arguments.out}: is there already; give a new or empty folder")
    if arguments.corpus is not None:
        if arguments.corpus != "bundled":
            raise UsageError(f"--corpus {arguments.corpus}: unknown, there is: bundled")
        regenerate_bundled(folder)
        note(f"wrote the bundled corpus to {folder}")
        return EXIT_FINE
    for option, value in (("--sessions", arguments.sessions), ("--events", arguments.events)):
        if value < 1:
            raise UsageError(f"{option} {value}: at least 1")
    kinds = arguments.kind or list(KINDS)
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"--kind {kind}: unknown, there are: {', '.join(KINDS)}")
    write_corpus(
        folder,
        sessions=arguments.sessions,
        events=arguments.events,
        seed=arguments.seed,
        kinds=tuple(kinds),
        languages=tuple(arguments.language or LANGUAGES),
    )
    note(f"wrote {arguments.sessions} sessions with their facts to {folder}")
    return EXIT_FINE

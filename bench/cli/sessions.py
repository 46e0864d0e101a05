"""`compaction-bench sessions`: inspect, validate, convert, annotate, generate."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli.main import EXIT_FAILED, EXIT_FINE, EXIT_USAGE
from bench.cli.output import harmless, note, print_json
from bench.errors import UsageError

if TYPE_CHECKING:
    from bench.events import Session
    from bench.facts import Fact
    from bench.loading import Loaded

_FINDINGS_SHOWN = 3


def sessions(arguments: argparse.Namespace) -> int:
    """The actions of `sessions`."""
    actions = {
        "inspect": _inspect,
        "validate": _validate,
        "convert": _convert,
        "annotate": _annotate,
        "generate": _generate,
    }
    return actions[arguments.action](arguments)


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
        _print_rejected(rejected)
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


def _validate(arguments: argparse.Namespace) -> int:
    """Judges every session; exit 1 when one has errors or a named file is no session."""
    from bench.loading import load_sessions
    from bench.validating import findings

    loaded = load_sessions(arguments.paths, format=arguments.format)
    judged: list[dict[str, Any]] = []
    for session in loaded.sessions:
        found = [asdict(finding) for finding in findings(session)]
        errors = sum(finding["severity"] == "error" for finding in found)
        judged.append(
            {
                "id": session.id,
                "path": session.path,
                "format": session.format,
                "is_valid": not errors,
                "errors": errors,
                "warnings": len(found) - errors,
                "findings": found,
            }
        )
    rejected = [{"path": one.path, "reason": one.reason} for one in loaded.rejected]
    named = {str(Path(path)) for path in arguments.paths}
    is_valid = all(row["is_valid"] for row in judged)
    is_valid = is_valid and not any(one["path"] in named for one in rejected)
    if arguments.json:
        print_json({"is_valid": is_valid, "sessions": judged, "rejected": rejected})
    else:
        for row in judged:
            _print_judged(row)
        _print_rejected(rejected)
    if not judged:
        note(f"compaction-bench: {arguments.paths[0]}: no session could be read")
        return EXIT_USAGE
    return EXIT_FINE if is_valid else EXIT_FAILED


def _print_judged(row: dict[str, Any]) -> None:
    verdict = "valid" if row["is_valid"] else "INVALID"
    print(f"{verdict}: {harmless(row['id'])} ({row['format']}) {harmless(row['path'])}")
    seen: Counter[tuple[str, str]] = Counter()
    for one in row["findings"]:
        seen[one["severity"], one["kind"]] += 1
        if seen[one["severity"], one["kind"]] <= _FINDINGS_SHOWN:
            place, what = harmless(one["where"], 60), harmless(one["what"], 200)
            print(f"    {one['severity']} {one['kind']} at {place}: {what}")
    for (severity, kind), count in seen.items():
        if count > _FINDINGS_SHOWN:
            print(f"    ... {severity} {kind}: {count:,} in all (--json shows them)")


def _print_rejected(rejected: list[dict[str, str]]) -> None:
    for one in rejected:
        print(f"not a session: {harmless(one['path'])}: {harmless(one['reason'])}")


def _convert(arguments: argparse.Namespace) -> int:
    """Writes every session in another shape; exit 1 when one doesn't load back equal."""
    from bench.converting import carried, differences, file_name, write_converted
    from bench.facts_file import FILE_NAME, facts_beside, write_facts
    from bench.loading import load_sessions

    folder = _new_folder(arguments.out)
    loaded = _some_sessions(load_sessions(arguments.paths, format=arguments.format), arguments)
    facts = facts_beside([session.path for session in loaded.sessions])
    folder.mkdir(parents=True, exist_ok=True)
    taken = {FILE_NAME}
    written: dict[Path, Session] = {}
    rows: list[dict[str, Any]] = []
    kept_facts: list[Fact] = []
    for session in loaded.sessions:
        kept = carried(session, arguments.to)
        name = file_name(session, arguments.to, taken)
        path = write_converted(kept.session, arguments.to, folder, name)
        written[path] = kept.session
        losses = list(kept.losses)
        if facts.get(session.id):
            if kept.has_same_places:
                kept_facts += facts[session.id]
            else:
                losses.append("its facts: events have other numbers now")
        rows.append(
            {
                "id": session.id,
                "from": session.path,
                "path": str(path),
                "events": len(kept.session.events),
                "not_carried": losses,
            }
        )
    problems = differences(written)
    for row in rows:
        row["problem"] = problems.get(Path(row["path"]), "")
    if kept_facts:
        write_facts(folder / FILE_NAME, kept_facts)
    rejected = [{"path": one.path, "reason": one.reason} for one in loaded.rejected]
    if arguments.json:
        print_json({"to": arguments.to, "sessions": rows, "rejected": rejected})
    else:
        for row in rows:
            _print_converted(row)
        _print_rejected(rejected)
    return EXIT_FAILED if problems else EXIT_FINE


def _print_converted(row: dict[str, Any]) -> None:
    print(f"{harmless(row['id'])} -> {harmless(row['path'])}: {row['events']:,} events")
    if row["not_carried"]:
        print(f"    not carried: {harmless('; '.join(row['not_carried']))}")
    if row["problem"]:
        print(f"    DIFFERS when it is loaded back: {harmless(row['problem'])}")


def _annotate(arguments: argparse.Namespace) -> int:
    """Drafts facts for people to edit."""
    from bench.annotating import all_drafts
    from bench.facts_file import read_facts, write_facts
    from bench.loading import load_sessions

    out = Path(arguments.out)
    if out.exists():
        raise UsageError(
            f"--out {out}: is there already and may hold people's work; give a new file"
        )
    if arguments.facts_max < 1:
        raise UsageError(f"--facts-max {arguments.facts_max}: at least 1")
    loaded = _some_sessions(load_sessions(arguments.paths, format=arguments.format), arguments)
    facts = all_drafts(loaded.sessions, facts_max=arguments.facts_max)
    if not facts:
        raise UsageError(
            f"{arguments.paths[0]}: nothing to draft: no agent used what it had met more than "
            "2,000 tokens before; give longer sessions"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_facts(out, facts)
    read_facts(out)
    sessions_told = len({fact.session for fact in facts})
    note(
        f"wrote {len(facts)} facts of {sessions_told} sessions to {out}: delete what doesn't "
        "matter, mend subjects and questions, set must_keep, and put the file beside the sessions "
        "as facts.jsonl"
    )
    return EXIT_FINE


def _some_sessions(loaded: Loaded, arguments: argparse.Namespace) -> Loaded:
    """What was loaded. Raises UsageError when that is nothing."""
    if loaded.sessions:
        return loaded
    reasons = "; ".join(f"{one.path}: {one.reason}" for one in loaded.rejected[:3])
    shown = harmless(reasons or "the folder holds no files")
    raise UsageError(f"{arguments.paths[0]}: no session could be read: {shown}")


def _new_folder(text: str) -> Path:
    """A folder that isn't there or is empty. Raises UsageError for any other."""
    folder = Path(text)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out {text}: is there already; give a new or empty folder")
    return folder


def _generate(arguments: argparse.Namespace) -> int:
    """Writes a synthetic corpus that `run` picks up with its facts."""
    from bench.generator import KINDS, LANGUAGES, regenerate_bundled, write_corpus

    folder = _new_folder(arguments.out)
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

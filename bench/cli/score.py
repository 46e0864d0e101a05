"""`compaction-bench score BEFORE AFTER`: a compaction judged by its messages before and after."""

from __future__ import annotations

import argparse
from typing import Any

from bench.errors import UsageError
from bench.events import Session
from bench.facts import Fact


def add_score(commands: Any) -> None:
    """Adds the command and its options to the command line."""
    command = commands.add_parser(
        "score",
        help="judge a compaction by the messages before and after it",
        description="Compares the messages after a compaction with those before it: what was kept, "
        "what of its facts is still there, and what is broken. Where messages came from is "
        "inferred by comparing.",
    )
    command.add_argument("before", metavar="BEFORE", help="a file with one session or message list")
    command.add_argument("after", metavar="AFTER", help="the same after the compaction")
    command.add_argument(
        "--facts",
        metavar="FILE",
        help="facts.jsonl to ask for (default: beside BEFORE, else values that are found)",
    )
    command.add_argument("--json", action="store_true", help="one JSON document on stdout")


def score(arguments: argparse.Namespace) -> int:
    """Prints what is found out; exit 3 when nothing was measured or a control is out of line."""
    from bench.before_after import measure
    from bench.cli.output import print_json
    from bench.cli.score_output import document, print_for_people

    before = _one_session(arguments.before, "BEFORE")
    after = _one_session(arguments.after, "AFTER")
    found = measure(before, after, _facts(arguments.facts, before))
    if arguments.json:
        print_json(document(before, after, found))
    else:
        print_for_people(before, after, found)
    from bench.cli.main import EXIT_FINE, EXIT_NO_VERDICT

    return EXIT_NO_VERDICT if found.reason else EXIT_FINE


def _one_session(path: str, role: str) -> Session:
    from bench.loading import load_sessions

    loaded = load_sessions([path])
    if len(loaded.sessions) == 1:
        return loaded.sessions[0]
    if loaded.sessions:
        raise UsageError(
            f"{role} {path}: holds {len(loaded.sessions)} sessions; give a file with one"
        )
    reasons = "; ".join(f"{one.path}: {one.reason}" for one in loaded.rejected[:3])
    raise UsageError(f"{role} {path}: no messages could be read: {reasons or 'an empty folder'}")


def _facts(path: str | None, before: Session) -> tuple[Fact, ...]:
    """The facts to ask for. A file that speaks of one session only is taken to mean this one."""
    from bench.cli.output import harmless
    from bench.facts_file import facts_beside, read_facts

    if path is None:
        return facts_beside([before.path]).get(before.id, ())
    facts = read_facts(path)
    own = tuple(fact for fact in facts if fact.session == before.id)
    sessions = sorted({fact.session for fact in facts})
    if own or len(sessions) == 1:
        return own or facts
    listed = ", ".join(harmless(one, 40) for one in sessions[:5]) or "none at all"
    raise UsageError(
        f"--facts {path}: no fact is of session {harmless(before.id, 40)}; "
        f"there are facts of: {listed}"
    )

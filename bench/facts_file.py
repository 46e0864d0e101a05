"""Edge: `facts.jsonl`, planted or authored facts beside the sessions that hold them.

One JSON object a line, in the shape that contract.md fixes: `{"id", "session", "kind", "subject",
"value", "aliases", "stale", "source_seqs", "born_seq", "probe": {"at_seq", "question"},
"must_keep"}`. People write these files too, so every row is checked and named when it is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.facts import FACT_KINDS, Fact, Probe

FILE_NAME = "facts.jsonl"

_REQUIRED = ("id", "session", "kind", "value")
_OPTIONAL = ("subject", "aliases", "stale", "source_seqs", "born_seq", "probe", "must_keep")


def read_facts(path: Path | str) -> tuple[Fact, ...]:
    """The facts of a file, in its order. Blank lines are skipped.

    Raises UsageError naming the file, and the line of the first row that is wrong.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read: {error}") from error
    facts: list[Fact] = []
    lines: dict[tuple[str, str], int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            fact = fact_from_json(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} line {number}: {_reason(error)}") from error
        earlier = lines.setdefault((fact.session, fact.id), number)
        if earlier != number:
            raise UsageError(
                f"{path} line {number}: id {fact.id!r} stands for another fact of session "
                f"{fact.session!r} on line {earlier}; give each fact of a session an id of its own"
            )
        facts.append(fact)
    return tuple(facts)


def write_facts(path: Path | str, facts: Iterable[Fact]) -> None:
    """Write facts as a file that `read_facts` reads back; the same facts give the same bytes.

    Raises UsageError when the file can't be written.
    """
    lines = [json.dumps(fact_to_json(fact), ensure_ascii=False) + "\n" for fact in facts]
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror or error}") from error


def facts_beside(paths: Iterable[Path | str]) -> dict[str, tuple[Fact, ...]]:
    """The facts of all `facts.jsonl` in the folders of these session files, by session id."""
    found: dict[str, list[Fact]] = {}
    folders = dict.fromkeys(Path(path).parent for path in paths if str(path))
    for folder in folders:
        file = folder / FILE_NAME
        if file.is_file():
            for fact in read_facts(file):
                found.setdefault(fact.session, []).append(fact)
    return {session: tuple(facts) for session, facts in found.items()}


def fact_to_json(fact: Fact) -> dict[str, Any]:
    """A fact as plain data, all fields, in the order of the contract."""
    return {
        "id": fact.id,
        "session": fact.session,
        "kind": fact.kind,
        "subject": fact.subject,
        "value": fact.value,
        "aliases": list(fact.aliases),
        "stale": list(fact.stale),
        "source_seqs": list(fact.source_seqs),
        "born_seq": fact.born_seq,
        "probe": {"at_seq": fact.probe.at_seq, "question": fact.probe.question},
        "must_keep": fact.must_keep,
    }


def fact_from_json(data: Any) -> Fact:
    """The inverse of `fact_to_json`; optional fields may be missing.

    Raises ValueError saying which field is wrong and what would be right.
    """
    row = _object(data, "a fact", (*_REQUIRED, *_OPTIONAL))
    for name in _REQUIRED:
        if name not in row:
            raise ValueError(f'"{name}" is missing; a fact has at least {", ".join(_REQUIRED)}')
        if not _text(row, name).strip():
            raise ValueError(f'"{name}" is empty, expected text')
    if row["kind"] not in FACT_KINDS:
        raise ValueError(f'"kind" is {row["kind"]!r}, expected one of {", ".join(FACT_KINDS)}')
    probe = _object(row.get("probe") or {}, '"probe"', ("at_seq", "question"))
    at_seq = probe.get("at_seq")
    source_seqs = row.get("source_seqs", [])
    if not isinstance(source_seqs, list):
        raise ValueError(f'"source_seqs" is {_shown(source_seqs)}, expected a list of seqs')
    return Fact(
        id=row["id"],
        session=row["session"],
        kind=row["kind"],
        subject=_text(row, "subject"),
        value=row["value"],
        aliases=_texts(row, "aliases"),
        stale=_texts(row, "stale"),
        source_seqs=tuple(_seq("source_seqs", seq) for seq in source_seqs),
        born_seq=_seq("born_seq", row.get("born_seq", 1)),
        probe=Probe(
            None if at_seq is None else _seq("probe.at_seq", at_seq), _text(probe, "question")
        ),
        must_keep=_flag(row, "must_keep"),
    )


def _object(data: Any, what: str, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError(f"{what} is {_shown(data)}, expected a JSON object")
    unknown = [name for name in data if name not in names]
    if unknown:
        raise ValueError(f'{what} has no field "{unknown[0]}", there are: {", ".join(names)}')
    return data


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f'"{name}" is {_shown(value)}, expected text')
    return value


def _texts(row: dict[str, Any], name: str) -> tuple[str, ...]:
    values = row.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f'"{name}" is {_shown(values)}, expected a list of texts')
    return tuple(values)


def _seq(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f'"{name}" is {_shown(value)}, expected a seq: a whole number from 1')
    return value


def _flag(row: dict[str, Any], name: str) -> bool:
    value = row.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f'"{name}" is {_shown(value)}, expected true or false')
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON ({error.msg} at character {error.pos + 1}); write one object a line"
    if isinstance(error, RecursionError):
        return "is nested too deeply; write one flat object a line"
    return str(error)

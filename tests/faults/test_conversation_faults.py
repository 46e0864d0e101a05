"""Whatever fails, and whenever: a conversation holds its old state or the new one, never both."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bench.conversation import Conversation
from bench.conversation_records import ConversationError
from bench.conversation_store import ConversationStore
from bench.events import Event
from bench.invariants import violations
from tests.builders import message
from tests.conversation_parts import (
    RoutedProvider,
    compacted,
    damage,
    opened,
    rows,
    shown,
    steps,
    tell,
)
from tests.faulty_sqlite import FaultyConnection, connect_with, faulty

STATEMENTS_MAX = 120

OPERATIONS: dict[str, Callable[[Conversation], object]] = {
    "append": lambda it: tell(it, "assistant: done"),
    "a turn": lambda it: tell(it, "user: next"),
    "request": lambda it: it.request(),
    "compact": lambda it: it.compact(),
    "rewind": lambda it: it.rewind(20),
    "switch": lambda it: it.switch(RoutedProvider("two/small")),
    "refresh": lambda it: it.refresh(),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation that has compacted once and is due to do so again."""
    path = tmp_path_factory.mktemp("filled") / "c.sqlite"
    with compacted(path) as conversation:
        tell(conversation, *steps(12, 24))
    return path


def content(path: Path) -> tuple[Any, ...]:
    """Everything that the file holds, diagnostics apart."""
    return tuple(rows(path, name) for name in ("log", "projections", "boundaries", "states"))


def is_whole(path: Path) -> None:
    """What the row says is what the newest completion behind the last rewind says."""
    log = rows(path)
    rewound_at = max((row[1] for row in log if row[2] == "rewind"), default=0)
    completions = [row for row in log if row[2] == "compaction_completed" and row[1] > rewound_at]
    projections = rows(path, "projections")
    if not completions:
        assert projections == []
        return
    ((_, position, identity, text),) = projections
    assert (position, text) == (completions[-1][1], completions[-1][4])
    assert json.loads(text)["id"] == identity
    for _, record, *_ in rows(path, "states"):
        assert record == identity


def attempts(filled: Path, folder: Path) -> Iterator[tuple[Path, int]]:
    """A fresh copy for every n."""
    for fails_at in range(1, STATEMENTS_MAX):
        path = folder / f"{fails_at}.sqlite"
        shutil.copy(filled, path)
        yield path, fails_at
    raise AssertionError("there is no end to the statements")


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_failing_statement_leaves_the_old_state_or_the_new_one(
    filled: Path, tmp_path: Path, name: str, is_lasting: bool, is_after: bool
) -> None:
    new_path = tmp_path / "new.sqlite"
    shutil.copy(filled, new_path)
    with opened(new_path) as conversation:
        OPERATIONS[name](conversation)
        after = shown(conversation.projection)
    old, new = content(filled), content(new_path)
    for path, fails_at in attempts(filled, tmp_path):
        kind = faulty(is_lasting=is_lasting, is_after=is_after)
        with opened(path, connect=connect_with(kind)) as conversation:
            before = shown(conversation.projection)
            told = conversation.events
            kind.statements, kind.fails_at = 0, fails_at
            try:
                OPERATIONS[name](conversation)
            except ConversationError as error:
                assert str(path) in str(error)
                assert "\n" not in str(error)
            is_over = kind.statements < fails_at
            kind.fails_at = 0
            # What it goes on with is one of the two states, whatever reached the file.
            assert violations(conversation.projection) == ()
            assert shown(conversation.projection) in (before, after)
            assert conversation.events[: len(told)] in (told, told[:20])
        is_whole(path)
        log = content(path)[0]
        assert log in (old[0], new[0])
        with opened(path) as again:
            assert again.refusals == []
            assert violations(again.projection) == ()
            assert shown(again.projection)[:3] in (before[:3], after[:3])
        if is_over:
            assert content(path) == new
            assert fails_at > 3
            return


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", ["append", "a turn", "request", "rewind"])
def test_after_a_fault_the_same_is_done_again(
    filled: Path, tmp_path: Path, name: str, is_after: bool
) -> None:
    """The conversation itself goes on when the fault is over, without being opened anew."""
    for path, fails_at in attempts(filled, tmp_path):
        kind = faulty(is_after=is_after)
        with opened(path, connect=connect_with(kind)) as conversation:
            kind.statements, kind.fails_at = 0, fails_at
            try:
                OPERATIONS[name](conversation)
            except ConversationError:
                OPERATIONS[name](conversation) if name == "rewind" else _told_again(
                    conversation, name
                )
            is_over = kind.statements < fails_at
            kind.fails_at = 0
            tell(conversation, "assistant: and on")
            conversation.request()
            expected = conversation.events
            stands = shown(conversation.projection)[1:3]
        is_whole(path)
        with opened(path) as again:
            assert again.events == expected
            assert shown(again.projection)[1:3] == stands
            assert [each.message.text for each in again.events].count("and on") == 1
        if is_over:
            return


def _told_again(conversation: Conversation, name: str) -> None:
    """The same event, with the same place: it counts once."""
    line = {"append": "assistant: done", "a turn": "user: next"}[name]

    conversation.append(Event(51, message(line)))
    assert len(conversation.events) == 51


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_commit_that_fails_is_a_failed_compaction_and_the_request_is_sent(
    filled: Path, tmp_path: Path, is_after: bool
) -> None:
    """F11.1, F1.6: fail open; the ladder's other rungs, which keep nothing, still serve.

    When the failure is told behind the commit, the file is asked what became of it.
    """
    seen = set()
    for path, fails_at in attempts(filled, tmp_path):
        kind = faulty(is_after=is_after)
        with opened(path, connect=connect_with(kind)) as conversation:
            identity = conversation.checkpoint_id
            known = len(rows(path))
            kind.statements, kind.fails_at = 0, fails_at
            attempt = conversation.request()
            assert attempt.observation.index == 0
            first = conversation.compactions[0]
            seen.add(first.outcome)
            is_kept = len(rows(path)) > known
            assert (first.outcome == "accepted") == is_kept
            assert (conversation.checkpoint_id != identity) == is_kept
            if not is_kept:
                assert first.outcome == "failed"
                assert "can't be written: " in first.reason
            if kind.statements < fails_at:
                break
    assert seen == {"accepted", "failed"}


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for good"])
def test_a_store_that_cannot_be_made_is_made_the_next_time(
    tmp_path: Path, is_lasting: bool, is_after: bool
) -> None:
    for fails_at in range(1, STATEMENTS_MAX):
        path = tmp_path / f"{fails_at}.sqlite"
        kind = faulty(fails_at, is_lasting=is_lasting, is_after=is_after)
        try:
            ConversationStore(path, connect=connect_with(kind)).close()
        except ConversationError as error:
            assert f"{path}: can't be opened" in str(error)
        else:
            assert kind.statements < fails_at
            assert fails_at > 5
            return
        with opened(path) as conversation:
            tell(conversation, "user: here")
            assert len(conversation.events) == 1
    raise AssertionError("there is no end to the statements")


@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for good"])
def test_a_row_that_cannot_be_put_right_does_no_harm(
    filled: Path, tmp_path: Path, is_lasting: bool
) -> None:
    for path, fails_at in attempts(filled, tmp_path):
        damage(path, "UPDATE projections SET data = '{'")
        kind = faulty(fails_at, is_lasting=is_lasting)
        with suppress(ConversationError), opened(path, connect=connect_with(kind)) as conversation:
            names = [each.failure for each in conversation.refusals]
            assert names in (["not_json"], ["not_json", "not_repaired"])
            assert conversation.checkpoint_id
        with opened(path) as again:
            assert again.checkpoint_id
            assert len(again.events) == 50
        is_whole(path)
        if kind.statements < fails_at:
            return


@pytest.mark.parametrize("name", ["append", "request", "rewind"])
def test_who_fails_for_good_keeps_nobody_else_waiting(
    filled: Path, tmp_path: Path, name: str
) -> None:
    """Even the way back fails; the lock is given up all the same."""
    for path, fails_at in attempts(filled, tmp_path):
        kind = faulty(is_lasting=True)
        with opened(path, connect=connect_with(kind)) as conversation:
            kind.statements, kind.fails_at = 0, fails_at
            with suppress(ConversationError):
                OPERATIONS[name](conversation)
            if kind.statements < fails_at:
                return
            with opened(path, connect=without_waiting) as other:
                tell(other, "assistant: I can")
                expected = other.events
            kind.fails_at = 0
            conversation.refresh()
            assert conversation.events == expected


def without_waiting(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None)


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for good"])
def test_in_memory_a_fault_loses_nothing(is_lasting: bool, is_after: bool) -> None:
    for fails_at in range(1, STATEMENTS_MAX):
        kind = faulty(is_lasting=is_lasting, is_after=is_after)
        if _in_memory(kind, fails_at):
            return
    raise AssertionError("there is no end to the statements")


def _in_memory(kind: type[FaultyConnection], fails_at: int) -> bool:
    with opened(":memory:", connect=connect_with(kind)) as conversation:
        tell(conversation, "system: s", "user: u", *steps(0, 12))
        kind.statements, kind.fails_at = 0, fails_at
        with suppress(ConversationError):
            conversation.request()
            tell(conversation, "assistant: done")
        is_over = kind.statements < fails_at
        kind.fails_at = 0
        conversation.refresh()
        assert len(conversation.events) in (26, 27)
        assert violations(conversation.projection) == ()
        tell(conversation, "user: next")
    return is_over

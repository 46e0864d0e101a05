"""A writer that is meant to be killed: it says when it is ready, and writes until it dies.

    python -m tests.faults.killed_writer

For each line "PATH WHEN" on stdin it starts a process of its own that tells events, compacts,
rewinds; the pid is printed, and how it ended once it has. WHEN is "never" (it is killed from
outside), or "STATEMENT NUMBER before|after": it kills itself there, in the middle of a commit.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conversation_parts import opened, steps, tell


def killing(statement: str, number: int, is_after: bool) -> Callable[[Path], sqlite3.Connection]:
    """A connection that kills its process at the n-th statement that begins with these words."""

    class Killing(sqlite3.Connection):
        seen = 0

        def execute(self, text: str, *rest: Any) -> sqlite3.Cursor:
            Killing.seen += text.startswith(statement)
            is_due = text.startswith(statement) and Killing.seen == number
            if is_due and not is_after:
                os.kill(os.getpid(), signal.SIGKILL)
            cursor = super().execute(text, *rest)
            if is_due:
                os.kill(os.getpid(), signal.SIGKILL)
            return cursor

    def connect(path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None, factory=Killing)
        # A cache of one page: what is written reaches the file before the commit.
        sqlite3.Connection.execute(connection, "PRAGMA cache_size = 1")
        return connection

    return connect


def write(path: str, when: list[str]) -> None:
    """Goes on for ever with the conversation in `path`."""
    if when == ["never"]:
        conversation = opened(path)
    else:
        *words, number, place = when
        connect = killing(" ".join(words), int(number), place == "after")
        conversation = opened(path, connect=connect)
    if not conversation.events:
        tell(conversation, "system: Be terse.", "user: go on for ever")
    round_ = 0
    while True:
        first = len(conversation.events)
        tell(conversation, *steps(first, first + 6))
        conversation.request()
        round_ += 1
        if round_ % 5 == 0:
            conversation.rewind(max(2, len(conversation.events) - 30))


def main() -> None:
    """One child after the other, so that the imports are paid for once."""
    for line in sys.stdin:
        path, *when = line.split()
        pid = os.fork()
        if not pid:
            try:
                write(path, when)
            finally:
                # Whatever happens, a child never reads the next line.
                os._exit(7)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()

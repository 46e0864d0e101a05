"""Words: what ends a command: an error that people see as one line, and a halt of a run."""

from __future__ import annotations


class UsageError(Exception):
    """Something that the user gave is wrong: the message names it, what is wrong, what is right.

    Commands print it as one line and end with exit code 2.
    """


class RunHalted(BaseException):
    """The run can't go on now, but can be resumed: money or a quota is used up, a key was refused.

    No error of one cell: it passes through strategies and the engine like an interruption. What was
    finished is saved, the cell under way isn't. `reason` is one line that says what to do.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

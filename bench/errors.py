"""Words: the one error that people see as a line on stderr."""

from __future__ import annotations


class UsageError(Exception):
    """Something that the user gave is wrong: the message names it, what is wrong, what is right.

    Commands print it as one line and end with exit code 2.
    """

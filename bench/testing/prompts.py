"""A summary prompt judged from a project's own tests, by the command itself."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from typing import TypeAlias

StrPath: TypeAlias = "str | os.PathLike[str]"

_EXIT_FINE = 0


def assert_not_regressed(
    prompt: StrPath,
    *,
    sessions: Sequence[StrPath],
    against: StrPath | None = None,
    strategy: str | None = None,
    model: str | None = None,
    seeds: Sequence[int] = (0,),
    margin: float = 10.0,
    out: StrPath | None = None,
    fail_on: str = "regressed",
) -> None:
    """Fails the test when the prompt in the file `prompt` regressed, or there is no verdict.

    The arguments are those of `compaction-bench gate`: `against` is a file or `git:REF` (None: the
    strategy's own prompt), `margin` is in points, `out` where cells are kept from run to run.
    Raises AssertionError with what the command says, `bench.UsageError` for wrong arguments.
    """
    from bench.cli.gate import gate
    from bench.cli.main import build_parser

    words = ["gate", "--prompt", os.fspath(prompt), "--margin", f"{margin:g}", "--fail-on", fail_on]
    for option, value in (
        ("--against", against),
        ("--strategy", strategy),
        ("--model", model),
        ("--out", out),
    ):
        if value is not None:
            words += [option, os.fspath(value)]
    for seed in seeds:
        words += ["--seed", str(seed)]
    said = io.StringIO()
    arguments = build_parser().parse_args([*words, *(os.fspath(one) for one in sessions)])
    with contextlib.redirect_stdout(said):
        code = gate(arguments)
    assert code == _EXIT_FINE, f"{os.fspath(prompt)} failed its gate:\n{said.getvalue()}"

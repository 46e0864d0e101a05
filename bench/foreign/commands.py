"""Edge: `exec:COMMAND`, compaction by a program in any language (PROTOCOL.md).

The command is split into words without a shell unless `shell=true`; it gets a short list of our
variables, none of our keys. `mode=once` starts it for every call, `mode=jsonl` keeps one process
for a replay and starts another one when it fails. After three failures in a row it isn't called
again in that replay.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from bench.errors import UsageError
from bench.foreign.asking import MessageAsk
from bench.foreign.functions import check_settings
from bench.foreign.model_access import Access, ModelAccess, model_access
from bench.foreign.patience import Patience
from bench.foreign.processes import ForeignProcess, Limits, ProcessFailure, environment
from bench.foreign.protocol import read_answer, request_line
from bench.foreign.requests import ForeignAnswer, ForeignRequest, failure
from bench.foreign.shown import Wire
from bench.specs import foreign_target
from bench.strategy import Declined


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program that is given messages as JSON and answers with fewer.

    Messages have the shape of a `wire`, openai (Chat Completions) or anthropic (Messages).
    It `calls` for every request instead where the program decides itself when it compacts.
    An answer may take `timeout_s` seconds.
    Its `mode` is once (a process for every call) or jsonl (one process, a line for every call).
    It is called above the fraction `threshold` of the window, tool definitions counted.
    With `lasting` false an answer serves one request, and the next starts from what was before.
    The promises in `waives` (H4 ...) aren't asked of it.
    With `model` proxy it can ask the session's model, an endpoint that usual clients find.
    Variables of our environment that it gets beside PATH and the like are named in `env` (A;B).
    With `shell` the command is given to the shell as it is.
    """

    command: str = field(metadata={"is_parameter": False})
    wire: Wire = "openai"
    calls: Literal["trigger", "every"] = "trigger"
    timeout_s: float = 120.0
    mode: Literal["once", "jsonl"] = "once"
    threshold: float = 0.8
    lasting: bool = True
    waives: tuple[str, ...] = ()
    model: Access = None
    env: str = ""
    shell: bool = False

    def __post_init__(self) -> None:
        check_settings(self.threshold, self.waives)
        if self.timeout_s <= 0:
            raise ValueError(f"timeout_s={self.timeout_s:g}: more than 0 seconds are needed")

    @property
    def runs_elsewhere(self) -> bool:
        """That every call takes its time."""
        return True

    @property
    def name(self) -> str:
        """How sentences name it."""
        return foreign_target("exec", self.command)

    @property
    def words(self) -> Sequence[str] | str:
        """What is started: words, or a text for the shell."""
        return self.command if self.shell else shlex.split(self.command)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names in `env`."""
        return tuple(name.strip() for name in self.env.split(";") if name.strip())

    def check_ready(self) -> None:
        """Raises UsageError when there is no such command, or a named variable isn't set."""
        if os.name != "posix":
            raise UsageError("exec: needs a POSIX system; serve the code and use http: instead")
        for name in self.variables:
            if name not in os.environ:
                raise UsageError(f"env names {name}, which isn't set")
        if self.shell:
            return
        try:
            program = shlex.split(self.command)[0]
        except (ValueError, IndexError) as error:
            raise UsageError(f"the command can't be split into words: {error}") from error
        if shutil.which(program) is None:
            place = "here" if "/" in program else "on the PATH"
            raise UsageError(f"there is no command {program} {place}, or it can't be executed")

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call with a process of its own, whatever the mode."""
        with self.opened() as alive:
            return alive.answer(request, ask)

    @contextmanager
    def opened(self) -> Iterator[RunningCommand]:
        """The command during one replay; whatever it started has ended afterwards."""
        with model_access(self.model) as access:
            running = RunningCommand(self, access)
            try:
                yield running
            finally:
                running.close()


@dataclass(slots=True)
class RunningCommand:
    """A command during one replay: its process, if it lives on, and how often it failed."""

    command: Command
    access: ModelAccess
    patience: Patience = field(default_factory=Patience)
    process: ForeignProcess | None = None

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call. Raises Declined when there is no usable answer."""
        with self.patience.spent_on_failures():
            line = request_line(request)
            with self.access.serving(ask):
                try:
                    written = self._exchanged(line)
                except ProcessFailure as error:
                    self.close(at_once=True)
                    raise failure(str(error)) from error
            try:
                return read_answer(written)
            except Declined:
                # Whatever it wrote, the next line might not be the answer to the next question.
                self.close(at_once=True)
                raise

    def _exchanged(self, line: bytes) -> bytes:
        if self.process is None:
            self.process = ForeignProcess(
                self.command.words,
                environment(self.command.variables, self.access.environment),
                Limits(timeout_s=self.command.timeout_s),
            )
        if self.command.mode == "jsonl":
            return self.process.line(line)
        try:
            return self.process.whole_answer(line)
        finally:
            self.close(at_once=True)

    def close(self, *, at_once: bool = False) -> None:
        """Ends the process that lives on, and what it started."""
        process, self.process = self.process, None
        if process is not None and at_once:
            process.kill()
        elif process is not None:
            process.close()

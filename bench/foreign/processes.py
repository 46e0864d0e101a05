"""Edge: a foreign process: asked, bounded in every way, and ended with all that it started.

No shell, no keys of ours, a session of its own. One loop writes the request, reads the answer and
drains what it prints beside it, until the answer is there, the process ends or the time is up: so a
hang, a flood, a partial line or a descendant that keeps the pipes open costs bounded time and
memory.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT_ALLOWED: tuple[str, ...] = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SYSTEMROOT",
)
MARK = "COMPACTION_BENCH_PROCESS"

_CHUNK_BYTES = 1 << 16
_POLL_S = 0.05
_PROC = Path("/proc")


class ProcessFailure(Exception):
    """A process that gave no answer; the text says what happened, in one line."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may take: seconds for an answer, bytes of it, bytes kept of its complaints.

    `grace_s` is how long a process that ended, or that was told to, is waited for.
    """

    timeout_s: float = 120.0
    answer_bytes_max: int = 64 << 20
    complaint_bytes: int = 4_096
    grace_s: float = 0.5


def environment(named: Iterable[str], added: Mapping[str, str]) -> dict[str, str]:
    """What a foreign process gets of our environment: an allow-list, `named` ones, `added` ones."""
    allowed = {*ENVIRONMENT_ALLOWED, *named}
    return {**{name: value for name, value in os.environ.items() if name in allowed}, **added}


@dataclass(slots=True)
class ForeignProcess:
    """One running process, asked once or line by line. Use `close` in any case."""

    words: Sequence[str] | str
    variables: Mapping[str, str]
    limits: Limits
    _process: subprocess.Popen[bytes] = field(init=False)
    _mark: str = field(init=False)
    _waiting: bytearray = field(init=False, default_factory=bytearray)
    _complaints: bytearray = field(init=False, default_factory=bytearray)
    _is_read_out: bool = field(init=False, default=False)
    _has_line: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Starts it. Raises ProcessFailure."""
        self._mark = uuid.uuid4().hex
        try:
            self._process = subprocess.Popen(
                self.words,
                shell=isinstance(self.words, str),  # A text only where the spec asks for a shell.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**self.variables, MARK: self._mark},
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ProcessFailure(f"the command can't be started: {reason}") from error
        for pipe in self._pipes():
            os.set_blocking(pipe, False)

    def _pipes(self) -> list[int]:
        process = self._process
        pipes = (process.stdin, process.stdout, process.stderr)
        return [pipe.fileno() for pipe in pipes if pipe is not None and not pipe.closed]

    def whole_answer(self, request: bytes) -> bytes:
        """Everything that it prints when it is given this and nothing more; it has ended then.

        Raises ProcessFailure, also when it ends with another exit code than 0.
        """
        self._talk(request, by_line=False)
        code = self._exit_code()
        if code is None:
            # It closed its output and goes on; the answer is complete, `close` ends it.
            return bytes(self._waiting)
        if code != 0:
            raise ProcessFailure(f"the command {_ended(code)}{self._complaint()}")
        return bytes(self._waiting)

    def line(self, request: bytes) -> bytes:
        """The line that it answers this line with. Raises ProcessFailure."""
        if self._waiting.strip():
            raise ProcessFailure("the command printed a line that it wasn't asked for")
        self._waiting.clear()
        self._has_line = False
        self._talk(request, by_line=True)
        line, newline, rest = bytes(self._waiting).partition(b"\n")
        if not newline:
            code = self._exit_code()
            ended = "closed its output" if code is None else _ended(code)
            middle = " in the middle of a line" if line.strip() else " before it answered"
            raise ProcessFailure(f"the command {ended}{middle}{self._complaint()}")
        self._waiting[:] = rest
        return line

    def _talk(self, request: bytes, *, by_line: bool) -> None:
        """Writes and reads until there is a line, or the end. Raises ProcessFailure."""
        deadline = time.monotonic() + self.limits.timeout_s
        unsent = memoryview(request)
        ended_at: float | None = None
        with selectors.DefaultSelector() as selector:
            self._register(selector, by_line=by_line)
            while True:
                now = time.monotonic()
                if now >= deadline:
                    raise ProcessFailure(
                        f"the command gave no answer within {self.limits.timeout_s:g} s"
                        f"{self._complaint()}"
                    )
                for key, _ in selector.select(min(_POLL_S, deadline - now)):
                    if key.data == "stdin":
                        unsent = self._write(selector, unsent, closes=not by_line)
                    else:
                        self._read(selector, key.fd, key.data)
                if by_line and self._has_line:
                    return
                if self._is_read_out or self._has_ended():
                    ended_at = now if ended_at is None else ended_at
                    is_over = self._is_read_out and self._has_ended()
                    if is_over or now - ended_at >= self.limits.grace_s:
                        return

    def _register(self, selector: selectors.BaseSelector, *, by_line: bool) -> None:
        process = self._process
        if process.stdin is not None and not process.stdin.closed:
            selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")
        for pipe, name in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            if pipe is not None and not pipe.closed:
                selector.register(pipe, selectors.EVENT_READ, name)

    def _write(
        self, selector: selectors.BaseSelector, unsent: memoryview, *, closes: bool
    ) -> memoryview:
        stdin = self._process.stdin
        assert stdin is not None, "opened with pipes"
        try:
            unsent = unsent[os.write(stdin.fileno(), unsent[:_CHUNK_BYTES]) :] if unsent else unsent
        except BlockingIOError:
            return unsent
        except OSError:
            # It doesn't read on; what it answers tells whether that matters.
            unsent = unsent[len(unsent) :]
        if not unsent:
            selector.unregister(stdin)
            if closes:
                with contextlib.suppress(OSError):
                    stdin.close()
        return unsent

    def _read(self, selector: selectors.BaseSelector, pipe: int, name: str) -> None:
        try:
            read = os.read(pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            read = b""
        if not read:
            selector.unregister(pipe)
            self._is_read_out = self._is_read_out or name == "stdout"
        elif name == "stderr":
            self._complaints += read
            del self._complaints[: -self.limits.complaint_bytes]
        else:
            self._waiting += read
            self._has_line = self._has_line or b"\n" in read
            if len(self._waiting) > self.limits.answer_bytes_max:
                raise ProcessFailure(
                    f"the command answered more than {self.limits.answer_bytes_max:,} bytes"
                )

    def _has_ended(self) -> bool:
        """Whether it has ended. It stays a zombie, so that its number isn't given to another."""
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return found is not None

    def _exit_code(self) -> int | None:
        """Its exit code (negative: the signal that ended it); None while it runs.

        What it started is ended first, while its number still names its group.
        """
        if not self._has_ended():
            return None
        self._end_descendants()
        return self._process.wait()

    def _complaint(self) -> str:
        lines = self._complaints.decode("utf-8", "replace").split("\n")
        lines = [line for line in reversed(lines) if line.strip()]
        # Runtimes print more behind the line that matters.
        last = next((line for line in lines if "error" in line.lower()), (lines or [""])[0])
        said = "".join(c if c.isprintable() else " " for c in last).strip()[:200]
        return f"; it said: {said}" if said else ""

    def close(self) -> None:
        """Ends it and everything that it started, and lets go of its pipes."""
        process = self._process
        if process.stdin is not None and not process.stdin.closed:
            with contextlib.suppress(OSError):
                process.stdin.close()
        until = time.monotonic() + self.limits.grace_s
        while not self._is_read_out and not self._has_ended() and time.monotonic() < until:
            self._drain()
        if process.returncode is None:
            self._end_descendants()
            with contextlib.suppress(ChildProcessError):
                process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def kill(self) -> None:
        """Ends it at once: it failed."""
        self._is_read_out = True
        self.close()

    def _drain(self) -> None:
        """Reads away what it prints while it ends; a process that blocks on a pipe never would."""
        with selectors.DefaultSelector() as selector:
            self._register(selector, by_line=True)
            for key, _ in selector.select(_POLL_S):
                with contextlib.suppress(ProcessFailure):
                    self._read(selector, key.fd, key.data)
        del self._waiting[:]

    def _end_descendants(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        end_marked(self._mark)


def end_marked(mark: str) -> None:
    """Ends the processes whose environment bears this mark, also those that left their group.

    Where there is no /proc, only the group of a process can be ended.
    """
    wanted = f"{MARK}={mark}".encode()
    for _ in range(5):
        is_any = False
        for folder in _PROC.glob("[0-9]*"):
            number = int(folder.name)
            if number == os.getpid():
                continue
            try:
                # The handle is taken first: what is read and ended is one and the same process.
                handle = os.pidfd_open(number)
            except (OSError, AttributeError):
                continue
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    is_any = True
            except OSError:
                continue
            finally:
                os.close(handle)
        if not is_any:
            return


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"

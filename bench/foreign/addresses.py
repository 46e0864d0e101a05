"""Edge: `http:URL`, compaction by a server (PROTOCOL.md): one POST for every call.

Nothing of our environment is used, proxies and .netrc included; redirects aren't followed. After
three failures in a row the address isn't called again in that replay.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from bench.errors import UsageError
from bench.foreign.asking import MessageAsk
from bench.foreign.functions import check_settings
from bench.foreign.model_access import Access, ModelAccess, model_access
from bench.foreign.patience import Patience
from bench.foreign.protocol import read_answer, request_line
from bench.foreign.requests import ForeignAnswer, ForeignRequest, failure
from bench.foreign.shown import Wire
from bench.specs import foreign_target

ANSWER_BYTES_MAX = 64 << 20
_CONNECT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server that is sent messages as JSON and answers with fewer.

    Messages have the shape of a `wire`, openai (Chat Completions) or anthropic (Messages).
    It `calls` for every request instead where the server decides itself when it compacts.
    An answer may take `timeout_s` seconds.
    It is called above the fraction `threshold` of the window, tool definitions counted.
    With `lasting` false an answer serves one request, and the next starts from what was before.
    The promises in `waives` (H4 ...) aren't asked of it.
    With `model` proxy an endpoint for the session's model is named in what it is sent.
    """

    url: str = field(metadata={"is_parameter": False})
    wire: Wire = "openai"
    calls: Literal["trigger", "every"] = "trigger"
    timeout_s: float = 120.0
    threshold: float = 0.8
    lasting: bool = True
    waives: tuple[str, ...] = ()
    model: Access = None

    def __post_init__(self) -> None:
        check_settings(self.threshold, self.waives)
        if self.timeout_s <= 0:
            raise ValueError(f"timeout_s={self.timeout_s:g}: more than 0 seconds are needed")
        if _place(self.url) is None:
            raise ValueError(f"{self.url} is no address; write http://HOST:PORT/PATH")

    @property
    def runs_elsewhere(self) -> bool:
        """That every call takes its time."""
        return True

    @property
    def name(self) -> str:
        """How sentences name it."""
        return foreign_target("http", self.url)

    def check_ready(self) -> None:
        """Raises UsageError when nothing takes connections there."""
        place = _place(self.url)
        assert place is not None, "checked when it was made"
        try:
            socket.create_connection(place, timeout=min(_CONNECT_S, self.timeout_s)).close()
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise UsageError(f"nothing answers at {self.url}: {reason}") from error

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call."""
        with self.opened() as alive:
            return alive.answer(request, ask)

    @contextmanager
    def opened(self) -> Iterator[RunningAddress]:
        """The address during one replay."""
        with model_access(self.model) as access:
            yield RunningAddress(self, access)


@dataclass(slots=True)
class RunningAddress:
    """An address during one replay, and how often it failed."""

    address: Address
    access: ModelAccess
    patience: Patience = field(default_factory=Patience)

    def answer(self, request: ForeignRequest, ask: MessageAsk) -> ForeignAnswer:
        """One call. Raises Declined when there is no usable answer."""
        with self.patience.spent_on_failures():
            body = request_line(request, self.access.environment)
            with self.access.serving(ask):
                written = _within(self.address.timeout_s, self.address.url, body)
            return read_answer(written)


def _place(url: str) -> tuple[str, int] | None:
    """Host and port of a URL, None when it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return parts.hostname, port


def _within(timeout_s: float, url: str, body: bytes) -> bytes:
    """What a POST answers, within the time. Raises Declined.

    The client's own limits start anew with every byte, so that a server which drips could hold the
    run for ever; hence a thread that isn't waited for longer.
    """
    results: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()

    def post() -> None:
        try:
            results.put(_posted(url, body, timeout_s))
        except Exception as error:  # Whatever the client raises is the caller's to name.
            results.put(error)

    threading.Thread(target=post, daemon=True).start()
    try:
        found = results.get(timeout=timeout_s + 1)
    except queue.Empty:
        raise failure(f"the address gave no whole answer within {timeout_s:g} s") from None
    if isinstance(found, Exception):
        raise found
    return found


def _posted(url: str, body: bytes, timeout_s: float) -> bytes:
    import httpx

    deadline = time.monotonic() + timeout_s
    answer = bytearray()
    kind = {"content-type": "application/json"}
    try:
        with (
            httpx.Client(timeout=timeout_s, trust_env=False) as client,
            client.stream("POST", url, content=body, headers=kind) as response,
        ):
            for chunk in response.iter_bytes():
                answer += chunk
                if len(answer) > ANSWER_BYTES_MAX:
                    raise failure(f"the address answered more than {ANSWER_BYTES_MAX:,} bytes")
                if time.monotonic() > deadline:
                    raise failure(f"the address gave no whole answer within {timeout_s:g} s")
            status = response.status_code
    except httpx.TimeoutException as error:
        raise failure(f"the address gave no answer within {timeout_s:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise failure(f"the address can't be asked: {reason:.200}") from error
    if status != 200:
        text = answer[:200].decode("utf-8", "replace")
        said = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        raise failure(f"the address answered with status {status}" + (f": {said}" if said else ""))
    return bytes(answer)

"""Edges: one HTTP request over httpx, bounded in time and size, with no key in any message.

Nothing is retried, classified or followed here. An answer that doesn't end, in bytes or in time, is
cut off; redirects are answers like any other, since a key must not follow them to another host.
"""

from __future__ import annotations

import atexit
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from bench.providers.keys import without_keys
from bench.providers.vendors import is_loopback

if TYPE_CHECKING:
    import httpx

ANSWER_BYTES_MAX = 32_000_000
_CONNECT_SECONDS_MAX = 15.0

Failure = Literal["connect", "timeout", "broken", "too_large"]


class TransportError(Exception):
    """No whole answer came. `failure` says how, `was_sent` whether the request may have arrived."""

    def __init__(self, failure: Failure, text: str, *, was_sent: bool = True) -> None:
        super().__init__(text)
        self.failure: Failure = failure
        self.text = text
        self.was_sent = was_sent


@dataclass(frozen=True, slots=True)
class RawReply:
    """What came back. `payload` is the parsed JSON, None (and `is_json` False) where it is none.

    `headers` have lower-case names. Keys are masked in everything.
    """

    status: int
    headers: Mapping[str, str]
    text: str
    payload: Any = None
    is_json: bool = False
    seconds: float = field(default=0.0, compare=False)


class _Clients:
    """The httpx clients of this process, one for each server, so that connections are kept."""

    def __init__(self) -> None:
        self.by_origin: dict[str, httpx.Client] = {}
        self.process = os.getpid()

    def of(self, url: str) -> httpx.Client:
        import httpx

        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if self.process != os.getpid():
            # A forked process must not talk over the connections of its parent.
            self.by_origin, self.process = {}, os.getpid()
        client = self.by_origin.get(origin)
        if client is None:
            # A proxy is for hosts elsewhere; a server on this machine is reached directly.
            client = httpx.Client(follow_redirects=False, trust_env=not is_loopback(origin))
            self.by_origin[origin] = client
        return client

    def close(self) -> None:
        while self.by_origin:
            _, client = self.by_origin.popitem()
            with suppress(Exception):
                client.close()


_CLIENTS = _Clients()
atexit.register(_CLIENTS.close)


def close_connections() -> None:
    """Closes what is kept open; requests after that open new connections."""
    _CLIENTS.close()


def exchange(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None = None,
    timeout_seconds: float,
    bytes_max: int = ANSWER_BYTES_MAX,
) -> RawReply:
    """Sends one request and reads its whole answer, within `timeout_seconds` altogether.

    Raises TransportError.
    """
    import httpx

    started = time.monotonic()
    timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_SECONDS_MAX))
    content = None if body is None else _encoded(body)
    sent = {**headers, "Accept": "application/json"}
    if content is not None:
        sent["Content-Type"] = "application/json"
    try:
        with _CLIENTS.of(url).stream(
            method, url, headers=sent, content=content, timeout=timeout
        ) as response:
            data = _read(response, started + timeout_seconds, bytes_max)
    except httpx.ConnectTimeout:
        raise TransportError("connect", "no connection in time", was_sent=False) from None
    except httpx.TimeoutException:
        raise TransportError("timeout", f"no answer within {timeout_seconds:g} s") from None
    except httpx.ConnectError as error:
        raise TransportError("connect", _reason(error), was_sent=False) from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise TransportError("broken", _reason(error)) from None
    answer_headers = {name.lower(): value for name, value in response.headers.items()}
    return _parsed(
        response.status_code, without_keys(answer_headers), data, time.monotonic() - started
    )


def _encoded(body: Mapping[str, Any]) -> bytes:
    # Lone surrogates in a session's text can't be sent: replaced as any reader would see them.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _read(response: httpx.Response, deadline: float, bytes_max: int) -> bytes:
    """The whole body, unless it is too long or drips on beyond the deadline."""
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        size += len(part)
        if size > bytes_max:
            raise TransportError("too_large", f"an answer of more than {bytes_max:,} bytes")
        parts.append(part)
        if time.monotonic() > deadline:
            raise TransportError("timeout", "the answer didn't end in time")
    return b"".join(parts)


def _parsed(status: int, headers: Mapping[str, str], data: bytes, seconds: float) -> RawReply:
    text = data.decode("utf-8", "replace")
    try:
        payload = without_keys(json.loads(text))
        cleaned = json.dumps(payload, ensure_ascii=False)
    except (ValueError, RecursionError):
        return RawReply(status, headers, without_keys(text), seconds=seconds)
    return RawReply(status, headers, cleaned, payload, is_json=True, seconds=seconds)


def _reason(error: Exception) -> str:
    """What httpx says, on one line and without keys."""
    said = str(without_keys(" ".join(str(error).split())))
    return f"{said or type(error).__name__}"[:200]

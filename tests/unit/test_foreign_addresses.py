"""`http:URL`: one POST for every call, bounded and named when it goes wrong."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from bench.errors import UsageError
from bench.foreign import addresses
from bench.models import make_model
from bench.observations import Replay
from bench.providers.simulated import SimulatedProvider
from bench.registry import check_ready, make_strategy
from bench.replay import replay
from tests.builders import long_session

Respond = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def shorter(request: dict[str, Any]) -> dict[str, Any]:
    messages, at = request["messages"], request["request_at"]
    kept = messages[-2:] if messages[-1]["role"] == "tool" else messages[-1:]
    asked = [] if at is None or messages[at] in kept else [messages[at]]
    summary = {"role": "user", "content": "[left out]"}
    return {"messages": [messages[0], summary, *asked, *kept]}


@contextmanager
def server(respond: Respond) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that answers so, and what it was sent."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            received.append({**body, "headers": dict(self.headers)})
            try:
                respond(self, body)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}/compact", received
    finally:
        made.shutdown()
        made.server_close()


def _send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _answer(handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
    _send(handler, json.dumps(shorter(request)).encode())


def _drip(handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
    """A byte at a time, each in time: only the whole takes too long."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def _replayed(url: str, settings: str = "timeout_s=20") -> Replay:
    strategy = make_strategy(f"http:{url}({settings})").strategy
    provider = SimulatedProvider(make_model("offline"), 100_000)
    return replay(long_session(10), strategy, provider, cuts=3)


def test_a_server_compacts_and_gets_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with server(_answer) as (url, received):
        seen = _replayed(url)
    assert [one.outcome for one in seen.compactions] == ["accepted"] * 3
    assert [one["protocol"] for one in received] == [1, 1, 1]
    assert "secret" not in repr(received) and "model" not in received[0]


def test_a_proxied_model_is_named_in_what_is_sent() -> None:
    with server(_answer) as (url, received):
        _replayed(url, "model=proxy")
    assert received[0]["model"]["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("respond", "words"),
    [
        (lambda h, _: _send(h, b"busy\x1b[31m", 503), "status 503: busy [31m"),
        (lambda h, _: _send(h, b"", 302, location="/elsewhere"), "status 302"),
        (lambda h, _: _send(h, b"<html>"), "no JSON: '<html>'"),
        (lambda h, _: _send(h, b'{"id": 1}'), "no list of messages; it has id"),
        (lambda h, _: h.connection.shutdown(socket.SHUT_RDWR), "the address can't be asked"),
        (lambda h, _: time.sleep(1), "no answer within 0.3 s"),
        (_drip, "no whole answer within 0.3 s"),
        (
            lambda h, _: _send(h, gzip.compress(b" " * 3_000_000), content_encoding="gzip"),
            "answered more than 1,000,000 bytes",
        ),
    ],
    ids=["status", "redirect", "page", "another protocol", "hangs up", "hangs", "drips", "bomb"],
)
def test_what_goes_wrong_is_named(
    respond: Respond, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "ANSWER_BYTES_MAX", 1_000_000)
    with server(respond) as (url, _):
        seen = _replayed(url, "timeout_s=0.3" if "within" in words else "timeout_s=20")
    assert [one.outcome for one in seen.compactions] == ["failed"] * 3
    assert seen.stopped is None
    for one in seen.compactions:
        assert words in one.reason and "\n" not in one.reason and "\x1b" not in one.reason


def test_an_address_where_nobody_is_is_told_before_any_replay() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/compact"
    made = make_strategy(f"http:{url}")
    with pytest.raises(UsageError) as caught:
        check_ready([made])
    assert str(caught.value) == (
        f"--strategy http:{url}: nothing answers at {url}: Connection refused"
    )


@pytest.mark.parametrize("url", ["localhost:80/x", "ftp://host/x", "http://", "http://h:port/x"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"is no address; write http://HOST:PORT/PATH"):
        make_strategy(f'http:"{url}"')

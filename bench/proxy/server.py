"""Edges: the HTTP side of the model proxy: routes, bodies, streams, and an end without leftovers.

One request a connection, on threads that are all joined when it closes. Errors have the shape of
the vendor whose route was asked, and tell the vendors' clients not to try again: what refused the
request is deterministic, or has tried again already.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.provider import ProviderError
from bench.proxy import anthropic_messages, chat_completions, responses
from bench.proxy.question import MalformedRequest, Payload, Question
from bench.strategy import Reply
from bench.tokens import count

_BODY_BYTES_MAX = 64_000_000
_SOCKET_SECONDS_MAX = 30.0
_PER_MESSAGE_TOKENS = 4

Answer = Callable[[Question], Reply]


@dataclass(frozen=True, slots=True)
class _Route:
    """How one API is read, answered, streamed and refused."""

    read: Callable[[Payload], Question]
    answer: Callable[[Question, Reply, str, str], Payload]
    events: Callable[[Question, Reply, str, str], Any]
    is_anthropic: bool = False


_ROUTES = {
    "/v1/chat/completions": _Route(
        chat_completions.read, chat_completions.answer, chat_completions.events
    ),
    "/v1/responses": _Route(responses.read, responses.answer, responses.events),
    "/v1/messages": _Route(
        anthropic_messages.read, anthropic_messages.answer, anthropic_messages.events, True
    ),
}
# Some clients are given the address without `/v1`, some add it to an address that has it.
_COUNT_PATH = "/v1/messages/count_tokens"
_MODELS_PATH = "/v1/models"


class _Refused(Exception):
    """What is sent instead of an answer."""

    def __init__(self, status: int, body: Payload) -> None:
        super().__init__(str(status))
        self.status = status
        self.body = body


class LoopbackServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 from its making, answers from `start` to `close`.

    Requests whose path doesn't begin with `/secret` get 404 and learn nothing.
    """

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, secret: str, model: str, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.secret = secret
        self.model = model
        self.answer = answer
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def start(self) -> None:
        """Begins to answer."""
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, name="model proxy"
        )
        self._thread.start()

    def close(self) -> None:
        """Stops, ends open connections and waits for all threads."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
        with self._guard:
            for connection in self._open:
                _end(connection)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for each connection, which is remembered until it ends."""
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The end of a connection."""
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away in mid-answer are no news."""


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # The other side was faster.


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: LoopbackServer
    timeout = _SOCKET_SECONDS_MAX

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: stderr belongs to people."""

    def do_GET(self) -> None:
        """The list of models, or one of them."""
        self._respond(self._models)

    def do_POST(self) -> None:
        """A question, or a count of tokens."""
        self._respond(self._post)

    def _respond(self, action: Callable[[str], None]) -> None:
        path = self._path()
        try:
            if path is None:
                raise _Refused(404, {"error": {"message": "not found", "type": "not_found"}})
            action(path)
        except _Refused as refused:
            self._send_json(refused.status, refused.body)

    def _path(self) -> str | None:
        """The path behind the secret; None without it."""
        given = self.path.partition("?")[0]
        secret = f"/{self.server.secret}"
        if not compare_digest(given[: len(secret)].encode(), secret.encode()):
            return None
        path = given[len(secret) :].rstrip("/")
        while path.startswith("/v1/v1/"):
            path = path.removeprefix("/v1")
        return path if path.startswith("/v1/") else f"/v1{path}"

    @property
    def _is_anthropic(self) -> bool:
        return "anthropic-version" in self.headers

    def _models(self, path: str) -> None:
        shapes = anthropic_messages if self._is_anthropic else chat_completions
        name = self.server.model
        if path == _MODELS_PATH:
            self._send_json(200, shapes.models([name]))
        elif path.startswith(f"{_MODELS_PATH}/"):
            self._send_json(200, shapes.model_entry(name))
        else:
            raise self._unknown(path)

    def _post(self, path: str) -> None:
        if path == _COUNT_PATH:
            question = self._question(anthropic_messages.read_uncapped, is_anthropic=True)
            self._send_json(200, {"input_tokens": _tokens(question)})
            return
        route = _ROUTES.get(path)
        if route is None:
            raise self._unknown(path)
        question = self._question(route.read, is_anthropic=route.is_anthropic)
        shapes = anthropic_messages if route.is_anthropic else chat_completions
        try:
            reply = self.server.answer(question)
        except ProviderError as error:
            raise _Refused(*shapes.refusal(error)) from error
        except Exception as error:
            failed = ProviderError("server", f"{type(error).__name__}: {error}", status=500)
            raise _Refused(*shapes.refusal(failed)) from error
        answer_id = _digest(question)
        if question.is_streamed:
            self._send_events(route.events(question, reply, self.server.model, answer_id))
        else:
            self._send_json(200, route.answer(question, reply, self.server.model, answer_id))

    def _unknown(self, path: str) -> _Refused:
        known = ", ".join((*_ROUTES, _COUNT_PATH, _MODELS_PATH))
        text = f"{path}: there is no such endpoint here; there are {known}"
        return _Refused(404, self._error_body(text, self._is_anthropic))

    def _question(self, read: Callable[[Payload], Question], *, is_anthropic: bool) -> Question:
        try:
            return read(self._body(is_anthropic))
        except MalformedRequest as problem:
            body = self._error_body(str(problem), is_anthropic, problem.parameter)
            raise _Refused(400, body) from problem

    def _body(self, is_anthropic: bool) -> Payload:
        length = self.headers.get("Content-Length") or ""
        if not length.isascii() or not length.isdigit():
            raise _Refused(411, self._error_body("Content-Length is missing", is_anthropic))
        if int(length) > _BODY_BYTES_MAX:
            text = f"the body has {length} bytes, at most {_BODY_BYTES_MAX} are read"
            raise _Refused(413, self._error_body(text, is_anthropic))
        data = self.rfile.read(int(length))
        try:
            body = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise MalformedRequest(f"the body is no JSON: {error}", "body") from error
        if not isinstance(body, dict):
            raise MalformedRequest("the body is no JSON object", "body")
        return body

    def _error_body(self, text: str, is_anthropic: bool, parameter: str | None = None) -> Payload:
        if is_anthropic:
            return anthropic_messages.error_body(text, "invalid_request_error")
        return chat_completions.error_body(text, "invalid_request_error", parameter=parameter)

    def _send_json(self, status: int, body: Payload) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send_events(self, events: Any) -> None:
        lines: list[str] = []
        for name, data in events:
            if name:
                lines.append(f"event: {name}\n")
            text = data if isinstance(data, str) else json.dumps(data)
            lines.append(f"data: {text}\n\n")
        self._send(200, "text/event-stream", "".join(lines).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if status >= 400:
            self.send_header("x-should-retry", "false")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)


def _tokens(question: Question) -> int:
    """True tokens of o200k_base, as the arbiter counts them."""
    total = 3
    for message in question.messages:
        calls = sum(count(call.name) + count(call.arguments) for call in message.calls)
        total += _PER_MESSAGE_TOKENS + count(message.text) + calls
    return total


def _digest(question: Question) -> str:
    # Answers to equal requests are equal to the last byte, their ids too.
    return hashlib.sha256(repr(question).encode("utf-8", "replace")).hexdigest()[:24]

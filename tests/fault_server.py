"""A model server on loopback that speaks three protocols and fails as it is told to.

It answers sensibly by asking the offline model, so that whole runs go through it. What goes wrong
is decided by a script: a function from a POST request, which knows its number (1, 2, 3 ...), to the
name of a fault or None.
"""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from bench.events import Message, Role, ToolCall
from bench.models import OfflineModel
from bench.providers.remote import estimate_of

# Refusals: status, headers, error code, error type, message.
REFUSALS: Mapping[str, tuple[int, dict[str, str], str, str, str]] = {
    "reservation": (
        400,
        {},
        "context_length_exceeded",
        "invalid_request_error",
        "This model's maximum context length is {window} tokens. However, you requested {sum} "
        "tokens ({sent} in the messages, {limit} in the completion).",
    ),
    "output_limit": (
        400,
        {},
        "invalid_value",
        "invalid_request_error",
        "max_tokens is too large: {limit}. This model supports at most {half} completion tokens, "
        "whereas you provided {limit}.",
    ),
    "rate_limit": (429, {}, "rate_limit_exceeded", "requests", "Too many requests, slow down."),
    "rate_limit_told": (
        429,
        {"Retry-After": "0.05"},
        "rate_limit_exceeded",
        "tokens",
        "Rate limit reached; the context length and input tokens don't matter here.",
    ),
    "rate_limit_futile": (
        429,
        {},
        "rate_limit_exceeded",
        "tokens",
        "Request too large for tokens per min (TPM): Limit 30000, Requested 41000.",
    ),
    "quota": (429, {}, "insufficient_quota", "insufficient_quota", "You exceeded your quota."),
    "auth": (401, {}, "invalid_api_key", "authentication_error", "Incorrect key: {key}"),
    "server": (500, {}, "internal", "server_error", "The server had an error."),
    "overloaded": (529, {}, "overloaded", "overloaded_error", "Overloaded"),
    "no_such_model": (404, {}, "model_not_found", "invalid_request_error", "no model {model}"),
    "filtered": (400, {}, "content_filter", "content_filter", "Filtered by the content policy."),
}
# What breaks below the protocol, or looks like an answer.
OTHERS = (
    "overflow",
    "overflow_200",
    "timeout",
    "drip",
    "reset",
    "malformed",
    "html",
    "endless",
    "redirect",
    "cut_summary",
    "empty_summary",
    "silent",
    "no_usage",
)
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens")
FAULTS: tuple[str, ...] = (*REFUSALS, *OTHERS)


@dataclass(frozen=True)
class Seen:
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int = 0
    fault: str | None = None


Script = Callable[[Seen], str | None]


def never(seen: Seen) -> str | None:
    """No request fails."""
    return None


def only(*numbers: int, fault: str) -> Script:
    """These requests fail with this fault."""
    return lambda seen: fault if seen.number in numbers else None


def always(fault: str) -> Script:
    """Every request fails."""
    return lambda seen: fault


def seeded(seed: int, faults: Sequence[str], share: float) -> Script:
    """About this share of the requests fails, each by a fault that seed and number draw."""

    def script(seen: Seen) -> str | None:
        drawn = random.Random(f"{seed}/{seen.number}")
        return drawn.choice(list(faults)) if drawn.random() < share else None

    return script


def each_first(fault: str) -> Script:
    """Every request fails the first time that it is sent, whatever its number and its limit."""
    known: set[str] = set()

    def script(seen: Seen) -> str | None:
        body = {name: value for name, value in seen.body.items() if name not in _LIMIT_NAMES}
        asked = f"{seen.path}{json.dumps(body, sort_keys=True)}"
        is_new = asked not in known
        known.add(asked)
        return fault if is_new else None

    return script


def until(number: int, script: Script, *, then: str) -> Script:
    """`script`, but from this request on everything fails by `then`."""
    return lambda seen: then if seen.number >= number else script(seen)


@dataclass
class FaultServer:
    """`with FaultServer(script) as server:`; `server.url` ends with /v1.

    `window` in tokens is enforced with a refusal in the protocol's own words; `answers`, where it
    is set, replaces the offline model. `insists_on` is the only name that it takes for the limit of
    the output. `raw`, status and body, is what all are answered with. An
    answer takes `seconds`; `under_way_max` is the most that were asked for at once.
    """

    script: Script = never
    window: int | None = None
    models: Sequence[str] | None = ("tiny",)
    answers: Callable[[Seen], str] | None = None
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    insists_on: str | None = None
    raw: tuple[int, str] | None = None
    list_kind: str = "application/json"
    seconds: float = 0.0
    under_way: int = 0
    under_way_max: int = 0

    def __post_init__(self) -> None:
        self.released = threading.Event()
        self.lock = threading.Lock()

    def __enter__(self) -> FaultServer:
        outer = self

        class Handler(_Handler):
            server_of = outer

        self._http = _Http(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from bench.providers.transport import close_connections

        self.released.set()
        close_connections()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def begin_anew(self, script: Script) -> None:
        """Forgets what came in and follows another script, at the same address."""
        with self.lock:
            self.script = script
            self.seen.clear()

    @property
    def posts(self) -> list[Seen]:
        """The requests to a model."""
        return [one for one in self.seen if one.method == "POST"]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what is tested here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: FaultServer
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:
        outer = self.server_of
        with outer.lock:
            outer.seen.append(Seen("GET", self.path, dict(self.headers.items()), {}))
        if outer.models is None or self.path != "/v1/models":
            self._json(404, {"error": {"message": "no such route", "code": "not_found"}})
            return
        if outer.list_kind != "application/json":
            self._send(200, b"<html>Welcome</html>", outer.list_kind)
            return
        told = [
            {"id": name, "object": "model", "max_model_len": outer.window} for name in outer.models
        ]
        self._json(200, {"object": "list", "data": told})

    def do_POST(self) -> None:
        outer = self.server_of
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with outer.lock:
            number = len(outer.posts) + 1
            headers = dict(self.headers.items())
            seen = Seen("POST", self.path, headers, json.loads(data), number)
            seen = replace(seen, fault=outer.script(seen))
            outer.seen.append(seen)
            outer.under_way += 1
            outer.under_way_max = max(outer.under_way_max, outer.under_way)
        try:
            outer.released.wait(outer.seconds)
            self._answer(seen)
        finally:
            with outer.lock:
                outer.under_way -= 1

    def _answer(self, seen: Seen) -> None:
        outer, fault = self.server_of, seen.fault or ""
        messages = messages_of(seen.body)
        sent = estimate_of(messages, ())
        limit = limit_of(seen.body)
        protocol = self.path.removeprefix("/v1/")
        if outer.raw is not None:
            self._send(outer.raw[0], outer.raw[1].encode(), "application/json")
            return
        if not self.path.startswith("/v1/"):
            self._json(404, {"error": {"message": "File Not Found", "code": 404}})
            return
        wanted = outer.insists_on
        if wanted is not None and wanted not in seen.body:
            text = f"Unsupported parameter: 'max_tokens' is not supported. Use '{wanted}' instead."
            self._json(400, error_body(protocol, "unsupported_parameter", "invalid", text))
        elif fault in REFUSALS:
            self._refuse(protocol, fault, sent, limit, seen)
        elif fault in ("overflow", "overflow_200") or (outer.window and sent > outer.window):
            self._overflow(protocol, sent, fault)
        elif fault in _BREAKS:
            _BREAKS[fault](self)
        else:
            self._json(200, self._completed(protocol, seen, messages, sent, limit))

    def _refuse(self, protocol: str, fault: str, sent: int, limit: int, seen: Seen) -> None:
        status, headers, code, kind, text = REFUSALS[fault]
        if fault == "reservation" and limit <= 20:
            # So small an answer always fits.
            self._json(200, self._completed(protocol, seen, messages_of(seen.body), sent, limit))
            return
        filled = text.format(
            window=sent + limit // 2,
            sum=sent + limit,
            sent=sent,
            limit=limit,
            half=max(1, limit // 2),
            key=self.headers.get("Authorization") or self.headers.get("x-api-key") or "",
            model=seen.body.get("model"),
        )
        self._json(status, error_body(protocol, code, kind, filled), headers)

    def _overflow(self, protocol: str, sent: int, fault: str) -> None:
        window = self.server_of.window or max(1, sent - 1)
        if fault == "overflow_200":
            body: Any = {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": sent,
                    "n_ctx": window,
                }
            }
            self._json(200, body)
            return
        if protocol.startswith("messages"):
            text = f"prompt is too long: {sent} tokens > {window} maximum"
            self._json(400, error_body(protocol, "", "invalid_request_error", text))
            return
        text = (
            f"This model's maximum context length is {window} tokens. However, your messages "
            f"resulted in {sent} tokens. Please reduce the length of the messages."
        )
        if protocol.startswith("responses"):
            text = "Your input exceeds the context window of this model."
        code = "context_length_exceeded"
        self._json(400, error_body(protocol, code, "invalid_request_error", text))

    def _completed(
        self, protocol: str, seen: Seen, messages: Sequence[Message], sent: int, limit: int
    ) -> dict[str, Any]:
        fault = seen.fault
        if fault == "silent":
            messages, sent = messages[-1:], max(1, sent // 4)
        if self.server_of.answers is not None:
            text, finish = self.server_of.answers(seen), "stop"
        else:
            done = OfflineModel().complete(messages, output_tokens_max=max(1, limit), seed=0)
            text, finish = done.text, done.finish_reason
        if fault == "cut_summary":
            text, finish = text[: len(text) // 2], "length"
        elif fault == "empty_summary":
            text = ""
        output = estimate_of([Message("assistant", text)], ()) if text else 0
        usage = None if fault == "no_usage" else (sent, output)
        return answer_body(protocol, seen.body, text, finish, usage)

    def _json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(
        self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def late(self) -> None:
        """No answer until the client hangs up."""
        self.server_of.released.wait(20)
        self.close_connection = True

    def dripping(self) -> None:
        """A byte now and then, so that no single read takes long."""
        self._begin_chunks()
        with suppress(OSError):
            while not self.server_of.released.wait(0.05):
                self.wfile.write(b"1\r\n \r\n")
        self.close_connection = True

    def reset(self) -> None:
        """Half an answer, then the connection is torn down."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [{"message": {"content": "maximum context length')
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def malformed(self) -> None:
        """JSON that breaks off in a text that looks like a refusal."""
        text = b'{"choices": [{"message": {"content": "prompt is too long: maximum context length'
        self._send(200, text, "application/json")

    def html(self) -> None:
        """A page of some gateway."""
        self._send(200, b"<html><body>Welcome to the captive portal</body></html>", "text/html")

    def endless(self) -> None:
        """A body that never ends."""
        self._begin_chunks()
        block = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with suppress(OSError):
            while not self.server_of.released.is_set():
                self.wfile.write(block)
        self.close_connection = True

    def redirect(self) -> None:
        """To another host, which must never see the key."""
        self._send(307, b"", "text/plain", {"Location": "http://127.0.0.1:9/v1/elsewhere"})

    def _begin_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()


_BREAKS: Mapping[str, Callable[[_Handler], None]] = {
    "timeout": _Handler.late,
    "drip": _Handler.dripping,
    "reset": _Handler.reset,
    "malformed": _Handler.malformed,
    "html": _Handler.html,
    "endless": _Handler.endless,
    "redirect": _Handler.redirect,
}


def error_body(protocol: str, code: str, kind: str, text: str) -> dict[str, Any]:
    """An error in the envelope of the protocol."""
    if protocol.startswith("messages"):
        return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


def answer_body(
    protocol: str, asked: Mapping[str, Any], text: str, finish: str, usage: tuple[int, int] | None
) -> dict[str, Any]:
    """An answer in the shape of the protocol."""
    model = asked.get("model")
    if protocol.startswith("messages"):
        if "compaction" in asked:
            return _compacted_on_demand(text, usage)
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": "max_tokens" if finish == "length" else "end_turn",
            **(
                {}
                if usage is None
                else {"usage": {"input_tokens": usage[0], "output_tokens": usage[1]}}
            ),
        }
    counted = None if usage is None else {"input_tokens": usage[0], "output_tokens": usage[1]}
    if protocol == "responses/compact":
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": text, "created_by": "x"}
        return {"id": "resp_1", "object": "response.compaction", "output": [item], "usage": counted}
    if protocol == "responses":
        part = {"type": "output_text", "text": text, "annotations": []}
        is_cut = finish == "length"
        return {
            "id": "resp_1",
            "object": "response",
            "status": "incomplete" if is_cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": [{"type": "message", "role": "assistant", "content": [part]}],
            "usage": counted,
        }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text},
            }
        ],
        **(
            {}
            if usage is None
            else {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}
        ),
    }


def _compacted_on_demand(text: str, usage: tuple[int, int] | None) -> dict[str, Any]:
    sent, output = usage or (0, 0)
    passes = [{"type": "compaction", "input_tokens": sent, "output_tokens": output}]
    block = {"type": "compaction", "content": text, "signature": "sig"}
    return {
        "type": "message",
        "role": "assistant",
        "content": [block] if text else [],
        "stop_reason": "compaction" if text else "max_tokens",
        "usage": {"input_tokens": 0, "output_tokens": 0, "iterations": passes},
    }


def limit_of(body: Mapping[str, Any]) -> int:
    """The output limit of a request."""
    return next((int(body[name]) for name in _LIMIT_NAMES if name in body), 4_096)


def messages_of(body: Mapping[str, Any]) -> list[Message]:
    """The messages of a request in any of the three protocols."""
    found: list[Message] = []
    system = body.get("system") or body.get("instructions")
    if system:
        found.append(Message("system", _text(system)))
    for entry in [*body.get("messages", []), *body.get("input", [])]:
        found += _entry(entry)
    return found


def _entry(entry: Mapping[str, Any]) -> list[Message]:
    kind = entry.get("type", "message")
    if kind == "function_call":
        call = ToolCall(entry["call_id"], entry["name"], entry["arguments"])
        return [Message("assistant", "", (call,))]
    if kind == "function_call_output":
        return [Message("tool", _text(entry["output"]), call_id=entry["call_id"])]
    if kind == "compaction":
        return [Message("user", str(entry.get("encrypted_content")))]
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in entry.get("tool_calls", [])
    ]
    content = entry.get("content")
    blocks = content if isinstance(content, list) else []
    results: list[Message] = []
    for block in blocks:
        if block.get("type") == "tool_use":
            calls.append(ToolCall(block["id"], block["name"], json.dumps(block["input"])))
        elif block.get("type") == "tool_result":
            results.append(Message("tool", _text(block["content"]), call_id=block["tool_use_id"]))
    text = _text(content)
    if results and not text:
        return results
    role: Role = "system" if entry["role"] == "developer" else entry["role"]
    told = Message(role, text, tuple(calls), entry.get("tool_call_id"))
    return [*results, told]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(
        str(part.get("text") or part.get("content") or "")
        for part in parts
        if part.get("type") in ("text", "input_text", "output_text", "compaction")
    )

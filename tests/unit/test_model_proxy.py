"""The model proxy: what real clients get, what strangers get, and what is left behind: nothing."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from bench.errors import RunHalted
from bench.events import Message
from bench.models import OfflineModel
from bench.projection import Native, Projection
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider, message_tokens
from bench.proxy import ModelProxy
from bench.strategy import Reply

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

_TALK = [
    {"role": "user", "content": "We settled on port 8443. The config is in deploy/values.yaml."},
    {"role": "assistant", "content": "Noted. Never restart the primary."},
    {"role": "user", "content": "Summarise the conversation above."},
]


class _Asked:
    """An `ask` that a simulated provider answers; it remembers what it was asked."""

    def __init__(self, window: int = 20_000, error: BaseException | None = None) -> None:
        self._provider = SimulatedProvider(OfflineModel(), window)
        self._error = error
        self.questions: list[tuple[tuple[Message, ...], int]] = []

    def __call__(self, messages: Sequence[Message], *, output_tokens_max: int) -> Reply:
        self.questions.append((tuple(messages), output_tokens_max))
        if self._error is not None:
            raise self._error
        return self._provider.complete(messages, output_tokens_max=output_tokens_max)

    def native(self, view: Projection) -> Native:
        return self._provider.native(view)


@pytest.fixture
def proxy() -> Iterator[ModelProxy]:
    with ModelProxy("offline") as running:
        yield running
    assert not [one for one in threading.enumerate() if one.name == "model proxy"]


def _openai(proxy: ModelProxy) -> Any:
    environment = proxy.environment
    return openai.OpenAI(
        base_url=environment["OPENAI_BASE_URL"], api_key=environment["OPENAI_API_KEY"]
    )


def _anthropic(proxy: ModelProxy) -> Any:
    environment = proxy.environment
    return anthropic.Anthropic(
        base_url=environment["ANTHROPIC_BASE_URL"], api_key=environment["ANTHROPIC_API_KEY"]
    )


def _post(address: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(Request(address, body, dict(headers)), timeout=10) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def test_chat_completions_whole_and_streamed_say_the_same(proxy: ModelProxy) -> None:
    ask = _Asked()
    with proxy.serving(ask), _openai(proxy) as client:
        whole = client.chat.completions.create(model="gpt", messages=_TALK, max_tokens=300)
        chunks = list(
            client.chat.completions.create(
                model="gpt",
                messages=_TALK,
                max_completion_tokens=300,
                stream=True,
                stream_options={"include_usage": True},
                temperature=0.2,
            )
        )
    said = whole.choices[0].message.content
    assert "8443" in said
    assert (whole.model, whole.choices[0].finish_reason) == ("offline", "stop")
    assert said == "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert chunks[-1].usage == whole.usage
    assert whole.usage.completion_tokens > 0
    assert [limit for _, limit in ask.questions] == [300, 300]
    assert [message.text for message in ask.questions[0][0]] == [m["content"] for m in _TALK]
    assert (proxy.asked, proxy.ignored) == (2, {"temperature"})


def test_messages_whole_and_streamed_say_the_same(proxy: ModelProxy) -> None:
    ask = _Asked()
    with proxy.serving(ask), _anthropic(proxy) as client:
        whole = client.messages.create(
            model="claude", system="Be brief.", messages=_TALK, max_tokens=300
        )
        with client.messages.stream(
            model="claude", system="Be brief.", messages=_TALK, max_tokens=300
        ) as stream:
            streamed = stream.get_final_message()
        counted = client.messages.count_tokens(model="claude", messages=_TALK)
    assert "8443" in whole.content[0].text
    assert streamed.content[0].text == whole.content[0].text
    assert (whole.stop_reason, streamed.stop_reason) == ("end_turn", "end_turn")
    assert streamed.usage.output_tokens == whole.usage.output_tokens > 0
    assert ask.questions[0][0][0] == Message("system", "Be brief.")
    assert counted.input_tokens == 3 + sum(map(message_tokens, ask.questions[0][0][1:]))


def test_responses_whole_and_streamed_say_the_same(proxy: ModelProxy) -> None:
    ask = _Asked()
    with proxy.serving(ask), _openai(proxy) as client:
        whole = client.responses.create(
            model="gpt", instructions="Be brief.", input=_TALK, max_output_tokens=300
        )
        with client.responses.stream(
            model="gpt", instructions="Be brief.", input=_TALK, max_output_tokens=300
        ) as stream:
            streamed = stream.get_final_response()
        client.responses.create(model="gpt", input="port 8443")
    assert "8443" in whole.output_text
    assert streamed.output_text == whole.output_text
    assert whole.status == "completed"
    assert ask.questions[2][0] == (Message("user", "port 8443"),)


def test_calls_and_results_are_passed_on_as_they_stand(proxy: ModelProxy) -> None:
    ask = _Asked()
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"p":1}'}}
    chat = [
        {"role": "developer", "content": [{"type": "text", "text": "rules"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "body"},
    ]
    blocks = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"p": 1}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "body"},
                {"type": "text", "text": "go on"},
            ],
        },
    ]
    with proxy.serving(ask):
        with _openai(proxy) as client:
            client.chat.completions.create(model="gpt", messages=chat)
        with _anthropic(proxy) as client:
            client.messages.create(model="claude", messages=blocks, max_tokens=9)
    system, caller, result = ask.questions[0][0]
    assert (system.role, system.text) == ("system", "rules")
    assert (caller.calls[0].name, caller.calls[0].arguments) == ("read", '{"p":1}')
    assert (result.role, result.call_id, result.text) == ("tool", "c1", "body")
    assert [message.role for message in ask.questions[1][0]] == ["assistant", "tool", "user"]


@pytest.mark.parametrize(
    ("kind", "openai_error", "anthropic_error"),
    [
        ("input_overflow", openai.BadRequestError, anthropic.BadRequestError),
        ("rate_limit", openai.RateLimitError, anthropic.RateLimitError),
        ("auth", openai.AuthenticationError, anthropic.AuthenticationError),
        ("server", openai.InternalServerError, anthropic.InternalServerError),
    ],
)
def test_refusals_have_the_shape_of_the_vendor(
    proxy: ModelProxy, kind: Any, openai_error: Any, anthropic_error: Any
) -> None:
    ask = _Asked(error=ProviderError(kind, "no", sent_tokens=900, limit_tokens=500))
    with proxy.serving(ask):
        with _openai(proxy) as client, pytest.raises(openai_error) as refused:
            client.chat.completions.create(model="gpt", messages=_TALK)
        with _anthropic(proxy) as client, pytest.raises(anthropic_error) as other:
            client.messages.create(model="claude", messages=_TALK, max_tokens=9)
    if kind == "input_overflow":
        assert refused.value.code == "context_length_exceeded"
        assert "prompt is too long: 900 tokens > 500 maximum" in str(other.value)
    # What was refused once isn't asked again: the clients are told so.
    assert len(ask.questions) == 2


def test_overflow_of_the_window_is_an_overflow_for_the_client(proxy: ModelProxy) -> None:
    long = [{"role": "user", "content": "word " * 5_000}]
    with (
        proxy.serving(_Asked(window=1_000)),
        _openai(proxy) as client,
        pytest.raises(openai.BadRequestError) as refused,
    ):
        client.chat.completions.create(model="gpt", messages=long)
    assert refused.value.code == "context_length_exceeded"


def test_a_halt_reaches_the_thread_that_waits(proxy: ModelProxy) -> None:
    with pytest.raises(RunHalted, match="budget"), proxy.serving(_Asked(error=RunHalted("budget"))):
        with _openai(proxy) as client, pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="gpt", messages=_TALK)
        with _openai(proxy) as client, pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="gpt", messages=_TALK)


def test_nothing_is_answered_between_compactions(proxy: ModelProxy) -> None:
    ask = _Asked()
    with proxy.serving(ask):
        pass
    with _openai(proxy) as client, pytest.raises(openai.BadRequestError, match="under way"):
        client.chat.completions.create(model="gpt", messages=_TALK)
    assert ask.questions == []


def test_models_are_listed_to_both(proxy: ModelProxy) -> None:
    with _openai(proxy) as client:
        assert [model.id for model in client.models.list()] == ["offline"]
        assert client.models.retrieve("gpt").id == "offline"
    with _anthropic(proxy) as client:
        assert [model.id for model in client.models.list()] == ["offline"]


_CHAT = "/v1/chat/completions"
_MESSAGES = "/v1/messages"


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        (_CHAT, b"{", "JSON"),
        (_CHAT, b"[]", "object"),
        (_CHAT, b"[" * 100_000, "JSON"),
        (_CHAT, b"{}", "messages"),
        (_CHAT, b'{"messages": []}', "messages"),
        (_CHAT, b'{"messages": ["x"]}', "messages[0]"),
        (_CHAT, b'{"messages": [{"role": "robot"}]}', "messages[0].role"),
        (_CHAT, b'{"messages": [{"role": "user", "content": 5}]}', "messages[0].content"),
        (_CHAT, b'{"messages": [{"role": "tool", "content": "x"}]}', "tool_call_id"),
        (_CHAT, b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}', "max_tokens"),
        (_CHAT, b'{"messages": [{"role": "user", "content": "x"}], "n": 2}', "n:"),
        (_CHAT, b'{"messages": [{"role": "user", "content": "x"}], "stream": 1}', "stream"),
        (
            _CHAT,
            b'{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}',
            "messages[0].content[0].type",
        ),
        (_MESSAGES, b'{"messages": [{"role": "user", "content": "x"}]}', "max_tokens"),
        (_MESSAGES, b'{"messages": [{"role": "user", "content": null}], "max_tokens": 1}', "text"),
        ("/v1/responses", b'{"input": []}', "input"),
        ("/v1/responses", b'{"input": "x", "previous_response_id": "r"}', "previous_response_id"),
    ],
)
def test_malformed_requests_are_named_and_never_asked(
    proxy: ModelProxy, path: str, body: bytes, named: str
) -> None:
    ask = _Asked()
    with proxy.serving(ask):
        status, answer = _post(proxy.address + path, body)
    assert status == 400
    assert named in answer["error"]["message"]
    assert ask.questions == []


def test_strangers_on_this_machine_learn_nothing(proxy: ModelProxy) -> None:
    root, _, secret = proxy.address.rpartition("/")
    body = json.dumps({"messages": _TALK}).encode()
    ask = _Asked()
    with proxy.serving(ask):
        for wrong in (root, f"{root}/", f"{root}/{secret[:-1]}", f"{root}/{'x' * len(secret)}"):
            status, answer = _post(f"{wrong}{_CHAT}", body)
            assert status == 404
            assert secret not in json.dumps(answer)
        assert _post(proxy.address + _CHAT, body)[0] == 200
    assert len(ask.questions) == 1
    host, port = root.removeprefix("http://").split(":")
    assert host == "127.0.0.1"
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", int(port)), timeout=2):
        pass


def test_a_connection_that_says_nothing_keeps_nobody_waiting() -> None:
    before = threading.active_count()
    with ModelProxy() as proxy:
        port, _, secret = proxy.address.rpartition(":")[2].partition("/")
        silent = socket.create_connection(("127.0.0.1", int(port)))
        half = socket.create_connection(("127.0.0.1", int(port)))
        half.sendall(f"POST /{secret}{_CHAT} HTTP/1.1\r\nContent-Length: 9\r\n\r\n{{".encode())
        deadline = threading.Event()
        for _ in range(100):
            if threading.active_count() >= before + 3:
                break
            deadline.wait(0.02)
        assert threading.active_count() >= before + 3
        started = time.monotonic()
    assert time.monotonic() - started < 10
    silent.close()
    half.close()
    assert threading.active_count() == before

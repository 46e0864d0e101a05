"""Edges: the model proxy: the session's `ask`, spoken to as OpenAI and as Anthropic.

A foreign program that writes summaries with its own client is pointed here by its environment. What
it asks goes through the strategy's `ask`, so it is counted, priced, capped and recorded, or
answered by a stand-in, as the questions of strategies in this project are. The endpoint listens on
loopback only, its address holds a secret, and it answers only while a compaction is under way.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from bench.errors import RunHalted
from bench.provider import ProviderError
from bench.proxy.question import Question
from bench.proxy.server import LoopbackServer
from bench.strategy import Ask, Reply

# Clients refuse to start without a key. Nothing is guarded by it: the address holds the secret.
_KEY = "compaction-bench"
_LOOPBACK = "127.0.0.1,localhost"


class ModelProxy:
    """One endpoint; a context manager that leaves no thread and no open socket behind.

    `model` is the name that answers carry. `asked` counts the requests that were passed on,
    `ignored` holds the names of request fields that had no effect (tools, temperature ...).
    """

    def __init__(self, model: str = "model") -> None:
        self.model = model
        self.asked = 0
        self.ignored: set[str] = set()
        self._ask: Ask | None = None
        self._halt: RunHalted | None = None
        # Requests are passed on one by one, so that their order is their order on the record.
        self._lock = threading.Lock()
        self._secret = secrets.token_urlsafe(24)
        self._server = LoopbackServer(self._secret, model, self._answer)

    @property
    def address(self) -> str:
        """The root of the endpoint: what `ANTHROPIC_BASE_URL` is; OpenAI's adds `/v1`."""
        return f"http://127.0.0.1:{self._server.port}/{self._secret}"

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of the foreign program.

        The addresses under the names that the vendors' clients and their relatives read, a key that
        opens nothing, and exceptions from any HTTP proxy that is set.
        """
        openai = f"{self.address}/v1"
        return {
            "OPENAI_BASE_URL": openai,
            "OPENAI_API_BASE": openai,
            "OPENAI_API_KEY": _KEY,
            "ANTHROPIC_BASE_URL": self.address,
            "ANTHROPIC_API_KEY": _KEY,
            "COMPACTION_BENCH_MODEL": self.model,
            "COMPACTION_BENCH_MODEL_URL": openai,
            "NO_PROXY": _LOOPBACK,
            "no_proxy": _LOOPBACK,
        }

    @contextmanager
    def serving(self, ask: Ask) -> Iterator[None]:
        """Answers with `ask` inside, refuses outside. Raises RunHalted when a request met it."""
        with self._lock:
            self._ask = ask
        try:
            yield
        finally:
            with self._lock:
                self._ask = None
        if self._halt is not None:
            raise self._halt

    def _answer(self, question: Question) -> Reply:
        with self._lock:
            if self._ask is None:
                raise ProviderError(
                    "invalid_request", "no compaction is under way, so nothing may be asked"
                )
            if self._halt is not None:
                raise ProviderError("quota", self._halt.reason, status=429)
            self.asked += 1
            self.ignored.update(question.ignored)
            try:
                return self._ask(question.messages, output_tokens_max=question.output_tokens_max)
            except RunHalted as halt:
                # It has to pass through the thread that waits for the foreign program.
                self._halt = halt
                raise ProviderError("quota", halt.reason, status=429) from halt

    def __enter__(self) -> ModelProxy:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()

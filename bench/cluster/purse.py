"""Assembly: the money of a run on a cluster: the ledger stays with the process that started it.

A file can't be shared between machines, so workers ask: a wish to reserve goes through a queue of
the scheduler to the starter, which looks into its ledger and answers. The limits, the warning at
80% and the number of requests under way hold for the whole cluster. A worker that gets no answer
sends nothing; what a lost worker had put aside counts as spent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from bench.errors import RunHalted
from bench.prices import ModelPrice
from bench.providers.purse import Purse, Reservation
from bench.providers.results import CallUsage
from bench.spending import Ledger, billed, priced, say_warning

_ANSWER_SECONDS = 30
_WAIT_SECONDS = 0.2
_LOOK_AGAIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ClusterPurse:
    """What a worker opens its purse from: the name of the queue, and the prices of the run."""

    queue: str
    prices: Mapping[str, ModelPrice | None] = field(default_factory=dict)

    def open(self) -> Purse:
        """A purse that asks the starter; to be opened in the thread that performs the task."""
        from distributed import get_client, get_worker

        return _AskingPurse(self, get_client(), str(get_worker().address))


class _AskingPurse:
    def __init__(self, description: ClusterPurse, client: Any, owner: str) -> None:
        self._description = description
        self._client = client
        self._owner = owner

    def reserve(self, model: str, input_tokens_max: int, output_tokens_max: int) -> Reservation:
        prices = self._description.prices
        price, usd_worst = priced(prices, model, input_tokens_max, output_tokens_max)
        while True:
            answer = self._ask(
                {
                    "model": model,
                    "tokens_worst": input_tokens_max + output_tokens_max,
                    "usd_worst": usd_worst,
                    "owner": self._owner,
                }
            )
            if answer["refusal"]:
                raise RunHalted(answer["refusal"])
            if answer["number"] is not None:
                return _AskedReservation(self, answer["number"], price, usd_worst)
            time.sleep(_WAIT_SECONDS)

    def settle(self, number: int, tokens: int | None, usd: float | None) -> None:
        self._ask({"number": number, "tokens": tokens, "usd": usd})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        from distributed import Queue

        reply = Queue(f"{self._description.queue}-{uuid4().hex}", client=self._client)
        try:
            questions = Queue(self._description.queue, client=self._client)
            questions.put({**question, "reply": reply.name}, timeout=_ANSWER_SECONDS)
            answer: dict[str, Any] = reply.get(timeout=_ANSWER_SECONDS)
            return answer
        except (OSError, TimeoutError) as error:
            raise RunHalted(
                "the process that started the run keeps its money and doesn't answer any more"
            ) from error
        finally:
            reply.close()


@dataclass(frozen=True, slots=True)
class _AskedReservation:
    purse: _AskingPurse
    number: int
    price: ModelPrice | None
    usd_worst: float | None

    def settle(self, usage: CallUsage | None) -> float | None:
        tokens, usd = billed(self.price, usage)
        self.purse.settle(self.number, tokens, usd)
        return self.usd_worst if usd is None else usd


class Accounting:
    """Answers the workers from the ledger, in a thread of the starter, until it is closed."""

    def __init__(
        self, client: Any, ledger: Ledger, prices: Mapping[str, ModelPrice | None]
    ) -> None:
        self.description = ClusterPurse(f"compaction-bench-money-{uuid4().hex}", prices)
        self._client = client
        self._ledger = ledger
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._answer_all, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answers nothing more; workers that ask later send nothing."""
        self._is_closed.set()
        self._thread.join(timeout=5)

    def lose(self, worker: str) -> None:
        """A worker is gone: what it had put aside counts as spent."""
        self._ledger.lose(worker)

    def _answer_all(self) -> None:
        from distributed import Queue

        try:
            questions = Queue(self.description.queue, client=self._client)
            while not self._is_closed.is_set():
                try:
                    question = questions.get(timeout=_LOOK_AGAIN_SECONDS)
                except TimeoutError:
                    continue
                reply = Queue(question.pop("reply"), client=self._client)
                reply.put(self._answer(question), timeout=_ANSWER_SECONDS)
        except Exception as error:
            # Workers notice that nobody answers, and stop; this says why.
            if not self._is_closed.is_set():
                say_warning(f"the money of the run can't be counted any more: {error}")

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if "owner" in question:
            decision = self._ledger.reserve(**question)
            return {"number": decision.number, "refusal": decision.refusal}
        number = question.pop("number")
        warning = self._ledger.settle(number, **question)
        if warning:
            say_warning(warning)
        return {}

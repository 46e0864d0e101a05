"""Edge: how foreign code reaches the session's model, if it may.

`model=proxy` opens an endpoint on loopback for the time of one replay. Its variables are added to
the environment of a process, and stand under `model` in what an address is sent. It answers with
the strategy's own `ask` while a call is under way and refuses in between, so what the code asks is
counted, capped and recorded like the questions of other strategies. `model=none` adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol, TypeAlias

from bench.strategy import Ask

Access: TypeAlias = Literal["proxy"] | None


class ModelAccess(Protocol):
    """A way to the model that stays open during a replay."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables by which the usual clients find it."""
        ...

    def serving(self, ask: Ask) -> AbstractContextManager[None]:
        """Answers with `ask` inside. Leaving waits for the answer that is under way."""
        ...


class NoModel:
    """No way to any model."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    @contextmanager
    def serving(self, ask: Ask) -> Iterator[None]:
        """Nothing is answered."""
        yield


@contextmanager
def model_access(kind: Access) -> Iterator[ModelAccess]:
    """The way to the model that a spec asks for, open inside."""
    if kind is None:
        yield NoModel()
        return
    from bench.proxy import ModelProxy

    with ModelProxy() as proxy:
        yield proxy

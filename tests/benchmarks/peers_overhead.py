"""What compaction costs beside the model: this harness and two libraries on one session.

    python -m tests.benchmarks.peers_overhead

needs the extra `peers`. A session of 2,000 messages is followed message by message: before each
assistant message the code under test is asked what to send, a stub model answers its summaries at
once. Told is processor time a message: the harness replays, measures every request in true tokens
and checks each result; LangChain's middleware and inspect_ai's orchestrator do what an agent would
call them for, on messages that were made before. All fire at the same share of the same window.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.events import Session
from bench.generator import generate_session
from bench.history import History
from bench.projection import Projection
from bench.tokens import count, encoding
from bench.wire.formats import to_openai
from bench.wire.rendering import render
from strategies import peer_inspect_ai, peer_langchain
from strategies.peers import Translated
from tests.benchmarks.measuring import InstantModel, caches, forget_everything, replay_of

MESSAGES = 2_000
WINDOW = 60_000
THRESHOLD = int(0.8 * WINDOW)
REPEATS = 3
_SUMMARY = "## Goal\nSail.\n\n## Progress\nLeft the harbour.\n\n## Next Steps\nSet the jib."


@dataclass(frozen=True, slots=True)
class Overhead:
    """One row: microseconds of processor time a message, and how often it compacted."""

    name: str
    microseconds: float
    compactions: int


def messages_of(session: Session) -> list[dict[str, Any]]:
    """The whole session as Chat Completions messages."""
    return to_openai(render(Projection.whole(History(session.events))), ()).messages


def through_harness(session: Session, spec: str) -> int:
    """A replay; how often it compacted."""
    seen = replay_of(session, spec, InstantModel(), WINDOW)
    return sum(one.outcome == "accepted" for one in seen.compactions)


def through_langchain(objects: list[Any]) -> int:
    """Before every assistant message the middleware is asked; how often it summarised."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import RemoveMessage

    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=[_SUMMARY]), trigger=("tokens", THRESHOLD)
    )
    state: list[Any] = []
    summaries = 0
    for one in objects:
        if one.type == "ai":
            with peer_langchain.untraced():
                update = middleware.before_model({"messages": state}, None)
            if update is not None:
                state = [m for m in update["messages"] if not isinstance(m, RemoveMessage)]
                summaries += 1
        state.append(one)
    return summaries


async def through_inspect(objects: list[Any], count_text: Callable[[str], int]) -> int:
    """Before every assistant message the orchestrator is asked; how often it summarised."""
    from inspect_ai.log._transcript import Transcript, init_transcript
    from inspect_ai.model import CompactionSummary, compaction, get_model

    init_transcript(Transcript())
    model = get_model("mockllm/model", memoize=False, custom_outputs=_answers())

    async def count_text_tokens(text: str) -> int:
        return count_text(text)

    model.api.count_text_tokens = count_text_tokens
    prefix = objects[:2]
    handler = compaction(
        CompactionSummary(threshold=THRESHOLD, memory=False), prefix=prefix, model=model
    )
    history: list[Any] = []
    summaries = 0
    for one in objects:
        if one.role == "assistant":
            _, written = await handler.compact_input(history)
            if written is not None:
                history.append(written)
                summaries += 1
        history.append(one)
    return summaries


def _answers() -> Any:
    from inspect_ai.model import ModelOutput

    while True:
        yield ModelOutput.from_content("mockllm/model", _SUMMARY)


def langchain_objects(messages: list[dict[str, Any]]) -> list[Any]:
    """The messages as LangChain has them."""
    return Translated(messages, peer_langchain._to_langchain).objects


def inspect_objects(messages: list[dict[str, Any]]) -> list[Any]:
    """The messages as inspect_ai has them."""
    import inspect_ai.model as library

    def make(message: dict[str, Any], name: str) -> Any:
        return peer_inspect_ai._to_inspect(library, message, name, None)

    return Translated(messages, make).objects


def timed(name: str, prepare: Callable[[], Any], work: Callable[[Any], int]) -> Overhead:
    """The median of some runs, each on what `prepare` makes; the first, which imports, is left out.

    Nothing is remembered from run to run: every text is tokenised anew in each.
    """
    seconds: list[float] = []
    compactions = 0
    for number in range(REPEATS + 1):
        prepared = prepare()
        forget_everything()
        started = time.process_time()
        compactions = work(prepared)
        if number:
            seconds.append(time.process_time() - started)
    return Overhead(name, statistics.median(seconds) / MESSAGES * 1e6, compactions)


def measure() -> list[Overhead]:
    """All rows."""
    session, _ = generate_session("coding", "en", MESSAGES, seed=1)
    messages = messages_of(session)
    total = sum(count(str(message.get("content") or "")) for message in messages)
    print(f"{len(messages):,} messages, {total:,} tokens of text, a window of {WINDOW:,}.\n")

    def harness(spec: str) -> Overhead:
        return timed(
            f"this harness, `{spec}`", lambda: session, lambda made: through_harness(made, spec)
        )

    def inspect(name: str, count_text: Callable[[str], int]) -> Overhead:
        return timed(
            f"inspect_ai `CompactionSummary` ({name})",
            lambda: inspect_objects(messages),
            lambda made: asyncio.run(through_inspect(made, count_text)),
        )

    def langchain() -> Overhead:
        return timed(
            "LangChain `SummarizationMiddleware`",
            lambda: langchain_objects(messages),
            through_langchain,
        )

    encode = encoding().encode_ordinary
    with caches(counts=False):
        return [
            harness("head_tail"),
            harness("layered"),
            langchain(),
            inspect("tiktoken, its default", lambda text: max(1, int(len(encode(text)) * 1.1))),
            inspect("bytes x 0.3", lambda text: max(1, len(text.encode()) * 3 // 10)),
            harness("langchain_summarization"),
            harness("inspect_ai_summary(threshold=0.8)"),
        ]


def main() -> None:
    """Prints the table."""
    rows = measure()
    print("| | processor time a message | compactions |")
    print("| --- | ---: | ---: |")
    for row in rows:
        print(f"| {row.name} | {row.microseconds:,.0f} µs | {row.compactions} |")


if __name__ == "__main__":
    main()

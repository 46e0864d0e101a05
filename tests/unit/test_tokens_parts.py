"""Long texts are counted exactly, whatever of them is known, and what is known isn't encoded."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import tokens_parts
from bench.joined_texts import joined
from bench.tokens import encoding
from bench.tokens_parts import PartsCounter

SCRAPS = [
    *("word. ", "don't", "'s", "ing", "Stop", "\n", "\n\n", "\r\n", "  ", "\t", "/", '{"', '"}'),
    *("[user]\n", "[", "1234", "中文", "。", "é", "\u0301", "\u2028", "\xa0", "_", ".", "\x1c"),
    *("ab cd", "\n[tool] ", "://", "\n/", "...\n", "x \n", "\ud800", "\n<segment a>\n"),
]
scraps = st.lists(st.sampled_from(SCRAPS), max_size=60).map("".join)


class Encoded:
    """Counts from scratch and takes down what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> int:
        self.texts.append(text)
        return _plain(text)

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


def _plain(text: str) -> int:
    return len(encoding().encode_ordinary(text))


def _nothing_known(text: str) -> None:
    return None


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    """Everything that is long elsewhere is short here, so that little text has it all."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tokens_parts, "_BLOCK_CHARACTERS", 16)
        patched.setattr(tokens_parts, "LONG_CHARACTERS_MIN", 32)
        patched.setattr(tokens_parts, "_CUT_CHARACTERS_MAX", 12)
        patched.setattr(tokens_parts, "_PIECE_CHARACTERS_MIN", 2)
        patched.setattr(tokens_parts, "_TRANSCRIPT_CHARACTERS_MIN", 64)
        patched.setattr(tokens_parts, "_BLOCKS_CHARACTERS_MAX", 400)
        patched.setattr(tokens_parts, "_SEAMS_REMEMBERED", 20)
        yield


@given(texts=st.lists(scraps, min_size=1, max_size=6), chance=st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_texts_and_their_ends_are_counted_exactly(texts: list[str], chance: Random) -> None:
    counter = PartsCounter(_nothing_known, _plain)
    for text in texts:
        assert counter.count(text) == _plain(text)
        cut = chance.randrange(len(text) + 1)
        for end in (text[:cut], text[cut:], text[:cut] + "\n..." + text[-cut:]):
            assert counter.count(end) == _plain(end)


@given(
    pieces=st.lists(scraps | st.sampled_from(SCRAPS), min_size=2, max_size=14),
    chance=st.randoms(use_true_random=False),
    are_labelled=st.booleans(),
)
@settings(max_examples=400)
def test_joined_texts_are_counted_exactly(
    pieces: list[str], chance: Random, are_labelled: bool
) -> None:
    known = {piece: _plain(piece) for piece in pieces if piece and chance.random() < 0.7}
    counter = PartsCounter(known.get, _plain)
    if are_labelled:
        labels = ["\n\n[user]\n", "\n[tool call] read_file ", "\n\n[tool result]\n", "\n"]
        pieces = [text for piece in pieces for text in (chance.choice(labels), piece)]
    for text in (joined(pieces), joined((joined(pieces[:3]), *pieces[3:])), "".join(pieces)):
        assert counter.count(text) == _plain(text)


def test_a_word_goes_on_behind_an_apostrophe() -> None:
    pieces = ("They said you don'", "t know, but that", "'s how it'", "d be and they don", "'t")
    known = {piece: _plain(piece) for piece in pieces}
    text = joined(pieces)
    assert PartsCounter(known.get, _plain).count(text) == _plain(text)


Made = Callable[[str, str], str]


@pytest.mark.parametrize(
    "made",
    [
        lambda first, second: first[: len(first) * 2 // 5],
        lambda first, second: first[len(first) * 3 // 5 :],
        lambda first, second: joined(
            (first[: len(first) * 2 // 5], "\n\n[...]\n\n", second[-len(second) // 3 :])
        ),
    ],
    ids=["beginning", "end", "both"],
)
def test_of_the_ends_of_counted_texts_little_is_encoded(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_parts, "_BLOCKS_CHARACTERS_MAX", 100_000)
    chance, encoded = Random(4), Encoded()
    words = ["harbour", "sails", "in", "the", "evening", "tide,", "then", "turns.\n"]
    first, second = (" ".join(chance.choices(words, k=200)) for _ in range(2))
    counter = PartsCounter(_nothing_known, encoded)
    for text in (first, second):
        counter.count(text)
    encoded.texts.clear()
    text = made(first, second)
    assert counter.count(text) == _plain(text)
    assert encoded.characters < len(text) / 5


def _conversation(texts: Sequence[str]) -> list[str]:
    labels = ("\n\n[user]\n", "\n\n[assistant]\n", "\n\n[tool result]\n")
    return [piece for i, text in enumerate(texts) for piece in (labels[i % 3], text)]


@pytest.mark.parametrize("is_told", [True, False], ids=["joined", "labelled"])
def test_of_messages_that_were_counted_only_seams_are_encoded(is_told: bool) -> None:
    chance, encoded = Random(5), Encoded()
    words = ["harbour", "sails", "in", "the", "evening", "tide,", "then", "turns."]
    texts = [" ".join(chance.choices(words, k=60)) for _ in range(40)]
    known = {text: _plain(text) for text in texts}
    pieces = _conversation(texts)
    text = joined(pieces) if is_told else "".join(pieces)
    assert PartsCounter(known.get, encoded).count(text) == _plain(text)
    assert encoded.characters < len(text) / 10


def test_a_text_of_nothing_but_labels_is_counted() -> None:
    text = "[x]\n" * 5_000
    assert PartsCounter(_nothing_known, _plain).count(text) == _plain(text)


def test_what_is_joined_again_and_again_is_counted() -> None:
    text = "a"
    for number in range(2_000):
        text = joined((text, f" word {number}"))
    assert PartsCounter(_nothing_known, _plain).count(text) == _plain(text)

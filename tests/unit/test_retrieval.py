"""Retrieval of the stand-in reader: BM25 as written down, whatever the texts are cut into."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bench.readers.retrieval import (
    K1,
    PASSAGE_CHARACTERS_MAX,
    B,
    content_terms,
    passages_of,
    retrieve,
    terms,
)

WORDS = ("seat", "limit", "days", "retention", "port", "80", "发布", "日期", "loader")
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
texts = st.lists(st.lists(lines, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=6)


def by_the_formula(passages: list[str], wanted: list[str]) -> dict[str, float]:
    """Okapi BM25 with Lucene's idf, term by term over all passages."""
    counted = [Counter(terms(passage)) for passage in passages]
    lengths = [sum(one.values()) for one in counted]
    average = sum(lengths) / len(passages)
    scores: dict[str, float] = {}
    for passage, counts, length in zip(passages, counted, lengths, strict=True):
        score = 0.0
        for term in wanted:
            held = sum(term in one for one in counted)
            idf = math.log(1 + (len(passages) - held + 0.5) / (held + 0.5))
            norm = K1 * (1 - B + B * length / average)
            score += idf * counts[term] * (K1 + 1) / (counts[term] + norm)
        if score > 0:
            scores[passage] = score
    return scores


@given(texts=texts, wanted=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True))
def test_scores_are_those_of_the_formula(texts: list[str], wanted: list[str]) -> None:
    query = content_terms(" ".join(wanted))
    passages = [passage for text in texts for passage in passages_of(text)]
    expected = by_the_formula(passages, query)
    found = retrieve(texts, query, len(passages))
    assert {one.text for one in found} == set(expected)
    for one in found:
        assert math.isclose(one.score, expected[one.text])
        assert passages[one.order] == one.text
        assert one.text not in passages[one.order + 1 :], "the last of its places counts"
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@given(texts=texts, wanted=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True))
def test_a_passage_with_all_words_covers_the_query(texts: list[str], wanted: list[str]) -> None:
    query = content_terms(" ".join(wanted))
    for one in retrieve([*texts, " ".join(wanted)], query, 99):
        assert 0 < one.coverage <= 1 + 1e-9
        holds_all = set(query) <= set(terms(one.text))
        assert math.isclose(one.coverage, 1) == holds_all


def test_words_are_compared_without_case_and_plural_and_han_by_pairs() -> None:
    assert terms("Retries of pier_API2") == ["retrie", "of", "pier", "api", "2"]
    assert terms("发布日期") == ["发布", "布日", "日期"]
    assert terms("日") == ["日"]
    assert content_terms("What is the port of the loader now?") == ["port", "loader"]


def test_long_lines_are_cut_at_ends_of_sentences() -> None:
    line = "The first sentence says little. " * 6 + "The second says more。第三句。"
    assert len(line) > PASSAGE_CHARACTERS_MAX
    assert passages_of(f"short. line\n\n{line}")[:2] == [
        "short. line",
        "The first sentence says little.",
    ]
    assert passages_of(line)[-1] == "第三句。"


def test_nothing_is_found_in_nothing() -> None:
    assert retrieve([], ["port"], 5) == []
    assert retrieve(["", "port 80"], [], 5) == []
    assert retrieve(["port 80"], ["loader"], 5) == []

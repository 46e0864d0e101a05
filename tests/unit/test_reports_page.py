"""The page holds everything, asks nobody, and shows text of sessions as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.charts import CHARTS
from reports.frames import RunData
from reports.html import inline_svg, json_block, to_html
from reports.page_data import thinned
from reports.style import to_svg
from tests.report_samples import empty_run, sample_run

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\x1b[31m\u202e& 端口"


def page_of(data: RunData) -> str:
    drawings = {chart.name: to_svg(chart.draw(chart.frame(data))) for chart in CHARTS}
    return to_html(data, drawings)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(sample_run())


def test_the_verdict_comes_first(page: str) -> None:
    body = page[page.index("<body>") :]
    shown = re.sub(r"<[^>]*>", "", body).strip()
    assert shown.startswith("layered keeps most of what was needed")


def test_the_first_screen_has_controls_what_fired_and_what_it_stands_on(page: str) -> None:
    first = page[page.index("<body>") : page.index("<nav")]
    for expected in ("keep_all kept 100%", "layered compacted 38 times", "stand-in model", "o200k"):
        assert expected in first
    assert "1 stopped early, 1 not exercised, 0 invalid requests" in re.sub(r"\s+", " ", first)


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    reader = read(page)
    for tag, attributes in reader.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href", "xlink:href", "action", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), (tag, value)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    policy = next(a["content"] for _, a in reader.elements if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+'", policy)


def test_ids_are_unique(page: str) -> None:
    ids = [a["id"] for _, a in read(page).elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_hostile_text_stays_text() -> None:
    data = sample_run(2, facts=9)
    data = replace(
        data,
        about=replace(
            data.about,
            sentences=(HOSTILE,),
            warnings=(HOSTILE,),
            command=HOSTILE,
            formats={HOSTILE: 1},
        ),
        facts=data.facts.assign(
            text=HOSTILE,
            source_line=HOSTILE,
            summary_line=HOSTILE,
            kind=HOSTILE,
            session=HOSTILE,
        ),
        cells=data.cells.assign(reason=HOSTILE, session=HOSTILE),
        requests=data.requests.assign(session=HOSTILE),
    )
    page = page_of(data)
    reader = read(page)
    assert sum(tag == "script" for tag, _ in reader.elements) == 2
    assert not any("onerror" in attributes for _, attributes in reader.elements)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert any("<img src=x onerror=alert(2)>" in text for text in reader.texts)


def test_a_page_of_nothing_says_so() -> None:
    assert "No verdict: no session was replayed." in page_of(empty_run())


def test_secrets_never_reach_the_page() -> None:
    key = "sk-" + "ant-api03-" + "q" * 30
    data = sample_run(2, facts=9)
    facts = data.facts.assign(text=f"use {key}", source_line=f"export KEY={key}", summary_line=key)
    assert key not in page_of(replace(data, facts=facts))


def test_many_sessions_and_strategies_stay_small() -> None:
    names = ("head_tail", "layered", "prune", "native", "a", "b", "c", "d", "keep_all", "empty")
    data = sample_run(50, names, requests=200, facts=12)
    assert len(page_of(data).encode()) < 3_000_000


@given(st.text())
def test_json_in_the_page_reads_back_and_ends_nothing(text: str) -> None:
    block = json_block({"text": text})
    assert not set("<>&\u2028\u2029") & set(block)
    assert json.loads(block)["text"].encode("utf-8", "replace") == text.encode("utf-8", "replace")


def test_inline_drawings_have_ids_of_their_own_and_colours_of_the_page() -> None:
    drawing = (
        '<?xml version="1.0"?><svg width="10" height="5" viewBox="0 0 10 5"><metadata>x</metadata>'
        '<defs><style type="text/css">*{color:red}</style><path id="m1"/></defs>'
        '<use href="#m1" style="fill: #0072b2; clip-path: url(#c)"/></svg>'
    )
    shown = inline_svg(drawing, "age")
    assert shown.startswith("<svg")
    assert 'id="age-m1"' in shown
    assert 'href="#age-m1"' in shown
    assert "url(#age-c)" in shown
    assert "var(--series-0)" in shown
    assert "width=" not in shown
    assert "<style" not in shown
    assert "metadata" not in shown


def test_thinning_keeps_peaks_compactions_and_refusals() -> None:
    requests = sample_run(1, ("layered",), requests=2_000).requests
    requests.loc[777, "is_served"] = False
    thin = thinned(requests, 100)
    assert len(thin) < 260
    assert thin["tokens"].max() == requests["tokens"].max()
    assert 777 in thin.index
    assert thin["is_compacted"].sum() >= min(99, requests["is_compacted"].sum())

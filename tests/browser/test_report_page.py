"""The report page in a real browser: it works, it is quiet, and it asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.frames import RunData
from reports.write import write_data
from tests.browser.chromium import NAMES, Page, executable, opened
from tests.report_samples import empty_run, sample_run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        executable() is None, reason=f"no browser here: install one of {', '.join(NAMES)}"
    ),
]
HOSTILE = (
    "</script><script>window.broken=1</script><img src=x onerror='window.broken=2'>\x1b[31m\u202e"
)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with opened() as tab:
        yield tab


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(sample_run(), tmp_path_factory.mktemp("report"))


@pytest.fixture
def shown(page: Page, report: Path) -> Page:
    page.prefer("light")
    page.open(report)
    return page


def write(data: RunData, folder: Path) -> Path:
    return write_data(data, folder, ("html",))[0]


def column(page: Page, table: str, place: int) -> list[Any]:
    script = (
        f"[...document.querySelectorAll('#{table} tbody tr')].filter((row) => !row.hidden)"
        f".map((row) => row.cells[{place}].dataset.value ?? row.cells[{place}].textContent)"
    )
    return list(page.evaluate(script))


def heading(table: str, place: int) -> str:
    return f"document.querySelectorAll('#{table} thead button')[{place}]"


def test_the_console_stays_silent(shown: Page) -> None:
    assert shown.complaints() == []


def test_no_request_leaves_the_page(shown: Page) -> None:
    shown.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert shown.requested()
    assert all(url.startswith("file:") for url in shown.requested())
    assert {url.rsplit("/", 1)[-1] for url in shown.requested()} == {"report.html"}


def test_the_verdict_is_on_the_first_screen(shown: Page) -> None:
    for selector in ("h1", ".scoreboard", "dl.facts"):
        bottom = shown.evaluate(
            f"document.querySelector('{selector}').getBoundingClientRect().bottom"
        )
        assert bottom < 900, selector
    assert shown.evaluate("document.body.innerText.trim().startsWith('layered keeps most')")


@pytest.mark.parametrize("table", ["summary", "cells"])
def test_sorting_by_a_number(shown: Page, table: str) -> None:
    place = 2 if table == "summary" else 6
    shown.evaluate(f"{heading(table, place)}.click()")
    falling = [float(value) for value in column(shown, table, place) if value]
    assert falling == sorted(falling, reverse=True)
    aria = f"{heading(table, place)}.closest('th').ariaSort"
    assert shown.evaluate(aria) == "descending"
    shown.evaluate(f"{heading(table, place)}.click()")
    rising = [float(value) for value in column(shown, table, place) if value]
    assert rising == sorted(rising)
    assert shown.evaluate(aria) == "ascending"
    values = column(shown, table, place)
    missing = values.count("")
    assert missing == (1 if table == "cells" else 0)
    assert all(value == "" for value in values[len(values) - missing :]), "missing values are last"


def test_sorting_by_keyboard(shown: Page) -> None:
    shown.evaluate(f"{heading('summary', 0)}.focus()")
    shown.press("Enter", 13)
    names = column(shown, "summary", 0)
    assert names == sorted(names)
    assert (
        shown.evaluate("document.querySelectorAll('#summary th[aria-sort=ascending]').length") == 1
    )


def test_filtering_the_summary(shown: Page) -> None:
    shown.evaluate("document.querySelector('[data-filter=summary]').focus()")
    shown.type("preserve")
    assert column(shown, "summary", 0) == ["head_tail(preserve_last=12)"]


def test_filtering_replays_by_text_strategy_and_status(shown: Page) -> None:
    every = len(column(shown, "cells", 0))
    shown.evaluate("document.querySelector('[data-filter=cells]').focus()")
    shown.type("会话-04")
    assert set(column(shown, "cells", 0)) == {"会话-04"}
    script = (
        "(() => { document.querySelector('[data-filter=cells]').value = '';"
        "const s = document.getElementById('cells-status'); s.value = 'stopped';"
        "s.dispatchEvent(new Event('change')); })()"
    )
    shown.evaluate(script)
    assert column(shown, "cells", 5) == ["stopped"]
    assert shown.evaluate("document.getElementById('cells-count').textContent") == (
        f"1 of {every} replays"
    )


def test_choosing_a_session_draws_its_saw_teeth(shown: Page) -> None:
    before = shown.evaluate("document.getElementById('saw').innerHTML")
    script = (
        "(() => { const s = document.getElementById('saw-session'); s.selectedIndex = 3;"
        "s.dispatchEvent(new Event('change')); })()"
    )
    shown.evaluate(script)
    assert shown.evaluate("document.querySelectorAll('#saw svg').length") == 7
    assert shown.evaluate("document.getElementById('saw').innerHTML") != before
    points = shown.evaluate("document.querySelector('#saw svg path').getAttribute('d')")
    assert "NaN" not in points
    assert points.count("H") > 50


def test_drilling_down_to_one_loss(shown: Page) -> None:
    shown.evaluate("document.getElementById('loss-text').focus()")
    shown.type("retry_limit")
    entries = "[...document.querySelectorAll('#loss-list details')].filter((d) => !d.hidden)"
    assert shown.evaluate(f"{entries}.length") > 0
    shown.evaluate(f"{entries}[0].querySelector('summary').focus()")
    shown.press("Enter", 13)
    assert shown.evaluate(f"{entries}[0].open")
    story = shown.evaluate(f"{entries}[0].innerText")
    for part in ("source", "we agreed on retry_limit=5", "summary", "answer", "missing at event"):
        assert part in story


def test_dark_follows_the_system_and_the_button(page: Page, report: Path) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    page.prefer("light")
    page.open(report)
    light = page.evaluate(paper)
    page.prefer("dark")
    dark = page.evaluate(paper)
    assert light != dark
    assert page.evaluate("document.getElementById('theme').textContent") == "Light"
    page.evaluate("document.getElementById('theme').click()")
    assert page.evaluate(paper) == light
    page.prefer("light")
    page.evaluate("document.getElementById('theme').click()")
    assert page.evaluate(paper) == dark
    ink = "getComputedStyle(document.querySelector('#chart-frontier svg text')).fill"
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")


def test_chinese_is_shown_by_a_font_that_has_it(shown: Page) -> None:
    assert "会话-01" in shown.evaluate("document.getElementById('cells').innerText")
    assert "会话" in shown.evaluate("document.querySelector('#chart-sessions svg').textContent")
    # A missing glyph is as wide as any other missing glyph; two real ones in a row are not boxes.
    script = (
        "(() => { const c = document.createElement('canvas').getContext('2d');"
        "c.font = '40px ' + getComputedStyle(document.body).fontFamily;"
        "const ink = (t) => { c.clearRect(0, 0, 300, 150); c.fillText(t, 10, 80);"
        "return c.getImageData(0, 0, 120, 120).data.join(); };"
        "return ink('会') !== ink('话'); })()"
    )
    assert shown.evaluate(script)


def test_text_of_sessions_changes_nothing(page: Page, tmp_path: Path) -> None:
    data = sample_run(2, facts=9)
    hostile = dict.fromkeys(("text", "source_line", "summary_line", "kind"), HOSTILE)
    names = {name: f"{HOSTILE}{name}" for name in data.cells["session"].unique()}
    frames = {
        name: getattr(data, name).assign(
            session=getattr(data, name)["session"].map(names).astype(object)
        )
        for name in ("cells", "requests", "compactions", "facts", "survival")
    }
    frames["facts"] = frames["facts"].assign(**hostile)
    frames["cells"] = frames["cells"].assign(reason=HOSTILE + "y" * 200_000)
    about = replace(data.about, sentences=(HOSTILE,), warnings=(HOSTILE, HOSTILE), command=HOSTILE)
    seen_before = len(page.complaints())
    page.open(write(replace(data, about=about, **frames), tmp_path))
    assert page.evaluate("window.broken === undefined")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert "<img src=x" in page.evaluate("document.querySelector('h1').textContent")
    assert page.evaluate("document.querySelectorAll('#cells tbody tr').length") == len(data.cells)
    assert len(page.complaints()) == seen_before


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_screen(report: Path, width: int) -> None:
    with opened(width, 900) as tab:
        tab.open(report)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_an_empty_run_is_a_quiet_page(page: Page, tmp_path: Path) -> None:
    seen_before = len(page.complaints())
    page.open(write(empty_run(), tmp_path))
    assert page.evaluate("document.querySelector('h1').textContent").startswith("No verdict")
    assert len(page.complaints()) == seen_before


def test_printing_shows_whole_tables_without_controls(shown: Page) -> None:
    shown.call("Emulation.setEmulatedMedia", media="print")
    assert shown.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    overflow = "getComputedStyle(document.querySelector('.scroll.tall')).overflowY"
    assert shown.evaluate(overflow) == "visible"
    shown.call("Emulation.setEmulatedMedia", media="")


def test_the_summary_fits_a_laptop(shown: Page) -> None:
    box = "document.querySelector('#table .scroll')"
    assert shown.evaluate(f"{box}.scrollWidth - {box}.clientWidth") <= 0

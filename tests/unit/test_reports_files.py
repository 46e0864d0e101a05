"""Files that reports write: Markdown, tables, charts; and what they are read from."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from bench.errors import UsageError
from bench.results import results_of
from bench.store import Run
from reports.frames import CELLS, FACTS, KEPT_OUTCOMES, RunData, frame_of, rows_of
from reports.losses import lost, worst
from reports.markdown import escaped, to_markdown
from reports.reading import read_run
from reports.summary import summarise
from reports.tables import harmless, tables
from reports.threats import threats
from reports.write import FORMATS, write_data, write_reports
from tests.report_samples import empty_run, sample_run
from tests.stored_runs import RULE, store_run, working_session

HOSTILE = "| <b>x</b> `code` [a](http://evil.example) @octocat\n# heading $1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sessions = [
        working_session("会话-一"),
        working_session("two", steps=30, note="key sk-" + "ant-api03-" + "z" * 30),
    ]
    return store_run(tmp_path_factory.mktemp("run") / "run", sessions)


@pytest.fixture(scope="module")
def data(folder: Path) -> RunData:
    return read_run(folder)


def test_cells_are_those_of_the_results(folder: Path, data: RunData) -> None:
    with Run.open(folder) as run:
        results = results_of(run)
    assert list(data.cells["strategy"]) == [cell["strategy"] for cell in results.cells]
    for shown, cell in zip(data.cells["retention"], results.cells, strict=True):
        assert math.isnan(shown) if cell["retention"] is None else shown == cell["retention"]
    assert data.about.sentences == results.verdict.sentences


def test_the_table_shows_the_numbers_of_the_results(folder: Path, data: RunData) -> None:
    with Run.open(folder) as run:
        rows = {row["strategy"]: row for row in results_of(run).table}
    assert rows["head_tail"]["retention"] is not None, "the sample must exercise a strategy"
    for row in summarise(data.cells).itertuples():
        assert row.retention == pytest.approx(rows[row.strategy]["retention"])
        assert row.tokens_saved == pytest.approx(rows[row.strategy]["tokens_saved"])


def test_requests_and_compactions_are_those_of_the_replays(folder: Path, data: RunData) -> None:
    with Run.open(folder) as run:
        for stored in run.cells():
            replay = run.replay(stored)
            assert replay is not None
            own = data.requests[
                (data.requests["session"] == stored.cell.session)
                & (data.requests["strategy"] == stored.cell.spec)
            ]
            assert list(own["tokens"]) == [seen.tokens for seen in replay.requests]
            accepted = {c.request for c in replay.compactions if c.outcome == "accepted"}
            assert set(own["index"][own["is_compacted"]]) == accepted


def test_a_strategy_that_compacted_is_told_apart_from_the_controls(data: RunData) -> None:
    kept = data.facts[data.facts["strategy"] == "keep_all"]
    none = data.facts[data.facts["strategy"] == "empty"]
    assert set(kept["outcome"]) <= set(KEPT_OUTCOMES)
    assert "recovered" in set(kept["outcome"])
    assert "present" not in set(none[none["is_counted"]]["outcome"])


def test_losses_say_where_the_fact_was_said(folder: Path, data: RunData) -> None:
    losses = lost(data)
    assert len(losses), "the sample must lose something"
    with_lines = [row for row in worst(data) if row["source_line"]]
    assert with_lines
    for row in with_lines:
        value = row["text"].split(": ", 1)[-1]
        assert value in row["source_line"] or row["origin"] == "planted"


def test_all_formats_are_written(folder: Path, tmp_path: Path) -> None:
    written = write_reports(folder, tmp_path / "out")
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written}
    assert {"report.html", "report.md", "charts/frontier.svg", "charts/frontier.png"} <= names
    assert {"tables/cells.csv", "tables/facts.csv", "tables/table.csv"} <= names
    assert written[0].name == "report.html"
    assert all(path.stat().st_size for path in written)


def test_the_same_run_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    first = write_reports(folder, tmp_path / "a")
    second = write_reports(folder, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_secrets_are_in_no_file(folder: Path, tmp_path: Path) -> None:
    for path in write_reports(folder, tmp_path):
        assert b"ant-api03-zzz" not in path.read_bytes(), path


def test_shared_reports_hold_no_text_and_no_names(folder: Path, tmp_path: Path) -> None:
    written = write_reports(folder, tmp_path, ("html", "md", "csv"), share=True)
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "会话-一" not in text, path
        assert RULE[:20] not in text, path
        assert "prod-ledger-7" not in text, path
    assert "session-" in (tmp_path / "tables" / "cells.csv").read_text(encoding="utf-8")


def test_only_what_was_asked_for_is_written(tmp_path: Path) -> None:
    written = write_data(sample_run(2), tmp_path, ("md",))
    assert [path.name for path in written] == ["report.md"]
    assert not (tmp_path / "charts").exists()
    assert "charts/" not in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_an_empty_run_is_written(tmp_path: Path) -> None:
    assert write_data(empty_run(), tmp_path, FORMATS)


def test_unknown_formats_and_folders_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="report format pdf: unknown, there are: html, md"):
        write_reports(folder, tmp_path, ("pdf",))
    with pytest.raises(UsageError, match="there is no run here"):
        write_reports(tmp_path, tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="can't be written here"):
        write_reports(folder, tmp_path / "file" / "below", ("md",))


def test_markdown_begins_with_the_verdict() -> None:
    first = to_markdown(sample_run()).splitlines()[0]
    assert first.startswith("**layered keeps most of what was needed")


def test_markdown_shows_hostile_text_as_text() -> None:
    data = sample_run(2, facts=9)
    facts = data.facts.assign(text=HOSTILE, source_line=HOSTILE, kind=HOSTILE, session=HOSTILE)
    text = to_markdown(replace(data, facts=facts, cells=data.cells.assign(reason=HOSTILE)))
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert "@octocat" not in text
    assert "http://" not in text
    assert "\n# heading" not in text


def test_escaping_covers_what_markdown_reads() -> None:
    assert escaped("a|b*c d`e<f>[g](h)") == r"a\|b\*c d\`e\<f\>\[g\](h)"
    assert escaped("head_tail _x_ # y") == r"head_tail \_x\_ # y"
    assert escaped("# x") == r"\# x"
    assert "www.\u200b" in escaped("www.evil.example") or "www\u200b" in escaped("www.evil.example")


def test_brief_markdown_is_at_most_25_lines() -> None:
    data = sample_run(12, tuple(f"s{number}" for number in range(20)))
    lines = to_markdown(data, brief=True).splitlines()
    assert len(lines) <= 25
    text = "\n".join(lines)
    for expected in ("layered keeps most", "| Strategy", "frontier.png", "Methods:", "Validity:"):
        assert expected in text
    assert "compaction-bench run --seed 0" in text


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    data = sample_run(2, facts=6)
    data = replace(data, facts=data.facts.assign(text='=HYPERLINK("http://evil")', kind="+1"))
    write_data(data, tmp_path, ("csv",))
    with (tmp_path / "tables" / "facts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["text"][0] for row in rows} == {"'"}
    assert {row["kind"] for row in rows} == {"'+1"}


def test_tables_have_all_rows_and_numbers_unchanged() -> None:
    data = sample_run(3)
    made = tables(data)
    assert set(made) >= {
        "table", "cells", "requests", "compactions", "facts", "survival", "inventions",
    }  # fmt: skip
    assert len(made["facts"]) == len(data.facts)
    assert list(made["requests"]["tokens"]) == list(data.requests["tokens"])
    assert list(harmless(data.cells)["retention"].dropna()) == list(
        data.cells["retention"].dropna()
    )


def test_frames_have_all_columns_whatever_the_rows_lack() -> None:
    frame = frame_of([{"session": "a", "retention": None}, {"strategy": "b"}], CELLS)
    assert list(frame.columns) == list(CELLS)
    assert list(frame["session"]) == ["a", ""]
    assert frame["retention"].isna().all()
    assert str(frame_of([], FACTS).dtypes["must_keep"]) == "bool"


def test_threats_that_apply_come_with_numbers() -> None:
    found = " ".join(threats(sample_run(3)))
    assert "3 sessions; below 6" in found
    assert "offline model" in found
    assert "1 of 15 cells ended early" in found
    assert "saved between 40% and 6" in found
    assert "Lossy model" not in found


def test_only_cells_that_asked_a_model_were_summarised_by_it() -> None:
    data = sample_run(8, ("layered", "prune", "keep_all", "empty"))
    asked = data.compactions["asked"].where(data.compactions["strategy"] == "layered", 0)
    found = " ".join(threats(replace(data, compactions=data.compactions.assign(asked=asked))))
    assert "8 of 16 cells were summarised by the offline model" in found


def test_threats_that_do_not_apply_are_left_out() -> None:
    data = sample_run(8, ("layered", "head_tail", "keep_all", "empty"))
    cells = data.cells.assign(model="openai:gpt", window=200_000.0, retention_layer="recovered")
    facts = data.facts.assign(model="openai:gpt")
    compactions = data.compactions.assign(model="openai:gpt")
    real = replace(data, cells=cells, facts=facts, compactions=compactions)
    found = " ".join(threats(real))
    for absent in ("Small", "Stand-in", "Stopped", "Not exercised", "Unequal", "Layer present"):
        assert absent not in found, absent
    assert threats(empty_run()) == ()


def test_junit_never_passes_what_was_not_measured(tmp_path: Path) -> None:
    data = sample_run()
    path = write_data(data, tmp_path, ("junit",))[0]
    suites = {suite.get("name"): suite for suite in ElementTree.parse(path).getroot()}
    assert set(suites) == set(data.cells["strategy"])
    assert suites["prune"].get("skipped") == "1"
    assert "never close to full" in str(suites["prune"].find(".//skipped").get("message"))
    assert suites["native"].get("errors") == "1"
    assert suites["keep_all"].get("failures") == suites["empty"].get("failures") == "0"
    failing = suites["layered"].findall(".//failure")
    missed = data.facts[
        (data.facts["strategy"] == "layered")
        & data.facts["must_keep"]
        & (data.facts["outcome"] != "present")
    ]
    assert len(failing) == missed["session"].nunique() > 0


def test_junit_holds_any_text(tmp_path: Path) -> None:
    data = sample_run(2, facts=6)
    odd = "\x00\x1b[2J<b>&\ud800端口"
    facts = frame_of(
        ({**row, "text": odd, "must_keep": True} for row in rows_of(data.facts)), FACTS
    )
    cells = frame_of(
        ({**row, "reason": odd, "status": "error"} for row in rows_of(data.cells)), CELLS
    )
    path = write_data(replace(data, facts=facts, cells=cells), tmp_path, ("junit",))[0]
    assert "端口" in str(ElementTree.parse(path).find(".//failure").get("message"))


def test_parquet_holds_what_csv_holds(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which isn't installed")
    data = sample_run(2)
    write_data(data, tmp_path, ("parquet",))
    read = pd.read_parquet(tmp_path / "tables" / "requests.parquet")
    assert list(read["tokens"]) == list(data.requests["tokens"])


def test_lone_surrogates_go_through_every_report(tmp_path: Path) -> None:
    data = sample_run(2, facts=6)
    odd = "\ud800 and \udfff"
    facts = ({**row, "text": odd, "source_line": odd, "kind": odd} for row in rows_of(data.facts))
    data = replace(data, facts=frame_of(facts, FACTS))
    for path in write_data(data, tmp_path, FORMATS):
        if path.suffix in (".html", ".md", ".csv", ".xml", ".svg"):
            path.read_text(encoding="utf-8")

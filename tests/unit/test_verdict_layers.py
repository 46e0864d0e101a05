"""Opaque state is compared in layer recovered alone: verdict, table, reports and gate."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.gate.sides import Wanted, choose_sides
from bench.gating.comparing import Question, compare
from bench.gating.reading import read_record
from bench.results import results_of
from bench.scoring import OPAQUE_REASON
from bench.store import Run
from bench.verdict import verdict
from bench.verdict_layers import in_layer_present, in_layer_recovered, opaque_strategies
from bench.verdict_recovered import READER_PROBLEM
from bench.verdict_table import OF_TEXT, table
from reports.charts import CHARTS, caption_of
from reports.frames import RunData, rows_of
from reports.markdown import to_markdown
from reports.reading import read_run
from reports.summary import summarise
from reports.terminal import print_summary
from tests.stored_runs import store_run, working_session
from tests.unit.test_verdict import BETTER, WORSE, cell, controls

SEALED = [0.50, 0.52, 0.55, 0.49, 0.51, 0.47, 0.53, 0.50]


def opaque(session: int, answered: float | None, **fields: Any) -> dict[str, Any]:
    """A cell of `native`: nothing can be read, a reader answered or nobody was asked."""
    known = answered is not None
    return cell(
        "native",
        session,
        answered,
        retention_layer="recovered" if known else "present",
        retention_reason="" if known else OPAQUE_REASON,
        retention_recovered=answered,
        retention_said_once=None,
        retention_needed=None,
        retention_re_readable=None,
        **fields,
    )


def mixed(*, has_reader: bool = True) -> list[dict[str, Any]]:
    """Two strategies that can be read, better by a reader than they look, and one that can't."""
    cells = [
        cell(name, i, value, retention_recovered=value + 0.1 if has_reader else None)
        for name, values in (("head_tail", BETTER), ("prune", WORSE))
        for i, value in enumerate(values)
    ]
    cells += [opaque(i, value if has_reader else None) for i, value in enumerate(SEALED)]
    return cells + asked_controls()


def asked_controls(ceiling: float = 0.95) -> list[dict[str, Any]]:
    """Controls whose reader answered that share of the questions from the full history."""
    return [
        {
            **one,
            "recovered": ceiling if one["strategy"] == "keep_all" else 0.0,
            "retention_recovered": one["retention"],
        }
        for one in controls(range(8))
    ]


def test_what_was_present_is_judged_without_opaque_state() -> None:
    cells = mixed()
    without = [one for one in cells if one["strategy"] != "native"]
    assert verdict(cells).sentences[0] == verdict(without).sentences[0]
    assert verdict(cells).decided
    assert "native" not in "".join(verdict(cells).sentences[2:])
    # What was sent is no matter of layers.
    assert "native 40% fewer" in verdict(cells).sentences[1]


def test_opaque_state_is_compared_by_what_a_reader_answered() -> None:
    line = verdict(mixed()).opaque
    # 0.7125 + 0.1, 0.58 + 0.1 and 0.50875; paired differences with the best one are -0.30375.
    assert "head_tail 81%, prune 68% and native 51%" in line
    assert "native 30 points less than head_tail" in line
    assert "(95% interval" in line
    assert "p = 0.023 allowing for 3 comparisons)." in line
    assert line in verdict(mixed()).lines
    assert verdict(mixed()).lines.index(line) == len(verdict(mixed()).sentences)


def test_without_a_reader_it_is_said_that_nothing_is_known() -> None:
    found = verdict(mixed(has_reader=False))
    assert found.opaque.startswith(
        "native leaves state that only its provider can read, so it has no retention: nothing here "
        "could ask for what it holds"
    )
    assert found.sentences[0] == verdict(mixed()).sentences[0]
    assert any(OPAQUE_REASON in warning for warning in found.warnings)


def test_where_nothing_can_be_read_the_verdict_is_the_readers() -> None:
    cells = [opaque(i, value) for i, value in enumerate(SEALED)] + asked_controls()
    cells += [
        {**opaque(i, value + 0.2), "strategy": "native(form=compact)"}
        for i, value in enumerate(SEALED)
    ]
    found = verdict(cells)
    assert found.sentences[0].startswith("native(form=compact) kept more of what was needed later")
    assert "the layer recovered" in found.basis
    assert "the layer present" in found.basis  # the controls


def test_a_strategy_that_is_opaque_in_some_sessions_is_so_in_all() -> None:
    cells = mixed()
    lucky = cell("native", 7, 1.0, retention_recovered=0.4)
    cells = [lucky if (c["strategy"], c["session"]) == ("native", "s7") else c for c in cells]
    assert opaque_strategies(cells) == ("native",)
    assert all(c["retention"] is None for c in in_layer_present(cells) if c["strategy"] == "native")
    row = next(row for row in table(cells) if row["strategy"] == "native")
    # The reader's 0.4 counts, not the 1.0 that was present: (sum of the other seven + 0.4) / 8.
    assert row["retention"] == pytest.approx((sum(SEALED[:7]) + 0.4) / 8)
    assert row["retention_layer"] == "recovered"
    assert all(row[name] is None for name in OF_TEXT)


def test_rows_of_the_table_are_of_one_layer_each() -> None:
    rows = {row["strategy"]: row for row in table(mixed())}
    assert rows["head_tail"]["retention_layer"] == "present"
    assert rows["head_tail"]["retention"] == pytest.approx(sum(BETTER) / 8)
    assert rows["head_tail"]["retention_recovered"] == pytest.approx(sum(BETTER) / 8 + 0.1)
    assert rows["native"]["retention"] == rows["native"]["retention_recovered"]
    low, high = rows["native"]["recovered_interval"]
    assert low < sum(SEALED) / 8 < high
    assert rows["native"]["interval"] == rows["native"]["recovered_interval"]


def test_the_readers_layer_holds_nothing_else() -> None:
    shown = in_layer_recovered(mixed())
    assert {one["retention_layer"] for one in shown} == {"recovered"}
    first = next(one for one in shown if one["strategy"] == "head_tail")
    assert first["retention"] == pytest.approx(BETTER[0] + 0.1)
    assert all(
        one["retention"] is None
        for one in in_layer_recovered(mixed(has_reader=False))
        if one["strategy"] not in ("keep_all", "empty")
    )


# A real run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sessions = [working_session(f"s{number}", note=f"note {number}") for number in range(3)]
    return store_run(tmp_path_factory.mktemp("run"), sessions, ("head_tail", "prune", "native"))


@pytest.fixture(scope="module")
def data(folder: Path) -> RunData:
    return read_run(folder)


def test_cells_say_which_layer_they_stand_on(folder: Path) -> None:
    with Run.open(folder) as run:
        cells = results_of(run).document()["cells"]
    native = [one for one in cells if one["strategy"] == "native"]
    assert all(one["compactions"] >= 2 and one["status"] == "ok" for one in native)
    assert {one["retention_layer"] for one in native} == {"recovered"}
    assert all(one["retention"] == one["retention_recovered"] for one in native)
    assert all(one["retention_said_once"] is None and one["invented"] is None for one in native)
    assert all(one["tokens_saved"] > 0 and one["invalid_projections"] == 0 for one in native)


def test_reports_keep_the_layers_apart(data: RunData) -> None:
    row = next(row for row in rows_of(summarise(data.cells)) if row["strategy"] == "native")
    assert math.isnan(row["retention"])
    assert not math.isnan(row["retention_recovered"])
    for chart in CHARTS:
        frame = chart.frame(data)
        if not len(frame) or "retention" not in frame or chart.name == "answered":
            continue
        column = "strategy" if "strategy" in frame else "column"
        own = frame[frame[column] == "native"]
        assert own["retention"].isna().all(), chart.name
        assert chart.name == "frontier" or own.empty, chart.name
        assert "its state can't be read: native." in caption_of(chart, data), chart.name
    answered = next(chart for chart in CHARTS if chart.name == "answered").frame(data)
    assert set(answered[answered["retention"].notna()]["strategy"]) == {
        "head_tail",
        "prune",
        "native",
        "keep_all",
        "empty",
    }


def test_the_first_screen_says_so_within_80_columns(folder: Path, data: RunData) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    print_summary(folder, console)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert "native leaves state that only its provider can read" in flat
    row = next(line for line in text.splitlines() if re.match(r" native +–", line))
    assert "%" in row
    assert "native leaves state" in to_markdown(data)
    assert "native leaves state" in to_markdown(data, brief=True)


def test_the_gate_compares_both_sides_by_answers(folder: Path) -> None:
    record = read_record(folder)
    pairs = choose_sides(record, None, Wanted("head_tail"), Wanted("native"))
    found = compare(pairs, Question())
    assert found["metric"] == "retention_recovered"
    assert found["severity"] == []
    assert any("only its provider can read" in warning for warning in found["warnings"])


def test_the_gate_refuses_where_the_reader_cant_answer(folder: Path) -> None:
    record = read_record(folder)
    weak = replace(record, problems=(f"{READER_PROBLEM}: it answered only 50%",))
    by_text = choose_sides(weak, None, Wanted("head_tail"), Wanted("prune"))
    by_answers = choose_sides(weak, None, Wanted("head_tail"), Wanted("native"))
    assert READER_PROBLEM in compare(by_answers, Question())["reason"]
    assert compare(by_answers, Question())["verdict"] == "refused"
    assert READER_PROBLEM not in compare(by_text, Question())["reason"]


def test_a_difference_between_two_opaque_strategies_is_said_once() -> None:
    cells = [
        {**opaque(i, value + 0.4), "strategy": "native(form=compact)"}
        for i, value in enumerate(SEALED)
    ]
    line = verdict(mixed() + cells).opaque
    assert line.startswith("native and native(form=compact) leave state")
    assert line.count(" than ") == 1
    assert "native 40 points less than native(form=compact)" in line

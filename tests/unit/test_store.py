"""The run file: what is kept comes back as it was, and foreign files are refused."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from bench.errors import UsageError
from bench.events import (
    Event,
    Message,
    RecordedCompaction,
    RecordedUsage,
    Repair,
    Session,
    ToolCall,
    ToolDefinition,
)
from bench.facts import Fact, Probe, Use
from bench.history import History
from bench.observations import (
    CompactionObservation,
    Replay,
    RequestObservation,
    Retries,
    Stopped,
)
from bench.plan import Cell
from bench.projection import Kept, Native, Projection, Shortened, Written
from bench.session_digest import session_digest
from bench.store import Canary, Run
from bench.testing.histories import sessions

SESSION = Session(
    id="港口/1",
    events=(
        Event(1, Message("system", "Keep the harbour.")),
        Event(2, Message("user", "Move berth 7 to rev C.\u2028"), 1700000000.25),
        Event(3, Message("assistant", "", (ToolCall("c1", "read", '{"path":"a.py"}'),))),
        Event(4, Message("tool", "x = 1\n" * 40, call_id="c1")),
        Event(5, Message("user", "<note>", reasoning="r"), is_meta=True),
        Event(6, Message("assistant", "Done.")),
    ),
    tools=(ToolDefinition("read", "Reads.", {"type": "object"}),),
    path="./sessions/one.jsonl",
    format="openai",
    is_slice=True,
    cluster="harbour",
    recorded_compactions=(RecordedCompaction(3, "summary", kept_from_seq=2),),
    recorded_usage=(RecordedUsage(3, 900),),
    repairs=(Repair("torn", "line 9", "skipped"),),
    skipped_lines=2,
)
FACT = Fact(
    "f1", SESSION.id, "update", "berth 7", "rev C", ("C",), ("rev B",), (2,), 2, Probe(6, "Which?")
)
USE = Use(1, 6, "path", "a.py", "a.py", 3, 3, 40, "re_readable")


def cell(number: int = 0, session: str = SESSION.id, spec: str = "head_tail") -> Cell:
    return Cell(
        identity=f"{number:032x}",
        position=number,
        session=session,
        digest="d",
        spec=spec,
        window=8000,
        window_asked="auto",
        model="offline",
        seed=0,
    )


def replayed(session: Session = SESSION) -> Replay:
    """A replay with every kind of item, a compaction and a stop."""
    history = History(session.events)
    head = (
        Kept(history[0]),
        Written(Message("user", "Summary: 码头"), 2, 3),
        Shortened(history[3], replace(history[3].message, text="x = 1"), {"at": [4, "a.py"]}),
        Native("simulated/offline", '{"blob":1}', 2, 3, 12),
    )
    compaction = CompactionObservation(
        request=1,
        at_seq=6,
        trigger="budget",
        phase="automatic",
        stage="compact",
        outcome="accepted",
        reason="",
        generation=1,
        segments=1,
        covered_messages=2,
        covered_first_seq=2,
        covered_last_seq=3,
        tokens_before=900,
        tokens_after=100,
        estimate_before=800,
        estimate_after=90,
        asked=1,
        ask_input_tokens=850,
        ask_output_tokens=60,
        head_before=0,
        head=1,
        violations=("H4",),
        details={"lost": 3},
    )
    return Replay(
        session=session.id,
        requests=(
            RequestObservation(0, 3, True, 700, 0, 650, 0, 0, 2),
            RequestObservation(1, 6, False, 100, 90, 95, 1, 4, 5, repairs=1),
        ),
        requests_total=3,
        heads=((), head),
        compactions=(compaction,),
        retries=Retries(overflow=1, suppressed=2),
        stopped=Stopped(1, "input_overflow: too long"),
        final=Projection(history, head, 4, 6, {"lineage": ["a", None]}),
    )


def test_the_digest_speaks_of_content_alone() -> None:
    assert session_digest(replace(SESSION, id="x", path="y")) == session_digest(SESSION)
    assert session_digest(replace(SESSION, tools=())) != session_digest(SESSION)
    assert session_digest(replace(SESSION, events=SESSION.events[:-1])) != session_digest(SESSION)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    replay = replayed()
    with Run.create(tmp_path / "run", {"options": {"seed": 0}}) as run:
        run.save_information("tokenizer", "o200k_base")
        run.save_session(SESSION, "d", description={"turns": 1}, facts=[FACT], uses=[USE])
        run.save_cell(
            cell(), status="stopped", reason="why", seconds=0.5, replay=replay, scores={"x": None}
        )
        run.save_warnings(["one", "two", "one"])
        run.save_canaries([Canary(SESSION.id, "keep_all", 3, 3)])
    with Run.open(tmp_path / "run") as run:
        assert run.information() == {"options": {"seed": 0}, "tokenizer": "o200k_base"}
        (kept,) = run.sessions()
        assert (kept.id, kept.path, kept.cluster) == (SESSION.id, SESSION.path, "harbour")
        assert kept.events == 6
        assert kept.description == {"turns": 1}
        assert run.session(SESSION.id) == SESSION
        assert run.facts(SESSION.id) == (FACT,)
        assert run.uses(SESSION.id) == (USE,)
        (stored,) = run.cells()
        assert stored.cell == cell()
        assert (stored.status, stored.reason, stored.seconds) == ("stopped", "why", 0.5)
        assert stored.scores == {"x": None}
        again = run.replay(stored)
        assert again is not None
        assert replace(again, final=None) == replace(replay, final=None)
        assert again.final is not None
        assert again.final.items == replay.final.items  # type: ignore[union-attr]
        assert again.final.memory == {"lineage": ["a", None]}
        shown = again.projection(1, run.history(SESSION.id)).messages
        assert shown == replay.projection(1, History(SESSION.events)).messages
        assert run.warnings() == ("one", "two")
        assert run.canaries() == (Canary(SESSION.id, "keep_all", 3, 3),)


@settings(max_examples=25)
@given(sessions())
def test_any_session_can_be_kept(
    tmp_path_factory: pytest.TempPathFactory, session: Session
) -> None:
    with Run.create(tmp_path_factory.mktemp("runs") / "run") as run:
        run.save_session(session, "d")
        assert run.session(session.id) == session


def test_cells_come_in_the_order_of_the_plan_and_the_newest_try_counts(tmp_path: Path) -> None:
    with Run.create(tmp_path) as run:
        run.save_session(SESSION, "d")
        run.save_cell(cell(2), status="error", reason="boom")
        run.save_cell(cell(1), status="ok", replay=replayed())
        assert not run.has_cell(cell(0).identity)
        assert run.has_cell(cell(1).identity)
        # What failed is tried again by a run that goes on.
        assert not run.has_cell(cell(2).identity)
        run.save_cell(cell(2), status="ok", replay=replayed(), scores={"retention": 1})
        run.save_cell(cell(1), status="not_exercised", replay=replace(replayed(), heads=((),)))
        cells = list(run.cells())
        assert [one.cell.position for one in cells] == [1, 2]
        assert [one.status for one in cells] == ["not_exercised", "ok"]
        assert len(run.replay(cells[1]).heads) == 2  # type: ignore[union-attr]


def test_a_cell_without_a_replay(tmp_path: Path) -> None:
    with Run.create(tmp_path) as run:
        run.save_cell(cell(), status="error", reason="boom")
        (stored,) = run.cells()
        assert stored.retries is None
        assert run.replay(stored) is None


def test_scores_are_replaced_as_a_whole(tmp_path: Path) -> None:
    with Run.create(tmp_path) as run:
        run.save_cell(cell(0), status="ok", scores={"old": 1})
        run.save_cell(cell(1), status="ok", scores={"old": 2})
        run.replace_scores([(cell(1).identity, {"new": [1.5, None]})])
        assert [one.scores for one in run.cells()] == [None, {"new": [1.5, None]}]


def test_saving_a_session_again_replaces_its_facts(tmp_path: Path) -> None:
    with Run.create(tmp_path) as run:
        run.save_session(SESSION, "d", facts=[FACT, replace(FACT, id="f2")])
        assert run.history(SESSION.id).events() == SESSION.events
        shorter = replace(SESSION, events=SESSION.events[:2])
        run.save_session(shorter, "e", facts=[FACT])
        assert run.facts(SESSION.id) == (FACT,)
        assert run.history(SESSION.id).events() == shorter.events


def test_names_that_are_no_unicode_are_kept_readable(tmp_path: Path) -> None:
    odd = replace(SESSION, id="a\udc80", path="b\udc80")
    with Run.create(tmp_path) as run:
        run.save_session(odd, "d")
        assert run.session("a\udc80").events == SESSION.events
        assert next(run.sessions()).id == "a\\udc80"


def test_the_run_is_one_file(tmp_path: Path) -> None:
    with Run.create(tmp_path / "a" / "b") as run:
        run.save_session(SESSION, "d")
        run.save_cell(cell(), status="ok", replay=replayed())
    assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == ["run.sqlite"]


def test_the_file_itself_opens_too(tmp_path: Path) -> None:
    Run.create(tmp_path, {"a": 1}).close()
    with Run.open(tmp_path / "run.sqlite") as run:
        assert run.information() == {"a": 1}


def one_line(caught: pytest.ExceptionInfo[UsageError]) -> str:
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_second_run_in_one_folder_is_refused(tmp_path: Path) -> None:
    Run.create(tmp_path, {"a": 1}).close()
    with pytest.raises(UsageError) as caught:
        Run.create(tmp_path)
    assert "is there already; go on with --resume" in one_line(caught)
    with Run.open(tmp_path) as run:
        assert run.information() == {"a": 1}


def test_a_missing_run_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError) as caught:
            Run.open(place)
        assert "there is no run here; a run folder holds run.sqlite" in one_line(caught)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"no database at all, only text " * 9, b""])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.sqlite").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        Run.open(tmp_path)
    assert "run.sqlite" in one_line(caught)
    with pytest.raises(UsageError, match="is there already"):
        Run.create(tmp_path)
    assert (tmp_path / "run.sqlite").read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "run.sqlite") as connection:
        connection.execute("CREATE TABLE cells (x)")
    connection.close()
    with pytest.raises(UsageError) as caught:
        Run.open(tmp_path)
    assert "another program wrote it" in one_line(caught)


@pytest.mark.parametrize(("version", "age"), [(0, "an older"), (99, "a newer")])
def test_another_schema_is_refused(tmp_path: Path, version: int, age: str) -> None:
    Run.create(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "run.sqlite")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(UsageError) as caught:
        Run.open(tmp_path)
    assert f"written by {age} version of compaction-bench (schema {version}" in one_line(caught)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("n" * 300) / "run"):
        with pytest.raises(UsageError) as caught:
            Run.create(place)
        assert "no run can be written here" in one_line(caught)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_folders_made_for_nothing_are_removed(tmp_path: Path) -> None:
    def refuse(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    with pytest.raises(UsageError, match="unable to open database file"):
        Run.create(tmp_path / "a" / "b", connect=refuse)
    assert list(tmp_path.iterdir()) == []
